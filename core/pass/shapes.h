// The shapes of RoPE tables, and the reading of the keys that most families use.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ops/rope.h"
#include "pass/config.h"
#include "state/layer_shape.h"

namespace sluice {

class ConfigReader;

enum class RopePairs : uint8_t { adjacent, halves };

// What a RoPE table (ops/rope.h) is made from, and how it is used.
struct RopeShape {
  RopeNumbers numbers;
  RopePairs pairs = RopePairs::halves;
  int factors = -1;  // handle of the dims / 2 numbers that divide the frequencies; -1: none
  // Those that count in place of `factors` if the context has more tokens than original_context,
  // for all positions alike: keys that were rotated before stay as they are. -1: there are none.
  int long_factors = -1;
  int64_t original_context = 0;  // tokens; 0: unknown

  bool is_long(int64_t context) const { return long_factors >= 0 && context > original_context; }
  int factors_for(int64_t context) const { return is_long(context) ? long_factors : factors; }
};

// Whether a family's layers may lack attention: those with 0 key heads have something in its place.
enum class Attention : uint8_t { every_layer, some_layers };

// How many experts a layer has that is a mixture, and how many of them a token chooses. n is 0 if
// a model has none.
struct ExpertCounts {
  int64_t n = 0;
  int64_t n_used = 0;
};

// What a family says of its layers.
struct LayerKinds {
  Attention attention = Attention::every_layer;
  ExpertCounts experts = {};     // of all layers; n is 0 if they are no mixtures
  int64_t experts_in_width = 1;  // how many experts feed_forward_length counts, if it is theirs
};

// Reads layers of the usual kind: attention and one feed-forward part. n_heads, n_kv_heads and n_ff
// come from their keys (one number for all layers, or one for each), head_dim is the same in all
// layers, scale = 1 / sqrt(head_dim), rope = -1. Of layers without attention n_heads, n_kv_heads
// and head_dim are 0. If layers are mixtures, n_ff is the width of one expert:
// expert_feed_forward_length or, without that, its part of feed_forward_length. Fails with
// bad_file, or with unsupported_model for values of another width than keys, or for experts that
// the family doesn't know of.
Result<std::vector<LayerShape>> read_layers(ConfigReader& reader, const Config& config,
                                            const LayerKinds& kinds = {});

// Reads expert_count and expert_used_count of a model whose layers are mixtures of experts. Fails
// with bad_file, or with unsupported_model for ways of choosing that aren't computed.
Result<ExpertCounts> read_experts(ConfigReader& reader, const Config& config);

inline constexpr int64_t kMaxConvTokens = 64;  // 3 or 4 in the models that there are

// Makes layers without attention short convolutions of n_embd channels. shortconv.l_cache is their
// tokens, the present one included. They see both ways if the layers do; their tokens are then of
// an odd number. Fails with bad_file.
Status read_short_convs(ConfigReader& reader, const Config& config,
                        std::vector<LayerShape>& layers);

inline constexpr int64_t kMaxDeltaTaps = 8;   // tokens of a delta net's convolution
inline constexpr int64_t kMaxDeltaDim = 256;  // of a delta net's head

// Makes some layers gated delta nets in place of attention, with the numbers ssm.conv_kernel,
// ssm.state_size (of a head), ssm.group_count (key heads), ssm.time_step_rank (value heads) and
// ssm.inner_size. Which ones: attention.recurrent_layers says so of each block, or all but every
// n-th layer, n in full_attention_interval; `period` if both are missing. Fails with bad_file, or
// with unsupported_model for sizes that aren't computed.
Status read_delta_nets(ConfigReader& reader, const Config& config, int64_t period,
                       std::vector<LayerShape>& layers);

inline constexpr int64_t kMaxWindow = int64_t{1} << 30;  // positions

// Sets the windows of layers of which some see all positions. attention.sliding_window is their
// size; if it is 0 or missing, all layers see all. attention.sliding_window_pattern says for each
// layer whether it has the window, or is a number n: every n-th layer sees all, that is of each n
// the one numbered `global`, the last one if that is -1. It is `period` if it is missing. With a
// period of 0 both keys must be there, the pattern with an entry for each layer. Fails with
// bad_file.
Status read_windows(ConfigReader& reader, int64_t period, std::vector<LayerShape>& layers,
                    int64_t global = -1);

// Makes all layers see both ways.
void see_both_ways(std::vector<LayerShape>& layers);

// Of layers with heads of two sizes: those with a window have attention.key_length_swa elements a
// head. Their scale becomes 1 / sqrt(head_dim). Fails as read_layers() does.
Status read_local_heads(ConfigReader& reader, std::vector<LayerShape>& layers);

// Makes the last attention.shared_kv_layers layers read the keys and values of the last layer
// before them that sees as far back. Fails with bad_file if there is none whose heads are of this
// number and size.
Status read_shared_caches(ConfigReader& reader, std::vector<LayerShape>& layers);

// Reads embedding_length_per_layer_input, the width of what each layer gets beside the residual; 0
// or missing: nothing. Fails with bad_file if that of all layers together is absurd.
Result<int64_t> read_input_width(ConfigReader& reader, const Config& config);

// Reads the number c of a cap c * tanh(x / c); 0: none. Fails with bad_file if it is absurd.
Result<float> read_cap(ConfigReader& reader, std::string_view name);

// Reads the base of a RoPE table's frequencies, a number above 0.
Result<double> read_freq_base(ConfigReader& reader, std::string_view name, double fallback);

// Reads rope.dimension_count, rope.freq_base and rope.scaling.*: the types none, linear (also if
// there is no type), yarn and longrope. Factors are bound by the Binder. Fails with bad_file, or
// with unsupported_model for another type.
Result<RopeShape> read_rope(ConfigReader& reader, const Config& config, int64_t head_dim,
                            RopePairs pairs);

// The table of layers with a window, beside that of the others: its base is rope.freq_base_swa
// (10000 if that is missing), its positions aren't scaled, and it turns rope.dimension_count_swa
// elements of a head (all if that is missing). Fails with bad_file.
Result<RopeShape> read_local_rope(ConfigReader& reader, const RopeShape& global, int64_t head_dim);

}  // namespace sluice
