#include "models/decoder.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/stopwatch.h"

namespace sluice {
namespace {

// Queries that attend side by side in a prompt.
constexpr int64_t kTileQueries = 32;

// From here on a number counts as overflowed: the squares of as many as a row has may add up to
// more than a float holds, and a norm would make zeros of them.
constexpr float kTooLarge = 0x1p48f;

}  // namespace

// --- binding -------------------------------------------------------------------------------------

Result<Decoder> Decoder::bind(const Gguf& gguf, const Config& config) {
  Decoder decoder;
  decoder.config_ = config;
  decoder.needs_ = Needs(static_cast<int>(config.n_layers) + 2);
  Needs& needs = decoder.needs_;
  SLUICE_ASSIGN(decoder.embedding_,
                needs.add_matrix(gguf, "token_embd.weight", decoder.embedding_slot(),
                                 config.n_vocab, config.n_embd));
  if (gguf.find_tensor("rope_freqs.weight") != nullptr) {
    SLUICE_ASSIGN(decoder.rope_freqs_,
                  needs.add_vector(gguf, "rope_freqs.weight", decoder.embedding_slot(),
                                   config.rope_dims / 2));
  }
  for (int64_t layer = 0; layer < config.n_layers; ++layer)
    SLUICE_TRY(decoder.bind_layer(gguf, layer, needs));
  SLUICE_ASSIGN(decoder.output_norm_,
                needs.add_vector(gguf, "output_norm.weight", decoder.head_slot(), config.n_embd));
  decoder.head_ = decoder.embedding_;
  if (gguf.find_tensor("output.weight") != nullptr) {
    SLUICE_ASSIGN(decoder.head_, needs.add_matrix(gguf, "output.weight", decoder.head_slot(),
                                                  config.n_vocab, config.n_embd));
  }
  SLUICE_TRY(needs.refuse_others(gguf, config.architecture));
  return decoder;
}

Status Decoder::bind_layer(const Gguf& gguf, int64_t layer, Needs& needs) {
  const Config& c = config_;
  const auto at = static_cast<size_t>(layer);
  const int slot = layer_slot(layer);
  const int64_t q_rows = c.n_heads[at] * c.head_dim;
  const int64_t kv_rows = c.n_kv_heads[at] * c.head_dim;
  const auto name = [&](std::string_view part) { return concat("blk.", layer, ".", part); };
  const auto matrix = [&](int& handle, std::string_view part, int64_t rows,
                          int64_t cols) -> Status {
    SLUICE_ASSIGN(handle, needs.add_matrix(gguf, name(part), slot, rows, cols));
    return {};
  };
  const auto vector = [&](int& handle, std::string_view part, int64_t length) -> Status {
    SLUICE_ASSIGN(handle, needs.add_vector(gguf, name(part), slot, length));
    return {};
  };
  Layer w{};
  w.q_bias = w.k_bias = w.v_bias = w.q_norm = w.k_norm = -1;
  SLUICE_TRY(vector(w.attn_norm, "attn_norm.weight", c.n_embd));
  SLUICE_TRY(matrix(w.q, "attn_q.weight", q_rows, c.n_embd));
  SLUICE_TRY(matrix(w.k, "attn_k.weight", kv_rows, c.n_embd));
  SLUICE_TRY(matrix(w.v, "attn_v.weight", kv_rows, c.n_embd));
  if (c.qkv_bias) {
    SLUICE_TRY(vector(w.q_bias, "attn_q.bias", q_rows));
    SLUICE_TRY(vector(w.k_bias, "attn_k.bias", kv_rows));
    SLUICE_TRY(vector(w.v_bias, "attn_v.bias", kv_rows));
  }
  if (c.qk_norm) {
    SLUICE_TRY(vector(w.q_norm, "attn_q_norm.weight", c.head_dim));
    SLUICE_TRY(vector(w.k_norm, "attn_k_norm.weight", c.head_dim));
  }
  SLUICE_TRY(matrix(w.output, "attn_output.weight", c.n_embd, q_rows));
  SLUICE_TRY(vector(w.ffn_norm, "ffn_norm.weight", c.n_embd));
  SLUICE_TRY(matrix(w.gate, "ffn_gate.weight", c.n_ff[at], c.n_embd));
  SLUICE_TRY(matrix(w.up, "ffn_up.weight", c.n_ff[at], c.n_embd));
  SLUICE_TRY(matrix(w.down, "ffn_down.weight", c.n_embd, c.n_ff[at]));
  layers_.push_back(w);
  return {};
}

// --- memory --------------------------------------------------------------------------------------

int64_t Decoder::max_cols() const {
  return std::max({config_.n_embd, config_.max_heads() * config_.head_dim, config_.max_ff()});
}

int64_t Decoder::max_queries() const {
  return std::min<int64_t>(std::max(config_.max_heads(), kTileQueries), kMaxQueries);
}

uint64_t Decoder::activation_bytes(int64_t n_tokens) const {
  const int64_t block = std::min(n_tokens, kBlockTokens);
  const int64_t q_rows = padded_rows(config_.max_heads() * config_.head_dim);
  const int64_t kv_rows = padded_rows(config_.max_kv_heads() * config_.head_dim);
  const int64_t row =
      2 * q_rows + 2 * kv_rows + padded_rows(config_.n_embd) + 2 * padded_rows(config_.max_ff());
  return static_cast<uint64_t>(4 * n_tokens * (config_.n_embd + config_.rope_dims) +
                               4 * block * row) +
         Activations::bytes(max_cols(), block) +
         static_cast<uint64_t>(4 * padded_rows(config_.n_vocab));
}

uint64_t Decoder::scratch_bytes(int n_workers) const {
  const uint64_t one = Activations::bytes(max_cols(), 1) + MatmulScratch::bytes(max_cols()) +
                       AttentionScratch::bytes(max_queries(), config_.head_dim);
  return one * static_cast<uint64_t>(n_workers);
}

uint64_t Decoder::held_activation_bytes() const {
  uint64_t total = block_capacity_ > 0 ? Activations::bytes(max_cols(), block_capacity_) : 0;
  for (const AlignedBuffer* buffer : {&x_, &q_, &k_, &v_, &attended_, &out_, &gate_, &up_})
    total += buffer->size();
  return total;
}

uint64_t Decoder::weight_bytes_per_token() const {
  uint64_t total = 0;
  const auto add = [&](int handle) { total += needs_.piece(handle).bytes; };
  for (const Layer& w : layers_) {
    for (const int handle : {w.q, w.k, w.v, w.output, w.gate, w.up, w.down}) add(handle);
  }
  add(head_);
  return total;
}

Status Decoder::prepare(const Weights& weights, const Kernels& kernels, Pool& pool, KvType kv_type,
                        bool profile) {
  weights_ = &weights;
  kernels_ = &kernels;
  pool_ = &pool;
  profile_ = profile;
  cache_.configure(kv_type, config_.n_kv_heads, config_.head_dim);
  workers_.clear();
  for (int i = 0; i < pool.size(); ++i) {
    Worker worker;
    SLUICE_ASSIGN(worker.one, Activations::allocate(max_cols(), 1));
    SLUICE_ASSIGN(worker.matmul, MatmulScratch::allocate(max_cols()));
    SLUICE_ASSIGN(worker.attention, AttentionScratch::allocate(max_queries(), config_.head_dim));
    worker.matmul.time_unpacking(profile);
    workers_.push_back(std::move(worker));
  }
  return {};
}

// --- the pass ------------------------------------------------------------------------------------

Status Decoder::begin(std::span<const int32_t> tokens, int64_t first) {
  const auto n = static_cast<int64_t>(tokens.size());
  SLUICE_TRY(cache_.reserve(first + n));
  const auto room = [](AlignedBuffer& buffer, int64_t floats) -> Status {
    const auto bytes = static_cast<uint64_t>(4 * floats);
    if (buffer.size() >= bytes) return {};
    buffer = AlignedBuffer();
    SLUICE_ASSIGN(buffer, AlignedBuffer::allocate(bytes, "the prompt's activations"));
    return {};
  };
  SLUICE_TRY(room(x_, n * config_.n_embd));
  const int64_t block = std::min(n, kBlockTokens);
  if (block > block_capacity_) {
    block_capacity_ = 0;
    const int64_t q_rows = padded_rows(config_.max_heads() * config_.head_dim);
    const int64_t kv_rows = padded_rows(config_.max_kv_heads() * config_.head_dim);
    shared_ = Activations();
    SLUICE_ASSIGN(shared_, Activations::allocate(max_cols(), block));
    SLUICE_TRY(room(q_, block * q_rows));
    SLUICE_TRY(room(attended_, block * q_rows));
    SLUICE_TRY(room(k_, block * kv_rows));
    SLUICE_TRY(room(v_, block * kv_rows));
    SLUICE_TRY(room(out_, block * padded_rows(config_.n_embd)));
    SLUICE_TRY(room(gate_, block * padded_rows(config_.max_ff())));
    SLUICE_TRY(room(up_, block * padded_rows(config_.max_ff())));
    block_capacity_ = block;
  }
  const float* factors = rope_freqs_ >= 0 ? weights_->vector(rope_freqs_) : nullptr;
  rope_.configure(config_.rope_dims, config_.rope_freq_base, config_.rope_scale_linear, factors);
  SLUICE_TRY(rope_.fill(first, n));
  n_tokens_ = n;
  first_position_ = first;
  for (Worker& worker : workers_) worker.overflowed = false;
  pool_->run([this, tokens](int worker) {
    share_out(Phase::embedding, worker, static_cast<int64_t>(tokens.size()), [&](Share mine) {
      for (int64_t t = mine.begin; t < mine.end; ++t) {
        read_row(weights_->matrix(embedding_), tokens[static_cast<size_t>(t)], residual(t));
      }
    });
  });
  return {};
}

// A layer has five phases: q/k/v | attention | output | gate, up | down. What would need further
// ones (norms, quantizing) every worker does itself for a single token; for more tokens it is
// shared out. Outside of share_out's bodies nothing may be read that ever changes (Pool::run).
void Decoder::run_block(int64_t layer, int64_t index) {
  const int64_t first = index * kBlockTokens;
  const Block block{layer, first, std::min(kBlockTokens, n_tokens_ - first)};
  pool_->run([this, block](int worker) {
    attention(worker, block);
    feed_forward(worker, block);
  });
}

// pool_->share_out, timed where that is asked for.
template <typename Body>
void Decoder::share_out(Phase phase, int worker, int64_t n, const Body& body) {
  if (!profile_) return pool_->share_out(worker, n, body);
  const auto at = static_cast<size_t>(phase);
  PhaseSeconds& seconds = workers_[static_cast<size_t>(worker)].seconds;
  const Stopwatch wall;
  pool_->share_out(worker, n, [&](Share mine) {
    const Stopwatch busy;
    body(mine);
    seconds.busy[at] += busy.seconds();
  });
  if (worker == 0) seconds.wall[at] += wall.seconds();
}

// Shares out n_items, giving each part with the rows that fill_row(token, row) makes, quantized:
// one token's by each worker for itself, the rows of several in a phase before.
template <typename FillRow, typename Body>
void Decoder::with_rows(Phase phase, int worker, int64_t n_tokens, int64_t cols,
                        const FillRow& fill_row, int64_t n_items, const Body& body) {
  if (n_tokens > 1) {
    share_out(Phase::rows, worker, n_tokens, [&](Share mine) {
      const Input shared = shared_.rows_of(cols);
      for (int64_t t = mine.begin; t < mine.end; ++t) {
        fill_row(t, shared.row(t));
        shared.quantize(*kernels_, t);
      }
    });
  }
  bool filled = false;
  share_out(phase, worker, n_items, [&](Share mine) {
    const bool own = n_tokens == 1;
    const Input in =
        own ? workers_[static_cast<size_t>(worker)].one.rows_of(cols) : shared_.rows_of(cols);
    if (own && !filled) {
      fill_row(0, in.row(0));
      in.quantize(*kernels_, 0);
      filled = true;
    }
    body(in, mine);
  });
}

// The strips `mine` of all products in a row: they are dealt out together, so that small matrices
// don't leave workers idle.
void Decoder::multiply(int worker, int64_t n_tokens, const Input& in, Share mine,
                       std::span<const Product> products) {
  int64_t first = 0;
  for (const Product& product : products) {
    const Matrix& matrix = weights_->matrix(product.matrix);
    const Share strips{std::clamp<int64_t>(mine.begin - first, 0, matrix.strips()),
                       std::clamp<int64_t>(mine.end - first, 0, matrix.strips())};
    first += matrix.strips();
    if (strips.begin == strips.end) continue;
    const int64_t stride = padded_rows(matrix.rows);
    matmul(*kernels_, matrix, in, n_tokens, product.out, stride, strips,
           workers_[static_cast<size_t>(worker)].matmul);
    const int64_t begin = strips.begin * kStripRows;
    const int64_t end = std::min(strips.end * kStripRows, matrix.rows);
    for (int64_t t = 0; t < n_tokens; ++t) {
      float* out = product.out + t * stride + begin;
      if (product.bias >= 0)
        kernels_->add(weights_->vector(product.bias) + begin, end - begin, out);
      check(worker, out, end - begin);
    }
  }
}

// Queries, keys and values, the residual and logits are checked as they are made, in the cache.
// From all other places NaN and infinity get into one of these: quantizing, products and SiLU let
// none of them vanish (quant.h).
void Decoder::check(int worker, const float* x, int64_t n) {
  uint32_t seen = 0;  // the sign bit: of one that is too large, infinite or NaN
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t magnitude = std::bit_cast<uint32_t>(x[i]) & 0x7fffffffu;
    seen |= magnitude + (0x80000000u - std::bit_cast<uint32_t>(kTooLarge));
  }
  if (seen >> 31 != 0) workers_[static_cast<size_t>(worker)].overflowed = true;
}

bool Decoder::overflowed() const { return std::ranges::any_of(workers_, &Worker::overflowed); }

void Decoder::attention(int worker, const Block& block) {
  const Layer& w = layers_[static_cast<size_t>(block.layer)];
  const Config& c = config_;
  const int64_t n = block.n_tokens;
  const int64_t n_kv_heads = c.n_kv_heads[static_cast<size_t>(block.layer)];
  const int64_t q_rows = c.n_heads[static_cast<size_t>(block.layer)] * c.head_dim;
  const int64_t strips =
      (padded_rows(q_rows) + 2 * padded_rows(n_kv_heads * c.head_dim)) / kStripRows;

  const auto normed = [&](int64_t t, float* row) {
    kernels_->rms_norm(residual(block.first_token + t), weights_->vector(w.attn_norm), c.n_embd,
                       c.rms_eps, row);
  };
  with_rows(Phase::qkv, worker, n, c.n_embd, normed, strips, [&](const Input& in, Share mine) {
    const Product qkv[] = {{w.q, w.q_bias, q_.as<float>()},
                           {w.k, w.k_bias, k_.as<float>()},
                           {w.v, w.v_bias, v_.as<float>()}};
    multiply(worker, n, in, mine, qkv);
  });

  if (n > 1) {
    share_out(Phase::rope, worker, n * n_kv_heads, [&](Share mine) {
      for (int64_t i = mine.begin; i < mine.end; ++i)
        rotate_and_store(worker, block, i / n_kv_heads, i % n_kv_heads);
    });
  }
  // A few tokens side by side, so that a KV head is read once for all of their heads.
  const int64_t group = c.n_heads[static_cast<size_t>(block.layer)] / n_kv_heads;
  const int64_t tile = std::max<int64_t>(1, kTileQueries / group);
  const int64_t n_tiles = (n + tile - 1) / tile;
  share_out(Phase::attention, worker, n_kv_heads * n_tiles, [&](Share mine) {
    for (int64_t i = mine.begin; i < mine.end; ++i) {
      // With one token, whoever attends over a KV head stores its new position first.
      if (n == 1) rotate_and_store(worker, block, 0, i);
      const int64_t token = i % n_tiles * tile;
      attend_tile(worker, block, token, std::min(tile, n - token), i / n_tiles);
    }
  });

  const auto attended = [&](int64_t t, float* row) {
    std::memcpy(row, attended_.as<float>() + t * q_rows, static_cast<size_t>(4 * q_rows));
  };
  with_rows(
      Phase::output, worker, n, q_rows, attended, padded_rows(c.n_embd) / kStripRows,
      [&](const Input& in, Share mine) { add_to_residual(worker, block, w.output, in, mine); });
}

// Norms (qwen3: before RoPE) and turns one token's key and query heads of one group, stores k and
// v.
void Decoder::rotate_and_store(int worker, const Block& block, int64_t token, int64_t kv_head) {
  const Layer& w = layers_[static_cast<size_t>(block.layer)];
  const Config& c = config_;
  const auto at = static_cast<size_t>(block.layer);
  const int64_t group = c.n_heads[at] / c.n_kv_heads[at];
  const int64_t pass_token = block.first_token + token;
  const auto rotate = [&](float* head, int norm) {
    if (norm >= 0) {
      kernels_->rms_norm(head, weights_->vector(norm), c.head_dim, c.rms_eps, head);
      check(worker, head, c.head_dim);
    }
    const auto turn =
        c.rope_pairs == RopePairs::adjacent ? kernels_->rope_adjacent : kernels_->rope_halves;
    turn(head, rope_.cos(pass_token), rope_.sin(pass_token), rope_.n_pairs());
  };
  float* q = q_.as<float>() + token * padded_rows(c.n_heads[at] * c.head_dim);
  for (int64_t i = 0; i < group; ++i) rotate(q + (kv_head * group + i) * c.head_dim, w.q_norm);
  const int64_t kv_at = token * padded_rows(c.n_kv_heads[at] * c.head_dim) + kv_head * c.head_dim;
  float* k = k_.as<float>() + kv_at;
  rotate(k, w.k_norm);
  cache_.store(*kernels_, block.layer, kv_head, first_position_ + pass_token, k,
               v_.as<float>() + kv_at);
}

// All query heads of a KV head, for the tokens token .. token + n_tokens - 1 of the block.
void Decoder::attend_tile(int worker, const Block& block, int64_t token, int64_t n_tokens,
                          int64_t kv_head) {
  const Config& c = config_;
  const auto at = static_cast<size_t>(block.layer);
  const int64_t group = c.n_heads[at] / c.n_kv_heads[at];
  const int64_t q_rows = c.n_heads[at] * c.head_dim;
  const int64_t q_stride = padded_rows(q_rows);
  const auto chunk_of = [&](int64_t chunk) { return cache_.chunk(block.layer, kv_head, chunk); };
  for (int64_t head = kv_head * group; head < (kv_head + 1) * group; head += kMaxQueries) {
    const Heads heads{
        .q = q_.as<float>() + token * q_stride + head * c.head_dim,
        .q_stride = q_stride,
        .position = first_position_ + block.first_token + token,
        .n_tokens = static_cast<int>(n_tokens),
        .n_heads = static_cast<int>(std::min<int64_t>(kMaxQueries, (kv_head + 1) * group - head)),
        .head_dim = static_cast<int>(c.head_dim),
        .scale = 1.0f / std::sqrt(static_cast<float>(c.head_dim))};
    attend(*kernels_, chunk_of, heads, attended_.as<float>() + token * q_rows + head * c.head_dim,
           q_rows, workers_[static_cast<size_t>(worker)].attention);
  }
}

void Decoder::feed_forward(int worker, const Block& block) {
  const Layer& w = layers_[static_cast<size_t>(block.layer)];
  const Config& c = config_;
  const int64_t n = block.n_tokens;
  const int64_t n_ff = c.n_ff[static_cast<size_t>(block.layer)];
  const int64_t stride = padded_rows(n_ff);

  const auto normed = [&](int64_t t, float* row) {
    kernels_->rms_norm(residual(block.first_token + t), weights_->vector(w.ffn_norm), c.n_embd,
                       c.rms_eps, row);
  };
  // The same worker computes the same rows of gate and up, so it can combine them at once.
  with_rows(Phase::gate_up, worker, n, c.n_embd, normed, stride / kStripRows,
            [&](const Input& in, Share mine) {
              MatmulScratch& scratch = workers_[static_cast<size_t>(worker)].matmul;
              float* gate = gate_.as<float>();
              float* up = up_.as<float>();
              matmul(*kernels_, weights_->matrix(w.gate), in, n, gate, stride, mine, scratch);
              matmul(*kernels_, weights_->matrix(w.up), in, n, up, stride, mine, scratch);
              const int64_t begin = mine.begin * kStripRows;
              const int64_t rows = (mine.end - mine.begin) * kStripRows;
              for (int64_t t = 0; t < n; ++t) {
                float* at = gate + t * stride + begin;
                kernels_->silu_mul(at, up + t * stride + begin, rows, at);
              }
            });

  const auto hidden = [&](int64_t t, float* row) {
    std::memcpy(row, gate_.as<float>() + t * stride, static_cast<size_t>(4 * n_ff));
  };
  with_rows(Phase::down, worker, n, n_ff, hidden, padded_rows(c.n_embd) / kStripRows,
            [&](const Input& in, Share mine) { add_to_residual(worker, block, w.down, in, mine); });
}

void Decoder::add_to_residual(int worker, const Block& block, int matrix_handle, const Input& in,
                              Share strips) {
  const Matrix& matrix = weights_->matrix(matrix_handle);
  const int64_t stride = padded_rows(matrix.rows);
  float* out = out_.as<float>();
  matmul(*kernels_, matrix, in, block.n_tokens, out, stride, strips,
         workers_[static_cast<size_t>(worker)].matmul);
  const int64_t begin = strips.begin * kStripRows;
  const int64_t rows = std::min(strips.end * kStripRows, matrix.rows) - begin;
  for (int64_t t = 0; t < block.n_tokens; ++t) {
    float* sum = residual(block.first_token + t) + begin;
    kernels_->add(out + t * stride + begin, rows, sum);
    check(worker, sum, rows);
  }
}

void Decoder::finish(int64_t index, float* out) {
  pool_->run([this, index, out](int worker) {
    const auto normed = [&](int64_t, float* row) {
      kernels_->rms_norm(residual(index), weights_->vector(output_norm_), config_.n_embd,
                         config_.rms_eps, row);
    };
    with_rows(Phase::head, worker, 1, config_.n_embd, normed,
              padded_rows(config_.n_vocab) / kStripRows, [&](const Input& in, Share mine) {
                const Product logits[] = {{head_, -1, out}};
                multiply(worker, 1, in, mine, logits);
              });
  });
}

std::vector<PhaseTime> Decoder::take_profile() {
  std::vector<PhaseTime> phases;
  if (!profile_) return phases;
  PhaseTime unpacking{"(unpacking)", 0, 0, 0, 0};
  for (const char* name : kPhaseNames) phases.push_back({name, 0, 0, 0, 0});
  for (size_t i = 0; i < workers_.size(); ++i) {
    PhaseSeconds& seconds = workers_[i].seconds;
    for (size_t p = 0; p < kPhases; ++p) {
      if (i == 0) phases[p].wall_ms = 1e3 * seconds.wall[p];
      phases[p].busy_ms += 1e3 * seconds.busy[p];
    }
    unpacking.busy_ms += 1e3 * workers_[i].matmul.take_unpacking();
    seconds = {};
  }
  const auto add = [&](Phase phase, int handle) {
    const Matrix& m = weights_->matrix(handle);
    PhaseTime& time = phases[static_cast<size_t>(phase)];
    time.weight_bytes += static_cast<uint64_t>(m.rows) * m.bytes_per_row();
    time.weights += static_cast<uint64_t>(m.rows * m.cols);
  };
  for (const Layer& w : layers_) {
    for (const int handle : {w.q, w.k, w.v}) add(Phase::qkv, handle);
    add(Phase::output, w.output);
    for (const int handle : {w.gate, w.up}) add(Phase::gate_up, handle);
    add(Phase::down, w.down);
  }
  add(Phase::head, head_);
  phases.push_back(unpacking);
  return phases;
}

}  // namespace sluice
