// tokenizer.json, the file of Hugging Face's tokenizers library, read without an opinion on it:
// what it says of the vocabulary in lists that are small, the rest as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "files/hub_json.h"
#include "text/index_table.h"

namespace sluice {

// Texts end to end.
class TextList {
 public:
  size_t size() const { return ends_.size(); }
  std::string_view operator[](size_t i) const {
    const size_t begin = i == 0 ? 0 : ends_[i - 1];
    return std::string_view(bytes_).substr(begin, ends_[i] - begin);
  }
  // All of them together must have less than 4 GiB.
  void push_back(std::string_view text) {
    bytes_.append(text);
    ends_.push_back(static_cast<uint32_t>(bytes_.size()));
  }

 private:
  std::string bytes_;
  std::vector<uint32_t> ends_;
};

// Finds ids by texts.
class TokenIds {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  // Room for so many texts. Call it first.
  void reset(size_t texts) { table_.reset(texts); }
  // The id of a text, or kNone.
  uint32_t find(std::string_view text) const {
    const uint32_t at =
        table_.find(hash_text(text), [&](uint32_t index) { return texts_[index] == text; });
    return at == IndexTable::kNone ? kNone : ids_[at];
  }
  // Adds a text. Returns the id that it has already, or kNone.
  uint32_t add(std::string_view text, uint32_t id) {
    const auto next = static_cast<uint32_t>(ids_.size());
    const uint32_t other =
        table_.insert(hash_text(text), next, [&](uint32_t index) { return texts_[index] == text; });
    if (other != IndexTable::kNone) return ids_[other];
    texts_.push_back(text);
    ids_.push_back(id);
    return kNone;
  }

 private:
  TextList texts_;
  std::vector<uint32_t> ids_;
  IndexTable table_;
};

// A token that is cut out of the text before anything else happens to it.
struct AddedToken {
  std::string text;
  uint64_t id = 0;
  bool special = false;
};

struct TokenizerJson {
  std::string model;  // its type: BPE, WordPiece, Unigram, WordLevel; found out if the file is old
  std::string unknown_token;   // empty: none
  std::string subword_prefix;  // continuing_subword_prefix
  std::string word_suffix;     // end_of_word_suffix
  bool byte_fallback = false;
  bool ignore_merges = false;  // a word that is a token isn't merged
  TextList tokens;             // of the model, as they stand there
  std::vector<uint32_t> ids;   // their ids
  TextList merges;             // each is two texts
  uint64_t broken_merges = 0;  // that aren't two texts, and left out
  std::vector<AddedToken> added;
  HubJson normalizer;  // null if there is none; so are the others
  HubJson pre_tokenizer;
  HubJson post_processor;
};

inline constexpr size_t kMaxTokenizerJson = 200u << 20;  // bytes; the largest known have 40 MB

// Fails with bad_file if the file is larger, is no JSON, is nested too deep, has numbers or texts
// where others belong, or a part twice. That ids and merges fit each other isn't checked here.
Result<TokenizerJson> read_tokenizer_json(std::string_view text);

}  // namespace sluice
