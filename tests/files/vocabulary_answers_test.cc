// Vocabularies of the folders of ../shared, against what llama.cpp's converter wrote of them.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "files/vocabulary/vocabulary.h"
#include "make/gguf_builder.h"
#include "support/sha256.h"
#include "text/tokenizer.h"

namespace sluice {
namespace {

using nlohmann::ordered_json;
using Ids = std::vector<TokenId>;

const std::string kModelFolders = SLUICE_ROOT "/../shared/models/hf/";

std::optional<std::string> read_if_there(const std::string& path) {
  if (!std::filesystem::exists(path)) return std::nullopt;
  return read_file(path);
}

VocabularyFiles read_files(const std::string& folder) {
  VocabularyFiles out;
  out.tokenizer = read_if_there(folder + "/tokenizer.json").value_or("");
  out.config = read_if_there(folder + "/config.json").value_or("");
  out.tokenizer_config = read_if_there(folder + "/tokenizer_config.json");
  out.generation_config = read_if_there(folder + "/generation_config.json");
  out.sentencepiece = read_if_there(folder + "/tokenizer.model");
  out.chat_template = read_if_there(folder + "/chat_template.jinja");
  out.chat_template_json = read_if_there(folder + "/chat_template.json");
  return out;
}

ordered_json list_of(const MetadataValue& value) {
  ordered_json list = ordered_json::array();
  for (uint64_t i = 0; i < value.count; ++i) {
    if (value.element == ValueType::string) {
      list.push_back(value.text(i));
    } else {
      list.push_back(*value.as_i64(i));
    }
  }
  return list;
}

void expect_value(const std::string& key, const MetadataValue& value, const ordered_json& wanted) {
  if (wanted.is_object()) {
    const ordered_json list = list_of(value);
    EXPECT_EQ(list.size(), wanted["length"].get<size_t>()) << key;
    EXPECT_EQ(sha256_hex(as_bytes(list.dump())), wanted["sha256"].get<std::string>()) << key;
  } else if (wanted.is_string()) {
    EXPECT_EQ(value.text(), wanted.get<std::string>()) << key;
  } else if (wanted.is_boolean()) {
    EXPECT_EQ(value.as_bool(), wanted.get<bool>()) << key;
  } else {
    EXPECT_EQ(value.as_u64(), wanted.get<uint64_t>()) << key;
  }
}

std::string type_name(const MetadataValue& value) {
  const auto scalar = [](ValueType type) -> std::string {
    switch (type) {
      case ValueType::string:
        return "STRING";
      case ValueType::boolean:
        return "BOOL";
      case ValueType::u32:
        return "UINT32";
      case ValueType::i32:
        return "INT32";
      default:
        return "FLOAT32";
    }
  };
  return value.is_array() ? "array of " + scalar(value.element) : scalar(value.type);
}

class HubFolder : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const auto answers = read_if_there(kModelFolders + "answers.json");
    if (!answers) GTEST_SKIP() << kModelFolders << " is not there";
    answer_ = ordered_json::parse(*answers)[GetParam()];
    files_ = read_files(kModelFolders + GetParam());
    architecture_ = answer_["converter_keys"]["general.architecture"][1];
    n_vocab_ = answer_["kv"]["tokenizer.ggml.tokens"]["length"];
  }
  void expect_ids(const Gguf& gguf);

  ordered_json answer_;
  VocabularyFiles files_;
  std::string architecture_;
  uint64_t n_vocab_ = 0;
};

TEST_P(HubFolder, HasTheKeysThatTheConverterWrites) {
  Gguf gguf;
  Notes notes;
  const Status added = add_vocabulary(files_, architecture_, n_vocab_, gguf, notes);
  ASSERT_TRUE(added.has_value()) << added.error().message;
  for (const Note& note : notes) ADD_FAILURE() << note.message;
  for (const auto& [key, wanted] : answer_["kv"].items()) {
    if (!key.starts_with("tokenizer.")) continue;
    const MetadataValue* value = gguf.find(key);
    if (value == nullptr) {
      ADD_FAILURE() << key << " is missing";
    } else {
      expect_value(key, *value, wanted);
    }
  }
  // All keys, in the same order, of the same types.
  std::vector<std::string> expected;
  for (const auto& [key, type] : answer_["converter_keys"].items())
    if (key.starts_with("tokenizer.")) expected.push_back(key + " " + type[0].get<std::string>());
  std::vector<std::string> made;
  for (const auto& [key, value] : gguf.metadata) made.push_back(key + " " + type_name(value));
  EXPECT_EQ(made, expected);
  expect_ids(gguf);
}

// Without tokenizer.model the scores come from the merges, and the ids are the same.
TEST_P(HubFolder, GivesTheSameIdsWithoutSentencePiece) {
  if (!files_.sentencepiece) return;
  files_.sentencepiece.reset();
  Gguf gguf;
  Notes notes;
  const Status added = add_vocabulary(files_, architecture_, n_vocab_, gguf, notes);
  ASSERT_TRUE(added.has_value()) << added.error().message;
  expect_ids(gguf);
}

void HubFolder::expect_ids(const Gguf& gguf) {
  const auto tokenizer = Tokenizer::from_gguf(gguf);
  ASSERT_TRUE(tokenizer.has_value()) << tokenizer.error().message;
  for (const Note& warning : tokenizer->warnings()) ADD_FAILURE() << warning.message;
  for (const ordered_json& one : answer_.value("cases", ordered_json::array())) {
    if (!one.contains("text")) continue;
    const std::string text = one["text"];
    EXPECT_EQ(tokenizer->with_prefix(tokenizer->encode(text)), one["ids"].get<Ids>()) << text;
  }
  for (const ordered_json& one : answer_.value("fill_mask", ordered_json::array())) {
    const std::string text = one["text"];
    EXPECT_EQ(tokenizer->framed(tokenizer->encode(text, true)), one["ids"].get<Ids>()) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(Shared, HubFolder,
                         testing::Values("gpt2", "llama", "llama-spm", "qwen2", "qwen3", "gemma3",
                                         "distilbert", "bert"));

}  // namespace
}  // namespace sluice
