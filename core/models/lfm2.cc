// LFM2 (Liquid AI 2025): most layers are short convolutions, the others grouped attention with
// norms of the q and k heads, which sees a window if the file has one. A SiLU-gated feed-forward
// part in every layer. The final norm is called token_embd_norm. In files that make vectors of
// texts all layers see both ways, and there is no head.
#include "models/registry.h"
#include "pass/binder.h"
#include "pass/config_reader.h"
#include "pass/pass.h"

namespace sluice {
namespace {

class Lfm2 final : public Model {
 public:
  Lfm2(const Config& config, const Cut& cut, Head head) : Model(config, cut, head) {}
  Status bind(const Gguf& gguf);
  void embed(Pass& pass, const Work& work) const override;
  void run_layer(Pass& pass, const Work& work) const override;
  void end_layer(Pass& pass, const Work& work) const override;
  void run_output(Pass& pass, const Work& work) const override;
  void run_head(Pass& pass, const Work& work) const override;

 private:
  struct Layer {
    Norm attn_norm;
    ShortConv conv;        // [n_embd][n_embd] three times; or
    Qkv qkv;               // [heads * head_dim][n_embd]; k and v: KV heads
    HeadNorms head_norms;  // [head_dim]
    Linear output;         // [n_embd][n_embd or heads * head_dim]
    Norm ffn_norm;
    GateUp gate_up;  // [n_ff][n_embd] twice
    Linear down;     // [n_embd][n_ff]
  };
  Status read_shapes(const Gguf& gguf);
  void finish_layer(Pass& pass, const Work& work) const;

  float eps_ = 0;
  std::vector<Layer> weights_;
  Norm output_norm_;
  std::vector<Linear> head_;  // [n_vocab][n_embd]
};

Status Lfm2::read_shapes(const Gguf& gguf) {
  ConfigReader reader(gguf, config_.architecture);
  SLUICE_ASSIGN(layers_, read_layers(reader, config_, {.attention = Attention::some_layers}));
  if (head() == Head::none) see_both_ways(layers_);
  SLUICE_TRY(read_short_convs(reader, config_, layers_));
  const int64_t window = reader.integer_or_0("attention.sliding_window", 0, kMaxWindow);
  eps_ = reader.epsilon("attention.layer_norm_rms_epsilon");
  SLUICE_TRY(reader.status());
  for (LayerShape& shape : layers_) {
    if (shape.n_kv_heads == 0) continue;
    shape.window = window;
    shape.rope = 0;
    if (!ropes_.empty()) continue;
    SLUICE_ASSIGN(const RopeShape rope,
                  read_rope(reader, config_, shape.head_dim, RopePairs::halves));
    ropes_ = {rope};
  }
  return {};
}

Status Lfm2::bind(const Gguf& gguf) {
  SLUICE_TRY(read_shapes(gguf));
  Binder b(gguf, *this);
  const int64_t d = config_.n_embd;
  b.embedding();
  b.token_table();
  for (RopeShape& rope : ropes_) b.rope_factors(rope);
  weights_ = std::vector<Layer>(layers_.size());
  for (int64_t l = 0; l < config_.n_layers; ++l) {
    const LayerShape& shape = layer(l);
    Layer& w = weights_[static_cast<size_t>(l)];
    b.layer(l);
    w.attn_norm = b.rms_norm("attn_norm", d, eps_);
    if (shape.conv_channels > 0) {
      w.conv = b.short_conv(shape);
      w.output = b.linear(Phase::output, "shortconv.out_proj", d, shape.conv_channels);
    } else {
      w.qkv = b.qkv(shape);
      w.head_norms.q = b.rms_norm("attn_q_norm", shape.head_dim, eps_);
      w.head_norms.k = b.rms_norm("attn_k_norm", shape.head_dim, eps_);
      w.output = b.linear(Phase::output, "attn_output", d, shape.q_rows());
    }
    w.ffn_norm = b.rms_norm("ffn_norm", d, eps_);
    w.gate_up = b.gate_up(shape);
    w.down = b.linear(Phase::down, "ffn_down", d, shape.n_ff);
  }
  b.head();
  output_norm_ = b.rms_norm("token_embd_norm", d, eps_);
  head_ = b.logits();
  return b.finish();
}

void Lfm2::embed(Pass& pass, const Work& work) const { pass.embed(work); }

void Lfm2::run_layer(Pass& pass, const Work& work) const {
  const Layer& w = weights_[static_cast<size_t>(work.layer)];
  const LayerShape& shape = layer(work.layer);
  if (shape.conv_channels > 0) {
    if (shape.both_ways) return pass.conv_inputs(work, w.attn_norm, w.conv);
    pass.short_conv(work, w.attn_norm, w.conv);
  } else {
    pass.project(work, w.attn_norm, w.qkv);
    if (shape.both_ways) return pass.store_heads(work, w.head_norms);
    pass.attend(work, w.head_norms);
  }
  finish_layer(pass, work);
}

void Lfm2::end_layer(Pass& pass, const Work& work) const {
  if (layer(work.layer).conv_channels > 0)
    pass.centered_conv(work, weights_[static_cast<size_t>(work.layer)].conv);
  else
    pass.attend_heads(work);
  finish_layer(pass, work);
}

void Lfm2::finish_layer(Pass& pass, const Work& work) const {
  const Layer& w = weights_[static_cast<size_t>(work.layer)];
  pass.attention_output(work, w.output);
  pass.ffn_gate_up(work, w.ffn_norm, Activation::silu, w.gate_up);
  pass.ffn_down(work, w.down);
}

void Lfm2::run_output(Pass& pass, const Work& work) const { pass.output(work, output_norm_); }

void Lfm2::run_head(Pass& pass, const Work& work) const { pass.logits(work, output_norm_, head_); }

}  // namespace

Result<std::unique_ptr<Model>> make_lfm2(const Gguf& gguf, const Config& config, const Cut& cut,
                                         const Variant&) {
  SLUICE_ASSIGN(const auto causal, gguf.get_bool("lfm2.attention.causal"));
  const Head head = causal.value_or(true) ? Head::logits : Head::none;
  auto model = std::make_unique<Lfm2>(config, cut, head);
  SLUICE_TRY(model->bind(gguf));
  return model;
}

}  // namespace sluice
