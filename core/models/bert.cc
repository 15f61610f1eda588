// Encoders whose layers see both ways: BERT (Devlin et al. 2018, arXiv 1810.04805), Nomic's form of
// it (arXiv 2402.01613) and ModernBERT (Warner et al. 2024, arXiv 2412.13663). In the first two the
// sum after attention and after the feed-forward part is normed, and no norm comes before or behind
// the layers. BERT adds a learned row for each position; the others turn queries and keys in its
// place. Nomic's form gates the feed-forward part with SiLU, ModernBERT with GELU. In ModernBERT
// norms come before attention, which has none in the first layer, and before the feed-forward part.
// Of every three layers, two see a window of positions and have their own RoPE base; the first sees
// all. The embedding is normed in all of them. DistilBERT's files are of BERT, without token types.
// A file of BERT may have a head that fills in masked words; its tensors' names are Sluice's own.
#include "models/registry.h"
#include "pass/binder.h"
#include "pass/config_reader.h"
#include "pass/pass.h"

namespace sluice {
namespace {

constexpr int64_t kModernPeriod = 3;  // of the layers that see all positions, as a rule

class Bert final : public Model {
 public:
  Bert(const Config& config, const Cut& cut, Head head, BertForm form)
      : Model(config, cut, head), form_(form) {}
  Status bind(const Gguf& gguf);
  void embed(Pass& pass, const Work& work) const override;
  void run_layer(Pass& pass, const Work& work) const override;
  void end_layer(Pass& pass, const Work& work) const override;
  void run_output(Pass& pass, const Work& work) const override;
  void run_head(Pass& pass, const Work& work) const override;

 private:
  struct Layer {
    Norm attn_norm;          // before attention, or none
    Qkv qkv;                 // [heads * head_dim][n_embd]; k and v: KV heads
    Linear output;           // [n_embd][heads * head_dim]
    Norm attn_output_norm;   // of the sum, or none
    Norm ffn_norm;           // before the feed-forward part, or none
    GateUp gate_up;          // [n_ff][n_embd] twice; of BERT the second alone
    Linear down;             // [n_embd][n_ff]
    Norm layer_output_norm;  // of the sum, or none
  };
  Status read_shapes(const Gguf& gguf);
  bool modern() const { return form_ == BertForm::modern; }

  const BertForm form_;
  float eps_ = 0;
  Activation activation_ = Activation::gelu_exact;
  int types_ = -1;      // [types][n_embd], or -1
  int positions_ = -1;  // [context_length][n_embd], or -1
  Norm embedding_norm_;
  std::vector<Layer> weights_;
  Norm output_norm_;
  Linear mask_dense_;  // [n_embd][n_embd]
  Norm mask_norm_;
  std::vector<Linear> head_;  // [n_vocab][n_embd]
};

// Layers that see all positions use RoPE table 0, those with a window table 1.
Status Bert::read_shapes(const Gguf& gguf) {
  ConfigReader reader(gguf, config_.architecture);
  SLUICE_ASSIGN(layers_, read_layers(reader, config_));
  see_both_ways(layers_);
  eps_ = reader.epsilon("attention.layer_norm_epsilon");
  const std::string_view activation = modern() ? reader.text("hidden_activation") : "";
  const bool mixture = reader.count("moe_every_n_layers") > 0;
  SLUICE_TRY(reader.status());
  if (form_ == BertForm::nomic || activation == "silu") activation_ = Activation::silu;
  if (activation == "gelu_pytorch_tanh") activation_ = Activation::gelu;
  const bool known =
      activation.empty() || activation == "gelu" || activation_ != Activation::gelu_exact;
  if (mixture || !known) {
    return with_facts(
        fail(Code::unsupported_model,
             mixture
                 ? "the model is a mixture of experts (moe_every_n_layers)"
                 : concat(reader.key("hidden_activation"), " is \"", printable(activation), "\""),
             ", which Sluice doesn't compute in ", config_.architecture, "; use another encoder"),
        {{"architecture", config_.architecture}});
  }
  if (form_ == BertForm::plain) {
    max_positions_ = config_.context_length;
    return {};
  }
  SLUICE_ASSIGN(const RopeShape global,
                read_rope(reader, config_, layers_[0].head_dim, RopePairs::halves));
  ropes_ = {global};
  if (modern()) {
    SLUICE_TRY(read_windows(reader, kModernPeriod, layers_, 0));
    SLUICE_ASSIGN(const RopeShape local, read_local_rope(reader, global, global.numbers.dims));
    ropes_.push_back(local);
  }
  for (LayerShape& shape : layers_) shape.rope = shape.window == 0 ? 0 : 1;
  return {};
}

Status Bert::bind(const Gguf& gguf) {
  SLUICE_TRY(read_shapes(gguf));
  Binder b(gguf, *this);
  const int64_t d = config_.n_embd;
  const auto norm = [&](std::string_view name) {
    return b.layer_norm(name, d, eps_, modern() ? Biases::optional : Biases::required);
  };
  b.embedding();
  b.token_table();
  types_ = b.optional_table("token_types.weight", d);
  if (form_ == BertForm::plain) positions_ = b.table("position_embd.weight", max_positions_, d);
  embedding_norm_ = norm("token_embd_norm");
  weights_ = std::vector<Layer>(layers_.size());
  for (int64_t l = 0; l < config_.n_layers; ++l) {
    const LayerShape& shape = layer(l);
    Layer& w = weights_[static_cast<size_t>(l)];
    b.layer(l);
    w.qkv = b.qkv(shape);
    w.output = b.linear(Phase::output, "attn_output", d, shape.q_rows());
    if (modern()) {
      if (l > 0 || b.has("attn_norm.weight")) w.attn_norm = norm("attn_norm");
      w.ffn_norm = norm("ffn_norm");
    } else {
      w.attn_output_norm = norm("attn_output_norm");
      w.layer_output_norm = norm("layer_output_norm");
    }
    if (form_ == BertForm::plain)
      w.gate_up.up = b.linear(Phase::gate_up, "ffn_up", shape.n_ff, d, Buffer::hidden);
    else
      w.gate_up = b.gate_up(shape);
    w.down = b.linear(Phase::down, "ffn_down", d, shape.n_ff);
  }
  b.head();
  if (modern()) output_norm_ = norm("output_norm");
  if (head() == Head::masks) {
    mask_dense_ = b.linear(Phase::head, "mlm.dense", d, d, Buffer::hidden, Biases::required);
    mask_norm_ = norm("mlm.norm");
    b.need("mlm.bias");
  }
  head_ = b.logits("mlm.bias");
  return b.finish();
}

void Bert::embed(Pass& pass, const Work& work) const {
  pass.embed(work, 1, positions_, types_);
  pass.norm_residual(work, embedding_norm_);
}

void Bert::run_layer(Pass& pass, const Work& work) const {
  const Layer& w = weights_[static_cast<size_t>(work.layer)];
  pass.project(work, w.attn_norm, w.qkv);
  pass.store_heads(work, {});
}

void Bert::end_layer(Pass& pass, const Work& work) const {
  const Layer& w = weights_[static_cast<size_t>(work.layer)];
  pass.attend_heads(work);
  pass.attention_output(work, w.output);
  pass.norm_residual(work, w.attn_output_norm);
  if (form_ == BertForm::plain)
    pass.ffn_up(work, w.ffn_norm, w.gate_up.up, activation_);
  else
    pass.ffn_gate_up(work, w.ffn_norm, activation_, w.gate_up);
  pass.ffn_down(work, w.down);
  pass.norm_residual(work, w.layer_output_norm);
}

void Bert::run_output(Pass& pass, const Work& work) const { pass.output(work, output_norm_); }

void Bert::run_head(Pass& pass, const Work& work) const {
  pass.masked_logits(work, mask_dense_, mask_norm_, head_);
}

}  // namespace

Result<std::unique_ptr<Model>> make_bert(const Gguf& gguf, const Config& config, const Cut& cut,
                                         const Variant& variant) {
  const bool masks = gguf.find_tensor("mlm.dense.weight") != nullptr;
  auto model = std::make_unique<Bert>(config, cut, masks ? Head::masks : Head::none, variant.bert);
  SLUICE_TRY(model->bind(gguf));
  return model;
}

}  // namespace sluice
