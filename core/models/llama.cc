// The llama structure (Touvron et al. 2023, arXiv 2302.13971) with grouped KV heads: RMS norms,
// RoPE, a SiLU-gated feed-forward part. Its families differ in the elements that RoPE pairs
// (Variant), in norms of the q and k heads (Variant), in biases (as the file has them), and in
// whether the feed-forward part is a mixture of experts (Variant; Mixtral, arXiv 2401.04088).
#include "models/registry.h"
#include "pass/binder.h"
#include "pass/config_reader.h"
#include "pass/pass.h"

namespace sluice {
namespace {

class Llama final : public Model {
 public:
  Llama(const Config& config, const Cut& cut) : Model(config, cut) {}
  Status bind(const Gguf& gguf, const Variant& variant);
  void embed(Pass& pass, const Work& work) const override;
  void run_layer(Pass& pass, const Work& work) const override;
  void run_expert(Pass& pass, const Work& work) const override;
  void end_layer(Pass& pass, const Work& work) const override;
  void run_output(Pass& pass, const Work& work) const override;
  void run_head(Pass& pass, const Work& work) const override;

 private:
  struct Layer {
    Norm attn_norm;
    Qkv qkv;               // [heads * head_dim][n_embd]; k and v: KV heads
    HeadNorms head_norms;  // [head_dim]
    Linear output;         // [n_embd][heads * head_dim]
    Norm ffn_norm;
    GateUp gate_up;  // [n_ff][n_embd] twice
    Linear down;     // [n_embd][n_ff]
    // Or, in place of the two:
    Linear router;                // [experts][n_embd]
    std::vector<Expert> experts;  // with matrices of the same shapes
  };

  std::vector<Layer> weights_;
  Norm output_norm_;
  std::vector<Linear> head_;  // [n_vocab][n_embd]
};

Status Llama::bind(const Gguf& gguf, const Variant& variant) {
  ConfigReader reader(gguf, config_.architecture);
  const bool always = variant.experts == WithExperts::always;
  const bool sometimes = variant.experts == WithExperts::sometimes;
  if (always || (sometimes && reader.count("expert_count") > 0)) {
    SLUICE_ASSIGN(const ExpertCounts counts, read_experts(reader, config_));
    add_experts(counts);
  }
  const int64_t n_experts = experts().n;
  SLUICE_ASSIGN(layers_, read_layers(reader, config_,
                                     {.experts = experts(),
                                      .experts_in_width = always ? experts().n_used : 1}));
  const int64_t head_dim = layers_[0].head_dim;
  SLUICE_ASSIGN(RopeShape rope, read_rope(reader, config_, head_dim, variant.rope_pairs));
  const float eps = reader.epsilon("attention.layer_norm_rms_epsilon");
  SLUICE_TRY(reader.status());

  Binder b(gguf, *this);
  const int64_t d = config_.n_embd;
  b.embedding();
  b.token_table();
  b.rope_factors(rope);
  ropes_ = {rope};
  weights_ = std::vector<Layer>(layers_.size());
  for (int64_t l = 0; l < config_.n_layers; ++l) {
    LayerShape& shape = layers_[static_cast<size_t>(l)];
    shape.rope = 0;
    Layer& w = weights_[static_cast<size_t>(l)];
    b.layer(l);
    w.attn_norm = b.rms_norm("attn_norm", d, eps);
    w.qkv = b.qkv(shape, variant.qkv_biases);
    if (variant.qk_norm) {
      w.head_norms.q = b.rms_norm("attn_q_norm", head_dim, eps);
      w.head_norms.k = b.rms_norm("attn_k_norm", head_dim, eps);
    }
    w.output = b.linear(Phase::output, "attn_output", d, shape.q_rows());
    w.ffn_norm = b.rms_norm("ffn_norm", d, eps);
    if (n_experts > 0) {
      w.router = b.linear(Phase::router, "ffn_gate_inp", n_experts, d);
      w.experts = b.experts(l, shape);
      continue;
    }
    w.gate_up = b.gate_up(shape);
    w.down = b.linear(Phase::down, "ffn_down", d, shape.n_ff);
  }
  b.head();
  output_norm_ = b.rms_norm("output_norm", d, eps);
  head_ = b.logits();
  return b.finish();
}

void Llama::embed(Pass& pass, const Work& work) const { pass.embed(work); }

void Llama::run_layer(Pass& pass, const Work& work) const {
  const Layer& w = weights_[static_cast<size_t>(work.layer)];
  pass.project(work, w.attn_norm, w.qkv);
  pass.attend(work, w.head_norms);
  pass.attention_output(work, w.output);
  if (!w.experts.empty()) return pass.choose_experts(work, w.ffn_norm, w.router);
  pass.ffn_gate_up(work, w.ffn_norm, Activation::silu, w.gate_up);
  pass.ffn_down(work, w.down);
}

void Llama::run_expert(Pass& pass, const Work& work) const {
  const Layer& w = weights_[static_cast<size_t>(work.layer)];
  pass.expert(work, w.ffn_norm, Activation::silu, w.experts);
}

void Llama::end_layer(Pass& pass, const Work& work) const { pass.add_experts(work); }

void Llama::run_output(Pass& pass, const Work& work) const { pass.output(work, output_norm_); }

void Llama::run_head(Pass& pass, const Work& work) const { pass.logits(work, output_norm_, head_); }

}  // namespace

Result<std::unique_ptr<Model>> make_llama(const Gguf& gguf, const Config& config, const Cut& cut,
                                          const Variant& variant) {
  auto model = std::make_unique<Llama>(config, cut);
  SLUICE_TRY(model->bind(gguf, variant));
  return model;
}

}  // namespace sluice
