// A byte-level vocabulary for tests: 256 bytes, whose ids are the bytes, then tokens with names.
#pragma once

#include <string>
#include <vector>

#include "gguf_builder.h"
#include "text/vocab.h"

namespace sluice {

// The header's keys of such a vocabulary: after the bytes control tokens, then user-defined ones,
// then ones that merges make.
inline GgufBuilder byte_vocabulary(const std::vector<std::string>& control,
                                   const std::vector<std::string>& user_defined = {},
                                   const std::vector<std::string>& merged = {},
                                   const std::vector<std::string>& merges = {}) {
  std::vector<std::string> tokens;
  std::vector<int32_t> types;
  for (int byte = 0; byte < 256; ++byte) {
    tokens.emplace_back(byte_character(static_cast<uint8_t>(byte)));
    types.push_back(1);
  }
  const auto add = [&](const std::vector<std::string>& names, int32_t type) {
    tokens.insert(tokens.end(), names.begin(), names.end());
    types.insert(types.end(), names.size(), type);
  };
  add(control, 3);
  add(user_defined, 4);
  add(merged, 1);
  GgufBuilder file;
  file.kv_string("tokenizer.ggml.model", "gpt2")
      .kv_string("tokenizer.ggml.pre", "default")
      .kv_strings("tokenizer.ggml.tokens", tokens)
      .kv_strings("tokenizer.ggml.merges", merges)
      .kv_array("tokenizer.ggml.token_type", ValueType::i32, types);
  return file;
}

}  // namespace sluice
