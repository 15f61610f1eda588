// The shapes of RoPE tables, and the reading of the keys that most families use.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "pass/config.h"
#include "state/layer_shape.h"

namespace sluice {

class ConfigReader;

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
