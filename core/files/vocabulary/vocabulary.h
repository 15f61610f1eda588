// A Hugging Face tokenizer as the metadata of a GGUF file (tokenizer.ggml.*,
// tokenizer.chat_template).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "files/files.h"
#include "gguf/gguf.h"

namespace sluice {

// The files of a folder that tell of its vocabulary, as they are. All are hostile.
struct VocabularyFiles {
  std::string tokenizer;                          // tokenizer.json
  std::string config;                             // config.json
  std::optional<std::string> tokenizer_config;    // tokenizer_config.json
  std::optional<std::string> generation_config;   // generation_config.json
  std::optional<std::string> sentencepiece;       // tokenizer.model
  std::optional<std::string> chat_template;       // chat_template.jinja
  std::optional<std::string> chat_template_json;  // chat_template.json
};

// Adds the vocabulary's keys to `gguf`, for a model of this architecture (GGUF's name) with
// `n_vocab` rows of embedding. Ids without a token become [PADn]. Fails with bad_file if a file is
// damaged or hostile, with unsupported_model if it asks for what no key can say: a pre-tokenizer or
// normalizer that isn't known (the message has it), a model that doesn't run here; then `gguf` may
// have some of the keys. `notes`: what a user should know although it worked.
Status add_vocabulary(const VocabularyFiles& files, const std::string& architecture,
                      uint64_t n_vocab, Gguf& gguf, Notes& notes);

}  // namespace sluice
