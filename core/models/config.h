// What a decoder needs to know of a model, read and checked from a GGUF header.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "weights/gguf.h"

namespace sluice {

enum class RopePairs { adjacent, halves };

struct Config {
  std::string architecture;  // "llama", "qwen2", "qwen3"
  std::string name;          // general.name, may be empty
  int64_t n_layers = 0;
  int64_t n_embd = 0;  // width of the residual stream
  int64_t n_vocab = 0;
  int64_t context_length = 0;       // that the model was trained for
  std::vector<int64_t> n_heads;     // [n_layers] query heads
  std::vector<int64_t> n_kv_heads;  // [n_layers], divides n_heads
  std::vector<int64_t> n_ff;        // [n_layers]
  int64_t head_dim = 0;
  int64_t rope_dims = 0;  // the first rope_dims of a head turn; even, at most head_dim
  RopePairs rope_pairs = RopePairs::adjacent;
  double rope_freq_base = 10000;
  double rope_scale_linear = 1;  // positions are divided by this
  float rms_eps = 1e-5f;
  bool qk_norm = false;  // RMS norm of each q and k head, before RoPE
  bool qkv_bias = false;

  int64_t max_heads() const;
  int64_t max_kv_heads() const;
  int64_t max_ff() const;
};

// unsupported_model for an architecture or RoPE scaling that we don't compute (named), bad_file for
// absurd or missing numbers. n_vocab comes from the embedding tensor.
Result<Config> read_config(const Gguf& gguf);

}  // namespace sluice
