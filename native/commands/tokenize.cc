// sluice tokenize prints the token ids of a text, sluice detokenize the text of ids. They need a
// vocabulary, but no weights.
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/arguments.h"
#include "app/diagnostics.h"
#include "app/exit_status.h"
#include "app/help.h"
#include "app/model.h"
#include "app/numbers.h"
#include "app/output.h"
#include "app/prompt.h"
#include "app/text.h"
#include "base/format.h"
#include "commands/commands.h"
#include "engine/read_header.h"
#include "text/tokenizer.h"

namespace sluice::cli {
namespace {

struct TokenizeOptions {
  std::string model;
  DownloadOptions download;
  Prompt prompt;
  bool bos = false;
  bool eos = false;
  bool special = false;
  bool lines = false;
  bool pieces = false;
  bool json = false;
};

constexpr char kTokenizeFooter[] =
    R"(The text is PROMPT, -p or -f, or else the standard input if that is a pipe or a
file. Prints the ids on one line with spaces between them, or with --json
{"ids":[..],"pieces":[..]}. pieces are the texts of the tokens (bytes that are
not a whole character are shown as U+FFFD). Works on any GGUF file with a
vocabulary, of any architecture, with or without tensors.

Examples:
  sluice tokenize -p "Once upon a time" --pieces
  sluice tokenize model.gguf -f text.txt --lines --json)";

constexpr size_t kWriteBytes = 64 << 10;  // at a time

// The text of a token; for a control token, which has no text, its name.
std::string_view shown(const Tokenizer& tokenizer, TokenId id) {
  const std::string_view piece = tokenizer.piece(id);
  return piece.empty() ? tokenizer.raw_token(id) : piece;
}

// Writes the ids of one text while it is encoded, because it may be long.
void encode(const Tokenizer& tokenizer, std::string_view text, const TokenizeOptions& options) {
  std::string out;
  const auto write = options.json ? write_json : write_shown;
  const auto put = [&](std::string_view part) {
    out += part;
    if (out.size() < kWriteBytes) return;
    write(out);
    out.clear();
  };
  std::vector<TokenId> all;  // for the pieces
  bool first = true;
  const bool pieces = options.pieces && !options.json;
  if (options.json) put("{\"ids\":[");
  Encoding encoding(tokenizer, text, options.special);
  for (bool more = true; more;) {
    more = encoding.step();
    std::vector<TokenId> ids = encoding.take();
    if (options.bos && first && (!ids.empty() || !more))
      ids = tokenizer.with_prefix(std::move(ids));
    if (options.eos && !more)
      ids.insert(ids.end(), tokenizer.suffix().begin(), tokenizer.suffix().end());
    for (const TokenId id : ids) {
      const bool leads = std::exchange(first, false);
      put(pieces ? format("%8d  ", id) + readable(tokenizer, id) + "\n"
                 : concat(leads          ? ""
                          : options.json ? ","
                                         : " ",
                          id));
    }
    if (options.json) all.insert(all.end(), ids.begin(), ids.end());
  }
  if (options.json) {
    put("],\"pieces\":[");
    for (size_t i = 0; i < all.size(); ++i) {
      const nlohmann::json piece = shown(tokenizer, all[i]);
      put(concat(i == 0 ? "" : ",",
                 piece.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)));
    }
    put("]}");
  }
  // Each piece has ended its line. With --lines an empty line ends each text.
  write(pieces && !options.lines ? out : out + "\n");
}

struct DetokenizeOptions {
  std::string model;
  DownloadOptions download;
  std::string first_id;  // the argument MODEL, if -m names the model; "": none
  std::vector<std::string> ids;
  bool special = false;
  bool json = false;
};

constexpr char kDetokenizeFooter[] =
    R"(IDS are numbers with commas or spaces between them, as sluice tokenize prints
them; without IDS they come from the standard input if that is a pipe or a file.
Prints the text alone, byte for byte into a pipe; with --json {"text":..}.
Control tokens have no text; --special prints their names.

Examples:
  sluice detokenize model.gguf 1,2,3
  sluice tokenize model.gguf -p "Once upon" | sluice detokenize model.gguf)";

// The ids in a text, separated by spaces, commas or the brackets of JSON.
Result<std::vector<TokenId>> ids_in(std::string text, int64_t n_vocab) {
  for (char& c : text)
    if (std::string_view(" \t\r\n[]").find(c) != std::string_view::npos) c = ',';
  std::vector<TokenId> ids;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    const std::string_view item = std::string_view(text).substr(at, end - at);
    at = end + 1;
    if (item.empty()) continue;
    const auto id = integer_in(item, 0, n_vocab - 1);
    if (!id)
      return fail(Code::invalid_argument, "IDS: expected whole numbers from 0 to ", n_vocab - 1,
                  ", the vocabulary's ids, found '", printable(item), "'");
    ids.push_back(static_cast<TokenId>(*id));
  }
  return ids;
}

// True of an argument that can only be ids, so that MODEL was left out.
bool are_ids(const std::string& text) {
  std::error_code error;
  return !text.empty() && text.find_first_not_of("0123456789, []\t\n") == std::string::npos &&
         !std::filesystem::exists(text, error);
}

int detokenize(DetokenizeOptions options) {
  const auto fail_with = [&](const Error& error) { return report(error, options.json); };
  if (are_ids(options.model)) options.first_id = std::exchange(options.model, "");
  if (!options.first_id.empty()) options.ids.insert(options.ids.begin(), options.first_id);
  auto model = find_model(options.model, options.download);
  if (!model) return fail_with(model.error());
  std::string given;
  for (const std::string& words : options.ids) given += words + " ";
  if (options.ids.empty()) {
    const auto piped = prompt_text({});
    if (!piped) return fail_with(piped.error());
    if (!*piped)
      return fail_with({Code::invalid_argument,
                        "no ids; give them behind the model, like 1,2,3, or on standard input"});
    given = **piped;
  }
  const auto header = read_header(*model);
  if (!header) return fail_with(with_file_name(*model, header.error()));
  const auto tokenizer = Tokenizer::from_gguf(header->gguf);
  if (!tokenizer) return fail_with(with_file_name(*model, tokenizer.error()));
  const auto ids = ids_in(given, tokenizer->vocab_size());
  if (!ids) return fail_with(ids.error());
  std::string text;
  if (options.special) {
    for (const TokenId id : *ids) text += shown(*tokenizer, id);
  } else {
    text = tokenizer->decode(*ids);
  }
  if (options.json) {
    write_json(nlohmann::json{{"text", text}}.dump(-1, ' ', false,
                                                   nlohmann::json::error_handler_t::replace) +
               "\n");
    return kDone;
  }
  write_content(text);
  if (stdout_is_terminal() && !text.ends_with('\n')) write_out("\n");
  return kDone;
}

int tokenize(const TokenizeOptions& options) {
  const auto fail_with = [&](const Error& error) { return report(error, options.json); };
  auto model = find_model(options.model, options.download, options.prompt.source.empty());
  if (!model) return fail_with(model.error());
  const auto text = prompt_text(options.prompt, options.lines);
  if (!text) return fail_with(text.error());
  if (!*text) {
    return fail_with({Code::invalid_argument,
                      "no text; give one with -p or -f, behind the model, or on standard input"});
  }
  const auto header = read_header(*model);
  if (!header) return fail_with(with_file_name(*model, header.error()));
  const auto tokenizer = Tokenizer::from_gguf(header->gguf);
  if (!tokenizer) return fail_with(with_file_name(*model, tokenizer.error()));
  warn(tokenizer->warnings());
  if (!options.lines) {
    encode(*tokenizer, **text, options);
    return kDone;
  }
  for (std::string_view rest = **text; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    encode(*tokenizer, rest.substr(0, end), options);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return kDone;
}

}  // namespace

void add_tokenize(CLI::App& program, int& status) {
  auto options = std::make_shared<TokenizeOptions>();
  CLI::App* app = add_command(program, "tokenize", "show a text's token ids", kTokenizeFooter);
  add_model_and_prompt(*app, options->model, options->prompt);
  add_prompt_file(*app, options->prompt);
  add_flag(*app, "--bos", options->bos,
           "begin with the ids that the model gets before a prompt (BOS)")
      ->group("Input");
  add_flag(*app, "--eos", options->eos,
           "end with the ids that the model gets behind a text that it embeds (EOS, [SEP])")
      ->group("Input");
  add_flag(*app, "--special", options->special,
           "recognize special tokens that are written out in the text")
      ->group("Input");
  add_flag(*app, "--lines", options->lines,
           "encode each line of the text by itself, without its line end")
      ->group("Input");
  add_flag(*app, "--pieces", options->pieces,
           "print each id on its own line, with its text in quotes")
      ->group("Output");
  add_json(*app, options->json, "ids and pieces as JSON, one object a line");
  add_download_options(*app, options->download);
  app->callback([options, &status] { status = tokenize(*options); });
}

void add_detokenize(CLI::App& program, int& status) {
  auto options = std::make_shared<DetokenizeOptions>();
  CLI::App* app =
      add_command(program, "detokenize", "show the text of token ids", kDetokenizeFooter);
  add_model(*app, options->model, [options](const std::string& text) {
    // With -m the first argument is the first of the ids.
    options->first_id = text;
  });
  app->add_option("IDS", options->ids, "token ids, like 1,2,3")->type_name("IDS");
  add_flag(*app, "--special", options->special, "print the names of control tokens")
      ->group("Output");
  add_json(*app, options->json, "the text as JSON");
  add_download_options(*app, options->download);
  app->callback([options, &status] { status = detokenize(*options); });
}

}  // namespace sluice::cli
