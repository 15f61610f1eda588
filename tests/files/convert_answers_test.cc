// The folders of ../shared: the tensors and keys of their conversions, and what the converted
// models answer, against llama.cpp's converter and transformers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "files/convert/convert.h"
#include "make/hf_folder.h"
#include "session/logits.h"
#include "session/results.h"
#include "support/model_test.h"
#include "support/sha256.h"

namespace sluice {
namespace {

using nlohmann::json;

const std::string kHfFolders = SLUICE_ROOT "/../shared/models/hf/";

const json& answers() {
  static const json all = [] {
    std::ifstream file(kHfFolders + "answers.json");
    return json::parse(file, nullptr, false);
  }();
  return all;
}

std::vector<std::string> folders() {
  std::vector<std::string> names;
  if (!answers().is_object()) return {"absent"};
  for (const auto& entry : answers().items()) names.push_back(entry.key());
  return names;
}

MemoryFolder memory_folder(const std::string& name) {
  MemoryFolder folder;
  folder.folder_name = name;
  for (const auto& entry : std::filesystem::directory_iterator(kHfFolders + name))
    folder.files[entry.path().filename().string()] = read_file(entry.path().string());
  return folder;
}

Result<std::string> convert_folder(MemoryFolder& folder, Type type) {
  SLUICE_ASSIGN(const ConversionPlan plan, plan_conversion(folder, {type, ""}));
  Pool pool(2);
  MemorySink sink;
  SLUICE_TRY(convert(plan, pool, sink, {}));
  return std::move(sink.bytes);
}

class HfFolder : public testing::TestWithParam<std::string> {};

TEST_P(HfFolder, TensorsAreThoseOfOtherConverters) {
  if (GetParam() == "absent") GTEST_SKIP() << "there is no ../shared/models/hf here";
  MemoryFolder folder = memory_folder(GetParam());
  for (const auto& [type, tensors] : answers()[GetParam()]["gguf"].items()) {
    const auto bytes = convert_folder(folder, **convert_type_named(type));
    ASSERT_TRUE(bytes) << bytes.error().message;
    const auto header = parse_gguf(as_bytes(*bytes), bytes->size());
    ASSERT_TRUE(header) << header.error().message;
    size_t found = 0;
    for (const TensorInfo& tensor : header->tensors) {
      if (tensor.name.starts_with("mlm.")) continue;  // ours alone
      ++found;
      ASSERT_TRUE(tensors.contains(tensor.name)) << tensor.name;
      const json& expected = tensors[tensor.name];
      EXPECT_EQ(traits(static_cast<Type>(tensor.type)).name, expected[0].get<std::string>())
          << type << " " << tensor.name;
      EXPECT_EQ(std::vector<uint64_t>(tensor.dims, tensor.dims + tensor.n_dims),
                expected[1].get<std::vector<uint64_t>>())
          << tensor.name;
      const auto data = as_bytes(*bytes).subspan(header->data_offset + tensor.offset, tensor.bytes);
      EXPECT_EQ(sha256_hex(data), expected[2].get<std::string>()) << type << " " << tensor.name;
    }
    EXPECT_EQ(found, tensors.size()) << type;
  }
}

// All keys that the other converter writes, of its types and with its values. (vocabulary_test.cc
// has the vocabulary's lists.)
TEST_P(HfFolder, KeysAreThoseOfAnotherConverter) {
  if (GetParam() == "absent") GTEST_SKIP() << "there is no ../shared/models/hf here";
  MemoryFolder folder = memory_folder(GetParam());
  const auto bytes = convert_folder(folder, Type::F32);
  ASSERT_TRUE(bytes) << bytes.error().message;
  const auto header = parse_gguf(as_bytes(*bytes), bytes->size());
  ASSERT_TRUE(header) << header.error().message;
  for (const auto& [key, expected] : answers()[GetParam()]["converter_keys"].items()) {
    if (key == "general.size_label") continue;  // of the model's card
    if (key.starts_with("tokenizer.")) continue;
    SCOPED_TRACE(key);
    const MetadataValue* value = header->find(key);
    ASSERT_NE(value, nullptr);
    const std::string type = expected[0];
    if (type == "STRING") {
      EXPECT_EQ(value->type, ValueType::string);
      EXPECT_EQ(value->text(), expected[1].get<std::string>());
    } else {
      EXPECT_EQ(value->type, type == "UINT32"    ? ValueType::u32
                             : type == "INT32"   ? ValueType::i32
                             : type == "FLOAT32" ? ValueType::f32
                                                 : ValueType::boolean);
      EXPECT_EQ(value->as_f64().value_or(value->as_bool().value_or(false)),
                expected[1].is_boolean() ? expected[1].get<bool>() : expected[1].get<double>());
    }
  }
}

// transformers' best tokens, with their log-probabilities.
TEST_P(HfFolder, TheConvertedModelAnswersAsTheOriginal) {
  if (GetParam() == "absent") GTEST_SKIP() << "there is no ../shared/models/hf here";
  if (!answers()[GetParam()].contains("cases")) GTEST_SKIP() << "it writes no text (below)";
  MemoryFolder folder = memory_folder(GetParam());
  const auto bytes = convert_folder(folder, Type::F32);
  ASSERT_TRUE(bytes) << bytes.error().message;
  LoadOptions options;
  options.kv_type = "f32";
  options.threads = 2;
  const auto engine = load_bytes(*bytes, options);
  ASSERT_NE(engine, nullptr);
  for (const json& one : answers()[GetParam()]["cases"]) {
    const auto ids = one["ids"].get<std::vector<TokenId>>();
    if (one.contains("text")) {
      const Tokenizer& tokenizer = engine->tokenizer();
      EXPECT_EQ(tokenizer.with_prefix(tokenizer.encode(one["text"].get<std::string>())), ids);
    }
    ASSERT_NE(hash_of(*engine, ids), "");
    const std::span<const float> logits = engine->session().logits();
    double sum = 0;
    for (const float logit : logits) sum += std::exp(static_cast<double>(logit));
    for (const json& best : one["top"]) {
      const auto id = best[0].get<size_t>();
      EXPECT_NEAR(logits[id] - std::log(sum), best[1].get<double>(), 1e-4) << "token " << id;
    }
  }
}

// transformers' best words in place of masks, and the texts' vectors.
TEST_P(HfFolder, TheConvertedModelFillsMasksAsTheOriginal) {
  if (GetParam() == "absent") GTEST_SKIP() << "there is no ../shared/models/hf here";
  const json& all = answers()[GetParam()];
  if (!all.contains("fill_mask")) GTEST_SKIP() << "it writes text (above)";
  MemoryFolder folder = memory_folder(GetParam());
  const auto bytes = convert_folder(folder, Type::F32);
  ASSERT_TRUE(bytes) << bytes.error().message;
  LoadOptions options;
  options.threads = 2;
  const auto engine = load_bytes(*bytes, options);
  ASSERT_NE(engine, nullptr);
  EXPECT_TRUE(engine->makes().masks);
  EXPECT_FALSE(engine->makes().text);
  Session& session = engine->session();
  const auto n = static_cast<size_t>(engine->tokenizer().vocab_size());
  bool first = true;
  for (const json& one : all["fill_mask"]) {
    SCOPED_TRACE(one["text"]);
    const auto ids = one["ids"].get<std::vector<TokenId>>();
    Results wanted;
    wanted.pooling = Pooling::mean;
    for (const json& mask : one["masks"])
      wanted.logits.chosen.push_back(mask["position"].get<size_t>());
    ASSERT_TRUE(session.start_results(ids, 0, wanted).has_value());
    finish_run(*engine);
    ASSERT_EQ(session.logits().size(), n * wanted.logits.chosen.size());
    for (size_t row = 0; row < wanted.logits.chosen.size(); ++row) {
      const std::span<const float> logits = session.logits().subspan(row * n, n);
      double sum = 0;
      for (const float logit : logits) sum += std::exp(static_cast<double>(logit));
      std::vector<size_t> order(n);
      for (size_t id = 0; id < n; ++id) order[id] = id;
      std::ranges::sort(order, {}, [&](size_t id) { return -logits[id]; });
      for (size_t i = 0; i < one["masks"][row]["top"].size(); ++i) {
        const json& best = one["masks"][row]["top"][i];
        EXPECT_EQ(order[i], best[0].get<size_t>()) << i;
        EXPECT_NEAR(logits[order[i]] - std::log(sum), std::log(best[2].get<double>()), 1e-4);
      }
    }
    if (first) {
      const auto values = all["logits"]["values"].get<std::vector<float>>();
      ASSERT_EQ(values.size(), n);
      for (size_t id = 0; id < n; ++id) EXPECT_NEAR(session.logits()[id], values[id], 1e-4) << id;
    }
    first = false;
    double squares = 0;
    for (const float x : session.pooled()) squares += double{x} * x;
    const auto mean = one["mean_embedding"].get<std::vector<double>>();
    for (size_t i = 0; i < mean.size(); ++i)
      EXPECT_NEAR(session.pooled()[i] / std::sqrt(squares), mean[i], 1e-4) << i;
  }
  const Status text = session.start(std::vector<TokenId>{1, 2}, {});
  ASSERT_FALSE(text.has_value());
  EXPECT_EQ(text.error().code, Code::unsupported_model);
  EXPECT_NE(text.error().message.find("is for masked words"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Shared, HfFolder, testing::ValuesIn(folders()),
                         [](const auto& each) { return test_name(each.param); });

}  // namespace
}  // namespace sluice
