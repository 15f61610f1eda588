// The shapes of layers and of RoPE tables, and the reading of the keys that most families use.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "models/config.h"

namespace sluice {

// One layer's attention and feed-forward part. Layers of one model may differ in every field.
struct LayerShape {
  int64_t n_heads = 0;     // query heads
  int64_t n_kv_heads = 0;  // divides n_heads
  int64_t head_dim = 0;    // of keys, queries and values
  int64_t n_ff = 0;
  int64_t cache = 0;  // the layer whose keys and values it reads: its own, or an earlier one
  int rope = -1;      // which of the model's RoPE tables rotates its heads; -1: none
  // The positions that a token sees. If both_ways is false, the last `window` positions up to its
  // own; 0: all up to its own. If true, those at most window / 2 away from its own; 0: all up to
  // the pass's last. With both_ways, a cache of one text can't be extended to a longer text.
  int64_t window = 0;
  bool both_ways = false;
  float scale = 1;  // factor of the scores

  int64_t q_rows() const { return n_heads * head_dim; }
  int64_t kv_rows() const { return n_kv_heads * head_dim; }
};

enum class RopePairs : uint8_t { adjacent, halves };

// The numbers that a RoPE table (ops/rope.h) is made from.
struct RopeShape {
  int64_t dims = 0;  // a head's first `dims` elements are rotated; even
  RopePairs pairs = RopePairs::halves;
  double freq_base = 10000;
  double scale = 1;  // positions are divided by this
  int factors = -1;  // handle of the dims / 2 numbers that divide the frequencies; -1: none
};

// Reads layers of the usual kind: attention and one feed-forward part. n_heads, n_kv_heads and n_ff
// come from their keys (one number for all layers, or one for each), head_dim is the same in all
// layers, scale = 1 / sqrt(head_dim), rope = -1. Fails with bad_file, or with unsupported_model for
// a mixture of experts or values of another width than keys.
Result<std::vector<LayerShape>> read_layers(ConfigReader& reader, const Config& config);

// Reads the base of a RoPE table's frequencies, a number above 0.
Result<double> read_freq_base(ConfigReader& reader, std::string_view name, double fallback);

// Reads rope.dimension_count, rope.freq_base and linear scaling. Fails with bad_file, or with
// unsupported_model for other ways of scaling.
Result<RopeShape> read_rope(ConfigReader& reader, int64_t head_dim, RopePairs pairs);

}  // namespace sluice
