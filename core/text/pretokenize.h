// Pre-tokenizers of byte-level BPE. They divide a text into words; merges never cross the border of
// a word. Each name has the pattern that it has in llama.cpp (src/llama-vocab.cpp). The patterns
// are matched by hand-written code in linear time, not by regular expressions.
#pragma once

#include <optional>
#include <string_view>

namespace sluice {

enum class Splitter : uint8_t { gpt2, llama3, qwen2, qwen35, smollm, lines, fallback };

struct PreTokenizer {
  std::string_view name;  // of the pattern, also for an alias
  Splitter splitter;
  bool whole_words;  // a word that is in the vocabulary is one token, without merging
  bool adds_bos;     // unless the file says otherwise
  // The vocabulary's texts are UTF-8 with U+2581 for a space, not coded bytes: see BpeEncoder.
  bool raw = false;
};

// The pre-tokenizer with this name in tokenizer.ggml.pre; nothing if the name is unknown.
std::optional<PreTokenizer> find_pre_tokenizer(std::string_view name);
PreTokenizer default_pre_tokenizer();

// Divides a text into words. Every byte is in exactly one of them.
class WordSplitter {
 public:
  WordSplitter(Splitter splitter, std::string_view text) : splitter_(splitter), text_(text) {}
  // The next word, a view of the text; empty at the end.
  std::string_view next();
  // Bytes after the words that next() has returned.
  size_t left() const { return text_.size() - at_; }

 private:
  size_t next_smollm();
  size_t next_fallback();

  Splitter splitter_;
  std::string_view text_;
  size_t at_ = 0;
  // For patterns that are applied one after the other: the ends of the pieces that earlier ones
  // found.
  size_t segment_end_ = 0;
  size_t word_end_ = 0;
  size_t digits_end_ = 0;
};

}  // namespace sluice
