// One decoder for the llama-like families (models/registry.cc): RMS norm, RoPE attention over
// grouped KV heads, SwiGLU. Differences between families are data in Config.
//
// The forward pass is layer-major and the caller brings the layers: begin(tokens), then
// run_layer(l) for every layer once its slot is resident, then finish(). One pass serves prompt and
// decode, and weights that are there, still arriving or streamed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/aligned.h"
#include "base/result.h"
#include "base/threads.h"
#include "kernels/kernels.h"
#include "models/config.h"
#include "models/kv_cache.h"
#include "models/profile.h"
#include "ops/attention.h"
#include "ops/matmul.h"
#include "ops/rope.h"
#include "weights/weights.h"

namespace sluice {

class Decoder {
 public:
  // Tokens that are computed side by side; a longer prompt goes through a layer in blocks. (In wasm
  // fewer: memory is scarcer, and a slice of the work is to be short.)
#if defined(__wasm__)
  static constexpr int64_t kBlockTokens = 128;
#else
  static constexpr int64_t kBlockTokens = 256;
#endif

  // Finds and checks every tensor that the model needs; no weights are loaded yet.
  // bad_file, unsupported_type; unsupported_model for a layer's tensor that we don't know.
  static Result<Decoder> bind(const Gguf& gguf, const Config& config);

  const Config& config() const { return config_; }
  const Needs& needs() const { return needs_; }
  int embedding_slot() const { return 0; }
  int layer_slot(int64_t layer) const { return static_cast<int>(layer) + 1; }
  int head_slot() const { return static_cast<int>(config_.n_layers) + 1; }

  // Bytes of a pass over n_tokens tokens, and of the workers' scratch.
  uint64_t activation_bytes(int64_t n_tokens) const;
  uint64_t scratch_bytes(int n_workers) const;
  uint64_t held_activation_bytes() const;  // now
  uint64_t weight_bytes_per_token() const;

  // Takes the workers' scratch and an empty cache. What it is given outlives this object.
  Status prepare(const Weights& weights, const Kernels& kernels, Pool& pool, KvType kv_type,
                 bool profile);
  KvCache& cache() { return cache_; }
  const KvCache& cache() const { return cache_; }

  // Starts a pass: tokens (each below n_vocab) at positions first ... The embedding slot and, from
  // here on, the cache up to the last position must be there. out_of_memory leaves all as it was.
  Status begin(std::span<const int32_t> tokens, int64_t first);
  int64_t n_tokens() const { return n_tokens_; }
  int64_t n_blocks() const { return (n_tokens_ + kBlockTokens - 1) / kBlockTokens; }
  // One block of the pass through one layer; blocks ascending, layers ascending.
  void run_block(int64_t layer, int64_t block);
  void run_layer(int64_t layer) {
    for (int64_t block = 0; block < n_blocks(); ++block) run_block(layer, block);
  }
  // out[n_vocab padded to 16] = logits of token `index` of the pass, once all layers have run.
  void finish(int64_t index, float* out);
  // Has the pass come to a number that is NaN, infinite or 2^48 and more? Looked at after each
  // run_block and finish; its results are then of no use. The same for every kernel table.
  bool overflowed() const;

  // What the phases have taken since the last call; nothing unless prepared to profile.
  std::vector<PhaseTime> take_profile();

 private:
  // Handles into weights_; -1 where the model has none.
  struct Layer {
    int attn_norm, q, k, v, q_bias, k_bias, v_bias, q_norm, k_norm, output, ffn_norm, gate, up,
        down;
  };
  struct Worker {
    Activations one;  // a single token's rows: each worker makes its own
    MatmulScratch matmul;
    AttentionScratch attention;
    PhaseSeconds seconds;
    bool overflowed = false;  // what it has checked of this pass
  };
  struct Block {
    int64_t layer, first_token, n_tokens;
  };
  struct Product {  // out[t][padded rows] = matrix * input (+ bias)
    int matrix;
    int bias;
    float* out;
  };

  Status bind_layer(const Gguf& gguf, int64_t layer, Needs& needs);
  int64_t max_cols() const;
  int64_t max_queries() const;  // heads that attend side by side
  float* residual(int64_t token) const { return x_.as<float>() + token * config_.n_embd; }

  template <typename Body>
  void share_out(Phase phase, int worker, int64_t n, const Body& body);
  template <typename FillRow, typename Body>
  void with_rows(Phase phase, int worker, int64_t n_tokens, int64_t cols, const FillRow& fill_row,
                 int64_t n_items, const Body& body);
  void multiply(int worker, int64_t n_tokens, const Input& in, Share mine,
                std::span<const Product> products);
  void check(int worker, const float* x, int64_t n);
  void rotate_and_store(int worker, const Block& block, int64_t token, int64_t kv_head);
  void attend_tile(int worker, const Block& block, int64_t token, int64_t n_tokens,
                   int64_t kv_head);
  void attention(int worker, const Block& block);
  void feed_forward(int worker, const Block& block);
  void add_to_residual(int worker, const Block& block, int matrix, const Input& in, Share strips);

  Config config_;
  Needs needs_;
  int embedding_ = -1, rope_freqs_ = -1, output_norm_ = -1, head_ = -1;
  std::vector<Layer> layers_;

  const Weights* weights_ = nullptr;
  const Kernels* kernels_ = nullptr;
  Pool* pool_ = nullptr;
  bool profile_ = false;
  KvCache cache_;
  RopeTable rope_;
  std::vector<Worker> workers_;

  // The pass.
  int64_t n_tokens_ = 0;
  int64_t first_position_ = 0;
  AlignedBuffer x_;             // [n_tokens][n_embd] residual stream
  int64_t block_capacity_ = 0;  // tokens that the buffers below hold
  Activations shared_;
  AlignedBuffer q_, k_, v_, attended_, out_, gate_, up_;  // [block tokens][padded rows]
};

}  // namespace sluice
