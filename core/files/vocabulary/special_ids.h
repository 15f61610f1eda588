// Which tokens have a part of their own: what stands before and behind a text, what ends one, what
// fills gaps. GGUF has a key for each.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "files/vocabulary/text_rules.h"
#include "files/vocabulary/token_list.h"
#include "files/vocabulary/tokenizer_json.h"

namespace sluice {

// What a tokenizer.json puts around every text, by its post-processor.
struct TextFrame {
  std::string first;                  // the special token in front; empty: none
  std::string last;                   // behind
  std::optional<std::string> middle;  // between two texts, besides `first` and `last`; empty: other
  bool decided = false;               // there is a template: whatever it lacks isn't added
  bool byte_level = false;            // there is a part that adds nothing
  bool separated = false;             // RobertaProcessing: two `last` between two texts
};

// Fails with unsupported_model if several tokens stand in front or behind, which no key can say, or
// if the post-processor is of another kind; with bad_file if a template has no text.
Result<TextFrame> read_text_frame(const TokenizerJson& tokenizer);

// The keys' values in the order in which llama.cpp's converter writes them, which is that of the
// places where it finds them.
struct SpecialKeys {
  std::vector<std::pair<std::string_view, uint32_t>> ids;  // tokenizer.ggml.*_token_id
  std::vector<std::pair<std::string_view, bool>> adds;     // tokenizer.ggml.add_*_token
};

// `tokenizer_config` and `config`: the files, objects. Ids of config.json that have no token are
// left out, which `notes` tell. Fails with unsupported_model if another token stands in front of
// texts than the one that is named so: GGUF has one key for both.
Result<SpecialKeys> find_special_keys(const TokenizerJson& tokenizer, const TextFrame& frame,
                                      const HubJson& tokenizer_config, const HubJson& config,
                                      VocabularyKind kind, const TokenIds& ids, uint64_t n_vocab,
                                      Notes& notes);

}  // namespace sluice
