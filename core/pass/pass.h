// The forward pass: its buffers, its workers, and the steps that families share. A family calls the
// steps in its order (pass/model.h); they do the threading.
//
// All tokens go through one layer before any goes through the next, and the caller provides the
// weights: begin(), embed(), then run_block() for each block of each stage of each layer once the
// stage's slot is resident, then run_head(). The same functions serve prompts and decoding, and
// weights that are resident, still arriving or streamed. Timelines share one Pass; each has a
// PassState.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/aligned.h"
#include "base/result.h"
#include "base/stopwatch.h"
#include "base/threads.h"
#include "kernels/kernels.h"
#include "ops/attention.h"
#include "ops/matmul.h"
#include "ops/rope.h"
#include "pass/model.h"
#include "pass/observer.h"
#include "pass/profile.h"
#include "pass/texts.h"
#include "state/timeline.h"
#include "weights/weights.h"

namespace sluice {

// GELU comes as it is defined, by erf, and in its form with tanh (kernels.h).
enum class Activation : uint8_t { silu, gelu, gelu_exact };

// What the routers of a layer with experts chose, for n_tokens tokens of n_used experts each. It
// has its memory behind the residual's (PassState::x).
struct ExpertChoice {
  float* sum = nullptr;        // [n_tokens][n_embd], what the experts add to the residual
  float* weights = nullptr;    // [n_tokens][n_used]
  int32_t* experts = nullptr;  // [n_tokens][n_used], ascending for each token
  // The same by expert: those of one follow each other, in the order of the tokens.
  float* weights_by_expert = nullptr;   // [n_tokens * n_used]
  int64_t* tokens_by_expert = nullptr;  // [n_tokens * n_used], counted from the pass's first
};

// A stage of a layer, for some tokens of a pass.
struct Stage {
  int expert = Work::kNoExpert;  // that it computes
  // The tokens: consecutive ones of the pass or, with experts, of ExpertChoice::tokens_by_expert.
  int64_t first = 0;
  int64_t n_tokens = 0;
};

// What a timeline keeps of its current pass from one slice of work to the next.
struct PassState {
  Timeline* timeline = nullptr;
  std::span<const int32_t> tokens;  // read until all are embedded
  int64_t n_tokens = 0;
  std::vector<PassText> texts;  // at least one
  // [n_tokens][n_embd] residual stream, and what `inputs`, `kept` and `choice` point to.
  AlignedBuffer x;
  float* inputs = nullptr;  // [n_tokens][padded all_inputs()], what layers get beside it
  // [n_tokens][padded LayerShape::kept_width()] of a layer that sees both ways: what its first
  // stage leaves to its second (Buffer::kept).
  float* kept = nullptr;
  // Of the layer that is computed: its stages. Those after the first are known once that has been
  // run for all blocks.
  std::vector<Stage> stages;
  ExpertChoice choice;
  // Where a pass of a single token leaves the attention of the layer that is computed, [heads]
  // [position + 1], and then of the next that attends; null: nowhere. begin() clears it.
  float* attention = nullptr;
  // Who is called at the pass's points, and which of each layer and of the head; or nobody and none
  // (Pass::set_observer).
  Observer* observer = nullptr;
  std::vector<Points> points;

  // Of a token, counted from the pass's first.
  const PassText& text_of(int64_t token) const {
    return texts.size() == 1 ? texts[0] : texts[sluice::text_of(texts, token)];
  }
  int64_t position_of(int64_t token) const {
    const PassText& text = text_of(token);
    return text.position + token - text.first;
  }
  Points points_of(int64_t layer) const {
    return points.empty() ? Points{} : points[static_cast<size_t>(layer)];
  }
};

// The timeline of a session of this model: without a past if it writes no text (makes()), because
// nothing comes after its passes. `type` and `allowance`: see Timeline.
Timeline make_timeline(const Model& model, KvType type, uint64_t allowance);

class Pass {
 public:
  // Tokens of a block. A longer prompt goes through a layer block by block. Wasm has smaller
  // blocks: memory is scarcer there, and slices of work must be short.
#if defined(__wasm__)
  static constexpr int64_t kBlockTokens = 128;
#else
  static constexpr int64_t kBlockTokens = 256;
#endif

  // Bytes of buffers for passes of up to n_tokens tokens that end at position n_tokens: those that
  // all timelines share, and those that each has of its own (PassState::x, and the logits of
  // `logit_rows` positions or as many vectors, with what dense layers make them of; the timeline
  // not counted).
  static uint64_t shared_bytes(const Model& model, int64_t n_tokens);
  static uint64_t session_bytes(const Model& model, int64_t n_tokens, int64_t logit_rows);
  static uint64_t state_bytes(const Model& model, int64_t n_tokens);  // of PassState::x
  // Of shared_bytes(): the tables of RoPE.
  static uint64_t rope_bytes(const Model& model, int64_t n_tokens);
  // Bytes of the workers' scratch.
  static uint64_t scratch_bytes(const Model& model, int n_workers);

  // For timelines whose context has `context` tokens. The other arguments must outlive the Pass.
  Pass(const Model& model, const Weights& weights, const Kernels& kernels, Pool& pool,
       int64_t context, bool profile);
  Pass(const Pass&) = delete;
  Pass& operator=(const Pass&) = delete;
  Status prepare();                        // allocates the workers' scratch
  uint64_t held_activation_bytes() const;  // without those of PassStates
  uint64_t rope_bytes() const;             // of these: the tables of RoPE

  // From the next pass on, `observer` is called at the points that it asks for now; null: nobody.
  // The caller owns it. Not during a pass.
  void set_observer(PassState& pass, Observer* observer) const;
  // Starts a pass of `tokens` (each below n_vocab) at the timeline's end (Timeline::begin). The
  // embedding slot must be resident. The timeline must outlive the pass, the tokens its last
  // embed(). Fails with out_of_memory, or with bad_file if an angle of RoPE is too large; the
  // timeline is then as before.
  Status begin(PassState& pass, Timeline& timeline, std::span<const int32_t> tokens);
  // The same of several texts, of which these are the tokens, one text after the other, in a
  // timeline without a past. A model with recurrent layers can have only one.
  Status begin(PassState& pass, Timeline& timeline, std::span<const int32_t> tokens,
               std::span<const PassText> texts);
  // Starts a pass of n rows [n][n_embd] of the residual stream, after which run_head() may come at
  // once, and nothing else, for no more of them at a time than the context has tokens. Fails with
  // out_of_memory.
  Status begin_rows(PassState& pass, std::span<const float> rows);
  // The blocks of a stage (PassState::stages), each of at most kBlockTokens tokens.
  int64_t n_blocks(const PassState& pass, size_t stage = 0) const {
    return (pass.stages[stage].n_tokens - 1) / kBlockTokens + 1;
  }
  // The slot that a stage of this layer needs; -1: none.
  int slot(const PassState& pass, int64_t layer, size_t stage) const {
    const int expert = pass.stages[stage].expert;
    if (expert >= 0) return model_.expert_slot(layer, expert);
    const bool own = stage == 0 || model_.layer(layer).both_ways;
    return own ? model_.layer_slot(layer) : -1;
  }
  // Embeds the pass's n tokens from `first` on. All tokens must be embedded before the first layer
  // runs. The embedding slot must be resident or, with single_rows, the tokens' rows held by a
  // cursor. False: as run_block().
  [[nodiscard]] bool embed(PassState& pass, int64_t first, int64_t n);
  // Runs one block through one stage of a layer. Layers ascend; within a layer stages do, and
  // within a stage blocks. False: it met a number that is NaN, infinite, or 2^48 or more, with
  // every kernel table the same. The pass is then useless.
  [[nodiscard]] bool run_block(PassState& pass, int64_t layer, size_t stage, int64_t block);
  // Writes the logits of some of the pass's tokens, given by their indexes in the pass, that belong
  // to one part of the head. Those of tokens[r] go to their places in the row out + r * stride. The
  // stride is at least n_vocab padded to 16. There are at most kBlockTokens indexes, each once; the
  // weights are read once for all of them. All layers must have run, and the parts ascend. False:
  // as run_block().
  [[nodiscard]] bool run_head(PassState& pass, std::span<const int64_t> tokens, int part,
                              float* out, int64_t stride);
  // The same for the rows that the final norm makes of the tokens' residual, of n_embd numbers.
  [[nodiscard]] bool run_output(PassState& pass, std::span<const int64_t> tokens, float* out,
                                int64_t stride);
  // Adds these rows of n consecutive tokens from `first` on, at most kBlockTokens, to the sums of
  // their texts, [texts][n_embd], one after the other.
  [[nodiscard]] bool add_output(PassState& pass, int64_t first, int64_t n, float* sums);
  // Multiplies n pooled vectors of n_embd numbers by the model's dense(): out[n][vector_width()].
  // Each gives the same bits as it would alone. The head's slot must be resident, and the pass have
  // begun. False: as run_block().
  [[nodiscard]] bool run_dense(PassState& pass, const float* pooled, int64_t n, float* out);

  // The time that each phase took since the last call; empty unless `profile` is set.
  std::vector<PhaseTime> take_profile();

  // --- the steps (steps.cc): every worker calls the same ones in the same order ----------------
  // residual = the token's row of the model's token_table() * scale, plus the first row of the
  // table `types` and its position's row of the table `positions`, unless these are -1.
  void embed(const Work& work, float scale = 1, int positions = -1, int types = -1);
  // residual = the normed residual: after each addition in some encoders. Nothing without a norm.
  void norm_residual(const Work& work, const Norm& norm);
  // Then, if the model has layer_inputs(): inputs = (the token's row of their table * sqrt(width) +
  // norm(the product with the residual / sqrt(n_embd))) / sqrt(2). The norm is of each layer's
  // piece by itself.
  void make_layer_inputs(const Work& work);
  // Multiplies the normed residual by the three matrices, all in one phase so that small ones leave
  // no worker idle.
  void project(const Work& work, const Norm& norm, const Qkv& qkv);
  // Both of the following, for layers that see only what was before.
  void attend(const Work& work, const HeadNorms& norms);
  // Norms and rotates queries and keys, and stores keys and values.
  void store_heads(const Work& work, const HeadNorms& norms);
  // All query heads of the layer attend: attended[heads * head_dim], times the sigmoid of their
  // gates if it is gated. In a layer that sees both ways this is the second stage's, when the first
  // has stored the heads of all tokens.
  void attend_heads(const Work& work);
  // In place of attention, a short convolution (ShortConv): for each channel, of u = b * x the
  // weighted sum over this token and those before it, times c: attended[channels].
  void short_conv(const Work& work, const Norm& norm, const ShortConv& conv);
  // The same in a layer that sees both ways, where the sum is over the tokens on both sides. The
  // layer's first stage makes u and c of all tokens, the second the sums.
  void conv_inputs(const Work& work, const Norm& norm, const ShortConv& conv);
  void centered_conv(const Work& work, const ShortConv& conv);
  // In place of attention, a gated delta net (DeltaNet): q, k and v are convolved over time and go
  // through SiLU, q and k are scaled to norm 1, q then by 1 / sqrt(head_dim). Value head h uses key
  // head h % n_key_heads. attended[value heads * head_dim] is what its state gives (DeltaRule),
  // normed, times SiLU(gate).
  void delta_net(const Work& work, const Norm& norm, const DeltaNet& net);
  // residual += the product with attended. If `norm` is given, the product is normed first.
  void attention_output(const Work& work, const Linear& output, const Norm& norm = {});
  // hidden = activation(gate) * up, two products with the normed residual. gate.out is
  // Buffer::hidden, up.out is Buffer::up.
  void ffn_gate_up(const Work& work, const Norm& norm, Activation activation, const GateUp& both);
  // hidden = activation(the product with the normed residual), a GELU. hidden.out is
  // Buffer::hidden.
  void ffn_up(const Work& work, const Norm& norm, const Linear& hidden,
              Activation activation = Activation::gelu);
  // residual += the product with hidden. If `norm` is given, the product is normed first. If a
  // `scale` is given as well, the residual is then multiplied by that number.
  void ffn_down(const Work& work, const Linear& down, const Norm& norm = {}, int scale = -1);
  // residual += the normed product of `output` with GELU(the product of `gate` with the residual) *
  // this layer's piece of inputs. `scale` as in ffn_down().
  void add_layer_input(const Work& work, const LayerInput& input, int scale = -1);
  // The steps of a mixture of experts (experts.cc). Chooses the experts of each token: those whose
  // product with the normed residual is largest, the lower of two that are equal. Their weights are
  // its softmax over all experts, divided by the sum of those that were chosen.
  void choose_experts(const Work& work, const Norm& norm, const Linear& router);
  // Computes one expert of the layer's for the tokens that chose it, or all that one token chose,
  // and adds the product times the token's weight to its sum. down.out is Buffer::branch; else as
  // ffn_gate_up() and ffn_down().
  void expert(const Work& work, const Norm& norm, Activation activation,
              std::span<const Expert> all);
  // residual += sum.
  void add_experts(const Work& work);
  // The normed residual of the chosen tokens.
  void output(const Work& work, const Norm& norm);
  // Multiplies the normed residual of the chosen tokens by a part of the head. The parts' out is
  // Buffer::results. With a cap, a logit x becomes cap * tanh(x / cap).
  void logits(const Work& work, const Norm& norm, std::span<const Linear> parts, float cap = 0);
  // The same of masked words: multiplies norm(GELU(the product of `dense` with the residual of the
  // chosen tokens)). dense.out is Buffer::hidden.
  void masked_logits(const Work& work, const Linear& dense, const Norm& norm,
                     std::span<const Linear> parts);

 private:
  static constexpr size_t kBlockBuffers = 7;   // from Buffer::q to Buffer::branch
  static constexpr int64_t kTileQueries = 32;  // queries of a prompt that attend together
  // A worker writes to its own all the time, so no two share a cache line.
  struct alignas(64) Worker {
    Activations one;  // a single token's row, which every worker makes for itself
    MatmulScratch matmul;
    AttentionScratch attention;
    PhaseSeconds seconds;
    bool overflowed = false;  // a number was too large since take_up()
  };
  // The input rows of a product: those of a buffer, normed.
  struct Rows {
    Buffer from;
    int64_t cols;
    Norm norm;
  };
  // What happens to a product: it stays, it is added to the residual or, weighed, to the sum of
  // experts, or it becomes part of hidden, at once or later.
  // What becomes part of hidden comes last.
  enum class Epilogue : uint8_t { keep, add, weigh, later, silu, gelu, gelu_exact, gelu_input };
  static Epilogue epilogue_of(Activation activation) {
    return activation == Activation::silu   ? Epilogue::silu
           : activation == Activation::gelu ? Epilogue::gelu
                                            : Epilogue::gelu_exact;
  }
  static bool makes_hidden(Epilogue epilogue) { return epilogue >= Epilogue::silu; }
  // How a branch is added to the residual: normed, seen by an observer, and with a scale (-1: none)
  // for the sum, which only normed ones have.
  struct Addition {
    const Norm& norm;
    Point point;
    bool observed;
    int scale = -1;
  };

  Status make_room(PassState& pass, int64_t n_tokens);
  void take_up(PassState& pass);
  void group_by_expert(PassState& pass, int64_t layer) const;
  void own_experts(const Work& work, const Norm& norm, Epilogue epilogue,
                   std::span<const Expert> all);
  void choose(std::span<const int64_t> tokens, float* out, int64_t stride);
  bool all_finite() const;
  Worker& worker(int index) { return workers_[static_cast<size_t>(index)]; }
  float* row(Buffer buffer, const Work& work, int64_t token, int64_t width) const;
  int64_t stride_of(Buffer buffer, int64_t width) const;
  int64_t rows_of(int matrix) const { return model_.manifest().piece(matrix).rows; }

  template <typename Body>
  void parallel_for(Phase phase, int worker, int64_t n, const Body& body);
  void normalize(const Norm& norm, const float* x, int64_t n, float* out);
  void make_row(const Work& work, const Rows& rows, int64_t token, const Input& in,
                const InputTransform& transform);
  const float* signs_of(const InputTransform& transform) const;
  void multiply(Phase phase, const Work& work, const Rows& rows, Epilogue epilogue,
                std::span<const Linear> linears);
  void add_linear(Phase phase, const Work& work, const Rows& rows, const Linear& linear,
                  const Addition& how);
  void add_branch(const Work& work, int64_t token, int scale);
  void activate(const Work& work, Epilogue epilogue, bool gated, int64_t width, Share strips,
                int64_t first = 0);
  void multiply_strips(const Work& work, const Input& in, Share strips, Epilogue epilogue,
                       const Linear& linear, int64_t first = 0);
  void check(int worker, const float* x, int64_t n);
  void rotate_and_store(const Work& work, const HeadNorms& norms, int64_t token, int64_t kv_head);
  void convolve(const Work& work, const DeltaNet& net, int64_t head);
  void recur(const Work& work, const DeltaNet& net, int64_t head);
  void attend_tiles(const Work& work, const HeadNorms* norms);
  void attend_tile(const Work& work, int64_t token, int64_t n_tokens, int64_t kv_head);

  // The observer's calls (observe.cc), each a phase of its own. add_observed() also adds the branch
  // to the residual.
  void show_input(const Work& work, const Rows& rows, std::span<const Linear> linears);
  void show(const Work& work, Point point, Buffer buffer);
  void add_observed(const Work& work, const Addition& how);
  void show_logits(const Work& work);
  void visit(const Work& work, const PointRows<float>& rows);
  template <typename T>
  PointRows<T> rows_at(Point point, const Work& work, T* first, int64_t width,
                       int64_t stride) const;

  // Maxima over all layers.
  struct Widths {
    int64_t rows[kBlockBuffers];  // floats of a token's row in each buffer
    int64_t block;                // the sum of these
    int64_t cols;                 // values of a product's input row
    int64_t queries;              // queries that attend together
    int64_t head_dim;
  };
  static Widths widths_of(const Model& model);
  static int64_t kept_width(const Model& model);
  static int64_t block_rows(const Model& model, int64_t n_tokens);

  const Model& model_;
  const Weights& weights_;
  const Kernels& kernels_;
  Pool& pool_;
  const int64_t context_;  // tokens
  const bool profile_;
  const Widths widths_;
  std::vector<Worker> workers_;
  const std::vector<float> ones_;  // the weight of heads' norms that have none
  std::vector<RopeTable> ropes_;   // one for each of the model's; made at the first pass, then grow

  // These belong to the slice that is running.
  PassState* now_ = nullptr;
  // The tokens whose results are computed, or those that chose an expert; else none.
  std::span<const int64_t> chosen_;
  const float* expert_weights_ = nullptr;  // of these tokens
  // The first one's results: its row, or its part of a row of logits. Null in layers.
  float* results_ = nullptr;
  int64_t results_stride_ = 0;  // floats from one token's to the next's

  int64_t block_capacity_ = 0;  // rows that the buffers below hold
  Activations shared_;
  AlignedBuffer buffers_[kBlockBuffers];  // [block tokens][padded rows]
};

// Pool::parallel_for, timed if profile_ is set.
template <typename Body>
void Pass::parallel_for(Phase phase, int worker, int64_t n, const Body& body) {
  PhaseSeconds& seconds = workers_[static_cast<size_t>(worker)].seconds;
  const auto at = static_cast<size_t>(phase);
  const bool timed = profile_;
  const Stopwatch wall(timed);
  pool_.parallel_for(worker, n, [&](Share mine) {
    const Stopwatch busy(timed);
    body(mine);
    if (timed) seconds.busy[at] += busy.seconds();
  });
  if (timed && worker == 0) seconds.wall[at] += wall.seconds();
}

}  // namespace sluice
