// The forward pass: its buffers, its workers, and the steps that families share (models/model.h
// puts them in order), each with the threading inside.
//
// It is layer-major and the caller brings the weights: begin(tokens), embed(), then run_block() of
// every layer once its slot is resident, then run_head(). One pass serves prompt and decode, and
// weights that are there, still arriving or streamed. Timelines take turns in one Pass, each with a
// pass of its own under way (PassState).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "base/aligned.h"
#include "base/result.h"
#include "base/stopwatch.h"
#include "base/threads.h"
#include "kernels/kernels.h"
#include "models/kv_cache.h"
#include "models/model.h"
#include "models/profile.h"
#include "ops/attention.h"
#include "ops/matmul.h"
#include "ops/rope.h"
#include "weights/weights.h"

namespace sluice {

enum class Activation : uint8_t { silu, gelu };

// A timeline's pass under way: what lasts from one slice of it to the next.
struct PassState {
  KvCache* cache = nullptr;
  std::span<const int32_t> tokens;  // until all are embedded
  int64_t n_tokens = 0;
  int64_t first_position = 0;
  AlignedBuffer x;  // [n_tokens][n_embd] residual stream
};

class Pass {
 public:
  // Tokens that are computed side by side; a longer prompt goes through a layer in blocks, but for
  // a model with layers that see both ways. (In wasm fewer: memory is scarcer, and a slice of the
  // work is to be short.)
#if defined(__wasm__)
  static constexpr int64_t kBlockTokens = 128;
#else
  static constexpr int64_t kBlockTokens = 256;
#endif

  // Bytes of a pass that ends at position n_tokens with up to as many tokens; of the workers'
  // scratch.
  static uint64_t activation_bytes(const Model& model, int64_t n_tokens);
  static uint64_t scratch_bytes(const Model& model, int n_workers);

  // All of these outlive the pass.
  Pass(const Model& model, const Weights& weights, const Kernels& kernels, Pool& pool,
       bool profile);
  Pass(const Pass&) = delete;
  Pass& operator=(const Pass&) = delete;
  Status prepare();                        // takes the workers' scratch
  uint64_t held_activation_bytes() const;  // without the PassStates'

  // Starts a pass: tokens (each below n_vocab) behind what the cache holds, which has them, too,
  // from here on. The embedding slot must be resident. Where it fails (out_of_memory, bad_file for
  // angles that are too large) the cache may have room for more. Cache and tokens outlive the pass.
  Status begin(PassState& pass, KvCache& cache, std::span<const int32_t> tokens);
  int64_t n_blocks(const PassState& pass) const { return (pass.n_tokens - 1) / block_tokens_ + 1; }
  // The rows of n tokens from `first` on go to the residual stream; all of them before a layer.
  // They are there: the embedding's slot is resident or, of single rows, these are leased.
  void embed(PassState& pass, int64_t first, int64_t n);
  // One block of the pass through one layer; blocks ascending, layers ascending.
  void run_block(PassState& pass, int64_t layer, int64_t block);
  // Logits of token `index` of the pass, once all layers have run: those of a part of the head, at
  // their places in out[n_vocab padded to 16].
  void run_head(PassState& pass, int64_t index, int part, float* out);
  // Has the last of these calls come to a number that is NaN, infinite or 2^48 and more? The pass
  // is then of no use. The same for every kernel table.
  bool overflowed() const;

  // What the phases have taken since the last call; nothing unless made to profile.
  std::vector<PhaseTime> take_profile();

  // --- the steps (steps.cc): every worker calls the same ones in the same order ----------------
  // Residual = rows of the model's token_table(), one for each token, times `scale`, plus (unless
  // -1) the row of `positions` that its position has.
  void embed(const Work& work, float scale = 1, int positions = -1);
  // Products with the normed residual, dealt out together so that small matrices leave no worker
  // idle.
  void project(const Work& work, const Norm& norm, std::initializer_list<Product> products);
  // Queries and keys are normed and turned, keys and values stored; then all query heads of the
  // layer attend: attended[heads * head_dim].
  void attend(const Work& work, const HeadNorms& norms);
  // Residual += the product with what attention gave, normed where a norm is given.
  void add_attended(const Work& work, const Product& output, const Norm& norm = {});
  // Hidden = activation(gate) * up, or GELU(hidden): products with the normed residual, `gate` and
  // `hidden` made in Buffer::hidden, `up` in Buffer::up.
  void feed_gated(const Work& work, const Norm& norm, Activation activation, const Product& gate,
                  const Product& up);
  void feed_gelu(const Work& work, const Norm& norm, const Product& hidden);
  // Residual += the product with hidden, normed where a norm is given.
  void add_hidden(const Work& work, const Product& down, const Norm& norm = {});
  // Products with the normed residual, of one part of the head.
  void logits(const Work& work, const Norm& norm, std::span<const int> parts);

 private:
  static constexpr size_t kBlockBuffers = 7;   // from Buffer::q to Buffer::branch
  static constexpr int64_t kTileQueries = 32;  // that attend side by side in a prompt
  // Written all the time: no two in one cache line.
  struct alignas(64) Worker {
    Activations one;  // a single token's rows: each worker makes its own
    MatmulScratch matmul;
    AttentionScratch attention;
    PhaseSeconds seconds;
    bool overflowed = false;  // what it has checked of this slice
  };
  // What the rows of a product are made of.
  struct Rows {
    Buffer from;
    int64_t cols;
    Norm norm;
  };
  // What becomes of products: they stay, are added to the residual, or make hidden.
  enum class Use : uint8_t { keep, add, silu, gelu };

  void take_up(PassState& pass);
  Worker& worker(int index) { return workers_[static_cast<size_t>(index)]; }
  float* row(Buffer buffer, const Work& work, int64_t token, int64_t width) const;
  int64_t rows_of(int matrix) const { return model_.needs().piece(matrix).rows; }

  template <typename Body>
  void share_out(Phase phase, int worker, int64_t n, const Body& body);
  void normalize(const Norm& norm, const float* x, int64_t n, float* out);
  void make_row(const Work& work, const Rows& rows, int64_t token, const Input& in);
  void multiply(Phase phase, const Work& work, const Rows& rows, Use use,
                std::span<const Product> products);
  void add_product(Phase phase, const Work& work, const Rows& rows, const Product& product,
                   const Norm& norm);
  void activate(const Work& work, Use use, bool gated, int64_t width, Share strips);
  void multiply_strips(const Work& work, const Input& in, Share strips, Use use,
                       const Product& product);
  void check(int worker, const float* x, int64_t n);
  void rotate_and_store(const Work& work, const HeadNorms& norms, int64_t token, int64_t kv_head);
  void attend_tile(const Work& work, int64_t token, int64_t n_tokens, int64_t kv_head);

  // The widest of all layers.
  struct Widths {
    int64_t rows[kBlockBuffers];  // floats of a token's row
    int64_t block;                // of all of these
    int64_t cols;                 // of the longest input
    int64_t queries;              // heads that attend side by side
    int64_t head_dim;
  };
  static Widths widths_of(const Model& model);
  static int64_t block_tokens_of(const Model& model);

  const Model& model_;
  const Weights& weights_;
  const Kernels& kernels_;
  Pool& pool_;
  const bool profile_;
  const Widths widths_;
  const int64_t block_tokens_;
  std::vector<Worker> workers_;
  std::vector<RopeTable> ropes_;  // as the model's; made at the first pass, then growing

  // Of the slice that runs.
  PassState* now_ = nullptr;
  float* logits_ = nullptr;  // of the part of the head

  int64_t block_capacity_ = 0;  // tokens that the buffers below hold
  Activations shared_;
  AlignedBuffer buffers_[kBlockBuffers];  // [block tokens][padded rows]
};

// Pool::share_out, timed where that is asked for.
template <typename Body>
void Pass::share_out(Phase phase, int worker, int64_t n, const Body& body) {
  PhaseSeconds& seconds = workers_[static_cast<size_t>(worker)].seconds;
  const auto at = static_cast<size_t>(phase);
  const bool timed = profile_;
  const Stopwatch wall(timed);
  pool_.share_out(worker, n, [&](Share mine) {
    const Stopwatch busy(timed);
    body(mine);
    if (timed) seconds.busy[at] += busy.seconds();
  });
  if (timed && worker == 0) seconds.wall[at] += wall.seconds();
}

}  // namespace sluice
