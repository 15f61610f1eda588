#include "api/choice.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "api/json_parts.h"
#include "base/format.h"
#include "base/order.h"
#include "kernels/kernels.h"
#include "options/rows.h"
#include "sample/view_choice.h"
#include "session/logits.h"
#include "session/sampler_options.h"
#include "text/tokenizer.h"

namespace sluice {
namespace {

Status check_ids(std::string_view where, std::span<const TokenId> ids, int64_t n_vocab) {
  for (const TokenId id : ids) {
    if (id >= 0 && id < n_vocab) continue;
    return fail(Code::invalid_argument, where, " has the token ", id,
                "; the vocabulary has those from 0 to ", n_vocab - 1);
  }
  return {};
}

// Fails unless the ids are of the vocabulary, each once.
Status check_kept(const RawLogits& raw, int64_t n_vocab) {
  std::vector<TokenId> ids;
  ids.reserve(raw.best.size());
  for (const auto& [id, logit] : raw.best) ids.push_back(id);
  SLUICE_TRY(check_ids("the raw logits", ids, n_vocab));
  sort_indices(ids, std::less<>());
  const auto twice = std::ranges::adjacent_find(ids);
  if (twice == ids.end()) return {};
  return fail(Code::invalid_argument, "the raw logits have the token ", *twice, " twice");
}

// Breakers are found in the bytes of tokens.
bool lacks_pieces(const ChoiceSetting& setting) {
  const PenaltyOptions& penalties = setting.penalties;
  return !setting.piece && penalties.dry_on() && !penalties.dry.breakers.empty();
}

// Of what was kept or, where that is null, of all logits.
Result<ChoiceView> view_of(const ChoiceVocabulary& vocabulary, const RawLogits* raw,
                           std::span<const float> logits, const ChoicePlace& place,
                           const GenerateOptions& options, int most) {
  const int64_t n_vocab = vocabulary.size;
  if (n_vocab < 1 || n_vocab > std::numeric_limits<TokenId>::max()) {
    return fail(Code::invalid_argument, "a vocabulary of ", n_vocab,
                " tokens; give from 1 to 2^31 - 1");
  }
  if (raw == nullptr && logits.size() != static_cast<uint64_t>(n_vocab)) {
    return fail(Code::invalid_argument, logits.size(), " logits for a vocabulary of ", n_vocab,
                "; give one for each token");
  }
  SLUICE_TRY(check_options(options));
  SLUICE_TRY(check_ids("the text", place.before, n_vocab));
  if (raw != nullptr) SLUICE_TRY(check_kept(*raw, n_vocab));
  ChoiceSetting setting = {
      .sampler = sampler_options(options, options.seed.value_or(0), place.draws),
      .penalties = penalty_options(options, vocabulary.suppressed, place.prompt_tokens),
      .piece = vocabulary.piece,
      .before = place.before,
      .most = most};
  if (lacks_pieces(setting)) {
    ChoiceView view;
    view.enough = false;
    return view;
  }
  if (raw != nullptr) return view_choice(*raw, n_vocab, std::move(setting));
  const Kernels& kernels = **(all_kernels().end() - 1);  // all give the same bits
  return view_choice(logits, log_sum_exp(kernels, logits), std::move(setting));
}

Result<std::string> json_of(const Result<ChoiceView>& view) {
  if (!view) return std::unexpected(view.error());
  return choice_json(*view);
}

void append_view(JsonText& out, const ChoiceView& view) {
  out.open("steps", '[');
  for (const ChoiceView::Step& step : view.steps) {
    out.open('{');
    out.text("step", choice_step_name(step.step));
    out.count("left", step.left);
    out.exact("mass", static_cast<float>(step.mass));
    out.close('}');
  }
  out.close(']');
  out.open("candidates", '[');
  for (const ChoiceView::Token& token : view.candidates) {
    out.open('[');
    out.whole(token.id);
    out.exact(token.logprob);
    out.exact(token.changed);
    out.whole(token.cut);
    out.exact(token.p);
    out.close(']');
  }
  out.close(']');
  out.count("nucleus", view.nucleus);
  out.exact("mass", static_cast<float>(view.mass));
  out.key("place");
  view.place ? out.real(*view.place) : out.null();
  out.whole("taken", view.taken);
}

}  // namespace

ChoiceVocabulary choice_vocabulary(const Tokenizer* tokenizer, int64_t n_vocab) {
  ChoiceVocabulary vocabulary;
  vocabulary.size = n_vocab;
  if (tokenizer == nullptr) return vocabulary;
  vocabulary.suppressed = tokenizer->suppressed();
  vocabulary.piece = [tokenizer](TokenId id) { return tokenizer->piece(id); };
  return vocabulary;
}

Result<ChoiceView> view_choice(const ChoiceVocabulary& vocabulary, const RawLogits& raw,
                               const ChoicePlace& place, const GenerateOptions& options, int most) {
  return view_of(vocabulary, &raw, {}, place, options, most);
}

Result<ChoiceView> view_choice(const ChoiceVocabulary& vocabulary, std::span<const float> logits,
                               const ChoicePlace& place, const GenerateOptions& options, int most) {
  return view_of(vocabulary, nullptr, logits, place, options, most);
}

std::string choice_json(const ChoiceView& view) {
  JsonText out;
  out.open('{');
  out.flag("enough", view.enough);
  if (view.enough) append_view(out, view);
  out.close('}');
  return out.take();
}

Result<std::string> choice_json(const Tokenizer* tokenizer, int64_t n_vocab, const RawLogits& raw,
                                const ChoicePlace& place, const GenerateOptions& options,
                                int most) {
  return json_of(view_of(choice_vocabulary(tokenizer, n_vocab), &raw, {}, place, options, most));
}

Result<std::string> choice_json(const Tokenizer* tokenizer, std::span<const float> logits,
                                const ChoicePlace& place, const GenerateOptions& options,
                                int most) {
  const auto n_vocab = static_cast<int64_t>(logits.size());
  return json_of(
      view_of(choice_vocabulary(tokenizer, n_vocab), nullptr, logits, place, options, most));
}

}  // namespace sluice
