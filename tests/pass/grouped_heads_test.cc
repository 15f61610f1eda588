// Folded weights whose columns are grouped by key heads (Binder::group_value_heads). No family here
// asks for it yet, so the program brings one of its own: its make_model() takes the place of the
// one in models/registry.cc, which the linker then leaves out.
#include <cmath>
#include <cstring>

#include "make/fold.h"
#include "models/registry.h"
#include "pass/binder.h"
#include "pass/config_reader.h"
#include "pass/pass.h"
#include "session/results.h"
#include "support/engine_fixture.h"

namespace sluice {
namespace {

bool asks = true;  // for the order of the groups

// The attention of a llama file's layers and its norm; the heads of attention stand for those of a
// gated delta net.
class AttentionOnly final : public Model {
 public:
  AttentionOnly(const Config& config, const Cut& cut) : Model(config, cut, Head::none) {}

  Status bind(const Gguf& gguf) {
    ConfigReader reader(gguf, config_.architecture);
    SLUICE_ASSIGN(layers_, read_layers(reader, config_));
    SLUICE_TRY(reader.status());
    Binder b(gguf, *this);
    b.embedding();
    b.token_table();
    for (int64_t l = 0; l < config_.n_layers; ++l) {
      const LayerShape& shape = layer(l);
      b.layer(l);
      Layer layer;
      layer.norm = b.rms_norm("attn_norm", config_.n_embd, 1e-5f);
      layer.qkv = b.qkv(shape);
      layer.output = b.linear(Phase::output, "attn_output", config_.n_embd, shape.q_rows());
      if (asks) b.group_value_heads(layer.output, shape.n_kv_heads, shape.n_heads);
      weights_.push_back(layer);
    }
    b.head();
    norm_ = b.rms_norm("output_norm", config_.n_embd, 1e-5f);
    b.logits();
    return b.finish();
  }
  void embed(Pass& pass, const Work& work) const override { pass.embed(work); }
  void run_layer(Pass& pass, const Work& work) const override {
    const Layer& w = weights_[static_cast<size_t>(work.layer)];
    pass.project(work, w.norm, w.qkv);
    pass.attend(work, {});
    pass.attention_output(work, w.output);
  }
  void run_output(Pass& pass, const Work& work) const override { pass.output(work, norm_); }
  void run_head(Pass&, const Work&) const override {}

 private:
  struct Layer {
    Norm norm;
    Qkv qkv;
    Linear output;
  };
  std::vector<Layer> weights_;
  Norm norm_;
};

constexpr uint32_t kKeyHeads = 3, kRepeats = 2, kHeadDim = 16, kWidth = 96;

GgufBuilder plain_file() {
  TinyModel model = tiny_model_named("llama-f32");
  model.n_heads = kKeyHeads * kRepeats;
  model.n_kv_heads = kKeyHeads;
  GgufBuilder file = tiny_model_file(model);
  std::erase_if(file.tensors, [](const auto& tensor) {
    return tensor.name.find("ffn") != std::string::npos || tensor.name == "output.weight";
  });
  return file;
}

// attn_output is folded, after its columns were put in the order of the groups.
GgufBuilder grouped_file() {
  GgufBuilder file = plain_file();
  Folded folded{.names = {}, .widths = {kWidth}};
  for (auto& tensor : file.tensors) {
    if (tensor.name.find("attn_output") == std::string::npos) continue;
    folded.names.push_back(tensor.name);
    std::vector<float> from(tensor.data.size() / 4), to(from.size());
    std::memcpy(from.data(), tensor.data.data(), tensor.data.size());
    for (size_t row = 0; row < from.size(); row += kWidth)
      for (size_t k = 0; k < kKeyHeads; ++k)
        for (size_t r = 0; r < kRepeats; ++r)
          for (size_t i = 0; i < kHeadDim; ++i)
            to[row + (k * kRepeats + r) * kHeadDim + i] =
                from[row + (k + kKeyHeads * r) * kHeadDim + i];
    fold_rows(to, kWidth, true);
    tensor.data = bytes_of(to);
  }
  add_fold_keys(file, folded);
  file.remove("prism.hadamard.inverse_weight_names").kv_bool("prism.hadamard.gdn_v_grouped", true);
  return file;
}

std::vector<float> pooled(const GgufBuilder& file, size_t n, int64_t batch) {
  const auto engine = load_bytes(file.build(), small(64));
  if (engine == nullptr) return {};
  Results wanted;
  wanted.pooling = Pooling::mean;
  EXPECT_TRUE(engine->session().start_results(some_ids(n, 512), batch, wanted).has_value());
  finish_run(*engine);
  return {engine->session().pooled().begin(), engine->session().pooled().end()};
}

TEST(GroupedHeads, GiveWhatThePlainOnesDo) {
  for (const size_t n : {1, 9}) {
    const std::vector<float> expected = pooled(plain_file(), n, 0);
    const std::vector<float> got = pooled(grouped_file(), n, 0);
    ASSERT_EQ(got.size(), 64u);
    for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], expected[i], 1e-5);
    EXPECT_EQ(pooled(grouped_file(), n, 1), got);
    GgufBuilder tiled = grouped_file();
    tiled.remove("prism.hadamard.gdn_v_grouped");
    const std::vector<float> other = pooled(tiled, n, 0);
    float distance = 0;
    for (size_t i = 0; i < got.size(); ++i) distance += std::fabs(got[i] - other[i]);
    EXPECT_GT(distance, 1) << "the order doesn't matter";
  }
}

TEST(GroupedHeads, AreRefusedByAFamilyThatDoesNotAsk) {
  asks = false;
  const TemporaryFile file(grouped_file().build());
  const auto engine = Engine::open(file.path(), {});
  asks = true;
  ASSERT_FALSE(engine.has_value());
  EXPECT_EQ(code_name(engine.error().code), code_name(Code::unsupported_model));
  EXPECT_NE(engine.error().message.find("gdn_v_grouped"), std::string::npos);
}

}  // namespace

Result<std::unique_ptr<Model>> make_model(const Gguf& gguf, const Cut& cut) {
  SLUICE_ASSIGN(const Config config, read_config(gguf, "llama"));
  auto model = std::make_unique<AttentionOnly>(config, cut);
  SLUICE_TRY(model->bind(gguf));
  return model;
}

}  // namespace sluice
