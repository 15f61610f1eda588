// The llama structure (Touvron et al. 2023, arXiv 2302.13971), with grouped KV heads: RMS norms,
// RoPE, SiLU-gated feed-forward. Families of it differ by how RoPE pairs (Variant), biases on q, k
// and v (the file has them), and norms of the q and k heads (Variant).
#include "models/pass.h"
#include "models/registry.h"

namespace sluice {
namespace {

class Llama final : public Model {
 public:
  explicit Llama(const Config& config) : Model(config) {}
  Status bind(const Gguf& gguf, const Variant& variant);
  void embed(Pass& pass, const Work& work) const override;
  void run_layer(Pass& pass, const Work& work) const override;
  void run_head(Pass& pass, const Work& work) const override;

 private:
  struct Layer {
    Norm attn_norm;
    int q, k, v;                 // [heads * head_dim][n_embd]; k and v: KV heads
    int q_bias, k_bias, v_bias;  // or -1
    HeadNorms head_norms;        // [head_dim]
    int output;                  // [n_embd][heads * head_dim]
    Norm ffn_norm;
    int gate, up, down;  // [n_ff][n_embd] twice, [n_embd][n_ff]
  };

  int embedding_ = -1;  // [n_vocab][n_embd]
  std::vector<Layer> weights_;
  Norm output_norm_;
  int head_ = -1;  // [n_vocab][n_embd]
};

Status Llama::bind(const Gguf& gguf, const Variant& variant) {
  ConfigReader reader(gguf, config_.architecture);
  SLUICE_ASSIGN(layers_, read_layers(reader, config_));
  const int64_t head_dim = layers_[0].head_dim;
  SLUICE_ASSIGN(RopeShape rope, read_rope(reader, head_dim, variant.rope_pairs));
  const float eps = reader.epsilon("attention.layer_norm_rms_epsilon");
  SLUICE_TRY(reader.status());

  Binder b(gguf, *this);
  const int64_t d = config_.n_embd;
  const auto norm = [&](std::string_view name, int64_t n) {
    return Norm{Norm::rms, b.vector(name, n), -1, eps};
  };
  b.embedding();
  embedding_ = b.table("token_embd.weight", config_.n_vocab, d);
  rope.factors = b.optional_vector("rope_freqs.weight", rope.dims / 2);
  ropes_ = {rope};
  b.layer(0);
  const bool biases = b.has("attn_q.bias");
  for (int64_t l = 0; l < config_.n_layers; ++l) {
    LayerShape& shape = layers_[static_cast<size_t>(l)];
    shape.rope = 0;
    b.layer(l);
    Layer w{};
    w.attn_norm = norm("attn_norm.weight", d);
    w.q = b.matrix(Phase::qkv, "attn_q.weight", shape.q_rows(), d);
    w.k = b.matrix(Phase::qkv, "attn_k.weight", shape.kv_rows(), d);
    w.v = b.matrix(Phase::qkv, "attn_v.weight", shape.kv_rows(), d);
    w.q_bias = biases ? b.vector("attn_q.bias", shape.q_rows()) : -1;
    w.k_bias = biases ? b.vector("attn_k.bias", shape.kv_rows()) : -1;
    w.v_bias = biases ? b.vector("attn_v.bias", shape.kv_rows()) : -1;
    if (variant.qk_norm) {
      w.head_norms = {norm("attn_q_norm.weight", head_dim), norm("attn_k_norm.weight", head_dim)};
    }
    w.output = b.matrix(Phase::output, "attn_output.weight", d, shape.q_rows());
    w.ffn_norm = norm("ffn_norm.weight", d);
    w.gate = b.matrix(Phase::gate_up, "ffn_gate.weight", shape.n_ff, d);
    w.up = b.matrix(Phase::gate_up, "ffn_up.weight", shape.n_ff, d);
    w.down = b.matrix(Phase::down, "ffn_down.weight", d, shape.n_ff);
    weights_.push_back(w);
  }
  b.head();
  output_norm_ = norm("output_norm.weight", d);
  head_ = b.has("output.weight") ? b.matrix(Phase::head, "output.weight", config_.n_vocab, d)
                                 : b.again(Phase::head, embedding_);
  return b.finish();
}

void Llama::embed(Pass& pass, const Work& work) const { pass.embed(work, embedding_); }

void Llama::run_layer(Pass& pass, const Work& work) const {
  const Layer& w = weights_[static_cast<size_t>(work.layer)];
  pass.project(
      work, w.attn_norm,
      {{w.q, w.q_bias, Buffer::q}, {w.k, w.k_bias, Buffer::k}, {w.v, w.v_bias, Buffer::v}});
  pass.attend(work, w.head_norms);
  pass.add_attended(work, {w.output});
  pass.feed_gated(work, w.ffn_norm, Activation::silu, {w.gate}, {w.up});
  pass.add_hidden(work, {w.down});
}

void Llama::run_head(Pass& pass, const Work& work) const { pass.logits(work, output_norm_, head_); }

}  // namespace

Result<std::unique_ptr<Model>> make_llama(const Gguf& gguf, const Config& config,
                                          const Variant& variant) {
  auto model = std::make_unique<Llama>(config);
  SLUICE_TRY(model->bind(gguf, variant));
  return model;
}

}  // namespace sluice
