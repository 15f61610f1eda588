// Tests of what becomes of vectors, and of the prompts of embedding models.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "api/embedding_prompts.h"
#include "api/vectors.h"

namespace sluice {
namespace {

TEST(Vectors, ASizeIsCutOrWhole) {
  EXPECT_EQ(vector_size(8, 0), 8u);
  EXPECT_EQ(vector_size(8, 1), 1u);
  EXPECT_EQ(vector_size(8, 8), 8u);
  for (const int64_t wrong : {int64_t{9}, int64_t{-1}, std::numeric_limits<int64_t>::max()}) {
    const auto size = vector_size(8, wrong);
    ASSERT_FALSE(size);
    EXPECT_EQ(size.error().code, Code::invalid_argument);
    EXPECT_NE(size.error().message.find("have 8 numbers"), std::string::npos);
  }
}

TEST(Vectors, AreCutAndThenDividedByTheirLength) {
  const std::vector<float> vector = {3, 4, 12, 1};
  std::vector<float> out(2);
  EXPECT_EQ(finish_vector(vector, true, out), 5.0);
  EXPECT_EQ(out, (std::vector<float>{0.6f, 0.8f}));
  EXPECT_EQ(finish_vector(vector, false, out), 5.0);
  EXPECT_EQ(out, (std::vector<float>{3, 4}));
  std::vector<float> own = vector;
  EXPECT_EQ(finish_vector(own, true, std::span(own).first(3)), 13.0);
  EXPECT_EQ(own, (std::vector<float>{3.0f / 13, 4.0f / 13, 12.0f / 13, 1}));
}

TEST(Vectors, OfNoLengthStayAndLargeOnesDoNotOverflow) {
  std::vector<float> zero(3, 0.0f);
  EXPECT_EQ(finish_vector(zero, true, zero), 0.0);
  EXPECT_EQ(zero, std::vector<float>(3, 0.0f));
  std::vector<float> large(4, std::numeric_limits<float>::max());
  ASSERT_TRUE(finish_vector(large, true, large));
  EXPECT_EQ(large, std::vector<float>(4, 0.5f));
  std::vector<float> small(4, std::numeric_limits<float>::denorm_min());
  ASSERT_TRUE(finish_vector(small, true, small));
  EXPECT_EQ(small, std::vector<float>(4, 0.5f));
}

TEST(Vectors, WithNumbersThatAreNotFiniteAreRefused) {
  for (const float wrong : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    std::vector<float> vector = {1, wrong, 1};
    const auto length = finish_vector(vector, true, vector);
    ASSERT_FALSE(length);
    EXPECT_EQ(length.error().code, Code::bad_file);
  }
}

// The order of the sums is part of the contract: these bits are those of every machine.
TEST(Vectors, SumsHaveOneOrder) {
  std::vector<float> a(1001), b(1001);
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = 1.0f / static_cast<float>(i + 1);
    b[i] = (i % 3 == 0 ? -1.0f : 1.0f) / static_cast<float>(2 * i + 1);
  }
  const float product = dot_product(a, b);
  const auto length = finish_vector(a, true, a);
  ASSERT_TRUE(length);
  uint32_t bits = 0;
  std::memcpy(&bits, &product, sizeof bits);
  EXPECT_EQ(bits, 0xbf3f4cf3u) << product;
  uint64_t length_bits = 0;
  std::memcpy(&length_bits, &*length, sizeof length_bits);
  EXPECT_EQ(length_bits, 0x3ff483babdd8473cu) << *length;
}

TEST(Vectors, MostSimilarComesFirst) {
  const std::vector<float> query = {1, 0};
  const std::vector<float> rows = {0, 1, 0.6f, 0.8f, -1, 0, 0.6f, -0.8f, 1, 0};
  const auto rows_of = [](const std::vector<Similar>& found) {
    std::vector<size_t> out;
    for (const Similar& each : found) out.push_back(each.row);
    return out;
  };
  EXPECT_EQ(rows_of(most_similar(query, rows, 9)), (std::vector<size_t>{4, 1, 3, 0, 2}));
  EXPECT_EQ(rows_of(most_similar(query, rows, 2)), (std::vector<size_t>{4, 1}));
  EXPECT_EQ(most_similar(query, rows, 1)[0].score, 1.0f);
  EXPECT_TRUE(most_similar(query, {}, 3).empty());
  EXPECT_TRUE(most_similar({}, rows, 3).empty());
}

TEST(Vectors, PoolingsHaveNames) {
  for (const char* name : {"mean", "cls", "last"})
    EXPECT_EQ(pooling_name(find_pooling(name)), name);
  EXPECT_EQ(find_pooling("cls"), Pooling::first);
  EXPECT_EQ(find_pooling("max"), Pooling::none);
  EXPECT_EQ(pooling_name(Pooling::none), "none");
}

EmbeddingPrompts prompts_of(const std::string& architecture, const std::string& name,
                            const std::string& basename = "") {
  Gguf header;
  const auto add = [&](const char* key, const std::string& text) {
    if (text.empty()) return;
    MetadataValue value;
    value.type = ValueType::string;
    value.bytes = text;
    header.metadata.emplace_back(key, std::move(value));
  };
  add("general.architecture", architecture);
  add("general.name", name);
  add("general.basename", basename);
  return embedding_prompts(header);
}

TEST(EmbeddingPrompts, AreThoseOfTheFamily) {
  const auto expect = [](const EmbeddingPrompts& found, const char* query, const char* document) {
    EXPECT_EQ(found.query, query);
    EXPECT_EQ(found.document, document);
    EXPECT_EQ(found.of(TextKind::query), query);
    EXPECT_EQ(found.of(TextKind::document), document);
    EXPECT_EQ(found.of(TextKind::plain), "");
  };
  const char* const passages = "Represent this sentence for searching relevant passages: ";
  expect(prompts_of("nomic-bert", "nomic-embed-text-v1.5"), "search_query: ", "search_document: ");
  expect(prompts_of("nomic-bert", "Snowflake Arctic Embed M Long"), passages, "");
  for (const char* name :
       {"Snowflake Arctic Embed Xs", "snowflake-arctic-embed-l", "Snowflake Arctic Embed M v1.5"})
    expect(prompts_of("bert", name), passages, "");
  expect(prompts_of("bert", "snowflake-arctic-embed-m-v2.0"), "query: ", "");
  expect(prompts_of("bert", "Snowflake Arctic Embed L v2.0"), "query: ", "");
  expect(prompts_of("bert", "Bge Small En v1.5"), passages, "");
  expect(prompts_of("bert", "bge-large-en"), passages, "");
  expect(prompts_of("bert", "Bge Base Zh v1.5"), "为这个句子生成表示以用于检索相关文章：", "");
  expect(prompts_of("llama", "Bge En Icl"), "", "");  // wants examples in its prompt
  expect(prompts_of("bert", "Mxbai Embed Large v1"), passages, "");
  expect(prompts_of("bert", "mxbai-embed-2d-large-v1"), passages, "");
  expect(prompts_of("bert", "UAE-Large-V1"), passages, "");
  const char* const code = "Represent this query for searching relevant code: ";
  expect(prompts_of("nomic-bert", "CodeRankEmbed"), code, "");
  expect(prompts_of("nomic-bert", "SweRankEmbed Small"), code, "");
  expect(prompts_of("qwen2", "Nomic Embed Code"), code, "");
  const char* const instruct =
      "Instruct: Given a web search query, retrieve relevant passages that answer the query\n"
      "Query: ";
  expect(prompts_of("bert", "Multilingual E5 Large Instruct"), instruct, "");
  expect(prompts_of("llama", "E5 Mistral 7b Instruct"), instruct, "");
  expect(prompts_of("llama", "SFR Embedding Mistral"), instruct, "");
  expect(prompts_of("bert", "E5 Small v2"), "query: ", "passage: ");
  expect(prompts_of("bert", "model", "e5-base"), "query: ", "passage: ");
  expect(prompts_of("bert", "multilingual-e5-small"), "query: ", "passage: ");
  expect(prompts_of("modern-bert", "Modernbert Embed Base"), "search_query: ", "search_document: ");
  expect(prompts_of("gemma-embedding", "Embeddinggemma 300m"),
         "task: search result | query: ", "title: none | text: ");
  expect(prompts_of("qwen3", "Qwen3 Embedding 0.6B"),
         "Instruct: Given a web search query, retrieve relevant passages that answer the query\n"
         "Query:",
         "");
  expect(prompts_of("lfm2", "LFM2.5-Embedding-350M"), "query: ", "document: ");
  expect(prompts_of("qwen3", "Jina Embeddings v5 Text Small Retrieval"), "Query: ", "Document: ");
  for (const char* name :
       {"all-MiniLM-L6-v2", "multi-qa-MiniLM-L6-cos-v1", "paraphrase-multilingual-MiniLM-L12-v2",
        "gte-large", "gte-modernbert-base", "bge-m3", "granite-embedding-small-english-r2",
        "mxbai-embed-xsmall-v1", "", "  ", "be5 smalle5", "\xff\xfe"})
    expect(prompts_of("bert", name), "", "");
  expect(prompts_of("qwen3", "Qwen3 0.6B"), "", "");
  expect(prompts_of("", ""), "", "");
}

}  // namespace
}  // namespace sluice
