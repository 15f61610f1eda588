#include "api/embedding_prompts.h"

#include <algorithm>
#include <string>

#include "base/format.h"

namespace sluice {
namespace {

constexpr std::string_view kPassages = "Represent this sentence for searching relevant passages: ";
constexpr std::string_view kCode = "Represent this query for searching relevant code: ";
constexpr std::string_view kInstruct =
    "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: ";

struct Row {
  std::string_view architecture;  // "": any
  std::string_view words;         // the name has all of them; "": any name
  EmbeddingPrompts prompts;
};
// From the cards of the models that are named behind the rows, and from their
// config_sentence_transformers.json. The first row that fits counts. A model that isn't here wants
// nothing: all-MiniLM, multi-qa, gte (but for its instructed ones), bge-m3, granite-embedding.
constexpr Row kRows[] = {
    {"", "arctic embed v2", {"query: ", ""}},  // snowflake-arctic-embed-m-v2.0, -l-v2.0
    {"", "arctic embed", {kPassages, ""}},     // snowflake-arctic-embed-xs to -l, -m-v1.5, -m-long
    {"bert", "mxbai embed large", {kPassages, ""}},  // mxbai-embed-large-v1, -2d-large-v1
    {"bert", "bge en", {kPassages, ""}},             // bge-small-en to bge-large-en-v1.5
    {"bert", "bge zh", {"为这个句子生成表示以用于检索相关文章：", ""}},  // bge-small-zh to -large-
    {"bert", "uae large", {kPassages, ""}},                              // UAE-Large-V1
    {"", "coderankembed", {kCode, ""}},                                  // CodeRankEmbed
    {"", "swerankembed small", {kCode, ""}},                             // SweRankEmbed-Small
    {"", "nomic embed code", {kCode, ""}},                               // nomic-embed-code
    // multilingual-e5-large-instruct, e5-mistral-7b-instruct
    {"", "e5 instruct", {kInstruct, ""}},
    {"", "sfr embedding mistral", {kInstruct, ""}},  // SFR-Embedding-Mistral
    {"", "e5", {"query: ", "passage: "}},            // e5-small-v2, multilingual-e5-base and so on
    {"", "modernbert embed", {"search_query: ", "search_document: "}},  // modernbert-embed-base
    // Qwen3-Embedding-0.6B to -8B. The maker's own text has no space at its end.
    {"", "qwen3 embedding", {kInstruct.substr(0, kInstruct.size() - 1), ""}},
    // jina-embeddings-v5-text-small-retrieval; the earlier ones are refused
    {"", "jina embeddings v5", {"Query: ", "Document: "}},
    {"", "lfm2 embedding", {"query: ", "document: "}},  // LFM2.5-Embedding-350M
    // nomic-embed-text-v1, -v1.5
    {"nomic-bert", "", {"search_query: ", "search_document: "}},
    // embeddinggemma-300m
    {"gemma-embedding", "", {"task: search result | query: ", "title: none | text: "}},
};

std::string_view name_at(const Gguf& header, std::string_view key) {
  const MetadataValue* value = header.find(key);
  return value != nullptr && value->type == ValueType::string ? value->text() : std::string_view();
}

// Appends the words of a name, each in small letters and with a space behind it: "E5 Small-v2"
// becomes "e5 small v2 ".
void append_words(std::string& out, std::string_view name) {
  for (char c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    const bool in_word = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (in_word) out += c;
    if (!in_word && out.back() != ' ') out += ' ';
  }
  if (out.back() != ' ') out += ' ';
}

bool has_words(const std::string& names, std::string_view words) {
  while (!words.empty()) {
    const std::string_view word = words.substr(0, words.find(' '));
    if (names.find(concat(" ", word, " ")) == std::string::npos) return false;
    words.remove_prefix(std::min(word.size() + 1, words.size()));
  }
  return true;
}

}  // namespace

EmbeddingPrompts embedding_prompts(const Gguf& header) {
  std::string names = " ";
  append_words(names, name_at(header, "general.name"));
  append_words(names, name_at(header, "general.basename"));
  const std::string_view architecture = name_at(header, "general.architecture");
  for (const Row& row : kRows) {
    if (!row.architecture.empty() && row.architecture != architecture) continue;
    if (has_words(names, row.words)) return row.prompts;
  }
  return {};
}

}  // namespace sluice
