// ModernBERT (Warner et al. 2024, arXiv 2412.13663): an encoder whose layers see both ways. Of
// every three layers, two see a window of positions and have their own RoPE base; the first sees
// all. Norms come before attention, which has none in the first layer, and before the gated
// feed-forward part. The embedding is normed as well.
#include "models/registry.h"
#include "pass/binder.h"
#include "pass/config_reader.h"
#include "pass/pass.h"

namespace sluice {
namespace {

constexpr int64_t kGlobalPeriod = 3;  // of the layers that see all positions, as a rule

class ModernBert final : public Model {
 public:
  ModernBert(const Config& config, const Cut& cut) : Model(config, cut, Head::none) {}
  Status bind(const Gguf& gguf);
  void embed(Pass& pass, const Work& work) const override;
  void run_layer(Pass& pass, const Work& work) const override;
  void end_layer(Pass& pass, const Work& work) const override;
  void run_output(Pass& pass, const Work& work) const override;
  void run_head(Pass&, const Work&) const override {}

 private:
  struct Layer {
    Norm attn_norm;  // the first layer may have none
    Qkv qkv;         // [heads * head_dim][n_embd]; k and v: KV heads
    Linear output;   // [n_embd][heads * head_dim]
    Norm ffn_norm;
    GateUp gate_up;  // [n_ff][n_embd] twice
    Linear down;     // [n_embd][n_ff]
  };
  Status read_shapes(const Gguf& gguf);

  float eps_ = 0;
  Activation activation_ = Activation::gelu_exact;
  Norm embedding_norm_;
  std::vector<Layer> weights_;
  Norm output_norm_;
};

// Layers that see all positions use RoPE table 0, the others table 1.
Status ModernBert::read_shapes(const Gguf& gguf) {
  ConfigReader reader(gguf, config_.architecture);
  SLUICE_ASSIGN(layers_, read_layers(reader, config_));
  see_both_ways(layers_);
  SLUICE_TRY(read_windows(reader, kGlobalPeriod, layers_, 0));
  const int64_t head_dim = layers_[0].head_dim;
  SLUICE_ASSIGN(const RopeShape global, read_rope(reader, config_, head_dim, RopePairs::halves));
  SLUICE_ASSIGN(const RopeShape local, read_local_rope(reader, global, global.numbers.dims));
  eps_ = reader.epsilon("attention.layer_norm_epsilon");
  const std::string_view activation = reader.text("hidden_activation");
  SLUICE_TRY(reader.status());
  ropes_ = {global, local};
  for (LayerShape& shape : layers_) shape.rope = shape.window == 0 ? 0 : 1;
  if (activation == "silu") activation_ = Activation::silu;
  if (activation == "gelu_pytorch_tanh") activation_ = Activation::gelu;
  constexpr std::string_view kComputed[] = {"", "gelu", "gelu_pytorch_tanh", "silu"};
  for (const std::string_view computed : kComputed)
    if (activation == computed) return {};
  return with_facts(fail(Code::unsupported_model, reader.key("hidden_activation"), " is \"",
                         printable(activation), "\"; Sluice computes gelu, gelu_pytorch_tanh and ",
                         "silu in this architecture"),
                    {{"key", reader.key("hidden_activation")}, {"value", printable(activation)}});
}

Status ModernBert::bind(const Gguf& gguf) {
  SLUICE_TRY(read_shapes(gguf));
  Binder b(gguf, *this);
  const int64_t d = config_.n_embd;
  const auto norm = [&](std::string_view name) {
    return b.layer_norm(name, d, eps_, Biases::optional);
  };
  b.embedding();
  b.token_table();
  embedding_norm_ = norm("token_embd_norm");
  weights_ = std::vector<Layer>(layers_.size());
  for (int64_t l = 0; l < config_.n_layers; ++l) {
    const LayerShape& shape = layer(l);
    Layer& w = weights_[static_cast<size_t>(l)];
    b.layer(l);
    if (l > 0 || b.has("attn_norm.weight")) w.attn_norm = norm("attn_norm");
    w.qkv = b.qkv(shape);
    w.output = b.linear(Phase::output, "attn_output", d, shape.q_rows());
    w.ffn_norm = norm("ffn_norm");
    w.gate_up = b.gate_up(shape);
    w.down = b.linear(Phase::down, "ffn_down", d, shape.n_ff);
  }
  b.head();
  output_norm_ = norm("output_norm");
  b.logits();
  return b.finish();
}

void ModernBert::embed(Pass& pass, const Work& work) const {
  pass.embed(work);
  pass.norm_residual(work, embedding_norm_);
}

void ModernBert::run_layer(Pass& pass, const Work& work) const {
  const Layer& w = weights_[static_cast<size_t>(work.layer)];
  pass.project(work, w.attn_norm, w.qkv);
  pass.store_heads(work, {});
}

void ModernBert::end_layer(Pass& pass, const Work& work) const {
  const Layer& w = weights_[static_cast<size_t>(work.layer)];
  pass.attend_heads(work);
  pass.attention_output(work, w.output);
  pass.ffn_gate_up(work, w.ffn_norm, activation_, w.gate_up);
  pass.ffn_down(work, w.down);
}

void ModernBert::run_output(Pass& pass, const Work& work) const { pass.output(work, output_norm_); }

}  // namespace

Result<std::unique_ptr<Model>> make_modern_bert(const Gguf& gguf, const Config& config,
                                                const Cut& cut, const Variant&) {
  auto model = std::make_unique<ModernBert>(config, cut);
  SLUICE_TRY(model->bind(gguf));
  return model;
}

}  // namespace sluice
