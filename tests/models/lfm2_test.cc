// What files of lfm2 may have, and its short convolutions, computed a second time.
#include <cmath>
#include <cstring>
#include <map>

#include "base/format.h"
#include "base/half.h"
#include "models/made_model.h"
#include "session/observe.h"
#include "support/engine_fixture.h"

namespace sluice {
namespace {

std::string lfm2_hash(const GgufBuilder& file) {
  const auto engine = load_bytes(file.build(), small(512));
  // More tokens than the window.
  return engine == nullptr ? "" : hash_of(*engine, some_ids(60, 509));
}

TEST(Lfm2, LayersWithoutKeyHeadsAreConvolutions) {
  const auto model = model_of(tiny_model_file(tiny_model_named("lfm2-odd-f32")));
  ASSERT_NE(model, nullptr);
  ASSERT_EQ(model->ropes().size(), 1u);
  EXPECT_EQ(model->ropes()[0].pairs, RopePairs::halves);
  for (int64_t l = 0; l < 7; ++l) {
    const LayerShape& shape = model->layer(l);
    const bool attends = l % 3 == 2;
    EXPECT_EQ(shape.n_kv_heads, attends ? 1 : 0) << l;
    EXPECT_EQ(shape.q_rows(), attends ? 40 : 0) << l;
    EXPECT_EQ(shape.window, attends ? 20 : 0) << l;
    EXPECT_EQ(shape.rope, attends ? 0 : -1) << l;
    EXPECT_EQ(shape.conv_channels, attends ? 0 : 40) << l;
    EXPECT_EQ(shape.state, attends ? 0 : 4 * 40) << l;
  }
}

TEST(Lfm2, TheWindowCounts) {
  GgufBuilder file = tiny_model_file(tiny_model_named("lfm2-odd-f32"));
  const std::string windowed = lfm2_hash(file);
  file.kv_u32("lfm2.attention.sliding_window", 0);
  const std::string all = lfm2_hash(file);
  EXPECT_NE(windowed, all);
  file.kv_u32("lfm2.attention.sliding_window", 64);  // no token sees beyond it
  EXPECT_EQ(lfm2_hash(file), all);
  file.remove("lfm2.attention.sliding_window");
  EXPECT_EQ(lfm2_hash(file), all);
  file.kv_raw("lfm2.attention.causal", static_cast<uint32_t>(ValueType::boolean),
              std::string(1, '\1'));
  EXPECT_EQ(lfm2_hash(file), all);
}

// All layers may be of one kind.
TEST(Lfm2, AllLayersMayBeOfOneKind) {
  for (const bool attend : {false, true}) {
    TinyModel tiny = tiny_model_named("lfm2-f32");
    tiny.n_layers = 2;
    GgufBuilder file = tiny_model_file(tiny);
    if (attend) {
      const GgufBuilder other = tiny_model_file(tiny_model_named("lfm2-f32"));
      for (const char* layer : {"blk.0.", "blk.1."}) {
        std::erase_if(file.tensors, [&](const auto& tensor) {
          return tensor.name.starts_with(concat(layer, "shortconv."));
        });
        for (auto tensor : other.tensors) {
          if (!tensor.name.starts_with("blk.2.attn_") || tensor.name.contains("attn_norm"))
            continue;
          file.tensor(concat(layer, tensor.name.substr(6)), tensor.type, tensor.dims, tensor.data);
        }
      }
      file.kv_u32("lfm2.attention.head_count_kv", 2);
    }
    const auto model = model_of(file);
    ASSERT_NE(model, nullptr);
    EXPECT_EQ(model->ropes().size(), attend ? 1u : 0u);
    const auto engine = load_bytes(file.build(), small(512));
    ASSERT_NE(engine, nullptr);
    const std::vector<TokenId> ids = some_ids(300, 512);
    const std::string expected = hash_of(*engine, ids);
    EXPECT_NE(expected, "");
    EXPECT_EQ(hash_of(*engine, ids, 7), expected);
    EXPECT_EQ(engine->session().reusable(some_ids(290, 512)), attend ? 289u : 256u);
  }
}

// --- the convolution, computed a second time -----------------------------------------------------

std::vector<float> floats_of(GgufBuilder& file, const std::string& tensor) {
  const std::string& data = file.find_tensor(tensor).data;
  std::vector<float> numbers(data.size() / 4);
  std::memcpy(numbers.data(), data.data(), data.size());
  return numbers;
}

// The kernel is f32 in memory, as vectors are, whatever its type in the file.
TEST(Lfm2, AKernelOfHalvesGivesTheBitsOfItsNumbers) {
  GgufBuilder whole = tiny_model_file(tiny_model_named("lfm2-odd-f32")), halves = whole;
  for (const int layer : {0, 1, 3, 4, 6}) {
    const std::string name = concat("blk.", layer, ".shortconv.conv.weight");
    std::vector<float> numbers = floats_of(whole, name);
    std::vector<uint16_t> bits;
    for (float& number : numbers) {
      bits.push_back(f32_to_f16(number));
      number = f16_to_f32(bits.back());
    }
    whole.tensor(name, Type::F32, {5, 40}, bytes_of(numbers));
    halves.tensor(name, Type::F16, {5, 40}, bytes_of(bits));
  }
  EXPECT_EQ(lfm2_hash(halves), lfm2_hash(whole));
}

TEST(Lfm2, ConvolutionsWeighTheLastInputsOfEachChannel) {
  for (const auto& [name, n_embd, n_taps] :
       {std::tuple("lfm2-f32", 64, 3), std::tuple("lfm2-odd-f32", 40, 5)}) {
    GgufBuilder file = tiny_model_file(tiny_model_named(name));
    const auto engine = load_bytes(file.build(), small(512));
    ASSERT_NE(engine, nullptr);
    const auto d = static_cast<size_t>(n_embd), taps = static_cast<size_t>(n_taps);
    for (const int64_t batch : {0, 1, 3}) {
      Inputs inputs;
      Session session(*engine);
      ASSERT_TRUE(set_observer(session, &inputs).has_value());
      ASSERT_TRUE(session.start_logits(some_ids(20, 509), batch).has_value());
      finish_run(session);
      for (const std::string blk : {"blk.0.shortconv.", "blk.1.shortconv.", "blk.4.shortconv."}) {
        const std::vector<float> in_proj = floats_of(file, blk + "in_proj.weight");
        const std::vector<float> kernel = floats_of(file, blk + "conv.weight");
        std::vector<std::vector<double>> products;  // b, c, x of each token
        for (int64_t p = 0; p < 20; ++p) {
          const std::vector<float>& in = inputs.at(blk + "in_proj.weight", p);
          std::vector<double> product(3 * d, 0.0);
          for (size_t i = 0; i < product.size(); ++i)
            for (size_t k = 0; k < d; ++k)
              product[i] += static_cast<double>(in_proj[i * d + k]) * static_cast<double>(in[k]);
          products.push_back(product);
          const std::vector<float>& out = inputs.at(blk + "out_proj.weight", p);
          for (size_t i = 0; i < d; ++i) {
            double sum = 0;
            for (size_t j = 0; j < taps && j < products.size(); ++j) {
              const std::vector<double>& then = products[products.size() - 1 - j];
              sum +=
                  static_cast<double>(kernel[i * taps + taps - 1 - j]) * then[i] * then[2 * d + i];
            }
            ASSERT_NEAR(static_cast<double>(out[i]), sum * product[d + i], 1e-5)
                << blk << ", position " << p << ", channel " << i << ", batch " << batch;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace sluice
