// A model without a head, for tests: its make_model() takes the place of the one in
// models/registry.cc, which the linker then leaves out. To be included once in a program.
#pragma once

#include "models/registry.h"
#include "pass/binder.h"
#include "pass/config_reader.h"
#include "pass/pass.h"
#include "support/engine_fixture.h"

namespace sluice {

// The attention of a llama file's layers, which see both ways, and its norm. Every other layer has
// a window and RoPE.
class Encoder final : public Model {
 public:
  static constexpr int64_t kWindow = 24;

  Encoder(const Config& config, const Cut& cut) : Model(config, cut, Head::none) {}

  Status bind(const Gguf& gguf) {
    ConfigReader reader(gguf, config_.architecture);
    SLUICE_ASSIGN(layers_, read_layers(reader, config_));
    SLUICE_TRY(reader.status());
    SLUICE_ASSIGN(const RopeShape rope,
                  read_rope(reader, config_, layers_[0].head_dim, RopePairs::halves));
    ropes_ = {rope};
    Binder b(gguf, *this);
    b.embedding();
    b.token_table();
    for (int64_t l = 0; l < config_.n_layers; ++l) {
      LayerShape& shape = layers_[static_cast<size_t>(l)];
      shape.both_ways = true;
      if (l % 2 == 1) {
        shape.window = kWindow;
        shape.rope = 0;
      }
      b.layer(l);
      Layer layer;
      layer.norm = b.rms_norm("attn_norm", config_.n_embd, 1e-5f);
      layer.qkv = b.qkv(shape);
      layer.output = b.linear(Phase::output, "attn_output", config_.n_embd, shape.q_rows());
      weights_.push_back(layer);
    }
    b.head();
    norm_ = b.rms_norm("output_norm", config_.n_embd, 1e-5f);
    if (!b.logits().empty()) return fail(Code::bad_file, "the model has a head");
    return b.finish();
  }
  void embed(Pass& pass, const Work& work) const override { pass.embed(work); }
  void run_layer(Pass& pass, const Work& work) const override {
    const Layer& w = weights_[static_cast<size_t>(work.layer)];
    pass.project(work, w.norm, w.qkv);
    pass.store_heads(work, {});
  }
  void end_layer(Pass& pass, const Work& work) const override {
    pass.attend_heads(work);
    pass.attention_output(work, weights_[static_cast<size_t>(work.layer)].output);
  }
  void run_output(Pass& pass, const Work& work) const override { pass.output(work, norm_); }
  void run_head(Pass&, const Work&) const override { ADD_FAILURE() << "it has no head"; }

 private:
  struct Layer {
    Norm norm;
    Qkv qkv;
    Linear output;
  };
  std::vector<Layer> weights_;
  Norm norm_;
};

// A file of it: without what it doesn't compute.
inline const std::string& encoder_bytes() {
  static const std::string bytes = [] {
    GgufBuilder file = tiny_model_file(tiny_model_named("llama-f32"));
    std::vector<std::string> names;
    for (const auto& tensor : file.tensors) names.push_back(tensor.name);
    for (const std::string& name : names)
      if (name.find("ffn") != std::string::npos || name == "output.weight")
        file.remove_tensor(name);
    return file.build();
  }();
  return bytes;
}

Result<std::unique_ptr<Model>> make_model(const Gguf& gguf, const Cut& cut) {
  SLUICE_ASSIGN(const Config config, read_config(gguf, "llama"));
  auto model = std::make_unique<Encoder>(config, cut);
  SLUICE_TRY(model->bind(gguf));
  return model;
}

}  // namespace sluice
