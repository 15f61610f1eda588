// Mixtures of experts: how tokens choose, what files may hold, and what is refused.
#include <algorithm>
#include <cstring>
#include <functional>

#include "base/format.h"
#include "support/engine_fixture.h"

namespace sluice {
namespace {

std::string hash_of_file(const GgufBuilder& file, size_t n, int32_t threads = 2,
                         int64_t batch = 0) {
  LoadOptions options = small(512);
  options.threads = threads;
  const auto engine = load_bytes(file.build(), options);
  if (engine == nullptr) return "";
  return hash_of(*engine, some_ids(n, engine->tokenizer().vocab_size()), batch);
}

TinyModel mixture(std::string_view name, uint32_t n_experts, uint32_t n_used) {
  TinyModel model = tiny_model_named(name);
  model.n_experts = n_experts;
  model.n_used = n_used;
  return model;
}

std::string in_layer(uint32_t layer, const char* name) {
  return concat("blk.", layer, ".", name, ".weight");
}

// The bytes of one expert in a tensor of all.
std::string expert_of(const GgufBuilder::Tensor& all, size_t expert) {
  const size_t bytes = all.data.size() / all.dims[2];
  return all.data.substr(expert * bytes, bytes);
}

// Makes the feed-forward part of each layer its only expert.
void add_only_expert(GgufBuilder& file, uint32_t n_layers) {
  const uint64_t n_embd = file.find_tensor("output_norm.weight").dims[0];
  for (uint32_t l = 0; l < n_layers; ++l) {
    for (const auto& [dense, expert] : {std::pair{"ffn_gate", "ffn_gate_exps"},
                                        {"ffn_up", "ffn_up_exps"},
                                        {"ffn_down", "ffn_down_exps"}}) {
      GgufBuilder::Tensor& tensor = file.find_tensor(in_layer(l, dense));
      tensor.name = in_layer(l, expert);
      tensor.dims.push_back(1);
    }
    file.tensor(in_layer(l, "ffn_gate_inp"), Type::F32, {n_embd, 1},
                bytes_of(test_values(n_embd, l)));
  }
}

// Of a dense file makes one whose layers have the same feed-forward part as their only expert.
GgufBuilder with_one_expert(GgufBuilder file, uint32_t n_layers) {
  for (GgufBuilder::Entry& entry : file.entries)
    if (entry.key.starts_with("qwen3.")) entry.key.replace(0, 5, "qwen3moe");
  file.kv_string("general.architecture", "qwen3moe");
  file.kv_u32("qwen3moe.expert_count", 1).kv_u32("qwen3moe.expert_used_count", 1);
  add_only_expert(file, n_layers);
  return file;
}

TEST(Experts, AnOnlyOneIsADenseFeedForwardPart) {
  for (const char* name : {"qwen3-f32", "qwen3-q4_k_m", "qwen3-odd-bf16"}) {
    const TinyModel& model = tiny_model_named(name);
    const GgufBuilder dense = tiny_model_file(model);
    for (const size_t n : {size_t{1}, size_t{40}, size_t{300}}) {
      const std::string expected = hash_of_file(dense, n);
      ASSERT_NE(expected, "");
      EXPECT_EQ(hash_of_file(with_one_expert(dense, model.n_layers), n), expected) << name;
    }
  }
}

// More tokens than a block has choose the same expert, some or all of them.
TEST(Experts, OfManyTokensDontDependOnBatchAndThreads) {
  for (const auto& [n_experts, n_used] : {std::pair{2u, 2u}, {3u, 1u}, {5u, 4u}}) {
    const GgufBuilder file = tiny_model_file(mixture("qwen3moe-q8_0", n_experts, n_used));
    const std::string expected = hash_of_file(file, 400, 1);
    for (const int64_t batch : {1, 130, 0})
      EXPECT_EQ(hash_of_file(file, 400, 2, batch), expected) << n_experts << ", batch " << batch;
  }
}

// Without differences the lowest are chosen, and the others don't count.
TEST(Experts, AreTheLowestOfThoseThatAreEqual) {
  const TinyModel model = mixture("qwen3moe-f32", 6, 2);
  GgufBuilder file = tiny_model_file(model);
  for (uint32_t l = 0; l < model.n_layers; ++l) {
    std::string& router = file.find_tensor(in_layer(l, "ffn_gate_inp")).data;
    router.assign(router.size(), '\0');
  }
  const auto with_another = [&](size_t expert) {
    GgufBuilder changed = file;
    GgufBuilder::Tensor& down = changed.find_tensor(in_layer(1, "ffn_down_exps"));
    const std::string others = expert_of(down, (expert + 1) % 6);
    down.data.replace(expert * others.size(), others.size(), others);
    return hash_of_file(changed, 30);
  };
  const std::string expected = hash_of_file(file, 30);
  for (size_t expert = 0; expert < 6; ++expert)
    EXPECT_EQ(with_another(expert) == expected, expert >= 2) << expert;
}

TEST(Experts, MayHaveGateAndUpInOneTensor) {
  for (const char* name : {"qwen3moe-f32", "qwen3moe-q4_k_m", "qwen3moe-odd-bf16"}) {
    const TinyModel& model = tiny_model_named(name);
    const GgufBuilder apart = tiny_model_file(model);
    GgufBuilder fused = apart;
    for (uint32_t l = 0; l < model.n_layers; ++l) {
      const GgufBuilder::Tensor gate = fused.find_tensor(in_layer(l, "ffn_gate_exps"));
      GgufBuilder::Tensor& both = fused.find_tensor(in_layer(l, "ffn_up_exps"));
      std::string data;
      for (size_t e = 0; e < model.n_experts; ++e) data += expert_of(gate, e) + expert_of(both, e);
      both.name = in_layer(l, "ffn_gate_up_exps");
      both.dims[1] *= 2;
      both.data = data;
      fused.remove_tensor(gate.name);
    }
    for (const size_t n : {size_t{1}, size_t{40}})
      EXPECT_EQ(hash_of_file(fused, n), hash_of_file(apart, n)) << name;
  }
}

// A number for each expert multiplies its product.
TEST(Experts, MayHaveScales) {
  const TinyModel& model = tiny_model_named("qwen3moe-f32");
  GgufBuilder scaled = tiny_model_file(model), multiplied = scaled;
  for (uint32_t l = 0; l < model.n_layers; ++l) {
    for (const char* name : {"ffn_gate_exps", "ffn_up_exps", "ffn_down_exps"}) {
      std::vector<float> scales;
      GgufBuilder::Tensor& tensor = multiplied.find_tensor(in_layer(l, name));
      const size_t values = tensor.data.size() / 4 / model.n_experts;
      for (size_t e = 0; e < model.n_experts; ++e) {
        scales.push_back(e % 2 == 0 ? 0.5f : 2.0f);
        for (size_t i = e * values; i < (e + 1) * values; ++i) {
          float value = 0;
          std::memcpy(&value, tensor.data.data() + 4 * i, 4);
          value *= scales.back();
          std::memcpy(tensor.data.data() + 4 * i, &value, 4);
        }
      }
      scaled.tensor(concat("blk.", l, ".", name, ".scale"), Type::F32, {scales.size()},
                    bytes_of(scales));
    }
  }
  for (const size_t n : {size_t{1}, size_t{40}})
    EXPECT_EQ(hash_of_file(scaled, n), hash_of_file(multiplied, n));
}

// Without their own width experts have that of the feed-forward part, divided by those that are
// used.
TEST(Experts, OfOldFilesHaveTheirWidthFromThatOfTheFeedForwardPart) {
  const TinyModel& model = tiny_model_named("qwen3moe-f32");
  GgufBuilder file = tiny_model_file(model);
  const std::string expected = hash_of_file(file, 9);
  file.kv_u32("qwen3moe.feed_forward_length", model.n_ff * model.n_used);
  EXPECT_EQ(hash_of_file(file, 9), expected);
  file.remove("qwen3moe.expert_feed_forward_length");
  EXPECT_EQ(hash_of_file(file, 9), expected);
}

// Those of llama (Mixtral) have all of it. Without expert_count, or with 0, its files are dense.
TEST(Experts, OfALlamaHaveTheWidthOfTheFeedForwardPart) {
  const TinyModel& model = tiny_model_named("llama-f32");
  const GgufBuilder dense = tiny_model_file(model);
  GgufBuilder one = dense;
  one.kv_u32("llama.expert_count", 1).kv_u32("llama.expert_used_count", 1);
  add_only_expert(one, model.n_layers);
  EXPECT_EQ(hash_of_file(one, 40), hash_of_file(dense, 40));
  GgufBuilder none = dense;
  none.kv_u32("llama.expert_count", 0);
  EXPECT_EQ(hash_of_file(none, 40), hash_of_file(dense, 40));
}

TEST(Experts, AreReadForATokenAsManyAsItUses) {
  const TinyModel& model = tiny_model_named("qwen3moe-q8_0");
  const GgufBuilder file = tiny_model_file(model);
  uint64_t bytes = 0;
  for (const GgufBuilder::Tensor& tensor : file.tensors) {
    if (tensor.dims.size() == 3) bytes += tensor.data.size() / model.n_experts * model.n_used;
    if (tensor.dims.size() == 2 && tensor.name != "token_embd.weight") bytes += tensor.data.size();
  }
  const auto engine = load_bytes(file.build(), small());
  ASSERT_NE(engine, nullptr);
  EXPECT_EQ(engine->stats().bytes_per_token, bytes);
  EXPECT_EQ(plan_memory(engine->header(), small())->per_token, bytes);
}

// --- what is refused -----------------------------------------------------------------------------

struct Refusal {
  const char* name;
  Code code;
  std::vector<std::string> says;
  std::function<void(GgufBuilder&)> change;
};

const std::string kKey = "qwen3moe.";
void set(GgufBuilder& file, std::string_view key, uint32_t value) {
  file.kv_u32(concat(kKey, key), value);
}

TEST(Experts, ThatCannotBeComputedAreRefused) {
  const Refusal refusals[] = {
      {"no count",
       Code::bad_file,
       {"qwen3moe.expert_count", "needs"},
       [](GgufBuilder& f) { f.remove("qwen3moe.expert_count"); }},
      {"none",
       Code::bad_file,
       {"expert_count is 0; expected 1 to 1024"},
       [](GgufBuilder& f) { set(f, "expert_count", 0); }},
      {"too many",
       Code::bad_file,
       {"expert_count is 1025"},
       [](GgufBuilder& f) { set(f, "expert_count", 1025); }},
      {"absurdly many",
       Code::bad_file,
       {"expert_count is 4294967295"},
       [](GgufBuilder& f) { set(f, "expert_count", 0xffffffffu); }},
      {"too many in all layers",
       Code::unsupported_model,
       {"qwen3moe.expert_count is 1024, in 33 layers", "more than 32768"},
       [](GgufBuilder& f) {
         set(f, "expert_count", 1024);
         set(f, "block_count", 33);
       }},
      {"none used",
       Code::bad_file,
       {"expert_used_count is 0; expected 1 to 7"},
       [](GgufBuilder& f) { set(f, "expert_used_count", 0); }},
      {"more used than there are",
       Code::bad_file,
       {"expert_used_count is 8; expected 1 to 7"},
       [](GgufBuilder& f) { set(f, "expert_used_count", 8); }},
      {"used by layer",
       Code::unsupported_model,
       {"qwen3moe.expert_used_count is an array", "use another model"},
       [](GgufBuilder& f) {
         f.kv_array<uint32_t>("qwen3moe.expert_used_count", ValueType::u32, {3, 3});
       }},
      {"groups",
       Code::unsupported_model,
       {"qwen3moe.expert_group_count is 2", "groups"},
       [](GgufBuilder& f) { set(f, "expert_group_count", 2); }},
      {"another count than the tensors have",
       Code::bad_file,
       {"ffn_gate_inp.weight", "[64, 7]"},
       [](GgufBuilder& f) { set(f, "expert_count", 6); }},
      {"another width than the tensors have",
       Code::bad_file,
       {"ffn_gate_exps.weight", "[64, 48, 7]"},
       [](GgufBuilder& f) { set(f, "expert_feed_forward_length", 48); }},
      {"no width",
       Code::bad_file,
       {"ffn_gate_exps.weight", "[64, 10, 7]"},
       [](GgufBuilder& f) { f.remove("qwen3moe.expert_feed_forward_length"); }},
      {"an absurd width",
       Code::bad_file,
       {"expert_feed_forward_length is 2147483648"},
       [](GgufBuilder& f) { set(f, "expert_feed_forward_length", 0x80000000u); }},
      {"no router",
       Code::bad_file,
       {"no tensor blk.1.ffn_gate_inp.weight"},
       [](GgufBuilder& f) { f.remove_tensor("blk.1.ffn_gate_inp.weight"); }},
      {"no gates",
       Code::bad_file,
       {"no tensor blk.0.ffn_gate_exps.weight"},
       [](GgufBuilder& f) { f.remove_tensor("blk.0.ffn_gate_exps.weight"); }},
      {"no products",
       Code::bad_file,
       {"no tensor blk.1.ffn_down_exps.weight"},
       [](GgufBuilder& f) { f.remove_tensor("blk.1.ffn_down_exps.weight"); }},
      {"a tensor for each expert",
       Code::unsupported_model,
       {"blk.0.ffn_gate.0.weight", "use a newer file", "blk.0.ffn_gate_exps.weight"},
       [](GgufBuilder& f) {
         const GgufBuilder::Tensor all = f.find_tensor("blk.0.ffn_gate_exps.weight");
         f.remove_tensor(all.name);
         for (size_t e = 0; e < 7; ++e) {
           f.tensor(concat("blk.0.ffn_gate.", e, ".weight"), all.type, {64, 32}, expert_of(all, e));
         }
       }},
      {"both forms",
       Code::unsupported_model,
       {"blk.0.ffn_gate_exps.weight"},
       [](GgufBuilder& f) {
         f.tensor("blk.0.ffn_gate_up_exps.weight", Type::F32, {64, 64, 7},
                  std::string(4 * 64 * 64 * 7, '\0'));
       }},
      {"a bias of the choice",
       Code::unsupported_model,
       {"blk.0.exp_probs_b.bias"},
       [](GgufBuilder& f) {
         f.tensor("blk.0.exp_probs_b.bias", Type::F32, {7}, std::string(28, '\0'));
       }},
      {"a scale for fewer",
       Code::bad_file,
       {"blk.0.ffn_up_exps.scale"},
       [](GgufBuilder& f) {
         f.tensor("blk.0.ffn_up_exps.scale", Type::F32, {6}, std::string(24, '\0'));
       }},
  };
  for (const Refusal& refusal : refusals) {
    SCOPED_TRACE(refusal.name);
    GgufBuilder file = tiny_model_file(tiny_model_named("qwen3moe-f32"));
    refusal.change(file);
    const std::string bytes = file.build();
    auto engine = Engine::create(small(64), {bytes.size()});
    const Status status = Stream(**engine).push(as_bytes(bytes));
    ASSERT_FALSE(status.has_value());
    EXPECT_EQ(code_name(status.error().code), code_name(refusal.code)) << status.error().message;
    for (const std::string& text : refusal.says)
      EXPECT_NE(status.error().message.find(text), std::string::npos) << status.error().message;
  }
}

// A dense family's file with experts is refused by name.
TEST(Experts, OfAFamilyWithoutAreRefused) {
  GgufBuilder file = tiny_model_file(tiny_model_named("qwen3-f32"));
  file.kv_u32("qwen3.expert_count", 8);
  const std::string bytes = file.build();
  auto engine = Engine::create(small(64), {bytes.size()});
  const Status status = Stream(**engine).push(as_bytes(bytes));
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(code_name(status.error().code), code_name(Code::unsupported_model));
  EXPECT_NE(status.error().message.find("8 experts"), std::string::npos);
}

}  // namespace
}  // namespace sluice
