// Gemma 4, dense (Google DeepMind 2026). Layers that see all positions and layers with a window
// differ in head size and RoPE. The last layers may read the keys and values of earlier ones. The
// q, k and v heads are normed, and so are the results of attention and of the feed-forward part,
// before they are added. At its end a layer may add an input of its own (per-layer embeddings), and
// its output may have a scale.
#include <cmath>

#include "models/registry.h"
#include "pass/binder.h"
#include "pass/config_reader.h"
#include "pass/pass.h"

namespace sluice {
namespace {

constexpr double kUsualCap = 30;  // of logits, where the file doesn't say; 0 is none

class Gemma4 final : public Model {
 public:
  Gemma4(const Config& config, const Cut& cut) : Model(config, cut) {}
  Status bind(const Gguf& gguf);
  void embed(Pass& pass, const Work& work) const override;
  void run_layer(Pass& pass, const Work& work) const override;
  void run_output(Pass& pass, const Work& work) const override;
  void run_head(Pass& pass, const Work& work) const override;

 private:
  struct Layer {
    Norm attn_norm;
    Qkv qkv;               // [heads * head_dim][n_embd]; k and v: KV heads
    HeadNorms head_norms;  // [head_dim]; v's has no weight
    Linear output;         // [n_embd][heads * head_dim]
    Norm post_attention_norm;
    Norm ffn_norm;
    GateUp gate_up;  // [n_ff][n_embd] twice
    Linear down;     // [n_embd][n_ff]
    Norm post_ffw_norm;
    LayerInput input;
    int output_scale = -1;  // one number, or -1
  };
  Status read_shapes(const Gguf& gguf);
  void bind_layer(Binder& b, int64_t l);

  float eps_ = 0;
  float cap_ = 0;            // of logits; 0: none
  int64_t input_width_ = 0;  // of a layer; 0: none
  std::vector<Layer> weights_;
  Norm output_norm_;
  std::vector<Linear> head_;  // [n_vocab][n_embd]
};

// Layers that see all positions use RoPE table 0, those with a window table 1.
Status Gemma4::read_shapes(const Gguf& gguf) {
  ConfigReader reader(gguf, config_.architecture);
  if (gguf.find_tensor("blk.0.ffn_gate_inp.weight") != nullptr) {
    return with_facts(
        fail(Code::unsupported_model, "the model is a mixture of experts of the architecture ",
             config_.architecture,
             ", of which Sluice computes only dense models; use one of these, or a mixture of "
             "another architecture"),
        {{"architecture", config_.architecture}, {"tensor", "blk.0.ffn_gate_inp.weight"}});
  }
  SLUICE_ASSIGN(layers_, read_layers(reader, config_));
  const int64_t head_dim = layers_[0].head_dim;
  SLUICE_TRY(read_windows(reader, 0, layers_));
  SLUICE_TRY(read_local_heads(reader, layers_));
  SLUICE_TRY(read_shared_caches(reader, layers_));
  SLUICE_ASSIGN(const RopeShape global, read_rope(reader, config_, head_dim, RopePairs::halves));
  ropes_ = {global};
  for (LayerShape& shape : layers_) {
    shape.scale = 1;
    shape.rope = shape.window == 0 ? 0 : 1;
    if (shape.rope == 0 || ropes_.size() > 1) continue;
    SLUICE_ASSIGN(const RopeShape local, read_local_rope(reader, global, shape.head_dim));
    ropes_.push_back(local);
  }
  SLUICE_ASSIGN(cap_, read_cap(reader, "final_logit_softcapping", kUsualCap));
  SLUICE_ASSIGN(input_width_, read_input_width(reader, config_));
  eps_ = reader.epsilon("attention.layer_norm_rms_epsilon");
  return reader.status();
}

void Gemma4::bind_layer(Binder& b, int64_t l) {
  const int64_t d = config_.n_embd;
  const LayerShape& shape = layer(l);
  Layer& w = weights_[static_cast<size_t>(l)];
  b.layer(l);
  w.attn_norm = b.rms_norm("attn_norm", d, eps_);
  w.qkv = b.qkv_or_keys(shape);
  w.head_norms.q = b.rms_norm("attn_q_norm", shape.head_dim, eps_);
  if (shape.cache == l) {
    w.head_norms.k = b.rms_norm("attn_k_norm", shape.head_dim, eps_);
    w.head_norms.v = {Norm::rms, -1, -1, eps_};
    w.head_norms.keys_are_values = w.qkv.v.matrix < 0;
  }
  w.output = b.linear(Phase::output, "attn_output", d, shape.q_rows());
  w.post_attention_norm = b.rms_norm("post_attention_norm", d, eps_);
  w.ffn_norm = b.rms_norm("ffn_norm", d, eps_);
  w.gate_up = b.gate_up(shape);
  w.down = b.linear(Phase::down, "ffn_down", d, shape.n_ff);
  w.post_ffw_norm = b.rms_norm("post_ffw_norm", d, eps_);
  if (input_width_ > 0) w.input = b.layer_input(eps_);
  w.output_scale = b.optional_vector("layer_output_scale.weight", 1);
}

Status Gemma4::bind(const Gguf& gguf) {
  SLUICE_TRY(read_shapes(gguf));
  Binder b(gguf, *this);
  b.embedding();
  b.token_table();
  // Those of pairs that don't turn are 1e30.
  bool any_global = false;
  for (const LayerShape& shape : layers_) any_global = any_global || shape.rope == 0;
  if (any_global) ropes_[0].factors = b.vector("rope_freqs.weight", ropes_[0].numbers.dims / 2);
  if (input_width_ > 0) b.layer_inputs(input_width_, eps_);
  weights_ = std::vector<Layer>(layers_.size());
  for (int64_t l = 0; l < config_.n_layers; ++l) bind_layer(b, l);
  b.head();
  output_norm_ = b.rms_norm("output_norm", config_.n_embd, eps_);
  head_ = b.logits();
  return b.finish();
}

void Gemma4::embed(Pass& pass, const Work& work) const {
  pass.embed(work, std::sqrt(static_cast<float>(config_.n_embd)));
  pass.make_layer_inputs(work);
}

void Gemma4::run_layer(Pass& pass, const Work& work) const {
  const Layer& w = weights_[static_cast<size_t>(work.layer)];
  pass.project(work, w.attn_norm, w.qkv);
  pass.attend(work, w.head_norms);
  pass.attention_output(work, w.output, w.post_attention_norm);
  pass.ffn_gate_up(work, w.ffn_norm, Activation::gelu, w.gate_up);
  if (input_width_ == 0) return pass.ffn_down(work, w.down, w.post_ffw_norm, w.output_scale);
  pass.ffn_down(work, w.down, w.post_ffw_norm);
  pass.add_layer_input(work, w.input, w.output_scale);
}

void Gemma4::run_output(Pass& pass, const Work& work) const { pass.output(work, output_norm_); }

void Gemma4::run_head(Pass& pass, const Work& work) const {
  pass.logits(work, output_norm_, head_, cap_);
}

}  // namespace

Result<std::unique_ptr<Model>> make_gemma4(const Gguf& gguf, const Config& config, const Cut& cut,
                                           const Variant&) {
  auto model = std::make_unique<Gemma4>(config, cut);
  SLUICE_TRY(model->bind(gguf));
  return model;
}

}  // namespace sluice
