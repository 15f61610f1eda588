#include "sample/dry.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/math.h"
#include "base/order.h"

namespace sluice {

Breaker::Breaker(std::string text) : text_(std::move(text)), shorter_(text_.size(), 0) {
  for (size_t i = 1; i < text_.size(); ++i) {
    size_t n = shorter_[i - 1];
    while (n > 0 && text_[n] != text_[i]) n = shorter_[n - 1];
    shorter_[i] = static_cast<uint8_t>(n + (text_[n] == text_[i]));
  }
}

bool Breaker::push(char byte, size_t& matched) const {
  while (matched > 0 && text_[matched] != byte) matched = shorter_[matched - 1];
  if (text_[matched] == byte) ++matched;
  if (matched < text_.size()) return false;
  matched = shorter_[matched - 1];
  return true;
}

Dry::Dry(DryOptions options, PieceOf piece)
    : options_(std::move(options)), piece_(std::move(piece)) {
  if (!on()) return;
  for (const std::string& text : options_.breakers) breakers_.emplace_back(text, 0);
}

void Dry::read_breakers(std::span<const int32_t> tokens) {
  if (breakers_.empty()) return;
  for (; read_ < tokens.size(); ++read_) {
    for (const char byte : piece_(tokens[read_]))
      for (auto& [breaker, matched] : breakers_)
        if (breaker.push(byte, matched)) begin_ = read_ + 1;
  }
}

bool Dry::would_break(int32_t id) const {
  if (breakers_.empty()) return false;
  const std::string_view piece = piece_(id);
  for (const auto& [breaker, before] : breakers_) {
    size_t matched = before;
    for (const char byte : piece)
      if (breaker.push(byte, matched)) return true;
  }
  return false;
}

// repeats_[k]: so many tokens are the same at the window's end and k tokens before it. (The
// Z-algorithm, on the window backwards: Gusfield: Algorithms on strings, trees and sequences, 1997,
// 1.4.)
void Dry::find_repeats(std::span<const int32_t> window) {
  const size_t n = window.size();
  const auto back = [&](size_t i) { return window[n - 1 - i]; };
  repeats_.assign(n, 0);
  // Of the repeats so far the one that reaches furthest: [begin, end).
  size_t begin = 0;
  size_t end = 0;
  for (size_t k = 1; k < n; ++k) {
    size_t same = k < end ? std::min<size_t>(repeats_[k - begin], end - k) : 0;
    if (k + same >= end) {
      while (k + same < n && back(same) == back(k + same)) ++same;
      begin = k;
      end = k + same;
    }
    repeats_[k] = static_cast<uint32_t>(same);
  }
}

std::span<const std::pair<int32_t, float>> Dry::penalties(std::span<const int32_t> tokens) {
  penalties_.clear();
  read_breakers(tokens);
  const size_t last_n = options_.last_n < 0
                            ? tokens.size()
                            : std::min(tokens.size(), static_cast<size_t>(options_.last_n));
  const size_t most = std::min(last_n, tokens.size() - begin_);
  const auto allowed = static_cast<uint32_t>(options_.allowed_length);
  if (most < allowed) return {};
  find_repeats(tokens.last(last_n));
  repeated_.clear();
  for (size_t k = 1; k < last_n; ++k) {
    const uint32_t length = std::min(repeats_[k], static_cast<uint32_t>(most));
    const int32_t next = tokens[tokens.size() - k];
    if (length < allowed || next < 0) continue;
    const auto id = static_cast<size_t>(next);
    if (id >= longest_.size()) longest_.resize(id + 1);
    if (longest_[id] == 0) repeated_.push_back(next);
    longest_[id] = std::max(longest_[id], length);
  }
  sort_indices(repeated_, std::less<>());
  for (const int32_t id : repeated_) {
    const uint32_t length = std::exchange(longest_[static_cast<size_t>(id)], 0);
    if (would_break(id)) continue;
    const double power = pow_f64(static_cast<double>(options_.base), length - allowed);
    penalties_.emplace_back(id,
                            static_cast<float>(static_cast<double>(options_.multiplier) * power));
  }
  return penalties_;
}

}  // namespace sluice
