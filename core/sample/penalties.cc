#include "sample/penalties.h"

#include <algorithm>

namespace sluice {
namespace {

bool has_less(const std::pair<int32_t, uint32_t>& entry, int32_t id) { return entry.first < id; }

// Ids ascending, each once.
void put_in_order(std::vector<std::pair<int32_t, float>>& biases) {
  std::reverse(biases.begin(), biases.end());  // so that the last one of an id stays
  const auto id_of = [](const auto& bias) { return bias.first; };
  std::ranges::stable_sort(biases, {}, id_of);
  const auto rest = std::ranges::unique(biases, {}, id_of);
  biases.erase(rest.begin(), rest.end());
}

}  // namespace

void TokenCounts::move_to(std::span<const int32_t> tokens, size_t begin, size_t end) {
  if (begin >= end_) {
    recount(tokens.subspan(begin, end - begin));
  } else {
    for (const int32_t id : tokens.subspan(end_, end - end_)) {
      const auto place = std::lower_bound(counts_.begin(), counts_.end(), id, has_less);
      if (place != counts_.end() && place->first == id) {
        ++place->second;
      } else {
        counts_.insert(place, {id, 1});
      }
    }
    for (const int32_t id : tokens.subspan(begin_, begin - begin_)) {
      const auto place = std::lower_bound(counts_.begin(), counts_.end(), id, has_less);
      if (--place->second == 0) counts_.erase(place);
    }
  }
  begin_ = begin;
  end_ = end;
}

void TokenCounts::recount(std::span<const int32_t> window) {
  std::vector<int32_t> sorted(window.begin(), window.end());
  std::sort(sorted.begin(), sorted.end());
  counts_.clear();
  for (const int32_t id : sorted) {
    if (counts_.empty() || counts_.back().first != id) counts_.emplace_back(id, 0);
    ++counts_.back().second;
  }
}

Penalties::Penalties(const PenaltyOptions& options, PieceOf piece)
    : options_(options), dry_(options.dry, std::move(piece)) {
  put_in_order(options_.logit_bias);
}

std::span<const LogitOf> Penalties::change(std::span<const float> logits,
                                           std::span<const int32_t> tokens) {
  const PenaltyOptions& o = options_;
  changed_.start(logits);
  changed_.change(o.logit_bias, [](float logit, float bias) { return logit + bias; });
  // Keskar et al.: CTRL, 2019, section 4.1. There a negative logit is divided, too, which makes its
  // token likelier; like llama.cpp, this multiplies it.
  if (o.repeat_penalty != 1 && o.repeat_last_n != 0) {
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
  if (o.presence_penalty != 0 || o.frequency_penalty != 0) {
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
