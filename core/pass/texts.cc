#include "pass/texts.h"

#include <algorithm>

#include "kernels/kv_chunk.h"

namespace sluice {
namespace {

constexpr int64_t kPlaces = 16;  // positions that a kernel reads together

int64_t up_to(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }

}  // namespace

void add_text(std::vector<PassText>& texts, int64_t n_tokens) {
  PassText text{.n_tokens = n_tokens};
  if (!texts.empty()) {
    text.first = texts.back().end();
    text.place = up_to(places_of(texts), kPlaces);
    if (text.place % kKvChunk + n_tokens > kKvChunk) text.place = up_to(text.place, kKvChunk);
  }
  texts.push_back(text);
}

int64_t places_of(std::span<const PassText> texts) {
  const PassText& last = texts.back();
  return last.place + last.position + last.n_tokens;
}

size_t text_of(std::span<const PassText> texts, int64_t token) {
  const auto behind = std::ranges::upper_bound(texts, token, {}, &PassText::first);
  return static_cast<size_t>(behind - texts.begin()) - 1;
}

}  // namespace sluice
