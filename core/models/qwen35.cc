// Qwen3.5, 3.6 and 3.8 (Alibaba 2025 and 2026): most layers are gated delta nets, the others
// grouped attention with gates, norms of the q and k heads, and RoPE on a part of each head. A
// SiLU-gated feed-forward part in every layer, whose norm is called post_attention_norm.
#include "models/registry.h"
#include "pass/binder.h"
#include "pass/config_reader.h"
#include "pass/pass.h"

namespace sluice {
namespace {

constexpr int64_t kInterval = 4;  // by default every fourth layer attends

class Qwen35 final : public Model {
 public:
  Qwen35(const Config& config, const Cut& cut) : Model(config, cut) {}
  Status bind(const Gguf& gguf);
  void embed(Pass& pass, const Work& work) const override;
  void run_layer(Pass& pass, const Work& work) const override;
  void run_output(Pass& pass, const Work& work) const override;
  void run_head(Pass& pass, const Work& work) const override;

 private:
  struct Layer {
    Norm attn_norm;
    DeltaNet net;          // or
    Qkv qkv;               // [heads * 2 * head_dim][n_embd]; k and v: [KV heads * head_dim]
    HeadNorms head_norms;  // [head_dim]
    Linear output;         // [n_embd][value heads or heads * head_dim]
    Norm ffn_norm;
    GateUp gate_up;  // [n_ff][n_embd] twice
    Linear down;     // [n_embd][n_ff]
  };
  Status read_shapes(const Gguf& gguf);

  float eps_ = 0;
  std::vector<Layer> weights_;
  Norm output_norm_;
  std::vector<Linear> head_;  // [n_vocab][n_embd]
};

// Sections divide the angles of RoPE among an image's axes. All of them have the same position in a
// text.
Status check_sections(const ConfigReader& reader) {
  constexpr std::string_view kSections = "rope.dimension_sections";
  const MetadataValue* sections = reader.find(kSections);
  if (sections != nullptr && sections->is_array() && sections->count == 4) return {};
  return fail(Code::bad_file, reader.key(kSections),
              sections == nullptr ? " is missing" : " is wrong", "; an array of 4 is expected");
}

Status Qwen35::read_shapes(const Gguf& gguf) {
  ConfigReader reader(gguf, config_.architecture);
  SLUICE_ASSIGN(layers_, read_layers(reader, config_));
  SLUICE_ASSIGN(const RopeShape rope,
                read_rope(reader, config_, layers_[0].head_dim, RopePairs::halves));
  SLUICE_TRY(check_sections(reader));
  ropes_ = {rope};
  for (LayerShape& shape : layers_) {
    shape.gated = true;
    shape.rope = 0;
  }
  eps_ = reader.epsilon("attention.layer_norm_rms_epsilon");
  SLUICE_TRY(reader.status());
  return read_delta_nets(reader, config_, kInterval, layers_);
}

Status Qwen35::bind(const Gguf& gguf) {
  SLUICE_TRY(read_shapes(gguf));
  Binder b(gguf, *this);
  const int64_t d = config_.n_embd;
  b.embedding();
  b.token_table();
  b.rope_factors(ropes_[0]);
  weights_ = std::vector<Layer>(layers_.size());
  for (int64_t l = 0; l < config_.n_layers; ++l) {
    const LayerShape& shape = layer(l);
    Layer& w = weights_[static_cast<size_t>(l)];
    b.layer(l);
    w.attn_norm = b.rms_norm("attn_norm", d, eps_);
    if (shape.delta.n_value_heads > 0) {
      w.net = b.delta_net(shape, eps_);
      w.output = b.linear(Phase::output, "ssm_out", d, shape.delta.value_rows());
      b.group_value_heads(w.output, shape.delta.n_key_heads, shape.delta.n_value_heads);
    } else {
      w.qkv = b.qkv(shape);
      w.head_norms.q = b.rms_norm("attn_q_norm", shape.head_dim, eps_);
      w.head_norms.k = b.rms_norm("attn_k_norm", shape.head_dim, eps_);
      w.output = b.linear(Phase::output, "attn_output", d, shape.q_rows());
    }
    w.ffn_norm = b.rms_norm("post_attention_norm", d, eps_);
    w.gate_up = b.gate_up(shape);
    w.down = b.linear(Phase::down, "ffn_down", d, shape.n_ff);
  }
  b.head();
  output_norm_ = b.rms_norm("output_norm", d, eps_);
  head_ = b.logits();
  return b.finish();
}

void Qwen35::embed(Pass& pass, const Work& work) const { pass.embed(work); }

void Qwen35::run_layer(Pass& pass, const Work& work) const {
  const Layer& w = weights_[static_cast<size_t>(work.layer)];
  if (layer(work.layer).delta.n_value_heads > 0) {
    pass.delta_net(work, w.attn_norm, w.net);
  } else {
    pass.project(work, w.attn_norm, w.qkv);
    pass.attend(work, w.head_norms);
  }
  pass.attention_output(work, w.output);
  pass.ffn_gate_up(work, w.ffn_norm, Activation::silu, w.gate_up);
  pass.ffn_down(work, w.down);
}

void Qwen35::run_output(Pass& pass, const Work& work) const { pass.output(work, output_norm_); }

void Qwen35::run_head(Pass& pass, const Work& work) const {
  pass.logits(work, output_norm_, head_);
}

}  // namespace

Result<std::unique_ptr<Model>> make_qwen35(const Gguf& gguf, const Config& config, const Cut& cut,
                                           const Variant&) {
  auto model = std::make_unique<Qwen35>(config, cut);
  SLUICE_TRY(model->bind(gguf));
  return model;
}

}  // namespace sluice
