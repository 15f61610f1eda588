// Conversions of folders that tests make: what a conversion gave, and a model like LLaMA's to begin
// with.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "files/convert/convert.h"
#include "make/hf_folder.h"
#include "support/model_test.h"

namespace sluice {

using Floats = std::vector<float>;

struct Converted {
  std::string bytes;
  Gguf header;
  std::vector<std::string> remarks;

  // The numbers of a tensor, all as f32.
  Floats values(const std::string& name) const {
    const TensorInfo* tensor = header.find_tensor(name);
    if (tensor == nullptr) {
      ADD_FAILURE() << "there is no tensor " << name;
      return {};
    }
    Floats out(tensor->dims[0] * tensor->dims[1] * tensor->dims[2]);
    const TypeTraits& type = traits(static_cast<Type>(tensor->type));
    const auto* data =
        reinterpret_cast<const uint8_t*>(bytes.data()) + header.data_offset + tensor->offset;
    type.dequantize(data, static_cast<int64_t>(out.size()), out.data());
    return out;
  }
  std::vector<uint64_t> dims(const std::string& name) const {
    const TensorInfo* tensor = header.find_tensor(name);
    if (tensor == nullptr) return {};
    return {tensor->dims, tensor->dims + tensor->n_dims};
  }
  uint64_t number(const std::string& key) const {
    return header.get_u64(key).value_or(std::nullopt).value_or(UINT64_MAX);
  }
  double real(const std::string& key) const {
    return header.get_f64(key).value_or(std::nullopt).value_or(NAN);
  }
};

inline Result<Converted> try_convert(MemoryFolder folder,
                                     const ConvertOptions& options = {Type::F32, ""},
                                     int threads = 2) {
  SLUICE_ASSIGN(const ConversionPlan plan, plan_conversion(folder, options));
  Pool pool(threads);
  MemorySink sink;
  SLUICE_TRY(convert(plan, pool, sink, {}));
  Converted out;
  out.bytes = std::move(sink.bytes);
  SLUICE_ASSIGN(out.header, parse_gguf(as_bytes(out.bytes), out.bytes.size()));
  out.remarks = plan.remarks();
  return out;
}

inline Converted convert_made(const MadeModel& made, size_t shards = 1) {
  auto out = try_convert(made.folder(shards));
  if (out) return std::move(*out);
  ADD_FAILURE() << out.error().message;
  return {};
}

// The engine takes the file and computes with it.
inline void expect_runs(const Converted& converted) {
  LoadOptions options;
  options.context_size = 32;
  options.threads = 1;
  const auto engine = load_bytes(converted.bytes, options);
  ASSERT_NE(engine, nullptr);
  EXPECT_NE(hash_of(*engine, some_ids(5, 200)), "");
}

inline void expect_refused(const MadeModel& made, Code code, std::string_view reason) {
  const auto out = try_convert(made.folder());
  ASSERT_FALSE(out) << reason;
  EXPECT_EQ(out.error().code, code) << out.error().message;
  EXPECT_NE(out.error().message.find(reason), std::string::npos) << out.error().message;
}

// --- made models ---------------------------------------------------------------------------------

inline constexpr uint64_t kWidth = 64, kFf = 96, kHeads = 4, kKvHeads = 2, kHeadDim = 16,
                          kVocab = 260;
inline constexpr uint64_t kLayers = 2;

inline nlohmann::ordered_json llama_config(const std::string& class_name, const std::string& type) {
  return {{"architectures", {class_name}},
          {"model_type", type},
          {"hidden_size", kWidth},
          {"intermediate_size", kFf},
          {"num_hidden_layers", kLayers},
          {"num_attention_heads", kHeads},
          {"num_key_value_heads", kKvHeads},
          {"max_position_embeddings", 128},
          {"rms_norm_eps", 1e-5},
          {"hidden_act", "silu"},
          {"vocab_size", kVocab},
          {"tie_word_embeddings", false},
          {"attention_dropout", 0.1},
          {"transformers_version", "5.0.0"}};
}

inline std::string layer(uint64_t i) { return concat("model.layers.", i, "."); }

inline void add_llama_attention(MadeModel& m, const std::string& at,
                                const std::string& type = "F32") {
  m.add(at + "input_layernorm.weight", {kWidth}, type);
  m.add(at + "self_attn.q_proj.weight", {kHeads * kHeadDim, kWidth}, type);
  m.add(at + "self_attn.k_proj.weight", {kKvHeads * kHeadDim, kWidth}, type);
  m.add(at + "self_attn.v_proj.weight", {kKvHeads * kHeadDim, kWidth}, type);
  m.add(at + "self_attn.o_proj.weight", {kWidth, kHeads * kHeadDim}, type);
  m.add(at + "post_attention_layernorm.weight", {kWidth}, type);
}

inline void add_mlp(MadeModel& m, const std::string& at, const std::string& type = "F32",
                    uint64_t ff = kFf) {
  m.add(at + "mlp.gate_proj.weight", {ff, kWidth}, type);
  m.add(at + "mlp.up_proj.weight", {ff, kWidth}, type);
  m.add(at + "mlp.down_proj.weight", {kWidth, ff}, type);
}

inline MadeModel llama(const std::string& type = "F32") {
  MadeModel m;
  m.config = llama_config("LlamaForCausalLM", "llama");
  m.add("model.embed_tokens.weight", {kVocab, kWidth}, type);
  for (uint64_t i = 0; i < kLayers; ++i) {
    add_llama_attention(m, layer(i), type);
    add_mlp(m, layer(i), type);
  }
  m.add("model.norm.weight", {kWidth}, type);
  m.add("lm_head.weight", {kVocab, kWidth}, type);
  return m;
}

inline MadeModel qwen3() {
  MadeModel m = llama();
  m.config["architectures"] = {"Qwen3ForCausalLM"};
  m.config["head_dim"] = kHeadDim;
  for (uint64_t i = 0; i < kLayers; ++i) {
    m.add(layer(i) + "self_attn.q_norm.weight", {kHeadDim});
    m.add(layer(i) + "self_attn.k_norm.weight", {kHeadDim});
  }
  return m;
}

inline Floats plus_one(Floats values) {
  for (float& value : values) value += 1;
  return values;
}

// Each head's rows, seen as [2][head / 2], as [head / 2][2].
inline Floats paired(const Floats& rows, uint64_t heads, uint64_t columns) {
  Floats out(rows.size());
  const uint64_t half = rows.size() / heads / columns / 2;
  for (uint64_t head = 0; head < heads; ++head)
    for (uint64_t i = 0; i < half; ++i)
      for (uint64_t part = 0; part < 2; ++part)
        std::copy_n(rows.begin() + static_cast<ptrdiff_t>(((head * 2 + part) * half + i) * columns),
                    columns,
                    out.begin() + static_cast<ptrdiff_t>(((head * half + i) * 2 + part) * columns));
  return out;
}

}  // namespace sluice
