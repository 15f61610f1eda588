// How a file's keys make layers of two kinds, those that see all positions and those with a window,
// and layers that read the keys and values of others.
#include <cmath>

#include "pass/config_reader.h"
#include "pass/shapes.h"
#include "support/engine_fixture.h"

namespace sluice {
namespace {

constexpr const char* kPattern = "llama.attention.sliding_window_pattern";

// A header of six layers, of which the third and the sixth see all.
GgufBuilder header() {
  GgufBuilder file = tiny_model();
  file.kv_u32("llama.block_count", 6)
      .kv_u32("llama.attention.key_length", 16)
      .kv_u32("llama.attention.value_length", 16)
      .kv_u32("llama.attention.key_length_swa", 8)
      .kv_u32("llama.attention.value_length_swa", 8)
      .kv_u32("llama.attention.sliding_window", 20)
      .kv_array(kPattern, ValueType::boolean, std::vector<uint8_t>{1, 1, 0, 1, 1, 0})
      .kv_f32("llama.rope.scaling.factor", 4);
  return file;
}

struct Kinds {
  Status status;
  std::vector<LayerShape> layers;
  std::optional<RopeShape> global, local;
};

Kinds kinds_of(const GgufBuilder& file) {
  Kinds kinds;
  const auto gguf = parse_gguf(as_bytes(file.build()));
  EXPECT_TRUE(gguf.has_value());
  const auto read = [&]() -> Status {
    SLUICE_ASSIGN(const Config config, read_config(*gguf, "llama"));
    ConfigReader reader(*gguf, "llama");
    SLUICE_ASSIGN(kinds.layers, read_layers(reader, config));
    SLUICE_TRY(read_windows(reader, 0, kinds.layers));
    SLUICE_TRY(read_local_heads(reader, kinds.layers));
    SLUICE_TRY(read_shared_caches(reader, kinds.layers));
    SLUICE_ASSIGN(kinds.global, read_rope(reader, config, 16, RopePairs::halves));
    SLUICE_ASSIGN(kinds.local, read_local_rope(reader, *kinds.global, 8));
    return reader.status();
  };
  kinds.status = read();
  return kinds;
}

void expect_says(const GgufBuilder& file, std::string_view says) {
  const Kinds kinds = kinds_of(file);
  ASSERT_FALSE(kinds.status.has_value()) << "expected: " << says;
  EXPECT_EQ(code_name(kinds.status.error().code), code_name(Code::bad_file));
  EXPECT_NE(kinds.status.error().message.find(says), std::string::npos)
      << kinds.status.error().message;
}

TEST(LayerKinds, HaveHeadsAndTablesOfTheirOwn) {
  const Kinds kinds = kinds_of(header());
  ASSERT_TRUE(kinds.status.has_value()) << kinds.status.error().message;
  for (size_t l = 0; l < 6; ++l) {
    const bool global = l == 2 || l == 5;
    EXPECT_EQ(kinds.layers[l].window, global ? 0 : 20) << l;
    EXPECT_EQ(kinds.layers[l].head_dim, global ? 16 : 8) << l;
    EXPECT_EQ(kinds.layers[l].scale, 1 / std::sqrt(global ? 16.0f : 8.0f)) << l;
    EXPECT_EQ(kinds.layers[l].cache, static_cast<int64_t>(l));
  }
  EXPECT_EQ(kinds.global->numbers.dims, 16);
  EXPECT_EQ(kinds.global->numbers.scale, 4);
  EXPECT_EQ(kinds.local->numbers.dims, 8);
  EXPECT_EQ(kinds.local->numbers.scale, 1);
  EXPECT_EQ(kinds.local->numbers.freq_base, 10000);
  GgufBuilder file = header();
  file.kv_u32("llama.rope.dimension_count_swa", 6).kv_f32("llama.rope.freq_base_swa", 500);
  EXPECT_EQ(kinds_of(file).local->numbers.dims, 6);
  EXPECT_EQ(kinds_of(file).local->numbers.freq_base, 500);
}

TEST(LayerKinds, AreToldByAnEntryForEachLayer) {
  expect_says(header().kv_u32(kPattern, 3), "sliding_window_pattern is no array");
  GgufBuilder file = header();
  file.remove(kPattern);
  expect_says(file, "sliding_window_pattern is missing");
  expect_says(header().kv_u32("llama.attention.sliding_window", 0), "sliding_window is 0");
  expect_says(header().kv_u32("llama.rope.dimension_count_swa", 7), "an even number");
  file = header();
  file.remove("llama.attention.key_length_swa");
  expect_says(file, "attention.key_length_swa");
}

TEST(LayerKinds, SharedLayersReadTheLastOneOfTheirKind) {
  constexpr const char* kShared = "llama.attention.shared_kv_layers";
  const auto caches = [](uint32_t n_shared) {
    std::vector<int64_t> all;
    for (const LayerShape& layer : kinds_of(header().kv_u32(kShared, n_shared)).layers)
      all.push_back(layer.cache);
    return all;
  };
  EXPECT_EQ(caches(3), (std::vector<int64_t>{0, 1, 2, 1, 1, 2}));
  EXPECT_EQ(caches(2), (std::vector<int64_t>{0, 1, 2, 3, 3, 2}));
  EXPECT_EQ(caches(1), (std::vector<int64_t>{0, 1, 2, 3, 4, 2}));
  expect_says(header().kv_u32(kShared, 6), "shared_kv_layers is 6; expected 0 to 5");
  expect_says(header().kv_u32(kShared, 4), "layer 2 has none before layer 2");
  GgufBuilder file = header();
  file.kv_u32(kShared, 3)
      .kv_array("llama.attention.head_count_kv", ValueType::i32,
                std::vector<int32_t>{2, 2, 2, 1, 2, 2});
  expect_says(file, "layer 3 has 1 key heads of 8 elements, and layer 1");
}

}  // namespace
}  // namespace sluice
