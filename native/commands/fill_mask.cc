// sluice fill-mask: which words a masked-word model puts in the places that a text leaves open.
#include "api/fill_mask.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "app/arguments.h"
#include "app/diagnostics.h"
#include "app/exit_status.h"
#include "app/help.h"
#include "app/model.h"
#include "app/model_use.h"
#include "app/option_flags.h"
#include "app/output.h"
#include "app/overflow.h"
#include "app/prompt.h"
#include "app/text.h"
#include "base/format.h"
#include "commands/commands.h"
#include "engine.h"
#include "kernels/choose.h"
#include "session/results.h"
#include "text/tokenizer.h"

namespace sluice::cli {
namespace {

struct FillMaskOptions {
  std::string model;
  DownloadOptions download;
  LoadOptions load;
  Prompt prompt;
  int top = 5;
  bool json = false;
};

constexpr size_t kMostMasks = 1 << 20;  // positions of the longest context

constexpr char kFillMaskFooter[] =
    R"(The text is PROMPT, -p, -f or --tokens, or else the standard input if that is a
pipe or a file. In it the model's mask, mostly [MASK] or <mask>, stands for each
word to be found. Prints the text with the likeliest words, and for each mask
the likeliest tokens with their probabilities; ## means that a token goes on
with the word before it. Every mask is filled as if the others stayed open.

It needs a masked language model with its head, as sluice convert writes it from
a folder of a class ..ForMaskedLM. With --json one object
{"text","tokens","masks":[{"position","top":[{"id","token","logprob"},..]},..]};
position counts tokens, with those that the model gets before the text.

Examples:
  sluice fill-mask bert.gguf -p "Paris is the [MASK] of France."
  sluice fill-mask bert.gguf "The [MASK] dog ran [MASK]." --top 3 --json)";

// The text and its masks as ids.
Result<MaskedText> masked(const Tokenizer& tokenizer, const FillMaskOptions& options,
                          const std::optional<std::string>& text) {
  if (options.prompt.tokens) return masked_ids(tokenizer, *options.prompt.tokens);
  return masked_text(tokenizer, *text);
}

// Runs to the end. A signal ends the program, so it isn't checked for here.
Status compute(Engine& engine, const MaskedText& text) {
  Results wanted;
  wanted.logits.chosen = text.masks;
  SLUICE_TRY(engine.session().start_results(text.ids, 0, wanted));
  while (true) {
    SLUICE_ASSIGN(const Event event, next_event(engine));
    if (event.kind == Event::Kind::done) return {};
  }
}

std::string tables(const Tokenizer& tokenizer, const MaskedText& text,
                   const std::vector<MaskTop>& tops) {
  std::string out;
  for (size_t i = 0; i < tops.size(); ++i) {
    out += concat("\n", tops.size() > 1 ? concat("mask ", i + 1, ", ") : "", "token ",
                  text.masks[i], "\n      id  probability  token\n");
    for (const auto& [id, logprob] : tops[i])
      out += format("%8d  %11.6f  ", id, std::exp(static_cast<double>(logprob))) +
             text_in_quotes(token_text(tokenizer, id)) + "\n";
  }
  return out;
}

int fill_mask(FillMaskOptions& options) {
  const auto fail_with = [&](const Error& error) { return report(error, options.json); };
  if (const auto kernels = check_kernels(); !kernels) return fail_with(kernels.error());
  // The bundled model has no such head.
  if (options.model.empty())
    return fail_with({Code::invalid_argument,
                      "no model; name one that finds masked words, behind fill-mask or by -m"});
  auto model = find_model(options.model, options.download, options.prompt.source.empty());
  if (!model) return fail_with(model.error());
  const auto text = prompt_text(options.prompt);
  if (!text) return fail_with(text.error());
  if (!*text && !options.prompt.tokens)
    return fail_with({Code::invalid_argument,
                      "no text; give one with -p or -f, behind the model or on standard input"});
  MaskedText found;
  // The plan of the memory has the logits of all masks. Keys and values are kept exact: a text is
  // computed once.
  const auto plan = [&](const Gguf& header, LoadOptions& load) -> Status {
    SLUICE_TRY(require_masks(header));
    SLUICE_ASSIGN(const Tokenizer tokenizer, Tokenizer::from_gguf(header));
    SLUICE_ASSIGN(found, masked(tokenizer, options, *text));
    load.logit_positions = static_cast<int64_t>(std::min(found.masks.size(), kMostMasks));
    load.kv_type = "f32";
    return {};
  };
  const auto engine = load(*model, options.load, plan);
  if (!engine) return fail_with(with_file_name(*model, engine.error()));
  warn((*engine)->notes());
  if (const auto computed = compute(**engine, found); !computed)
    return fail_with(with_context_advice(**engine, "shorten the text",
                                         with_file_name(*model, computed.error())));
  const Tokenizer& tokenizer = (*engine)->tokenizer();
  const std::vector<MaskTop> tops = mask_tops(found, (*engine)->session().logits(), options.top);
  const std::string filled =
      *text ? filled_text(tokenizer, **text, tops) : filled_ids(tokenizer, found, tops);
  if (options.json) {
    write_json(fill_mask_json(tokenizer, found, filled, tops) + "\n");
  } else {
    write_shown(filled + "\n" + tables(tokenizer, found, tops));
  }
  return kDone;
}

}  // namespace

void add_fill_mask(CLI::App& program, int& status) {
  auto options = std::make_shared<FillMaskOptions>();
  CLI::App* app = add_command(program, "fill-mask", "find the words that a text leaves open",
                              kFillMaskFooter, Environment::cache);
  add_model_and_prompt(*app, options->model, options->prompt);
  app->get_option("MODEL")
      ->description(
          "a masked language model: the path of a GGUF file, or what other commands take as MODEL")
      ->group(kNeededArgument);
  add_prompt_file(*app, options->prompt);
  add_prompt_tokens(*app, options->prompt);
  add_integer(*app, "--top", options->top, 1, 1 << 20, "N",
              "how many tokens of each mask (default 5)")
      ->group("Output");
  add_json(*app, options->json, "one JSON object");
  add_options(*app, options->load);
  app->get_option("-c")->description(
      "the most tokens that the text may have; 1 to 1048576; 0: all that the model was trained for "
      "(default the model's own)");
  add_download_options(*app, options->download);
  app->callback([options, &status] { status = fill_mask(*options); });
}

}  // namespace sluice::cli
