#include "ops/hadamard.h"

#include <cmath>
#include <cstring>

namespace sluice {
namespace {

// Four numbers in a vector, of which every machine has some kind.
using Four [[gnu::vector_size(16)]] = float;

Four load(const float* x) {
  Four four;
  std::memcpy(&four, x, sizeof four);
  return four;
}

void store(float* x, Four four) { std::memcpy(x, &four, sizeof four); }

// The sums and differences at the distances 1 and 2.
Four first_two_steps(Four x) {
  constexpr Four kOdd = {1, -1, 1, -1}, kUpper = {1, 1, -1, -1};
  x = __builtin_shufflevector(x, x, 0, 0, 2, 2) + __builtin_shufflevector(x, x, 1, 1, 3, 3) * kOdd;
  return __builtin_shufflevector(x, x, 0, 1, 0, 1) +
         __builtin_shufflevector(x, x, 2, 3, 2, 3) * kUpper;
}

// x = H x for one block of n.
void transform(float* x, int64_t n) {
  for (int64_t i = 0; i < n; i += 4) store(x + i, first_two_steps(load(x + i)));
  int64_t h = 4;
  // Two steps in one reading: at the distance h, and of the results at 2 * h.
  for (; 4 * h <= n; h *= 4) {
    for (float* group = x; group < x + n; group += 4 * h) {
      for (float* at = group; at < group + h; at += 4) {
        const Four a = load(at), b = load(at + h), c = load(at + 2 * h), d = load(at + 3 * h);
        store(at, (a + b) + (c + d));
        store(at + h, (a - b) + (c - d));
        store(at + 2 * h, (a + b) - (c + d));
        store(at + 3 * h, (a - b) - (c - d));
      }
    }
  }
  for (float* at = x; h < n && at < x + h; at += 4) {
    const Four a = load(at), b = load(at + h);
    store(at, a + b);
    store(at + h, a - b);
  }
  const float scale = 1.0f / std::sqrt(static_cast<float>(n));
  for (int64_t i = 0; i < n; i += 4) store(x + i, load(x + i) * scale);
}

[[gnu::noinline]] void multiply(const float* by, int64_t n, float* x) {
  for (int64_t i = 0; by != nullptr && i < n; i += 4) store(x + i, load(x + i) * load(by + i));
}

[[gnu::noinline]] void transform_row(int64_t width, int64_t block, float* x) {
  for (float* const end = x + width; x < end; x += block) transform(x, block);
}

}  // namespace

void apply_hadamard(const float* signs, int64_t width, int64_t block, float* x) {
  multiply(signs, width, x);
  transform_row(width, block, x);
}

void undo_hadamard(const float* signs, int64_t width, int64_t block, float* x) {
  transform_row(width, block, x);
  multiply(signs, width, x);
}

void group_heads(const float* from, int64_t width, int64_t groups, int64_t repeats, float* to) {
  const int64_t head = width / (groups * repeats);
  for (int64_t k = 0; k < groups; ++k)
    for (int64_t r = 0; r < repeats; ++r, to += head)
      std::memcpy(to, from + (k + groups * r) * head, static_cast<size_t>(4 * head));
}

}  // namespace sluice
