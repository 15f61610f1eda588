#include "sample/penalties.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "base/order.h"

namespace sluice {
namespace {

// The value of an id; 0 for a new one. Ids ascend.
template <typename Value>
Value& value_of(std::vector<std::pair<int32_t, Value>>& values, int32_t id) {
  const auto is_less = [](const auto& entry, int32_t other) { return entry.first < other; };
  auto place = std::lower_bound(values.begin(), values.end(), id, is_less);
  if (place == values.end() || place->first != id) place = values.insert(place, {id, Value{}});
  return place->second;
}

}  // namespace

void TokenCounts::move_to(std::span<const int32_t> tokens, size_t begin, size_t end) {
  if (begin >= end_) {
    recount(tokens.subspan(begin, end - begin));
  } else {
    for (const int32_t id : tokens.subspan(end_, end - end_)) ++value_of(counts_, id);
    for (const int32_t id : tokens.subspan(begin_, begin - begin_)) --value_of(counts_, id);
    std::erase_if(counts_, [](const auto& entry) { return entry.second == 0; });
  }
  begin_ = begin;
  end_ = end;
}

void TokenCounts::recount(std::span<const int32_t> window) {
  std::vector<int32_t> sorted(window.begin(), window.end());
  sort_indices(sorted, std::less<>());
  counts_.clear();
  for (const int32_t id : sorted) {
    if (counts_.empty() || counts_.back().first != id) counts_.emplace_back(id, 0);
    ++counts_.back().second;
  }
}

Penalties::Penalties(PenaltyOptions options, PieceOf piece)
    : options_(std::move(options)), dry_(std::move(options_.dry), std::move(piece)) {
  constexpr float kNever = -std::numeric_limits<float>::infinity();
  biases_.reserve(options_.suppressed.size() + options_.logit_bias.size());
  for (const int32_t id : options_.suppressed) biases_.emplace_back(id, kNever);
  for (const auto& [id, bias] : options_.logit_bias)
    if (float& value = value_of(biases_, id); value != kNever) value = bias;
}

std::span<const LogitOf> Penalties::change(std::span<const float> logits,
                                           std::span<const int32_t> tokens) {
  const PenaltyOptions& o = options_;
  changed_.start(logits);
  changed_.change(biases_, [](float logit, float bias) { return logit + bias; });
  // Keskar et al.: CTRL, 2019, section 4.1. There a negative logit is divided, too, which makes its
  // token likelier; like llama.cpp, this multiplies it.
  if (o.repeat_on()) {
    const size_t last_n = o.repeat_last_n < 0
                              ? tokens.size()
                              : std::min(tokens.size(), static_cast<size_t>(o.repeat_last_n));
    repeated_.move_to(tokens, tokens.size() - last_n, tokens.size());
    changed_.change(repeated_.all(), [&](float logit, uint32_t) {
      return logit > 0 ? logit / o.repeat_penalty : logit * o.repeat_penalty;
    });
  }
  // OpenAI's definition, over the tokens that were generated: logit - count * frequency - (count >
  // 0) * presence.
  if (o.answer_on()) {
    answered_.move_to(tokens, std::min(o.prompt_tokens, tokens.size()), tokens.size());
    changed_.change(answered_.all(), [&](float logit, uint32_t count) {
      return logit - static_cast<float>(count) * o.frequency_penalty - o.presence_penalty;
    });
  }
  if (dry_.on()) {
    changed_.change(dry_.penalties(tokens),
                    [](float logit, float penalty) { return logit - penalty; });
  }
  return changed_.all();
}

}  // namespace sluice
