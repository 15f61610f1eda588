// Samplers that change the logits of some tokens, and leave all others as they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sample/candidates.h"
#include "sample/dry.h"

namespace sluice {

// What they do stands in options.json. By default each is off.
struct PenaltyOptions {
  // Ids, ascending: their logits become -infinity, whatever logit_bias says.
  std::span<const int32_t> suppressed = {};
  std::vector<std::pair<int32_t, float>> logit_bias =
      {};  // id, bias; of two for an id the last counts
  float repeat_penalty = 1;
  int32_t repeat_last_n = 64;
  float presence_penalty = 0;
  float frequency_penalty = 0;
  size_t prompt_tokens = 0;  // the tokens behind these are the answer
  DryOptions dry = {};

  bool repeat_on() const { return repeat_penalty != 1 && repeat_last_n != 0; }
  bool answer_on() const { return presence_penalty != 0 || frequency_penalty != 0; }
  bool dry_on() const { return dry.multiplier > 0 && dry.last_n != 0; }
  // Whether any may change a logit.
  bool on() const {
    return !suppressed.empty() || !logit_bias.empty() || repeat_on() || answer_on() || dry_on();
  }
};

// How often each token occurs in a window over the tokens so far.
class TokenCounts {
 public:
  // Moves the window to [begin, end) of `tokens`, which may only have grown since the last call;
  // begin and end may not have become less.
  void move_to(std::span<const int32_t> tokens, size_t begin, size_t end);
  std::span<const std::pair<int32_t, uint32_t>> all() const { return counts_; }  // ids ascending

 private:
  void recount(std::span<const int32_t> window);
  size_t begin_ = 0;
  size_t end_ = 0;
  std::vector<std::pair<int32_t, uint32_t>> counts_;
};

// The logits that differ from the model's. (Kept between tokens, so that one needs no allocation.)
class ChangedLogits {
 public:
  void start(std::span<const float> logits) {
    logits_ = logits;
    all_.clear();
  }
  // For each (id, value), ids ascending: its logit becomes how(logit, value). Ids outside the
  // vocabulary are left out.
  void change(const auto& entries, auto how) {
    if (entries.empty()) return;
    before_.swap(all_);
    all_.clear();
    auto old = before_.cbegin();
    for (const auto& [id, value] : entries) {
      if (id < 0 || static_cast<size_t>(id) >= logits_.size()) continue;
      while (old != before_.cend() && old->first < id) all_.push_back(*old++);
      const bool changed = old != before_.cend() && old->first == id;
      const float logit = changed ? (old++)->second : tame(logits_[static_cast<size_t>(id)]);
      all_.emplace_back(id, tame(how(logit, value)));
    }
    all_.insert(all_.end(), old, before_.cend());
  }
  std::span<const LogitOf> all() const { return all_; }  // ids ascending

 private:
  std::span<const float> logits_;
  std::vector<LogitOf> all_;
  std::vector<LogitOf> before_;
};

// The samplers of this kind, in their order.
class Penalties {
 public:
  Penalties(PenaltyOptions options, PieceOf piece);
  // The logits that differ from the model's, ids ascending. `tokens` may only have grown since the
  // last call.
  std::span<const LogitOf> change(std::span<const float> logits, std::span<const int32_t> tokens);

 private:
  PenaltyOptions options_;
  std::vector<std::pair<int32_t, float>> biases_;  // ids ascending
  TokenCounts repeated_;                           // in the window of the repeat penalty
  TokenCounts answered_;
  Dry dry_;
  ChangedLogits changed_;
};

}  // namespace sluice
