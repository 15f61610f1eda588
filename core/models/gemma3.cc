// Gemma 3 (Gemma Team 2025, arXiv 2503.19786). Of every six layers, five see a window of positions
// and have their own RoPE base; the sixth sees all positions. The q and k heads are normed. The
// results of attention and of the GELU-gated feed-forward part are normed before they are added.
// (In a file the weights of norms are 1 + w.) EmbeddingGemma (Vera et al. 2025, arXiv 2509.20354)
// has the same layers; they see both ways, and it makes vectors of texts.
#include <cmath>

#include "models/registry.h"
#include "pass/binder.h"
#include "pass/config_reader.h"
#include "pass/pass.h"

namespace sluice {
namespace {

constexpr int64_t kLayersOf27B = 62;
constexpr int64_t kPeriod = 6;  // of the layers that see all positions, as a rule

class Gemma3 final : public Model {
 public:
  Gemma3(const Config& config, const Cut& cut, Head head) : Model(config, cut, head) {}
  Status bind(const Gguf& gguf);
  void embed(Pass& pass, const Work& work) const override;
  void run_layer(Pass& pass, const Work& work) const override;
  void end_layer(Pass& pass, const Work& work) const override;
  void run_output(Pass& pass, const Work& work) const override;
  void run_head(Pass& pass, const Work& work) const override;

 private:
  struct Layer {
    Norm attn_norm;
    Qkv qkv;               // [heads * head_dim][n_embd]; k and v: KV heads
    HeadNorms head_norms;  // [head_dim]
    Linear output;         // [n_embd][heads * head_dim]
    Norm post_attention_norm;
    Norm ffn_norm;
    GateUp gate_up;  // [n_ff][n_embd] twice
    Linear down;     // [n_embd][n_ff]
    Norm post_ffw_norm;
  };
  Status read_shapes(const Gguf& gguf);
  void finish_layer(Pass& pass, const Work& work) const;

  float eps_ = 0;
  float cap_ = 0;  // of logits; 0: none
  std::vector<Layer> weights_;
  Norm output_norm_;
  std::vector<Linear> head_;  // [n_vocab][n_embd]
};

// Layers that see all positions use RoPE table 0. The others see a window and use table 1, whose
// positions aren't scaled.
Status Gemma3::read_shapes(const Gguf& gguf) {
  ConfigReader reader(gguf, config_.architecture);
  SLUICE_ASSIGN(layers_, read_layers(reader, config_));
  if (head() == Head::none) {
    see_both_ways(layers_);
    reader.integer("attention.sliding_window", -1, kMaxWindow);
  }
  SLUICE_TRY(read_windows(reader, kPeriod, layers_));
  SLUICE_ASSIGN(const RopeShape global,
                read_rope(reader, config_, layers_[0].head_dim, RopePairs::halves));
  const int64_t turned = global.numbers.dims;
  SLUICE_ASSIGN(const RopeShape local, read_local_rope(reader, global, turned));
  SLUICE_ASSIGN(cap_, read_cap(reader, "final_logit_softcapping"));
  eps_ = reader.epsilon("attention.layer_norm_rms_epsilon");
  SLUICE_TRY(reader.status());
  ropes_ = {global};
  for (LayerShape& shape : layers_) {
    shape.rope = shape.window == 0 ? 0 : 1;
    if (shape.rope == 1 && ropes_.size() == 1) ropes_.push_back(local);
    if (config_.n_layers == kLayersOf27B) {
      shape.scale =
          1.0f / std::sqrt(static_cast<float>(config_.n_embd) / static_cast<float>(shape.n_heads));
    }
  }
  return {};
}

Status Gemma3::bind(const Gguf& gguf) {
  SLUICE_TRY(read_shapes(gguf));
  Binder b(gguf, *this);
  const int64_t d = config_.n_embd;
  b.embedding();
  b.token_table();
  weights_ = std::vector<Layer>(layers_.size());
  for (int64_t l = 0; l < config_.n_layers; ++l) {
    const LayerShape& shape = layer(l);
    Layer& w = weights_[static_cast<size_t>(l)];
    b.layer(l);
    w.attn_norm = b.rms_norm("attn_norm", d, eps_);
    w.qkv = b.qkv(shape);
    w.head_norms.q = b.rms_norm("attn_q_norm", shape.head_dim, eps_);
    w.head_norms.k = b.rms_norm("attn_k_norm", shape.head_dim, eps_);
    w.output = b.linear(Phase::output, "attn_output", d, shape.q_rows());
    w.post_attention_norm = b.rms_norm("post_attention_norm", d, eps_);
    w.ffn_norm = b.rms_norm("ffn_norm", d, eps_);
    w.gate_up = b.gate_up(shape);
    w.down = b.linear(Phase::down, "ffn_down", d, shape.n_ff);
    w.post_ffw_norm = b.rms_norm("post_ffw_norm", d, eps_);
  }
  b.head();
  output_norm_ = b.rms_norm("output_norm", d, eps_);
  head_ = b.logits();
  return b.finish();
}

void Gemma3::embed(Pass& pass, const Work& work) const {
  pass.embed(work, std::sqrt(static_cast<float>(config_.n_embd)));
}

void Gemma3::run_layer(Pass& pass, const Work& work) const {
  const Layer& w = weights_[static_cast<size_t>(work.layer)];
  pass.project(work, w.attn_norm, w.qkv);
  if (layer(work.layer).both_ways) return pass.store_heads(work, w.head_norms);
  pass.attend(work, w.head_norms);
  finish_layer(pass, work);
}

void Gemma3::end_layer(Pass& pass, const Work& work) const {
  pass.attend_heads(work);
  finish_layer(pass, work);
}

void Gemma3::finish_layer(Pass& pass, const Work& work) const {
  const Layer& w = weights_[static_cast<size_t>(work.layer)];
  pass.attention_output(work, w.output, w.post_attention_norm);
  pass.ffn_gate_up(work, w.ffn_norm, Activation::gelu, w.gate_up);
  pass.ffn_down(work, w.down, w.post_ffw_norm);
}

void Gemma3::run_output(Pass& pass, const Work& work) const { pass.output(work, output_norm_); }

void Gemma3::run_head(Pass& pass, const Work& work) const {
  pass.logits(work, output_norm_, head_, cap_);
}

}  // namespace

Result<std::unique_ptr<Model>> make_gemma3(const Gguf& gguf, const Config& config, const Cut& cut,
                                           const Variant&) {
  const bool encoder = config.architecture == "gemma-embedding";
  auto model = std::make_unique<Gemma3>(config, cut, encoder ? Head::none : Head::logits);
  SLUICE_TRY(model->bind(gguf));
  return model;
}

}  // namespace sluice
