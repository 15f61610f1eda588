// The steps that families share (pass/pass.h). Every worker runs this code and does its part.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/math.h"
#include "ops/hadamard.h"
#include "pass/pass.h"

namespace sluice {
namespace {

// The overflow threshold. Below it the sum of a row's squares stays finite; with an infinite sum a
// norm would make zeros of the row.
constexpr float kTooLarge = 0x1p48f;

}  // namespace

// Floats from one row to the next of a buffer other than the residual. `width` is the buffer's
// width in this layer.
int64_t Pass::stride_of(Buffer buffer, int64_t width) const {
  return buffer == Buffer::results ? results_stride_ : padded_rows(width);
}

// The row of token `token` of the work. `width` is the buffer's width in this layer.
float* Pass::row(Buffer buffer, const Work& work, int64_t token, int64_t width) const {
  if (buffer == Buffer::residual)
    return now_->x.as<float>() + (work.first_token + token) * model_.config().n_embd;
  if (buffer == Buffer::chosen)
    return now_->x.as<float>() +
           chosen_[static_cast<size_t>(work.first_token + token)] * model_.config().n_embd;
  if (buffer == Buffer::results) return results_ + (work.first_token + token) * results_stride_;
  if (buffer == Buffer::sum) {
    const int64_t at = work.first_token + token;
    return now_->choice.sum +
           (work.expert == Work::kNoExpert ? at : chosen_[static_cast<size_t>(at)]) * width;
  }
  if (buffer == Buffer::kept || (buffer == Buffer::q && model_.layer(work.layer).sees_both_ways()))
    return now_->kept + (work.first_token + token) * padded_rows(width);
  if (buffer == Buffer::inputs)
    return now_->inputs + (work.first_token + token) * padded_rows(model_.all_inputs());
  const AlignedBuffer& rows = buffers_[static_cast<size_t>(buffer) - 1];
  return rows.as<float>() + token * padded_rows(width);
}

void Pass::normalize(const Norm& norm, const float* x, int64_t n, float* out) {
  if (norm.kind == Norm::none) {
    std::memcpy(out, x, static_cast<size_t>(4 * n));
    return;
  }
  if (norm.kind == Norm::layer) {
    kernels_.center(x, n, out);
    x = out;
  }
  const float* weight = norm.weight >= 0 ? weights_.vector(norm.weight) : ones_.data();
  kernels_.rms_norm(x, weight, n, norm.eps, out);
  if (norm.bias >= 0) kernels_.add(weights_.vector(norm.bias), n, out);
}

// Queries, keys, values, the residual and logits are checked when they are computed, while they are
// in the cache. A NaN or infinity anywhere else propagates to one of these: quantizing, products,
// SiLU and GELU keep it (quant.h).
void Pass::check(int worker, const float* x, int64_t n) {
  uint32_t seen = 0;  // a number that is too large, infinite or NaN sets the sign bit
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t magnitude = std::bit_cast<uint32_t>(x[i]) & 0x7fffffffu;
    seen |= magnitude + (0x80000000u - std::bit_cast<uint32_t>(kTooLarge));
  }
  if (seen >> 31 != 0) workers_[static_cast<size_t>(worker)].overflowed = true;
}

void Pass::embed(const Work& work, float scale, int positions, int types) {
  parallel_for(Phase::embedding, work.worker, work.n_tokens, [&](Share mine) {
    const int64_t n = model_.config().n_embd;
    const InputTransform& folded = model_.table_transform();
    float* learned = worker(work.worker).one.rows_of(n).row(0);
    for (int64_t t = mine.begin; t < mine.end; ++t) {
      float* x = row(Buffer::residual, work, t, n);
      weights_.read_row(model_.token_table(),
                        now_->tokens[static_cast<size_t>(work.first_token + t)], x);
      if (folded.signs >= 0) undo_hadamard(signs_of(folded), n, model_.fold().block, x);
      if (scale != 1) {
        for (int64_t i = 0; i < n; ++i) x[i] = x[i] * scale;
      }
      if (types >= 0) {
        weights_.read_row(types, 0, learned);
        kernels_.add(learned, n, x);
      }
      if (positions < 0) continue;
      weights_.read_row(positions, now_->position_of(work.first_token + t), learned);
      kernels_.add(learned, n, x);
    }
  });
}

void Pass::make_layer_inputs(const Work& work) {
  const LayerInputs& inputs = model_.layer_inputs();
  if (inputs.width == 0) return;
  const int64_t d = model_.config().n_embd;
  multiply(Phase::layer_input, work, {Buffer::residual, d, {}}, Epilogue::keep,
           {&inputs.projection, 1});
  parallel_for(Phase::layer_input, work.worker, work.n_tokens, [&](Share mine) {
    const int64_t n = model_.all_inputs(), width = inputs.width;
    const float of_product = 1 / std::sqrt(static_cast<float>(d));
    const float of_row = std::sqrt(static_cast<float>(width)), of_sum = 1 / std::sqrt(2.0f);
    float* own = worker(work.worker).one.rows_of(n).row(0);
    for (int64_t t = mine.begin; t < mine.end; ++t) {
      float* x = row(Buffer::inputs, work, t, n);
      weights_.read_row(inputs.table, now_->tokens[static_cast<size_t>(work.first_token + t)], own);
      for (int64_t i = 0; i < n; ++i) x[i] = x[i] * of_product;
      for (int64_t i = 0; i < n; i += width) normalize(inputs.norm, x + i, width, x + i);
      for (int64_t i = 0; i < n; ++i) x[i] = (x[i] + own[i] * of_row) * of_sum;
      check(work.worker, x, n);
    }
  });
}

// --- linears ------------------------------------------------------------------------------------

// Null: all signs are 1.
const float* Pass::signs_of(const InputTransform& transform) const {
  const Fold& fold = model_.fold();
  return fold.signs.empty() ? nullptr : fold.signs.data() + transform.signs;
}

// A row whose heads are put in another order has no norm.
void Pass::make_row(const Work& work, const Rows& rows, int64_t token, const Input& in,
                    const InputTransform& transform) {
  const float* from = row(rows.from, work, token, rows.cols);
  float* made = in.row(token);
  if (transform.repeats > 1)
    group_heads(from, rows.cols, transform.groups, transform.repeats, made);
  else
    normalize(rows.norm, from, rows.cols, made);
  if (transform.signs >= 0)
    apply_hadamard(signs_of(transform), rows.cols, model_.fold().block, made);
  in.quantize(kernels_, token);
}

// Multiplies the same input rows by several matrices, in one phase over all of their strips, so
// that small matrices leave no worker idle. If an activation follows, a worker takes the same
// strips of every matrix instead. A single token's input row is made by every worker for itself;
// several rows are made in a phase before.
void Pass::multiply(Phase phase, const Work& work, const Rows& rows, Epilogue epilogue,
                    std::span<const Linear> linears) {
  const bool own = work.n_tokens == 1;
  const bool together = makes_hidden(epilogue);
  const InputTransform transform = linears[0].transform;
  size_t alike = 1;
  while (alike < linears.size() && linears[alike].transform == transform) ++alike;
  if (alike < linears.size()) {  // the others' rows are transformed in another way
    multiply(phase, work, rows, together ? Epilogue::later : epilogue, linears.first(alike));
    multiply(phase, work, rows, epilogue, linears.subspan(alike));
    return;
  }
  if (!own) {
    parallel_for(Phase::rows, work.worker, work.n_tokens, [&](Share mine) {
      const Input in = shared_.rows_of(rows.cols);
      for (int64_t t = mine.begin; t < mine.end; ++t) make_row(work, rows, t, in, transform);
    });
  }
  if (work.points.linear_input) show_input(work, rows, linears);
  int64_t n_strips = 0;
  for (const Linear& linear : linears) {
    const int64_t strips = padded_rows(rows_of(linear.matrix)) / kStripRows;
    n_strips = together ? strips : n_strips + strips;
  }
  const bool gated = linears.back().out == Buffer::up || epilogue == Epilogue::gelu_input;
  bool made = false;
  parallel_for(phase, work.worker, n_strips, [&](Share mine) {
    Worker& self = worker(work.worker);
    const Input in = own ? self.one.rows_of(rows.cols) : shared_.rows_of(rows.cols);
    if (own && !made) make_row(work, rows, 0, in, transform);
    made = true;
    int64_t first = 0;
    for (const Linear& linear : linears) {
      const int64_t strips = padded_rows(rows_of(linear.matrix)) / kStripRows;
      const Share of{std::clamp<int64_t>(mine.begin - first, 0, strips),
                     std::clamp<int64_t>(mine.end - first, 0, strips)};
      if (!together) first += strips;
      if (of.begin < of.end) multiply_strips(work, in, of, epilogue, linear);
    }
    // This worker has computed the same rows of gate and up, so it can combine them at once. Or
    // those of the gate were computed in a phase before.
    if (together) activate(work, epilogue, gated, rows_of(linears[0].matrix), mine);
  });
}

// hidden = SiLU(hidden) * up, GELU(hidden) * up, GELU(hidden) * the layer's piece of inputs, or
// GELU(hidden), for these strips of the rows from `first` on.
void Pass::activate(const Work& work, Epilogue epilogue, bool gated, int64_t width, Share strips,
                    int64_t first) {
  const int64_t begin = strips.begin * kStripRows;
  const int64_t n = (strips.end - strips.begin) * kStripRows;
  for (int64_t t = 0; t < work.n_tokens; ++t) {
    float* hidden = row(Buffer::hidden, work, first + t, width) + begin;
    const float* up = epilogue == Epilogue::gelu_input
                          ? row(Buffer::inputs, work, t, 0) + work.layer * width + begin
                          : row(Buffer::up, work, first + t, width) + begin;
    if (epilogue == Epilogue::silu) {
      kernels_.silu_mul(hidden, up, n, hidden);
      continue;
    }
    (epilogue == Epilogue::gelu_exact ? kernels_.gelu_exact : kernels_.gelu)(hidden, n, hidden);
    if (!gated) continue;
    for (int64_t i = 0; i < n; ++i) hidden[i] = hidden[i] * up[i];
  }
}

// `in` has the rows of the work; of the other buffers it takes those from `first` on.
void Pass::multiply_strips(const Work& work, const Input& in, Share strips, Epilogue epilogue,
                           const Linear& linear, int64_t first) {
  const Matrix& matrix = weights_.matrix(linear.matrix);
  const int64_t stride = stride_of(linear.out, matrix.rows);
  float* out = row(linear.out, work, first, matrix.rows);
  matmul(kernels_, matrix, in, work.n_tokens, out, stride, strips, worker(work.worker).matmul);
  const int64_t begin = strips.begin * kStripRows;
  const int64_t n = std::min(strips.end * kStripRows, matrix.rows) - begin;
  for (int64_t t = 0; t < work.n_tokens; ++t) {
    float* made = out + t * stride + begin;
    if (linear.scale >= 0) {
      const float scale = *weights_.vector(linear.scale);
      for (int64_t i = 0; i < n; ++i) made[i] = made[i] * scale;
    }
    if (linear.bias >= 0) kernels_.add(weights_.vector(linear.bias) + begin, n, made);
    if (epilogue == Epilogue::later || makes_hidden(epilogue)) continue;
    if (epilogue == Epilogue::weigh) {
      float* sum = row(Buffer::sum, work, first + t, matrix.rows) + begin;
      const float weight = expert_weights_[first + t];
      for (int64_t i = 0; i < n; ++i) sum[i] = sum[i] + made[i] * weight;
      continue;
    }
    if (epilogue == Epilogue::add) {
      float* sum = row(Buffer::residual, work, t, 0) + begin;
      kernels_.add(made, n, sum);
      made = sum;
    }
    check(work.worker, made, n);
  }
}

void Pass::project(const Work& work, const Norm& norm, const Qkv& qkv) {
  const Linear all[] = {qkv.q, qkv.k, qkv.v};
  const size_t n = qkv.k.matrix < 0 ? 1 : qkv.v.matrix < 0 ? 2 : 3;
  multiply(Phase::qkv, work, {Buffer::residual, model_.config().n_embd, norm}, Epilogue::keep,
           std::span(all, n));
}

// Adds each strip to the residual at once or, if the whole row must be normed or observed first,
// adds the rows in a phase of their own.
void Pass::add_linear(Phase phase, const Work& work, const Rows& rows, const Linear& linear,
                      const Addition& how) {
  const bool normed = how.norm.kind != Norm::none;
  multiply(phase, work, rows, normed || how.observed ? Epilogue::keep : Epilogue::add,
           {&linear, 1});
  if (how.observed) {
    add_observed(work, how);
    return;
  }
  if (!normed) return;
  parallel_for(Phase::branch, work.worker, work.n_tokens, [&](Share mine) {
    const int64_t n = model_.config().n_embd;
    for (int64_t t = mine.begin; t < mine.end; ++t) {
      float* branch = row(Buffer::branch, work, t, n);
      normalize(how.norm, branch, n, branch);
      add_branch(work, t, how.scale);
    }
  });
}

// Adds a token's branch to its residual, and multiplies the sum by a number of the file.
void Pass::add_branch(const Work& work, int64_t token, int scale) {
  const int64_t n = model_.config().n_embd;
  float* sum = row(Buffer::residual, work, token, n);
  kernels_.add(row(Buffer::branch, work, token, n), n, sum);
  if (scale >= 0) {
    const float factor = *weights_.vector(scale);
    for (int64_t i = 0; i < n; ++i) sum[i] = sum[i] * factor;
  }
  check(work.worker, sum, n);
}

void Pass::attention_output(const Work& work, const Linear& output, const Norm& norm) {
  const int64_t cols = model_.manifest().piece(output.matrix).cols;
  add_linear(Phase::output, work, {Buffer::attended, cols, {}}, output,
             {norm, Point::attention_branch, work.points.attention_branch});
}

void Pass::ffn_gate_up(const Work& work, const Norm& norm, Activation activation,
                       const GateUp& both) {
  const Linear linears[] = {both.gate, both.up};
  multiply(Phase::gate_up, work, {Buffer::residual, model_.config().n_embd, norm},
           epilogue_of(activation), linears);
}

void Pass::ffn_up(const Work& work, const Norm& norm, const Linear& hidden, Activation activation) {
  multiply(Phase::gate_up, work, {Buffer::residual, model_.config().n_embd, norm},
           epilogue_of(activation), {&hidden, 1});
}

void Pass::ffn_down(const Work& work, const Linear& down, const Norm& norm, int scale) {
  const int64_t cols = model_.layer(work.layer).n_ff;
  add_linear(Phase::down, work, {Buffer::hidden, cols, {}}, down,
             {norm, Point::ffn_branch, work.points.ffn_branch, scale});
}

void Pass::add_layer_input(const Work& work, const LayerInput& input, int scale) {
  multiply(Phase::layer_input, work, {Buffer::residual, model_.config().n_embd, {}},
           Epilogue::gelu_input, {&input.gate, 1});
  add_linear(Phase::layer_input, work, {Buffer::hidden, model_.layer_inputs().width, {}},
             input.output, {input.norm, Point::ffn_branch, false, scale});
}

void Pass::output(const Work& work, const Norm& norm) {
  parallel_for(Phase::rows, work.worker, work.n_tokens, [&](Share mine) {
    const int64_t n = model_.config().n_embd;
    for (int64_t t = mine.begin; t < mine.end; ++t) {
      float* made = row(Buffer::results, work, t, n);
      normalize(norm, row(Buffer::chosen, work, t, n), n, made);
      check(work.worker, made, n);
    }
  });
}

// The cap comes after the check, because it would hide an infinity.
void Pass::logits(const Work& work, const Norm& norm, std::span<const Linear> parts, float cap) {
  const Linear& head = parts[static_cast<size_t>(work.layer)];
  multiply(Phase::head, work, {Buffer::chosen, model_.config().n_embd, norm}, Epilogue::keep,
           {&head, 1});
  if (cap == 0) return;
  parallel_for(Phase::head, work.worker, rows_of(head.matrix), [&](Share mine) {
    for (int64_t t = 0; t < work.n_tokens; ++t) {
      float* x = row(Buffer::results, work, t, 0);
      for (int64_t i = mine.begin; i < mine.end; ++i) x[i] = cap * tanh_f32(x[i] / cap);
    }
  });
}

// --- attention -----------------------------------------------------------------------------------

void Pass::attend(const Work& work, const HeadNorms& norms) {
  if (work.n_tokens > 1) store_heads(work, norms);
  attend_tiles(work, work.n_tokens > 1 ? nullptr : &norms);
}

void Pass::store_heads(const Work& work, const HeadNorms& norms) {
  const int64_t n_kv_heads = model_.layer(work.layer).n_kv_heads;
  parallel_for(Phase::rope, work.worker, work.n_tokens * n_kv_heads, [&](Share mine) {
    for (int64_t i = mine.begin; i < mine.end; ++i)
      rotate_and_store(work, norms, i / n_kv_heads, i % n_kv_heads);
  });
}

void Pass::attend_heads(const Work& work) { attend_tiles(work, nullptr); }

// `norms`: of a single token, whose heads aren't stored yet; null: they are.
void Pass::attend_tiles(const Work& work, const HeadNorms* norms) {
  const LayerShape& shape = model_.layer(work.layer);
  const int64_t n = work.n_tokens;
  // A tile has a few tokens, so that a KV head is read once for the heads of all of them.
  const int64_t group = shape.n_heads / shape.n_kv_heads;
  const int64_t tile = std::max<int64_t>(1, kTileQueries / group);
  const int64_t n_tiles = (n + tile - 1) / tile;
  parallel_for(Phase::attention, work.worker, shape.n_kv_heads * n_tiles, [&](Share mine) {
    for (int64_t i = mine.begin; i < mine.end; ++i) {
      // With one token, the worker that attends over a KV head stores its new position first.
      if (norms != nullptr) rotate_and_store(work, *norms, 0, i);
      // Those of one text attend together.
      const int64_t begin = i % n_tiles * tile, end = std::min(begin + tile, n);
      for (int64_t at = begin, next = 0; at < end; at = next) {
        next = std::min(now_->text_of(work.first_token + at).end() - work.first_token, end);
        attend_tile(work, at, next - at, i / n_tiles);
      }
    }
  });
}

// Norms and rotates one token's query heads that share a KV head. If the layer has a cache of its
// own, does the same with the key, norms the value if it has a norm, and stores both. Gates, which
// lie between the heads, come to lie after them: attention reads the heads of a KV head one after
// the other.
void Pass::rotate_and_store(const Work& work, const HeadNorms& norms, int64_t token,
                            int64_t kv_head) {
  const LayerShape& shape = model_.layer(work.layer);
  const PassText& text = now_->text_of(work.first_token + token);
  const int64_t position = text.position + work.first_token + token - text.first;
  const auto norm_head = [&](float* head, const Norm& norm) {
    if (norm.kind == Norm::none) return;
    normalize(norm, head, shape.head_dim, head);
    check(work.worker, head, shape.head_dim);
  };
  const auto rotate = [&](float* head, const Norm& norm) {
    norm_head(head, norm);
    if (shape.rope < 0) return;
    const RopeTable& rope = ropes_[static_cast<size_t>(shape.rope)];
    const bool adjacent =
        model_.ropes()[static_cast<size_t>(shape.rope)].pairs == RopePairs::adjacent;
    const auto turn = adjacent ? kernels_.rope_adjacent : kernels_.rope_halves;
    turn(head, rope.cos(position), rope.sin(position), rope.n_pairs());
  };
  const int64_t group = shape.n_heads / shape.n_kv_heads;
  const int64_t width = group * shape.head_dim;
  float* q =
      row(Buffer::q, work, token, shape.q_width()) + kv_head * (shape.q_width() / shape.n_kv_heads);
  if (shape.gated) {
    float* gates = worker(work.worker).one.rows_of(width).row(0);
    for (int64_t i = 0; i < group; ++i) {
      std::copy_n(q + (2 * i + 1) * shape.head_dim, shape.head_dim, gates + i * shape.head_dim);
      std::copy_n(q + 2 * i * shape.head_dim, shape.head_dim, q + i * shape.head_dim);
    }
    std::copy_n(gates, width, q + width);
  }
  for (int64_t i = 0; i < group; ++i) rotate(q + i * shape.head_dim, norms.q);
  if (shape.cache != work.layer) return;
  float* k = row(Buffer::k, work, token, shape.kv_rows()) + kv_head * shape.head_dim;
  float* v = row(Buffer::v, work, token, shape.kv_rows()) + kv_head * shape.head_dim;
  if (norms.keys_are_values) std::memcpy(v, k, static_cast<size_t>(4 * shape.head_dim));
  rotate(k, norms.k);
  norm_head(v, norms.v);
  now_->timeline->keys_values(work.layer)
      .store(kernels_, work.layer, kv_head, text.place + position, k, v);
}

// Attends with all query heads of one KV head, for the work's tokens [token, token + n_tokens) of
// one text.
void Pass::attend_tile(const Work& work, int64_t token, int64_t n_tokens, int64_t kv_head) {
  const LayerShape& shape = model_.layer(work.layer);
  const int64_t group = shape.n_heads / shape.n_kv_heads;
  const int64_t width = group * shape.head_dim;
  const KvCache& kv = now_->timeline->keys_values(shape.cache);
  const PassText& text = now_->text_of(work.first_token + token);
  const auto chunk_of = [&](int64_t c) {
    return kv.chunk(shape.cache, kv_head, text.place / kKvChunk + c, text.place % kKvChunk);
  };
  const float* q =
      row(Buffer::q, work, token, shape.q_width()) + kv_head * (shape.q_width() / shape.n_kv_heads);
  const int64_t q_stride = padded_rows(shape.q_width());
  float* out = row(Buffer::attended, work, token, shape.q_rows()) + kv_head * width;
  const int64_t out_stride = padded_rows(shape.q_rows());
  for (int64_t head = 0; head < group; head += kMaxQueries) {
    const int64_t at = head * shape.head_dim;
    const Heads heads{.q = q + at,
                      .q_stride = q_stride,
                      .position = text.position + work.first_token + token - text.first,
                      .end = text.position + text.n_tokens,
                      .window = shape.window,
                      .both_ways = shape.both_ways,
                      .n_tokens = static_cast<int>(n_tokens),
                      .n_heads = static_cast<int>(std::min<int64_t>(kMaxQueries, group - head)),
                      .head_dim = static_cast<int>(shape.head_dim),
                      .scale = shape.scale};
    sluice::attend(kernels_, chunk_of, heads, out + at, out_stride, worker(work.worker).attention);
    if (now_->attention == nullptr) continue;
    const auto chunk = [](const void* of, int64_t c) {
      return (*static_cast<const decltype(chunk_of)*>(of))(c);
    };
    attention_weights(kernels_, chunk, &chunk_of, heads,
                      now_->attention + (kv_head * group + head) * (heads.position + 1),
                      worker(work.worker).attention);
  }
  for (int64_t t = 0; shape.gated && t < n_tokens; ++t) {
    float* made = out + t * out_stride;
    kernels_.sigmoid_mul(made, q + t * q_stride + width, width, made);
  }
}

}  // namespace sluice
