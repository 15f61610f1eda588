// A timeline whose keys and values say where they belong.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "kernels/kernels.h"
#include "state/timeline.h"

namespace sluice {

inline LayerShape written_layer(int64_t n_kv_heads, int64_t head_dim, int64_t cache) {
  LayerShape layer;
  layer.n_heads = 2 * n_kv_heads;
  layer.n_kv_heads = n_kv_heads;
  layer.head_dim = head_dim;
  layer.cache = cache;
  return layer;
}

// Layers of different shapes; the third one reads the keys and values of the first.
inline const std::vector<LayerShape> kWrittenLayers = {
    written_layer(2, 8, 0), written_layer(1, 20, 1), written_layer(2, 8, 0),
    written_layer(3, 6, 3)};

// The token at position p. Another `past` has others.
inline TokenId written_token(int past, int64_t p) {
  return static_cast<TokenId>(1000 * past + p % 7);
}

// The key (sign 1) or value (sign -1) of position p in a layer's head.
inline std::vector<float> written_numbers(int past, int64_t layer, int64_t head, int64_t p,
                                          float sign) {
  const auto head_dim = kWrittenLayers[static_cast<size_t>(layer)].head_dim;
  std::vector<float> numbers(static_cast<size_t>(head_dim));
  for (size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = sign * static_cast<float>(100 * past + 40 * layer + 10 * head + p % 7) +
                 static_cast<float>(i) / 32;
  }
  return numbers;
}

// Begins a pass of `past` from the timeline's end to the position `end`, and writes its state.
inline void write_pass(Timeline& timeline, int64_t end, int past) {
  const int64_t begin = timeline.positions();
  std::vector<TokenId> tokens;
  for (int64_t p = begin; p < end; ++p) tokens.push_back(written_token(past, p));
  ASSERT_TRUE(timeline.begin(tokens).has_value());
  const Kernels& kernels = *choose_kernels("generic");
  for (int64_t layer = 0; layer < 4; ++layer) {
    const LayerShape& at = kWrittenLayers[static_cast<size_t>(layer)];
    for (int64_t head = 0; at.cache == layer && head < at.n_kv_heads; ++head) {
      for (int64_t p = begin; p < end; ++p) {
        timeline.keys_values(layer).store(kernels, layer, head, p,
                                          written_numbers(past, layer, head, p, 1).data(),
                                          written_numbers(past, layer, head, p, -1).data());
      }
    }
  }
}

// The same, and the pass ends well.
inline void write(Timeline& timeline, int64_t end, int past) {
  write_pass(timeline, end, past);
  timeline.commit();
}

// Element i of position p's key and value in an f32 chunk, by the layout in kernels.h.
inline float written_key(const KvChunk& chunk, int64_t head_dim, int64_t p, int64_t i) {
  float number = 0;
  std::memcpy(&number, chunk.k + 4 * ((p / 16 * head_dim + i) * 16 + p % 16), 4);
  return number;
}
inline float written_value(const KvChunk& chunk, int64_t p, int64_t i) {
  float number = 0;
  std::memcpy(&number, chunk.v + 4 * ((i / 16 * kKvChunk + p) * 16 + i % 16), 4);
  return number;
}

// Whether the timeline holds `past` at the positions [begin, end), in f32.
inline bool holds(const Timeline& timeline, int64_t begin, int64_t end, int past) {
  if (timeline.positions() < end) return false;
  for (int64_t p = begin; p < end; ++p)
    if (timeline.tokens()[static_cast<size_t>(p)] != written_token(past, p)) return false;
  for (int64_t layer = 0; layer < 4; ++layer) {
    const LayerShape& at = kWrittenLayers[static_cast<size_t>(layer)];
    for (int64_t head = 0; head < at.n_kv_heads; ++head) {
      for (int64_t p = begin; p < end; ++p) {
        const KvChunk chunk = timeline.keys_values(at.cache).chunk(at.cache, head, p / kKvChunk);
        const std::vector<float> key = written_numbers(past, at.cache, head, p, 1);
        const std::vector<float> value = written_numbers(past, at.cache, head, p, -1);
        for (int64_t i = 0; i < at.head_dim; ++i) {
          const auto n = static_cast<size_t>(i);
          if (written_key(chunk, at.head_dim, p % kKvChunk, i) != key[n]) return false;
          if (written_value(chunk, p % kKvChunk, i) != value[n]) return false;
        }
      }
    }
  }
  return true;
}

}  // namespace sluice
