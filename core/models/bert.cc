// BERT (Devlin et al. 2018, arXiv 1810.04805) and Nomic's form of it (arXiv 2402.01613): encoders
// whose layers see both ways. The sum after attention and after the feed-forward part is normed,
// and so is the embedding; there is no norm before or behind the layers. BERT adds a learned row
// for each position; Nomic's form turns queries and keys in its place, and gates the feed-forward
// part with SiLU (Variant::rotary). DistilBERT's files are of BERT, without token types. A file may
// have a head that fills in masked words; its tensors' names are Sluice's own.
#include "models/registry.h"
#include "pass/binder.h"
#include "pass/config_reader.h"
#include "pass/pass.h"

namespace sluice {
namespace {

class Bert final : public Model {
 public:
  Bert(const Config& config, const Cut& cut, Head head) : Model(config, cut, head) {}
  Status bind(const Gguf& gguf, const Variant& variant);
  void embed(Pass& pass, const Work& work) const override;
  void run_layer(Pass& pass, const Work& work) const override;
  void end_layer(Pass& pass, const Work& work) const override;
  void run_output(Pass& pass, const Work& work) const override;
  void run_head(Pass& pass, const Work& work) const override;

 private:
  struct Layer {
    Qkv qkv;        // [heads * head_dim][n_embd]; k and v: KV heads
    Linear output;  // [n_embd][heads * head_dim]
    Norm attn_output_norm;
    GateUp gate_up;  // [n_ff][n_embd] twice; or
    Linear up;       // [n_ff][n_embd]
    Linear down;     // [n_embd][n_ff]
    Norm layer_output_norm;
  };

  bool gated_ = false;
  int types_ = -1;      // [types][n_embd], or -1
  int positions_ = -1;  // [context_length][n_embd], or -1
  Norm embedding_norm_;
  std::vector<Layer> weights_;
  Linear mask_dense_;  // [n_embd][n_embd]
  Norm mask_norm_;
  std::vector<Linear> head_;  // [n_vocab][n_embd]
};

Status Bert::bind(const Gguf& gguf, const Variant& variant) {
  ConfigReader reader(gguf, config_.architecture);
  const uint64_t every = reader.count("moe_every_n_layers");
  SLUICE_ASSIGN(layers_, read_layers(reader, config_));
  see_both_ways(layers_);
  const float eps = reader.epsilon("attention.layer_norm_epsilon");
  SLUICE_TRY(reader.status());
  if (every > 0) {
    return with_facts(fail(Code::unsupported_model, reader.key("moe_every_n_layers"), " is ", every,
                           ": the model is a mixture of experts, which Sluice doesn't compute in ",
                           config_.architecture, "; use another encoder"),
                      {{"key", reader.key("moe_every_n_layers")}, {"value", concat(every)}});
  }
  gated_ = variant.rotary;
  if (variant.rotary) {
    SLUICE_ASSIGN(const RopeShape rope,
                  read_rope(reader, config_, layers_[0].head_dim, RopePairs::halves));
    ropes_ = {rope};
  } else {
    max_positions_ = config_.context_length;
  }

  Binder b(gguf, *this);
  const int64_t d = config_.n_embd;
  b.embedding();
  b.token_table();
  types_ = b.optional_table("token_types.weight", d);
  if (!variant.rotary) positions_ = b.table("position_embd.weight", max_positions_, d);
  embedding_norm_ = b.layer_norm("token_embd_norm", d, eps);
  weights_ = std::vector<Layer>(layers_.size());
  for (int64_t l = 0; l < config_.n_layers; ++l) {
    LayerShape& shape = layers_[static_cast<size_t>(l)];
    if (variant.rotary) shape.rope = 0;
    Layer& w = weights_[static_cast<size_t>(l)];
    b.layer(l);
    w.qkv = b.qkv(shape);
    w.output = b.linear(Phase::output, "attn_output", d, shape.q_rows());
    w.attn_output_norm = b.layer_norm("attn_output_norm", d, eps);
    if (gated_)
      w.gate_up = b.gate_up(shape);
    else
      w.up = b.linear(Phase::gate_up, "ffn_up", shape.n_ff, d, Buffer::hidden);
    w.down = b.linear(Phase::down, "ffn_down", d, shape.n_ff);
    w.layer_output_norm = b.layer_norm("layer_output_norm", d, eps);
  }
  b.head();
  if (head() == Head::masks) {
    mask_dense_ = b.linear(Phase::head, "mlm.dense", d, d, Buffer::hidden, Biases::required);
    mask_norm_ = b.layer_norm("mlm.norm", d, eps);
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
  pass.project(work, {}, weights_[static_cast<size_t>(work.layer)].qkv);
  pass.store_heads(work, {});
}

void Bert::end_layer(Pass& pass, const Work& work) const {
  const Layer& w = weights_[static_cast<size_t>(work.layer)];
  pass.attend_heads(work);
  pass.attention_output(work, w.output);
  pass.norm_residual(work, w.attn_output_norm);
  if (gated_)
    pass.ffn_gate_up(work, {}, Activation::silu, w.gate_up);
  else
    pass.ffn_up(work, {}, w.up, Activation::gelu_exact);
  pass.ffn_down(work, w.down);
  pass.norm_residual(work, w.layer_output_norm);
}

void Bert::run_output(Pass& pass, const Work& work) const { pass.output(work, {}); }

void Bert::run_head(Pass& pass, const Work& work) const {
  pass.masked_logits(work, mask_dense_, mask_norm_, head_);
}

}  // namespace

Result<std::unique_ptr<Model>> make_bert(const Gguf& gguf, const Config& config, const Cut& cut,
                                         const Variant& variant) {
  const bool masks = gguf.find_tensor("mlm.dense.weight") != nullptr;
  auto model = std::make_unique<Bert>(config, cut, masks ? Head::masks : Head::none);
  SLUICE_TRY(model->bind(gguf, variant));
  return model;
}

}  // namespace sluice
