// Small vocabularies for tests of tokenizers.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "make/gguf_builder.h"
#include "text/tokenizer.h"
#include "text/vocab.h"

namespace sluice::vocabularies {

using Ids = std::vector<TokenId>;
using Strings = std::vector<std::string>;

enum : int32_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,
  kUnused = 5,
  kByte = 6
};

inline Result<Tokenizer> build(const GgufBuilder& file) {
  const std::string header = file.header();
  const auto gguf = parse_gguf(as_bytes(header));
  if (!gguf) return std::unexpected(gguf.error());
  return Tokenizer::from_gguf(*gguf);
}

inline Tokenizer must_build(const GgufBuilder& file) {
  auto tokenizer = build(file);
  if (!tokenizer) {
    ADD_FAILURE() << tokenizer.error().message;
    std::abort();
  }
  return std::move(*tokenizer);
}

// Text, type (and score, for SPM) of each token.
struct Token {
  std::string text;
  int32_t type = kNormal;
  float score = 0;
};

inline void put_tokens(GgufBuilder& file, const std::vector<Token>& tokens) {
  Strings texts;
  std::vector<int32_t> types;
  std::vector<float> scores;
  for (const Token& token : tokens) {
    texts.push_back(token.text);
    types.push_back(token.type);
    scores.push_back(token.score);
  }
  file.kv_strings("tokenizer.ggml.tokens", texts)
      .kv_array("tokenizer.ggml.token_type", ValueType::i32, types)
      .kv_array("tokenizer.ggml.scores", ValueType::f32, scores);
}

inline std::vector<Token> byte_level_tokens() {
  std::vector<Token> tokens;
  for (int byte = 0; byte < 256; ++byte) {
    tokens.push_back({std::string(byte_character(static_cast<uint8_t>(byte)))});
  }
  return tokens;
}

// The 256 bytes (ids 0 to 255 are the bytes themselves), then `more`.
inline GgufBuilder bpe(std::string_view pre, const std::vector<Token>& more,
                       const Strings& merges) {
  GgufBuilder file;
  std::vector<Token> tokens = byte_level_tokens();
  tokens.insert(tokens.end(), more.begin(), more.end());
  file.kv_string("tokenizer.ggml.model", "gpt2");
  if (!pre.empty()) file.kv_string("tokenizer.ggml.pre", pre);
  put_tokens(file, tokens);
  file.kv_strings("tokenizer.ggml.merges", merges);
  return file;
}

// <unk>, <s>, </s>, the 256 bytes (byte b is id 3 + b), U+2581 (259), then `more` from 260 on.
inline GgufBuilder spm(const std::vector<Token>& more) {
  GgufBuilder file;
  std::vector<Token> tokens = {{"<unk>", kUnknown}, {"<s>", kControl}, {"</s>", kControl}};
  for (int byte = 0; byte < 256; ++byte) {
    constexpr std::string_view kHex = "0123456789ABCDEF";
    tokens.push_back({{'<', '0', 'x', kHex[static_cast<size_t>(byte >> 4)],
                       kHex[static_cast<size_t>(byte & 15)], '>'},
                      kByte});
  }
  tokens.push_back({std::string(kSpaceSign), kNormal, -100});
  tokens.insert(tokens.end(), more.begin(), more.end());
  file.kv_string("tokenizer.ggml.model", "llama");
  put_tokens(file, tokens);
  return file;
}
inline constexpr TokenId kFirstByte = 3;
inline constexpr TokenId kSpace = 259;
inline constexpr TokenId kMore = 260;

// <pad>, <eos>, <bos>, then the 256 bytes (byte b is id 3 + b), then `more` from 259 on.
inline GgufBuilder raw_bpe(const std::vector<Token>& more, const Strings& merges) {
  GgufBuilder file;
  std::vector<Token> tokens = {{"<pad>", kControl}, {"<eos>", kControl}, {"<bos>", kControl}};
  for (int byte = 0; byte < 256; ++byte) {
    constexpr std::string_view kHex = "0123456789ABCDEF";
    tokens.push_back({{'<', '0', 'x', kHex[static_cast<size_t>(byte >> 4)],
                       kHex[static_cast<size_t>(byte & 15)], '>'},
                      kByte});
  }
  tokens.insert(tokens.end(), more.begin(), more.end());
  file.kv_string("tokenizer.ggml.model", "gemma4");
  put_tokens(file, tokens);
  file.kv_strings("tokenizer.ggml.merges", merges).kv_u32("tokenizer.ggml.bos_token_id", 2);
  return file;
}
inline constexpr TokenId kRawMore = 259;

}  // namespace sluice::vocabularies
