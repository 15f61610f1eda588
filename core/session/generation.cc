#include "session/generation.h"

#include <algorithm>
#include <utility>

namespace sluice {
namespace {

SamplerOptions sampler_options(const GenerateOptions& options, uint64_t seed, uint64_t draws) {
  return {.temperature = options.temperature,
          .top_k = options.top_k,
          .top_p = options.top_p,
          .min_p = options.min_p,
          .top_n_sigma = options.top_n_sigma,
          .typical_p = options.typical_p,
          .xtc_probability = options.xtc_probability,
          .xtc_threshold = options.xtc_threshold,
          .seed = seed,
          .draws = draws};
}

PenaltyOptions penalty_options(const GenerateOptions& options, const Tokenizer& tokenizer,
                               size_t prompt_tokens) {
  return {.suppressed = tokenizer.suppressed(),
          .logit_bias = options.logit_bias,
          .repeat_penalty = options.repeat_penalty,
          .repeat_last_n = options.repeat_last_n,
          .presence_penalty = options.presence_penalty,
          .frequency_penalty = options.frequency_penalty,
          .prompt_tokens = prompt_tokens,
          .dry = {.multiplier = options.dry_multiplier,
                  .base = options.dry_base,
                  .allowed_length = options.dry_allowed_length,
                  .last_n = options.dry_penalty_last_n,
                  .breakers = options.dry_sequence_breakers}};
}

}  // namespace

Generation::Generation(const Tokenizer& tokenizer, const GenerateOptions& options,
                       std::span<const TokenId> prompt, size_t answer_begin, uint64_t seed,
                       uint64_t draws)
    : tokenizer_(tokenizer),
      options_(options),
      sampler_(sampler_options(options, seed, draws),
               penalty_options(options, tokenizer, answer_begin),
               [&tokenizer](TokenId id) { return tokenizer.piece(id); }),
      answer_begin_(answer_begin) {
  text_.start(&tokenizer_, tokenizer_.is_special(prompt.back()), options.stop);
}

void Generation::write_reply(const ReplyFormat& format, int64_t max_thinking,
                             bool at_start_of_text) {
  std::vector<std::string> stop = options_.stop;
  stop.insert(stop.end(), format.stop.begin(), format.stop.end());
  text_.start(&tokenizer_, at_start_of_text, std::move(stop), format);
  end_tokens_ = format.end_tokens;
  think_close_ = format.think_close;
  max_thinking_ = max_thinking;
}

TokenId Generation::next_token(std::span<const float> logits, std::span<const TokenId> tokens,
                               int64_t reasoning_tokens) {
  const bool too_long = max_thinking_ >= 0 && reasoning_tokens >= max_thinking_;
  if (too_long && thinking()) {
    max_thinking_ = -1;
    for (const TokenId id : tokenizer_.encode(think_close_, true)) forced_tokens_.push_back(id);
  }
  if (forced_tokens_.empty()) return sampler_.sample(logits, tokens);
  const TokenId id = forced_tokens_.front();
  forced_tokens_.pop_front();
  return id;
}

bool Generation::is_end_token(TokenId id) const {
  if (options_.ignore_eos) return false;
  return tokenizer_.is_end(id) || std::ranges::find(end_tokens_, id) != end_tokens_.end();
}

bool Generation::add_token(Event event) {
  std::vector<ReplyText> certain;
  const bool stopped = text_.push(event.id, certain);
  undecided_.push_back(std::move(event));
  release(certain);
  return stopped;
}

bool Generation::flush_text() {
  std::vector<ReplyText> certain;
  const bool stopped = text_.flush(certain);
  release(certain);
  return stopped;
}

void Generation::release(std::vector<ReplyText>& texts) {
  for (ReplyText& one : texts) {
    undecided_.front().text = std::move(one.text);
    undecided_.front().reasoning = one.reasoning;
    events.push_back(std::move(undecided_.front()));
    undecided_.pop_front();
  }
}

}  // namespace sluice
