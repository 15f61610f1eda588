// The memory of a pass, and its calls from outside. The steps are in steps.cc.
#include "pass/pass.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

namespace sluice {

Timeline make_timeline(const Model& model, KvType type, uint64_t allowance) {
  if (!model.makes().text) return Timeline(model.layers());
  return {model.layers(), type, allowance};
}

// --- memory --------------------------------------------------------------------------------------

Pass::Widths Pass::widths_of(const Model& model) {
  int64_t q = 0, k = 0, v = 0, attended = 0, ff = 0, heads = kTileQueries, head_dim = 0;
  int64_t branch = std::max(model.config().n_embd, model.experts().n);
  for (const LayerShape& layer : model.layers()) {
    const DeltaShape& delta = layer.delta;
    const int64_t own_q = layer.both_ways ? 0 : layer.q_width();  // else kept for all tokens
    q = std::max({q, own_q, layer.conv_channels, delta.channels()});
    k = std::max({k, layer.kv_rows(), layer.conv_channels, delta.value_rows()});
    v = std::max({v, layer.kv_rows(), layer.conv_channels, delta.n_value_heads});
    attended = std::max({attended, layer.q_rows(), layer.conv_channels, delta.value_rows()});
    branch = std::max(branch, delta.n_value_heads);
    ff = std::max(ff, layer.n_ff);
    heads = std::max(heads, layer.n_heads);
    head_dim = std::max(head_dim, layer.head_dim);
  }
  const int64_t inputs = model.layer_inputs().width;
  if (model.head() == Head::masks) ff = std::max(ff, model.config().n_embd);
  for (const Linear& dense : model.dense()) {
    ff = std::max(ff, model.manifest().piece(dense.matrix).rows);
    branch = std::max(branch, model.manifest().piece(dense.matrix).rows);
  }
  Widths widths{{q, k, v, attended, std::max(ff, inputs), ff, branch},
                0,
                std::max({model.config().n_embd, attended, ff, model.all_inputs()}),
                std::min<int64_t>(heads, kMaxQueries),
                head_dim};
  for (int64_t& row : widths.rows) widths.block += row = padded_rows(row);
  return widths;
}

// Of the buffers, for passes of up to so many tokens. A single token has a row for each of its
// experts.
int64_t Pass::block_rows(const Model& model, int64_t n_tokens) {
  return std::min(std::max(n_tokens, model.experts().n_used), kBlockTokens);
}

// Floats of a token's row of PassState::kept.
int64_t Pass::kept_width(const Model& model) {
  int64_t width = 0;
  for (const LayerShape& layer : model.layers()) width = std::max(width, layer.kept_width());
  return padded_rows(width);
}

uint64_t Pass::shared_bytes(const Model& model, int64_t n_tokens) {
  const Widths widths = widths_of(model);
  const int64_t block = block_rows(model, n_tokens);
  return 4 * static_cast<uint64_t>(block * widths.block) + Activations::bytes(widths.cols, block) +
         rope_bytes(model, n_tokens);
}

uint64_t Pass::rope_bytes(const Model& model, int64_t n_tokens) {
  uint64_t bytes = 0;
  for (const RopeShape& rope : model.ropes())
    bytes += RopeTable::bytes(rope.numbers.dims, n_tokens);
  return bytes;
}

uint64_t Pass::session_bytes(const Model& model, int64_t n_tokens, int64_t logit_rows) {
  const Config& config = model.config();
  const int64_t vector = model.vector_width() + (model.dense().empty() ? 0 : config.n_embd);
  const int64_t logits = model.n_head_parts() > 0 ? padded_rows(config.n_vocab) : 0;
  const int64_t result = std::max(vector, logits);
  return state_bytes(model, n_tokens) + 4 * static_cast<uint64_t>(logit_rows * result);
}

uint64_t Pass::state_bytes(const Model& model, int64_t n_tokens) {
  const auto width = static_cast<uint64_t>(model.config().n_embd);
  const auto used = static_cast<uint64_t>(model.experts().n_used);
  uint64_t of_token = used == 0 ? 4 * width : 2 * 4 * width + (8 + 4 + 4 + 4) * used;
  const auto inputs = static_cast<uint64_t>(padded_rows(model.all_inputs()));
  of_token += 4 * inputs + 4 * static_cast<uint64_t>(kept_width(model));
  // A strip of the last token's inputs may reach beyond its row.
  return static_cast<uint64_t>(n_tokens) * of_token + (inputs > 0 ? 4 * kStripRows : 0);
}

uint64_t Pass::scratch_bytes(const Model& model, int n_workers) {
  const Widths widths = widths_of(model);
  const uint64_t one = Activations::bytes(widths.cols, 1) + MatmulScratch::bytes(widths.cols) +
                       AttentionScratch::bytes(widths.queries, widths.head_dim);
  return one * static_cast<uint64_t>(n_workers);
}

uint64_t Pass::held_activation_bytes() const {
  uint64_t total = 0;
  if (block_capacity_ > 0) total += Activations::bytes(widths_.cols, block_capacity_);
  for (const AlignedBuffer& buffer : buffers_) total += buffer.size();
  return total + rope_bytes();
}

uint64_t Pass::rope_bytes() const {
  uint64_t total = 0;
  for (const RopeTable& rope : ropes_) total += rope.held_bytes();
  return total;
}

Pass::Pass(const Model& model, const Weights& weights, const Kernels& kernels, Pool& pool,
           int64_t context, bool profile)
    : model_(model),
      weights_(weights),
      kernels_(kernels),
      pool_(pool),
      context_(context),
      profile_(profile),
      widths_(widths_of(model)),
      ones_(static_cast<size_t>(widths_.head_dim), 1.0f) {}

Status Pass::prepare() {
  for (int i = 0; i < pool_.size(); ++i) {
    Worker worker;
    SLUICE_ASSIGN(worker.one, Activations::allocate(widths_.cols, 1));
    SLUICE_ASSIGN(worker.matmul, MatmulScratch::allocate(widths_.cols));
    SLUICE_ASSIGN(worker.attention, AttentionScratch::allocate(widths_.queries, widths_.head_dim));
    worker.matmul.time_unpacking(profile_);
    workers_.push_back(std::move(worker));
  }
  return {};
}

// --- the pass ------------------------------------------------------------------------------------

namespace {

Status make_room(AlignedBuffer& buffer, uint64_t bytes) {
  if (buffer.size() >= bytes) return {};
  buffer = AlignedBuffer();
  SLUICE_ASSIGN(buffer, AlignedBuffer::allocate(bytes, "the prompt's activations"));
  return {};
}

}  // namespace

// Of the pass, and of the buffers for its blocks.
Status Pass::make_room(PassState& pass, int64_t n_tokens) {
  SLUICE_TRY(sluice::make_room(pass.x, state_bytes(model_, n_tokens)));
  const int64_t block = block_rows(model_, n_tokens);
  if (block <= block_capacity_) return {};
  block_capacity_ = 0;
  shared_ = Activations();
  SLUICE_ASSIGN(shared_, Activations::allocate(widths_.cols, block));
  for (size_t i = 0; i < kBlockBuffers; ++i)
    SLUICE_TRY(sluice::make_room(buffers_[i], 4 * static_cast<uint64_t>(block * widths_.rows[i])));
  block_capacity_ = block;
  return {};
}

Status Pass::begin_rows(PassState& pass, std::span<const float> rows) {
  const auto n = static_cast<int64_t>(rows.size()) / model_.config().n_embd;
  SLUICE_TRY(sluice::make_room(pass.x, state_bytes(model_, n)));
  SLUICE_TRY(make_room(pass, std::min(n, context_)));
  std::memcpy(pass.x.as<float>(), rows.data(), rows.size_bytes());
  const PassText all{.n_tokens = n};
  pass.texts.assign(&all, &all + 1);
  return {};
}

Status Pass::begin(PassState& pass, Timeline& timeline, std::span<const int32_t> tokens) {
  const PassText all{.n_tokens = static_cast<int64_t>(tokens.size()),
                     .position = timeline.positions()};
  return begin(pass, timeline, tokens, {&all, 1});
}

Status Pass::begin(PassState& pass, Timeline& timeline, std::span<const int32_t> tokens,
                   std::span<const PassText> texts) {
  const auto n = static_cast<int64_t>(tokens.size());
  SLUICE_TRY(make_room(pass, n));
  if (ropes_.empty()) {
    for (const RopeShape& rope : model_.ropes()) {
      const int factors = rope.factors_for(context_);
      ropes_.emplace_back(rope.numbers, factors >= 0 ? weights_.vector(factors) : nullptr);
    }
  }
  int64_t positions = 0;
  for (const PassText& text : texts) positions = std::max(positions, text.position + text.n_tokens);
  for (RopeTable& rope : ropes_) SLUICE_TRY(rope.extend(positions));
  SLUICE_TRY(timeline.begin(tokens, places_of(texts) - timeline.positions()));
  pass.timeline = &timeline;
  pass.attention = nullptr;
  pass.tokens = tokens;
  pass.n_tokens = n;
  pass.texts.assign(texts.begin(), texts.end());
  pass.stages.assign(1, {Work::kNoExpert, 0, n});
  float* behind = pass.x.as<float>() + n * model_.config().n_embd;
  pass.inputs = behind;
  if (model_.all_inputs() > 0) behind += n * padded_rows(model_.all_inputs()) + kStripRows;
  pass.kept = behind;
  behind += n * kept_width(model_);
  if (model_.experts().n == 0) return {};
  const int64_t used = n * model_.experts().n_used;
  ExpertChoice& choice = pass.choice;
  choice.sum = behind;
  choice.tokens_by_expert = reinterpret_cast<int64_t*>(choice.sum + n * model_.config().n_embd);
  choice.weights_by_expert = reinterpret_cast<float*>(choice.tokens_by_expert + used);
  choice.weights = choice.weights_by_expert + used;
  choice.experts = reinterpret_cast<int32_t*>(choice.weights + used);
  return {};
}

void Pass::take_up(PassState& pass) {
  now_ = &pass;
  choose({}, nullptr, 0);
  for (Worker& worker : workers_) worker.overflowed = false;
}

// In blocks, because the tokens' rows may be those of a product.
bool Pass::embed(PassState& pass, int64_t first, int64_t n) {
  take_up(pass);
  for (const int64_t end = first + n; first < end;) {
    const int64_t now = std::min(end - first, kBlockTokens);
    pool_.run([this, first, now](int worker) { model_.embed(*this, Work{worker, 0, first, now}); });
    first += now;
  }
  return all_finite();
}

// A layer has five phases: q/k/v | attention | output | gate, up | down. Norms and quantizing are
// further phases if the block has several tokens; for a single token every worker does them itself.
// Outside of parallel_for's bodies only what never changes may be read (Pool::run).
bool Pass::run_block(PassState& pass, int64_t layer, size_t stage, int64_t index) {
  take_up(pass);
  // The stages after the first are made when that has been run for all blocks.
  const bool more_follow = stage == 0 && model_.has_more_stages(layer);
  const Stage of = pass.stages[stage];
  int64_t first = of.first + index * kBlockTokens;
  const int64_t n = std::min(kBlockTokens, of.first + of.n_tokens - first);
  const bool experts = of.expert != Work::kNoExpert;
  if (experts) {
    chosen_ = {pass.choice.tokens_by_expert + first, static_cast<size_t>(n)};
    expert_weights_ = pass.choice.weights_by_expert + first;
    first = 0;
  }
  Points points = pass.points_of(layer);
  if (more_follow || stage + 1 < pass.stages.size()) points.block_output = false;
  const Work work{0, layer, first, n, points, of.expert};
  pool_.run([this, work, stage](int worker) {
    Work mine = work;
    mine.worker = worker;
    if (stage == 0) {
      model_.run_layer(*this, mine);
    } else if (work.expert != Work::kNoExpert) {
      model_.run_expert(*this, mine);
    } else {
      model_.end_layer(*this, mine);
    }
    if (work.points.block_output) show(mine, Point::block_output, Buffer::residual);
  });
  if (stage == 0 && pass.attention != nullptr)
    pass.attention += model_.layer(layer).n_heads * (pass.position_of(0) + 1);
  if (more_follow && index + 1 == n_blocks(pass)) {
    if (model_.experts().n > 0)
      group_by_expert(pass, layer);
    else
      pass.stages.push_back({Work::kNoExpert, 0, pass.n_tokens});
  }
  return all_finite();
}

void Pass::choose(std::span<const int64_t> tokens, float* out, int64_t stride) {
  chosen_ = tokens;
  results_ = out;
  results_stride_ = stride;
}

bool Pass::run_output(PassState& pass, std::span<const int64_t> tokens, float* out,
                      int64_t stride) {
  take_up(pass);
  choose(tokens, out, stride);
  const auto n = static_cast<int64_t>(tokens.size());
  pool_.run([this, n](int worker) { model_.run_output(*this, Work{worker, 0, 0, n}); });
  return all_finite();
}

bool Pass::add_output(PassState& pass, int64_t first, int64_t n, float* sums) {
  const int64_t width = model_.config().n_embd;
  const Input rows = shared_.rows_of(width);
  std::array<int64_t, kBlockTokens> tokens;
  std::iota(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(n), first);
  if (!run_output(pass, std::span(tokens).first(static_cast<size_t>(n)), rows.x, width))
    return false;
  size_t text = text_of(pass.texts, first);
  for (int64_t t = 0; t < n; ++t) {
    if (first + t == pass.texts[text].end()) ++text;
    kernels_.add(rows.row(t), width, sums + static_cast<int64_t>(text) * width);
  }
  return true;
}

bool Pass::run_head(PassState& pass, std::span<const int64_t> tokens, int part, float* out,
                    int64_t stride) {
  take_up(pass);
  choose(tokens, out + part * model_.head_part_rows(), stride);
  const auto n = static_cast<int64_t>(tokens.size());
  const Points points = pass.points_of(model_.config().n_layers);
  pool_.run([this, n, part, points](int worker) {
    const Work work{worker, part, 0, n, points};
    model_.run_head(*this, work);
    if (points.logits && part == model_.n_head_parts() - 1) show_logits(work);
  });
  return all_finite();
}

bool Pass::all_finite() const { return std::ranges::none_of(workers_, &Worker::overflowed); }

std::vector<PhaseTime> Pass::take_profile() {
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
  for (const WeightUse& use : model_.uses()) {
    const Piece& matrix = model_.manifest().piece(use.matrix);
    PhaseTime& time = phases[static_cast<size_t>(use.phase)];
    time.weight_bytes += matrix.bytes;
    time.weights += static_cast<uint64_t>(matrix.rows * matrix.cols);
  }
  phases.push_back(unpacking);
  return phases;
}

}  // namespace sluice
