#include "app/trace_reader.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>

#include "api/json.h"
#include "app/numbers.h"
#include "app/text.h"
#include "base/format.h"
#include "base/parse_json.h"

namespace sluice::cli {
namespace {

using TraceJson = nlohmann::json;

constexpr size_t kMostStart = size_t{64} << 20;  // bytes of the first line
constexpr size_t kMostLine = size_t{1} << 20;    // of each other
constexpr size_t kMostPrompt = size_t{1} << 20;  // tokens, as of the longest context
constexpr int64_t kMostVocab = int64_t{1} << 22;
// Of a line's JSON.
constexpr size_t kDeepest = 16;
constexpr size_t kMostStartParts = 2 * kMostPrompt + (size_t{1} << 17);
constexpr size_t kMostParts = 8 * kMostRawLogits + 4096;

Result<TraceJson> parsed(const std::string& line, size_t most_parts) {
  SLUICE_TRY(check_json(line, {.depth = kDeepest, .parts = most_parts}));
  TraceJson value = TraceJson::parse(line, nullptr, false);
  if (!value.is_object()) return fail(Code::bad_file, "it is no JSON object");
  return value;
}

const TraceJson* member(const TraceJson& object, const char* name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found != object.end() ? &*found : nullptr;
}

std::string text_at(const TraceJson& object, const char* name) {
  const TraceJson* value = member(object, name);
  return value != nullptr && value->is_string() ? value->get<std::string>() : "";
}

// A whole number in a range; none if it is none.
std::optional<int64_t> whole(const TraceJson* value, int64_t least, int64_t most) {
  if (value == nullptr || !value->is_number_integer()) return std::nullopt;
  if (value->is_number_unsigned() && value->get<uint64_t>() > uint64_t{INT64_MAX})
    return std::nullopt;
  const auto number = value->get<int64_t>();
  return number >= least && number <= most ? std::optional(number) : std::nullopt;
}

// JSON has no infinities and no NaN: they are null there.
std::optional<double> real(const TraceJson* value) {
  if (value == nullptr) return std::nullopt;
  if (value->is_null()) return -std::numeric_limits<double>::infinity();
  return value->is_number() ? std::optional(value->get<double>()) : std::nullopt;
}

Result<std::vector<TokenId>> ids_of(const TraceJson* list, std::string_view what, int64_t n_vocab,
                                    size_t most) {
  std::vector<TokenId> ids;
  if (list == nullptr || !list->is_array() || list->size() > most)
    return fail(Code::bad_file, what, " is no list of at most ", most, " token ids");
  for (const TraceJson& each : *list) {
    const auto id = whole(&each, 0, n_vocab - 1);
    if (!id)
      return fail(Code::bad_file, what, " has a token that the vocabulary, ids 0 to ", n_vocab - 1,
                  ", doesn't have");
    ids.push_back(static_cast<TokenId>(*id));
  }
  return ids;
}

// The samplers' options. The seed may be a string.
Result<GenerateOptions> options_of(const TraceJson* given) {
  if (given == nullptr || !given->is_object()) return fail(Code::bad_file, "it has no options");
  TraceJson options = *given;
  std::optional<uint64_t> seed;
  if (const TraceJson* text = member(options, "seed"); text != nullptr && !text->is_number()) {
    if (text->is_string()) {
      const auto digits = text->get<std::string>();
      uint64_t number = 0;
      const auto [end, error] =
          std::from_chars(digits.data(), digits.data() + digits.size(), number);
      if (digits.empty() || error != std::errc() || end != digits.data() + digits.size())
        return fail(Code::bad_file, "its seed is no whole number from 0 to 2^64 - 1");
      seed = number;
    } else if (!text->is_null()) {
      return fail(Code::bad_file, "its seed is no whole number from 0 to 2^64 - 1");
    }
    options.erase("seed");
  }
  auto read =
      generate_options_from_json(options.dump(-1, ' ', false, TraceJson::error_handler_t::replace));
  if (!read) return fail(Code::bad_file, read.error().message);
  if (seed) read->seed = seed;
  return std::move(*read);
}

// `number`: how many tokens of the trace stand before.
Result<RawLogits> raw_of(const TraceJson& given, int64_t n_vocab, size_t number) {
  RawLogits raw;
  const auto log_sum = real(member(given, "logSum"));
  const auto entropy = real(member(given, "entropy"));
  const TraceJson* draws = member(given, "draws");
  const TraceJson* best = member(given, "best");
  if (!log_sum || !entropy || best == nullptr || !best->is_array())
    return fail(Code::bad_file, "its raw has no logSum, entropy or best");
  raw.log_sum = *log_sum;
  raw.entropy = *entropy;
  // A page that nobody looked into kept no draws. Nearly every run draws one for each token.
  const bool told = draws != nullptr && draws->is_number_unsigned();
  raw.draws = told ? draws->get<uint64_t>() : number;
  if (best->empty() || best->size() > kMostRawLogits)
    return fail(Code::bad_file, "its raw has ", best->size(), " logits; a trace has 1 to ",
                kMostRawLogits);
  std::vector<TokenId> ids;
  for (const TraceJson& each : *best) {
    const bool pair = each.is_array() && each.size() == 2;
    const auto id = pair ? whole(&each[0], 0, n_vocab - 1) : std::nullopt;
    const auto logit = pair ? real(&each[1]) : std::nullopt;
    if (!id || !logit)
      return fail(Code::bad_file, "a logit of its raw is no pair of a token id, 0 to ", n_vocab - 1,
                  ", and a number");
    raw.best.emplace_back(static_cast<TokenId>(*id), static_cast<float>(*logit));
    ids.push_back(static_cast<TokenId>(*id));
  }
  std::ranges::sort(ids);
  if (const auto twice = std::ranges::adjacent_find(ids); twice != ids.end())
    return fail(Code::bad_file, "its raw has the token ", *twice, " twice");
  return raw;
}

Result<TraceToken> token_of(const TraceJson& line, int64_t n_vocab, size_t number) {
  TraceToken token;
  const auto id = whole(member(line, "id"), 0, n_vocab - 1);
  if (!id) return fail(Code::bad_file, "its id is none of the vocabulary's, 0 to ", n_vocab - 1);
  token.id = static_cast<TokenId>(*id);
  token.text = text_at(line, "text");
  if (const TraceJson* raw = member(line, "raw"); raw != nullptr && !raw->is_null()) {
    SLUICE_ASSIGN(token.raw, raw_of(*raw, n_vocab, number));
  }
  return token;
}

}  // namespace

std::unexpected<Error> TraceReader::bad(std::string_view why) const {
  return fail(Code::bad_file, printable(path_, kMaxShownPath), ", line ", n_lines_, ": ", why,
              n_lines_ == 1 ? ". A trace is what sluice run --trace writes" : "");
}

// The line that begins at `at`, without its end; none at the file's end. `whole`: it ends with one.
Result<std::optional<std::string>> TraceReader::read_line(uint64_t& at, size_t most,
                                                          bool& whole) const {
  std::string line;
  whole = false;
  while (at < file_.size()) {
    const size_t begin = line.size();
    line.resize(begin + std::min<uint64_t>(file_.size() - at, size_t{16} << 10));
    SLUICE_TRY(
        file_.read(at, {reinterpret_cast<uint8_t*>(line.data()) + begin, line.size() - begin}));
    const size_t end = line.find('\n', begin);
    whole = end != std::string::npos;
    if (whole) line.resize(end);
    at += line.size() - begin + (whole ? 1 : 0);
    if (line.size() > most) return bad(concat("it is longer than ", human_bytes(most)));
    if (whole) break;
  }
  if (line.empty() && !whole) return std::nullopt;
  return line;
}

Result<TraceReader> TraceReader::open(const std::string& path) {
  SLUICE_ASSIGN(File file, File::open(path, "a trace of sluice run --trace"));
  TraceReader reader(path, std::move(file));
  SLUICE_TRY(reader.read_start());
  return reader;
}

Status TraceReader::read_start() {
  n_lines_ = 1;
  bool whole_line = false;
  SLUICE_ASSIGN(const auto line, read_line(next_line_, kMostStart, whole_line));
  const auto start = parsed(line.value_or(""), kMostStartParts);
  if (!start) return bad(start.error().message);
  if (text_at(*start, "event") != "trace") return bad("it is not the beginning of a trace");
  const auto version = whole(member(*start, "version"), 1, INT32_MAX);
  if (version != 1) {
    return bad(version ? concat("its version is ", *version,
                                "; this program reads version 1. Take a newer one")
                       : std::string("it has no version"));
  }
  const TraceJson* model = member(*start, "model");
  const TraceJson* prompt = member(*start, "prompt");
  if (model == nullptr || prompt == nullptr) return bad("it has no model or no prompt");
  const auto n_vocab = whole(member(*model, "vocab"), 1, kMostVocab);
  if (!n_vocab) return bad(concat("its vocabulary has no size from 1 to ", kMostVocab));
  n_vocab_ = *n_vocab;
  if (const TraceJson* list = member(*model, "suppressed"); list != nullptr) {
    auto ids = ids_of(list, "its suppressed", n_vocab_, size_t{1} << 16);
    if (!ids) return bad(ids.error().message);
    suppressed_ = std::move(*ids);
    std::ranges::sort(suppressed_);
  }
  auto ids = ids_of(member(*prompt, "ids"), "its prompt", n_vocab_, kMostPrompt);
  if (!ids) return bad(ids.error().message);
  tokens_ = std::move(*ids);
  prompt_tokens_ = tokens_.size();
  prompt_ = text_at(*prompt, "text");
  answer_begin_ = static_cast<size_t>(
      whole(member(*prompt, "answerBegin"), 0, static_cast<int64_t>(prompt_tokens_))
          .value_or(static_cast<int64_t>(prompt_tokens_)));
  if (const TraceJson* pieces = member(*prompt, "pieces");
      pieces != nullptr && pieces->is_array()) {
    for (size_t i = 0; i < std::min(pieces->size(), tokens_.size()); ++i)
      if ((*pieces)[i].is_string()) pieces_.emplace(tokens_[i], (*pieces)[i].get<std::string>());
  }
  auto options = options_of(member(*start, "options"));
  if (!options) return bad(options.error().message);
  options_ = std::move(*options);
  return {};
}

Result<std::optional<TraceToken>> TraceReader::next() {
  if (done_) return std::nullopt;
  bool whole_line = false;
  ++n_lines_;
  SLUICE_ASSIGN(const auto line, read_line(next_line_, kMostLine, whole_line));
  if (!line) {
    done_ = true;
    return std::nullopt;
  }
  const auto value = parsed(*line, kMostParts);
  if (!value && !whole_line) {
    done_ = cut_ = true;
    return std::nullopt;
  }
  if (!value) return bad(value.error().message);
  const std::string event = text_at(*value, "event");
  if (event == "done" || event == "error") {
    done_ = true;
    return std::nullopt;
  }
  if (event != "token") return bad("it is no event of a trace: token, done or error");
  auto token = token_of(*value, n_vocab_, tokens_.size() - prompt_tokens_);
  if (!token) return bad(token.error().message);
  if (const TraceJson* pieces = member(*value, "pieces");
      pieces != nullptr && pieces->is_object()) {
    for (const auto& [key, piece] : pieces->items()) {
      const auto id = integer_in(key, 0, n_vocab_ - 1);
      if (!id || !piece.is_string())
        return bad("its pieces are not texts by ids of the vocabulary");
      pieces_.emplace(static_cast<TokenId>(*id), piece.get<std::string>());
    }
  }
  tokens_.push_back(token->id);
  return std::optional(std::move(*token));
}

Result<TraceToken> TraceReader::read_at(uint64_t place, size_t number) const {
  bool whole_line = false;
  SLUICE_ASSIGN(const auto line, read_line(place, kMostLine, whole_line));
  const auto value = parsed(line.value_or(""), kMostParts);
  if (!value)
    return fail(Code::bad_file, printable(path_, kMaxShownPath), " has changed: read it again");
  return token_of(*value, n_vocab_, number);
}

std::string_view TraceReader::piece(TokenId id) const {
  const auto found = pieces_.find(id);
  return found != pieces_.end() ? std::string_view(found->second) : "";
}

}  // namespace sluice::cli
