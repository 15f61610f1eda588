// The shape of each layer and of each table of angles, and how headers usually give them.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "models/config.h"

namespace sluice {

// One layer's attention and feed-forward part. Layers of one model may differ in all of it.
struct LayerShape {
  int64_t n_heads = 0;     // query heads
  int64_t n_kv_heads = 0;  // divides n_heads
  int64_t head_dim = 0;    // of keys, queries and values
  int64_t n_ff = 0;
  int64_t cache = 0;  // the layer whose keys and values it reads: its own, or an earlier one
  int rope = -1;      // which of the model's tables turns its heads; -1: none
  // Positions that a token sees: `window` of them, its own the last; 0: all up to its own. Both
  // ways: those at most window / 2 away from its own; 0: all up to the pass's last. Then what a
  // cache holds of a text is of no use for a longer one.
  int64_t window = 0;
  bool both_ways = false;
  float scale = 1;  // of the scores

  int64_t q_rows() const { return n_heads * head_dim; }
  int64_t kv_rows() const { return n_kv_heads * head_dim; }
};

enum class RopePairs : uint8_t { adjacent, halves };

// What a table of angles (ops/rope.h) is made of.
struct RopeShape {
  int64_t dims = 0;  // the first dims of a head turn; even, at most the head
  RopePairs pairs = RopePairs::halves;
  double freq_base = 10000;
  double scale = 1;  // positions are divided by this
  int factors = -1;  // handle of the dims / 2 numbers that divide the frequencies; -1: none
};

// The usual layers, of attention and one feed-forward part: heads, KV heads and widths from their
// keys (one number or one a layer), one head size, scores divided by its root; no table of angles.
// unsupported_model for a mixture of experts.
Result<std::vector<LayerShape>> read_layers(ConfigReader& reader, const Config& config);

// The base of a table's frequencies: a number above 0.
Result<double> read_freq_base(ConfigReader& reader, std::string_view name, double fallback);

// rope.dimension_count, rope.freq_base and linear scaling, for heads of head_dim. unsupported_model
// for other ways of scaling.
Result<RopeShape> read_rope(ConfigReader& reader, int64_t head_dim, RopePairs pairs);

}  // namespace sluice
