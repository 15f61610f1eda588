// Compares ids with those of others: with the recorded answers of llama.cpp
// (record_tokenizer_answers.mjs), and with the vocabularies and test strings in ../shared, if they
// are there.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "base/format.h"
#include "make/gguf_builder.h"
#include "text/tokenizer.h"

namespace sluice {
namespace {

using Ids = std::vector<TokenId>;

Gguf parse(std::string_view bytes) {
  auto gguf = parse_gguf(as_bytes(bytes));
  if (!gguf) {
    ADD_FAILURE() << gguf.error().message;
    return {};
  }
  return std::move(*gguf);
}

class SharedVocabulary : public testing::TestWithParam<const char*> {};

TEST_P(SharedVocabulary, EveryIdOfEveryString) {
  const std::string path = concat(SLUICE_ROOT "/../shared/data/tokenizers/", GetParam(), ".gguf");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
  const Gguf gguf = parse(read_file(path));
  const auto tokenizer = Tokenizer::from_gguf(gguf);
  ASSERT_TRUE(tokenizer.has_value()) << tokenizer.error().message;
  const bool words = tokenizer->model() == "bert";
  const bool changes = words || gguf.find("tokenizer.ggml.normalizer.nfc") != nullptr;
  for (const Note& warning : tokenizer->warnings()) ADD_FAILURE() << warning.message;

  const std::string texts = read_file(path + ".inp");
  constexpr std::string_view kSeparator = "\n__ggml_vocab_test__\n";
  std::istringstream answers(read_file(path + ".out"));
  int count = 0;
  std::string line;
  for (size_t at = 0; std::getline(answers, line); ++count) {
    ASSERT_LE(at, texts.size()) << "more answers than strings";
    const size_t end = std::min(texts.find(kSeparator, at), texts.size());
    const std::string text = texts.substr(at, end - at);
    at = end + kSeparator.size();
    std::istringstream numbers(line);
    const Ids expected(std::istream_iterator<TokenId>{numbers}, {});
    const Ids ids = tokenizer->encode(text);
    EXPECT_EQ(ids, expected) << '"' << text << '"';
    if (!changes) {
      EXPECT_EQ(tokenizer->decode(ids), text);
    }
  }
  EXPECT_GT(count, 40);

  // Long words of several kinds with the test strings between them: encoding in slices changes no
  // id.
  std::mt19937 random(4);
  std::string all;
  for (int part = 0; part < 12; ++part) {
    static const std::vector<std::string> kUnits = {"a", " ", "ab", "\xf0\x9f\x98\x80", "\n", "="};
    for (int i = 0; i < 400; ++i) {
      all += part % 2 == 0 ? std::string(1, static_cast<char>('a' + random() % 26))
                           : kUnits[static_cast<size_t>(part / 2) % kUnits.size()];
    }
    all += texts.substr(random() % texts.size(), 200);
  }
  const auto in_slices = [&](size_t slice) {
    Encoding encoding(*tokenizer, all, true, slice);
    while (encoding.step()) EXPECT_TRUE(words || encoding.min_ids() > 0);
    EXPECT_EQ(encoding.min_ids(), tokenizer->encode(all, true).size());
    return encoding.take();
  };
  const Ids whole = in_slices(1 << 20);
  for (const size_t slice : {7u, 100u, 1000u}) EXPECT_EQ(in_slices(slice), whole) << slice;
}

INSTANTIATE_TEST_SUITE_P(
    All, SharedVocabulary,
    testing::Values("ggml-vocab-llama-spm", "ggml-vocab-phi-3", "ggml-vocab-gpt-2",
                    "ggml-vocab-llama-bpe", "more/ggml-vocab-small-gpt-2",
                    "more/ggml-vocab-small-llama-bpe", "more/ggml-vocab-small-lfm2",
                    "more/ggml-vocab-small-dbrx", "more/ggml-vocab-small-qwen2",
                    "more/ggml-vocab-small-qwen35", "more/ggml-vocab-small-smollm",
                    "more/ggml-vocab-small-refact", "more/ggml-vocab-small-gemma3",
                    "more/ggml-vocab-small-gemma4", "more/ggml-vocab-small-modern-bert",
                    "more/ggml-vocab-bert-uncased"));

// Of the model's own tokenizer.
TEST(MiniLm, EveryIdOfEveryText) {
  const std::string shared = SLUICE_ROOT "/../shared/";
  const std::string vocabulary = shared + "data/tokenizers/more/ggml-vocab-bert-uncased.gguf";
  const std::string answers = shared + "models/real/all-minilm-l6-v2.json";
  for (const std::string& path : {vocabulary, answers})
    if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
  const auto tokenizer = Tokenizer::from_gguf(parse(read_file(vocabulary)));
  ASSERT_TRUE(tokenizer.has_value()) << tokenizer.error().message;
  const auto cases = nlohmann::json::parse(read_file(answers))["cases"];
  ASSERT_FALSE(cases.empty());
  for (const auto& one : cases) {
    const std::string text = one["text"];
    EXPECT_EQ(tokenizer->framed(tokenizer->encode(text, true)), one["ids"].get<Ids>()) << text;
  }
}

GgufBuilder spm_vocabulary(const nlohmann::json& from) {
  GgufBuilder file;
  for (const auto& [key, value] : from["set"].items()) {
    if (value.is_string()) {
      file.kv_string(key, value.get<std::string>());
    } else {
      file.kv_u32(key, value.get<uint32_t>());
    }
  }
  std::vector<std::string> texts;
  std::vector<float> scores;
  std::vector<int32_t> types;
  for (const auto& token : from["tokens"]) {
    texts.push_back(token["text"]);
    scores.push_back(token["score"]);
    types.push_back(token["type"]);
  }
  file.kv_strings("tokenizer.ggml.tokens", texts)
      .kv_array("tokenizer.ggml.scores", ValueType::f32, scores)
      .kv_array("tokenizer.ggml.token_type", ValueType::i32, types);
  return file;
}

// The value is a string or a bool.
void set_value(Gguf& gguf, const std::string& key, const nlohmann::json& value) {
  MetadataValue changed;
  changed.type = value.is_string() ? ValueType::string : ValueType::boolean;
  changed.bytes = value.is_string() ? value.get<std::string>()
                                    : std::string(1, value.get<bool>() ? '\1' : '\0');
  std::erase_if(gguf.metadata, [&](const auto& entry) { return entry.first == key; });
  gguf.metadata.emplace_back(key, std::move(changed));
}

TEST(RecordedAnswers, EveryIdOfEveryString) {
  const auto recorded =
      nlohmann::json::parse(read_file(SLUICE_ROOT "/tests/data/tokenizer_answers.json"));
  const Gguf bundled = parse(read_file(SLUICE_ROOT "/web/app/public/models/stories-q8_0.gguf"));
  const Gguf spm = parse(spm_vocabulary(recorded["spm"]).header());
  int count = 0;
  for (const auto& one : recorded["cases"]) {
    Gguf gguf = one["vocabulary"] == "spm" ? spm : bundled;
    for (const auto& [key, value] : one["set"].items()) set_value(gguf, key, value);
    const auto tokenizer = Tokenizer::from_gguf(gguf);
    ASSERT_TRUE(tokenizer.has_value()) << tokenizer.error().message;
    EXPECT_TRUE(tokenizer->warnings().empty());
    for (size_t i = 0; i < one["texts"].size(); ++i, ++count) {
      const std::string text = one["texts"][i];
      const Ids ids = tokenizer->encode(text, one["parse_special"]);
      EXPECT_EQ(ids, one["ids"][i].get<Ids>()) << one["set"] << " \"" << text << '"';
      if (!one["parse_special"]) {
        EXPECT_EQ(tokenizer->decode(ids), text);
      }
    }
  }
  EXPECT_GT(count, 500);
}

}  // namespace
}  // namespace sluice
