// The bytes of tensors against those of llama-quantize, in ../shared if that is there.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "files/quantize/quantize_rows.h"
#include "gguf/gguf.h"
#include "make/gguf_builder.h"
#include "quant/quant.h"
#include "support/sha256.h"

namespace sluice {
namespace {

const std::filesystem::path kModels = SLUICE_ROOT "/../shared/models";

struct File {
  std::string bytes;
  Gguf gguf;

  static File open(const std::filesystem::path& path) {
    File out;
    out.bytes = read_file(path);
    out.gguf = *parse_gguf(as_bytes(out.bytes), out.bytes.size());
    return out;
  }

  std::vector<float> values(const TensorInfo& tensor) const {
    const TypeTraits& t = *find_traits(tensor.type);
    const uint64_t n = tensor.dims[0] * tensor.dims[1] * tensor.dims[2] * tensor.dims[3];
    std::vector<float> out(n);
    t.dequantize(as_bytes(bytes).data() + gguf.data_offset + tensor.offset, static_cast<int64_t>(n),
                 out.data());
    return out;
  }
  std::optional<std::vector<float>> values(const std::string& name) const {
    const TensorInfo* tensor = gguf.find_tensor(name);
    if (tensor == nullptr) return std::nullopt;
    return values(*tensor);
  }
};

// The importance of a tensor's columns, expert after expert; empty if the file has none.
std::vector<float> importance_of(const File& file, const std::string& name) {
  const auto sums = file.values(name + ".in_sum2");
  const auto counts = file.values(name + ".counts");
  if (!sums || !counts) return {};
  std::vector<float> out = *sums;
  const size_t columns = out.size() / counts->size();
  for (size_t i = 0; i < out.size(); ++i) {
    const float count = (*counts)[i / columns];
    out[i] = count > 0.0f ? out[i] / count : 1.0f;
  }
  return out;
}

const TypeTraits* type_named(const std::string& name) {
  for (const TypeTraits& t : kTypes) {
    if (name == t.name) return &t;
  }
  return nullptr;
}

std::string quantized_hash(const File& file, const TensorInfo& tensor, const TypeTraits& t,
                           const std::vector<float>& importance) {
  const std::vector<float> values = file.values(tensor);
  const uint64_t n_rows = values.size() / tensor.dims[0];
  std::vector<uint8_t> out(n_rows * row_bytes(t, tensor.dims[0]));
  const uint64_t experts = importance.empty() ? 1 : importance.size() / tensor.dims[0];
  const uint64_t rows = n_rows / experts;
  for (uint64_t e = 0; e < experts; ++e) {
    const Status status =
        quantize_rows(t.type, values.data() + e * rows * tensor.dims[0], static_cast<int64_t>(rows),
                      static_cast<int64_t>(tensor.dims[0]),
                      importance.empty() ? nullptr : importance.data() + e * tensor.dims[0],
                      out.data() + e * rows * row_bytes(t, tensor.dims[0]));
    if (!status) return status.error().message;
  }
  return sha256_hex(out);
}

// All tensors of `answers`: file type -> tensors -> type -> name -> hash.
void expect_hashes(const File& file, const nlohmann::json& answers, const File* importance,
                   int& compared) {
  // Types of files share most of their tensors' types.
  std::map<std::pair<std::string, std::string>, std::string> made;  // of a type, a tensor
  for (const auto& [file_type, answer] : answers.items()) {
    if (!answer.contains("tensors")) continue;
    for (const auto& [type, tensors] : answer["tensors"].items()) {
      const TypeTraits* t = type_named(type);
      ASSERT_NE(t, nullptr) << type;
      if (!can_quantize_to(t->type)) continue;
      for (const auto& [name, hash] : tensors.items()) {
        const TensorInfo* tensor = file.gguf.find_tensor(name);
        ASSERT_NE(tensor, nullptr) << name;
        std::string& own = made[{type, name}];
        if (own.empty())
          own = quantized_hash(
              file, *tensor, *t,
              importance == nullptr ? std::vector<float>{} : importance_of(*importance, name));
        EXPECT_EQ(own, hash.get<std::string>())
            << file_type << ", " << name << " as " << type
            << (importance == nullptr ? "" : " with importance");
        ++compared;
      }
    }
  }
}

TEST(RoundedTensors, HaveTheBytesOfLlama) {
  if (!std::filesystem::exists(kModels / "quantize.json"))
    GTEST_SKIP() << "there is no ../shared/models/quantize.json here";
  const auto all = nlohmann::json::parse(read_file(kModels / "quantize.json"), nullptr, false);
  int compared = 0;
  for (const auto& [name, answers] : all.items()) {
    if (!answers.is_object() || !answers.contains("pure")) continue;
    std::filesystem::path path;
    for (const char* folder : {"", "quantize", "tiny"}) {
      if (std::filesystem::exists(kModels / folder / name)) path = kModels / folder / name;
    }
    ASSERT_FALSE(path.empty()) << name;
    const File file = File::open(path);
    expect_hashes(file, answers["pure"], nullptr, compared);
    if (!answers.contains("imatrix")) continue;
    const File importance =
        File::open(kModels / "quantize" / answers["imatrix"]["file"].get<std::string>());
    expect_hashes(file, answers["imatrix"]["pure"], &importance, compared);
  }
  EXPECT_GT(compared, 2000);
}

}  // namespace
}  // namespace sluice
