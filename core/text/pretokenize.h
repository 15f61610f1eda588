// Pre-tokenizers of byte-level BPE: they cut a text into words, and merges never cross a word's
// border. The patterns are those that llama.cpp gives for each name (src/llama-vocab.cpp there);
// the matching is written by hand: no regular expressions, linear time.
#pragma once

#include <optional>
#include <string_view>

namespace sluice {

enum class Splitter : uint8_t { gpt2, llama3, qwen2, smollm, fallback };

struct PreTokenizer {
  std::string_view name;  // of the pattern: an alias has the name of what it stands for
  Splitter splitter;
  bool whole_words;  // a word that is in the vocabulary is one token, whatever the merges say
  bool adds_bos;     // unless the file says otherwise
};

// By the file's tokenizer.ggml.pre; nothing for a name that is not known.
std::optional<PreTokenizer> find_pre_tokenizer(std::string_view name);
PreTokenizer default_pre_tokenizer();

// Walks over a text's words: every byte is in exactly one of them.
class WordSplitter {
 public:
  WordSplitter(Splitter splitter, std::string_view text) : splitter_(splitter), text_(text) {}
  // The next word, empty at the end. It views the text given.
  std::string_view next();
  // Bytes behind the words that have been given.
  size_t left() const { return text_.size() - at_; }

 private:
  size_t next_smollm();
  size_t next_fallback();

  Splitter splitter_;
  std::string_view text_;
  size_t at_ = 0;
  // Patterns that are applied one after the other: where the piece that an earlier one found ends.
  size_t segment_end_ = 0;
  size_t word_end_ = 0;
  size_t digits_end_ = 0;
};

}  // namespace sluice
