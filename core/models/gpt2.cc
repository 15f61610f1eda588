// GPT-2 (Radford et al. 2019, Language Models are Unsupervised Multitask Learners): layer norms,
// learned positions, one matrix for queries, keys and values, a feed-forward part with GELU and no
// gate, biases everywhere.
#include "models/registry.h"
#include "pass/binder.h"
#include "pass/config_reader.h"
#include "pass/pass.h"

namespace sluice {
namespace {

class Gpt2 final : public Model {
 public:
  Gpt2(const Config& config, const Cut& cut) : Model(config, cut) {}
  Status bind(const Gguf& gguf);
  void embed(Pass& pass, const Work& work) const override;
  void run_layer(Pass& pass, const Work& work) const override;
  void run_output(Pass& pass, const Work& work) const override;
  void run_head(Pass& pass, const Work& work) const override;

 private:
  struct Layer {
    Norm attn_norm;
    Qkv qkv;        // [heads * head_dim][n_embd]; k and v: KV heads
    Linear output;  // [n_embd][heads * head_dim]
    Norm ffn_norm;
    Linear up;    // [n_ff][n_embd]
    Linear down;  // [n_embd][n_ff]
  };

  int positions_ = -1;  // [context_length][n_embd]
  std::vector<Layer> weights_;
  Norm output_norm_;
  std::vector<Linear> head_;  // [n_vocab][n_embd]
};

Status Gpt2::bind(const Gguf& gguf) {
  ConfigReader reader(gguf, config_.architecture);
  SLUICE_ASSIGN(layers_, read_layers(reader, config_));
  const float eps = reader.epsilon("attention.layer_norm_epsilon");
  SLUICE_TRY(reader.status());
  max_positions_ = config_.context_length;

  Binder b(gguf, *this);
  constexpr Biases biased = Biases::required;
  const int64_t d = config_.n_embd;
  b.embedding();
  b.token_table();
  positions_ = b.table("position_embd.weight", max_positions_, d);
  weights_ = std::vector<Layer>(layers_.size());
  for (int64_t l = 0; l < config_.n_layers; ++l) {
    const LayerShape& shape = layer(l);
    Layer& w = weights_[static_cast<size_t>(l)];
    b.layer(l);
    w.attn_norm = b.layer_norm("attn_norm", d, eps);
    w.qkv = b.qkv(shape, biased);
    w.output = b.linear(Phase::output, "attn_output", d, shape.q_rows(), Buffer::branch, biased);
    w.ffn_norm = b.layer_norm("ffn_norm", d, eps);
    w.up = b.linear(Phase::gate_up, "ffn_up", shape.n_ff, d, Buffer::hidden, biased);
    w.down = b.linear(Phase::down, "ffn_down", d, shape.n_ff, Buffer::branch, biased);
  }
  b.head();
  output_norm_ = b.layer_norm("output_norm", d, eps);
  head_ = b.logits();
  return b.finish();
}

void Gpt2::embed(Pass& pass, const Work& work) const { pass.embed(work, 1, positions_); }

void Gpt2::run_layer(Pass& pass, const Work& work) const {
  const Layer& w = weights_[static_cast<size_t>(work.layer)];
  pass.project(work, w.attn_norm, w.qkv);
  pass.attend(work, {});
  pass.attention_output(work, w.output);
  pass.ffn_up(work, w.ffn_norm, w.up);
  pass.ffn_down(work, w.down);
}

void Gpt2::run_output(Pass& pass, const Work& work) const { pass.output(work, output_norm_); }

void Gpt2::run_head(Pass& pass, const Work& work) const { pass.logits(work, output_norm_, head_); }

}  // namespace

Result<std::unique_ptr<Model>> make_gpt2(const Gguf& gguf, const Config& config, const Cut& cut,
                                         const Variant&) {
  auto model = std::make_unique<Gpt2>(config, cut);
  SLUICE_TRY(model->bind(gguf));
  return model;
}

}  // namespace sluice
