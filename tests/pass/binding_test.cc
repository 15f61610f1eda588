// What a file of any family may do: matrices in one tensor or in several, biases and scales beside
// them, tensors without effect.
#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "base/format.h"
#include "support/planned_engine.h"
#include "support/session_files.h"

namespace sluice {
namespace {

using Names = std::initializer_list<const char*>;

std::string hash_of_file(const std::string& bytes, size_t n = 12, int32_t threads = 2) {
  LoadOptions options = small(64);
  options.threads = threads;
  const auto engine = load_bytes(bytes, options);
  if (engine == nullptr) return "";
  return hash_of(*engine, some_ids(n, engine->tokenizer().vocab_size()));
}
std::string hash_of_file(const GgufBuilder& file) { return hash_of_file(file.build()); }

// The error of loading a file that is refused.
Error refused(const GgufBuilder& file) {
  const std::string bytes = file.build();
  auto engine = Engine::create(small(64), {bytes.size()});
  Stream stream(**engine);
  Status status = stream.push(as_bytes(bytes));
  EXPECT_FALSE(status.has_value());
  return status.has_value() ? Error{Code::aborted, ""} : std::move(status).error();
}
void expect_refused(const GgufBuilder& file, Code code, std::string_view says) {
  const Error error = refused(file);
  EXPECT_EQ(error.code, code) << error.message;
  EXPECT_NE(error.message.find(says), std::string::npos) << error.message;
}

bool has(const GgufBuilder& file, std::string_view name) {
  return std::ranges::find(file.tensors, name, &GgufBuilder::Tensor::name) != file.tensors.end();
}

uint32_t layers_of(const GgufBuilder& file) {
  uint32_t n = 0;
  while (has(file, concat("blk.", n, ".attn_norm.weight"))) ++n;
  return n;
}

// Joins the rows of tensors PREFIX + part + SUFFIX to one tensor, which takes the last one's place.
void join(GgufBuilder& file, const std::string& prefix, Names parts, const char* whole,
          const char* suffix) {
  if (!has(file, concat(prefix, *parts.begin(), suffix))) return;
  GgufBuilder::Tensor all = file.find_tensor(concat(prefix, *parts.begin(), suffix));
  std::string last;
  for (const char* part : parts) {
    const GgufBuilder::Tensor tensor = file.find_tensor(concat(prefix, part, suffix));
    ASSERT_EQ(tensor.type, all.type) << tensor.name;
    if (!last.empty()) {
      all.dims.back() += tensor.dims.back();
      all.data += tensor.data;
      file.remove_tensor(last);
    }
    last = tensor.name;
  }
  auto& place = file.find_tensor(last);
  place.name = concat(prefix, whole, suffix);
  place.dims = all.dims;
  place.data = all.data;
}

// Cuts a tensor's rows into tensors of so many rows.
void cut(GgufBuilder& file, const std::string& prefix, const char* whole,
         std::initializer_list<std::pair<const char*, uint64_t>> parts, const char* suffix) {
  const GgufBuilder::Tensor all = file.find_tensor(concat(prefix, whole, suffix));
  const size_t row = all.data.size() / all.dims.back();
  size_t at = 0;
  file.remove_tensor(all.name);
  for (const auto& [part, rows] : parts) {
    std::vector<uint64_t> dims = all.dims;
    dims.back() = rows;
    file.tensor(concat(prefix, part, suffix), all.type, dims, all.data.substr(at, rows * row));
    at += rows * row;
  }
  ASSERT_EQ(at, all.data.size());
}

void add_vector(GgufBuilder& file, const std::string& name, const std::vector<float>& values) {
  file.tensor(name, Type::F32, {values.size()}, bytes_of(values));
}

// --- one tensor or several -----------------------------------------------------------------------

class Fused : public testing::TestWithParam<const char*> {
 protected:
  const GgufBuilder apart_ = tiny_model_file(tiny_model_named(GetParam()));
  GgufBuilder fused_ = apart_;
};

TEST_P(Fused, QueriesKeysAndValuesGiveTheBitsOfThree) {
  for (uint32_t l = 0; l < layers_of(apart_); ++l) {
    for (const char* suffix : {".weight", ".bias"})
      join(fused_, concat("blk.", l, "."), {"attn_q", "attn_k", "attn_v"}, "attn_qkv", suffix);
  }
  ASSERT_TRUE(has(fused_, "blk.0.attn_qkv.weight") && !has(fused_, "blk.0.attn_k.weight"));
  for (const size_t n : {size_t{1}, size_t{40}}) {
    for (const int32_t threads : {1, 2}) {
      const std::string expected = hash_of_file(apart_.build(), n, threads);
      ASSERT_NE(expected, "");
      EXPECT_EQ(hash_of_file(fused_.build(), n, threads), expected);
    }
  }
}

TEST_P(Fused, GateAndUpGiveTheBitsOfTwo) {
  for (uint32_t l = 0; l < layers_of(apart_); ++l)
    join(fused_, concat("blk.", l, "."), {"ffn_gate", "ffn_up"}, "ffn_up", ".weight");
  ASSERT_FALSE(has(fused_, "blk.0.ffn_gate.weight"));
  for (const size_t n : {size_t{1}, size_t{40}}) {
    const std::string expected = hash_of_file(apart_.build(), n);
    ASSERT_NE(expected, "");
    EXPECT_EQ(hash_of_file(fused_.build(), n), expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Fused,
                         testing::Values("llama-f32", "llama-odd-q4_0", "llama-iq4_xs",
                                         "qwen2-odd-q8_0", "qwen3-odd-bf16", "gemma3-q8_0"),
                         [](const auto& each) { return test_name(each.param); });

TEST(Binding, AFusedFamilysFileMayHaveThreeTensors) {
  const GgufBuilder fused = tiny_model_file(tiny_model_named("gpt2-odd-f32"));
  GgufBuilder apart = fused;
  for (uint32_t l = 0; l < layers_of(fused); ++l) {
    for (const char* suffix : {".weight", ".bias"}) {
      cut(apart, concat("blk.", l, "."), "attn_qkv",
          {{"attn_q", 40}, {"attn_k", 40}, {"attn_v", 40}}, suffix);
    }
  }
  EXPECT_EQ(hash_of_file(apart), hash_of_file(fused));
  apart.remove_tensor("blk.1.attn_k.bias");
  expect_refused(apart, Code::bad_file, "blk.1.attn_k.bias");
}

TEST(Binding, AFusedTensorsBiasAndScaleAreThoseOfItsParts) {
  GgufBuilder apart = tiny_model_file(tiny_model_named("qwen2-f32"));
  GgufBuilder fused = apart;
  for (uint32_t l = 0; l < layers_of(apart); ++l) {
    const std::string prefix = concat("blk.", l, ".");
    for (const char* suffix : {".weight", ".bias"})
      join(fused, prefix, {"attn_q", "attn_k", "attn_v"}, "attn_qkv", suffix);
    join(fused, prefix, {"ffn_gate", "ffn_up"}, "ffn_up", ".weight");
    for (const char* name : {"attn_q", "attn_k", "attn_v"})
      add_vector(apart, concat(prefix, name, ".scale"), {0.75f});
    add_vector(fused, prefix + "attn_qkv.scale", {0.75f});
    for (const char* name : {"ffn_gate", "ffn_up"})
      add_vector(apart, concat(prefix, name, ".scale"), {1.5f});
    add_vector(apart, prefix + "ffn_gate.bias", std::vector<float>(96, 0.25f));
    add_vector(apart, prefix + "ffn_up.bias", std::vector<float>(96, -0.5f));
    std::vector<float> both(192, 0.25f);
    std::fill(both.begin() + 96, both.end(), -0.5f);
    add_vector(fused, prefix + "ffn_up.scale", {1.5f});
    add_vector(fused, prefix + "ffn_up.bias", both);
  }
  EXPECT_EQ(hash_of_file(fused), hash_of_file(apart));
}

TEST(Binding, BothFormsAtOnceAreRefused) {
  GgufBuilder file = tiny_model();
  const GgufBuilder apart = file;
  join(file, "blk.0.", {"attn_q", "attn_k", "attn_v"}, "attn_qkv", ".weight");
  const GgufBuilder::Tensor k = GgufBuilder(apart).find_tensor("blk.0.attn_k.weight");
  file.tensor(k.name, k.type, k.dims, k.data);
  expect_refused(file, Code::unsupported_model, "blk.0.attn_k.weight");
  file = apart;
  file.find_tensor("blk.0.ffn_up.weight").dims[1] = 128;
  file.find_tensor("blk.0.ffn_up.weight").data += std::string(4 * 32 * 64, '\0');
  expect_refused(file, Code::bad_file, "blk.0.ffn_up.weight has the shape [32, 128]");
  file = apart;
  file.remove_tensor("blk.0.ffn_gate.weight");
  expect_refused(file, Code::bad_file, "has no tensor blk.0.ffn_gate.weight");
  file = apart;
  join(file, "blk.0.", {"attn_q", "attn_k", "attn_v"}, "attn_qkv", ".weight");
  file.find_tensor("blk.0.attn_qkv.weight").dims[1] = 63;
  expect_refused(file, Code::bad_file, "[32, 63], but the header's numbers ask for [32, 64]");
}

// --- scales and biases ---------------------------------------------------------------------------

constexpr const char* kLinears[] = {"attn_q",   "attn_k", "attn_v",  "attn_output",
                                    "ffn_gate", "ffn_up", "ffn_down"};

// Doubling is exact, so the product of doubled weights is the doubled product. The bias is added
// after that, so it isn't doubled.
TEST(Binding, AScaleMultipliesTheProductBeforeTheBias) {
  GgufBuilder plain = tiny_model();
  for (const char* name : kLinears) {
    const uint64_t rows = plain.find_tensor(concat("blk.0.", name, ".weight")).dims[1];
    add_vector(plain, concat("blk.0.", name, ".bias"), test_values(rows, 77));
  }
  const std::string unscaled = hash_of_file(plain);
  ASSERT_NE(unscaled, "");
  for (const char* name : kLinears) {
    SCOPED_TRACE(name);
    GgufBuilder scaled = plain, doubled = plain;
    add_vector(scaled, concat("blk.0.", name, ".scale"), {2});
    auto& tensor = doubled.find_tensor(concat("blk.0.", name, ".weight"));
    std::vector<float> weights(tensor.data.size() / 4);
    std::memcpy(weights.data(), tensor.data.data(), tensor.data.size());
    for (float& weight : weights) weight *= 2;
    tensor.data = bytes_of(weights);
    const std::string hash = hash_of_file(scaled);
    EXPECT_EQ(hash, hash_of_file(doubled));
    EXPECT_NE(hash, unscaled);
  }
}

TEST(Binding, EveryLinearTakesABias) {
  for (const char* model : {"llama-f32", "gemma3-f32"}) {
    const GgufBuilder plain = tiny_model_file(tiny_model_named(model));
    const std::string without = hash_of_file(plain);
    for (const char* name : kLinears) {
      SCOPED_TRACE(concat(model, " ", name));
      GgufBuilder file = plain;
      const uint64_t rows = file.find_tensor(concat("blk.1.", name, ".weight")).dims[1];
      add_vector(file, concat("blk.1.", name, ".bias"), test_values(rows, 5));
      EXPECT_NE(hash_of_file(file), without);
      add_vector(file, concat("blk.1.", name, ".bias"), std::vector<float>(rows, 0));
      EXPECT_EQ(hash_of_file(file), without);
    }
  }
}

TEST(Binding, AScaleOfOneAndABiasOfZeroChangeNothing) {
  for (const char* model : {"llama-q8_0", "qwen3-f32", "gemma3-q4_0"}) {
    GgufBuilder file = tiny_model_file(tiny_model_named(model));
    const std::string without = hash_of_file(file);
    for (uint32_t l = 0; l < layers_of(file); ++l) {
      for (const char* name : kLinears) {
        const std::string prefix = concat("blk.", l, ".", name);
        const uint64_t rows = file.find_tensor(prefix + ".weight").dims[1];
        add_vector(file, prefix + ".bias", std::vector<float>(rows, 0));
        add_vector(file, prefix + ".scale", {1});
      }
    }
    add_vector(file, "output.bias", std::vector<float>(512, 0));
    add_vector(file, "output.scale", {1});
    EXPECT_EQ(hash_of_file(file), without) << model;
  }
}

TEST(Binding, WrongShapesAreRefused) {
  for (const char* name : {"blk.0.ffn_down.scale", "blk.0.attn_q.scale", "output.scale"}) {
    GgufBuilder file = tiny_model();
    add_vector(file, name, {1, 1});
    expect_refused(file, Code::bad_file, concat(name, " has the shape [2], but"));
    add_vector(file, name, {std::nanf("")});
    expect_refused(file, Code::bad_file, name);
  }
  for (const char* name : {"blk.0.ffn_down.bias", "blk.0.attn_k.bias", "output.bias"}) {
    GgufBuilder file = tiny_model();
    add_vector(file, name, std::vector<float>(33, 0));
    expect_refused(file, Code::bad_file, concat(name, " has the shape [33], but"));
  }
}

TEST(Binding, AFamilysBiasesMustBeThere) {
  const GgufBuilder qwen2 = tiny_model_file(tiny_model_named("qwen2-f32"));
  for (const char* name : {"blk.0.attn_q.bias", "blk.1.attn_v.bias"}) {
    GgufBuilder file = qwen2;
    file.remove_tensor(name);
    expect_refused(file, Code::bad_file, concat("has no tensor ", name));
  }
}

// --- the head ------------------------------------------------------------------------------------

std::vector<float> logits_of(Engine& engine, const std::vector<TokenId>& ids) {
  EXPECT_NE(hash_of(engine, ids), "");
  return {engine.session().logits().begin(), engine.session().logits().end()};
}

// Steps an engine that was opened to the end of a prompt, waiting for its weights.
std::string waiting_hash(Engine& engine, const std::vector<TokenId>& ids) {
  EXPECT_TRUE(engine.session().start_logits(ids, 0).has_value());
  const auto done = drive_opened(engine, engine.session());
  EXPECT_TRUE(done.has_value()) << done.error().message;
  return logits_hash(engine.session().logits());
}

class Head : public testing::TestWithParam<const char*> {};

TEST_P(Head, HasAScaleAndABiasAlsoInParts) {
  GgufBuilder file = tiny_model_file(tiny_model_named(GetParam()));
  const auto plain = load_bytes(file.build(), small(64));
  const int64_t n_vocab = plain->tokenizer().vocab_size();
  const std::vector<TokenId> ids = some_ids(9, n_vocab);
  std::vector<float> expected = logits_of(*plain, ids);
  const std::vector<float> bias = test_values(static_cast<size_t>(n_vocab), 3);
  for (size_t i = 0; i < expected.size(); ++i) {
    const float scaled = expected[i] * 0.625f;
    expected[i] = scaled + bias[i];
  }
  add_vector(file, "output.bias", bias);
  add_vector(file, "output.scale", {0.625f});
  const std::string bytes = file.build();
  LoadOptions two = small(64);
  two.threads = 2;
  const auto divided = load_bytes(bytes, two);
  const auto whole = load_bytes(bytes, small(64));
  ASSERT_TRUE(divided != nullptr && whole != nullptr);
  EXPECT_EQ(logits_of(*divided, ids), expected);
  EXPECT_EQ(logits_of(*whole, ids), expected);

  const TemporaryFile on_disk(bytes);
  const std::string hash = logits_hash(whole->session().logits());
  for (const PlanOverride& plan :
       {PlanOverride{.head_parts = 3, .embedding_rows = 16},
        PlanOverride{.layer_places = 2, .head_parts = 5, .embedding_rows = 16}, PlanOverride{}}) {
    const auto engine = PlannedEngine::open(on_disk.path(), small(64), plan);
    ASSERT_TRUE(engine.has_value()) << engine.error().message;
    for (int i = 0; i < 2; ++i) EXPECT_EQ(waiting_hash(**engine, ids), hash) << plan.head_parts;
  }
  const auto memory = plan_memory(whole->header(), small(64));
  ASSERT_TRUE(memory.has_value());
  LoadOptions least = small(64);
  least.memory_budget = memory->least;
  const auto engine = Engine::open(on_disk.path(), least);
  ASSERT_TRUE(engine.has_value()) << engine.error().message;
  for (int i = 0; i < 2; ++i) EXPECT_EQ(waiting_hash(**engine, ids), hash);
}

INSTANTIATE_TEST_SUITE_P(Models, Head,
                         testing::Values("llama-f32", "llama-odd-q4_0", "qwen2-q8_0", "gemma3-q8_0",
                                         "lfm2-q8_0", "qwen35-q8_0"),
                         [](const auto& each) { return test_name(each.param); });

// --- tensors without effect ----------------------------------------------------------------------

TEST(Binding, TensorsWithoutEffectAreIgnored) {
  GgufBuilder file = tiny_model();
  const std::string without = hash_of_file(file);
  for (const char* name :
       {"blk.0.ffn_up.input_scale", "output.input_scale", "blk.0.attn_rot_embd.weight",
        "blk.0.rope_freqs.weight", "blk.12.attn_rot_embd"})
    add_vector(file, name, std::vector<float>(3000, 7));
  const std::string bytes = file.build();
  EXPECT_EQ(hash_of_file(bytes), without);
  // The model can still be identified, so that a session can be saved.
  const TemporaryFile on_disk(bytes);
  const auto opened = open_file(on_disk.path(), small(64));
  const auto loaded = load_bytes(bytes, small(64));
  ASSERT_TRUE(opened != nullptr && loaded != nullptr);
  generate(*loaded, some_ids(3, kTinyVocab), greedy(2));
  const Bytes session = saved(*loaded, loaded->session());
  EXPECT_NE(restored(*opened, session), nullptr);
  for (const char* name : {"blk..rope_freqs.weight", "blk.0.attn_rot.weight", "rope_freqs.bias",
                           "blk.0.input_scales", "token_embd.scale"}) {
    GgufBuilder unknown = tiny_model();
    add_vector(unknown, name, {1});
    expect_refused(unknown, Code::unsupported_model, name);
  }
}

// The file of three blocks of which the last one drafts gives the bits of that with two layers, and
// takes no more memory.
TEST(Binding, BlocksThatDraftAreLeftOut) {
  TinyModel tiny = tiny_model_named("llama-odd-q4_0");
  GgufBuilder file = tiny_model_file(tiny);
  tiny.n_layers = 2;
  const GgufBuilder without = tiny_model_file(tiny);
  const std::string expected = hash_of_file(without);
  EXPECT_NE(hash_of_file(file), expected);
  file.kv_u32("llama.nextn_predict_layers", 1);
  add_vector(file, "blk.2.nextn.enorm.weight", std::vector<float>(64, 1));
  file.kv_array<uint32_t>("llama.feed_forward_length", ValueType::u32, {96, 96, 96});
  EXPECT_EQ(hash_of_file(file), expected);
  const auto drafts = plan_memory(*parse_gguf(as_bytes(file.build())), small(64));
  const auto plan = plan_memory(*parse_gguf(as_bytes(without.build())), small(64));
  ASSERT_TRUE(drafts.has_value() && plan.has_value());
  EXPECT_EQ(drafts->weights, plan->weights);
  EXPECT_EQ(drafts->per_token, plan->per_token);
  // Under the least budget, and from a stream.
  const TemporaryFile on_disk(file.build());
  LoadOptions least = small(64);
  least.memory_budget = drafts->least;
  const auto engine = Engine::open(on_disk.path(), least);
  ASSERT_TRUE(engine.has_value()) << engine.error().message;
  EXPECT_EQ(waiting_hash(**engine, some_ids(12, 509)), expected);
  for (const char* name : {"blk.3.attn_norm.weight", "blk.1.nextn.enorm.weight", "blk.2x.a"}) {
    GgufBuilder other = file;
    add_vector(other, name, {1});
    expect_refused(other, Code::unsupported_model, name);
  }
  for (const uint32_t n : {3u, 4u, 0xffffffffu}) {
    file.kv_u32("llama.nextn_predict_layers", n);
    expect_refused(file, Code::bad_file,
                   concat("nextn_predict_layers is ", n, "; expected 0 to 2"));
  }
}

}  // namespace
}  // namespace sluice
