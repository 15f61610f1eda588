#include "session/generation.h"

#include <algorithm>
#include <utility>

#include "session/sampler_options.h"

namespace sluice {
Generation::Generation(const Tokenizer& tokenizer, const GenerateOptions& options,
                       std::span<const TokenId> prompt, size_t answer_begin, uint64_t seed,
                       uint64_t draws)
    : tokenizer_(tokenizer),
      options_(options),
      sampler_(sampler_options(options, seed, draws),
               penalty_options(options, tokenizer.suppressed(), answer_begin),
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
    forced_tokens_ = tokenizer_.encode(think_close_, true);
  }
  if (forced_tokens_.empty()) return sampler_.sample(logits, tokens);
  const TokenId id = forced_tokens_.front();
  forced_tokens_.erase(forced_tokens_.begin());
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
  for (size_t i = 0; i < texts.size(); ++i) {
    undecided_[i].text = std::move(texts[i].text);
    undecided_[i].reasoning = texts[i].reasoning;
    events.push_back(std::move(undecided_[i]));
  }
  undecided_.erase(undecided_.begin(), undecided_.begin() + static_cast<ptrdiff_t>(texts.size()));
}

}  // namespace sluice
