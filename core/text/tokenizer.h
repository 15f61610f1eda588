// Text to token ids and back, from the vocabulary in a GGUF file: SentencePiece-style (`llama`)
// with byte fallback, and byte-level BPE (`gpt2`).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gguf/gguf.h"
#include "text/token.h"

namespace sluice {

class Tokenizer {
 public:
  // Builds from tokenizer.ggml.*. bad_file for inconsistent vocabularies (lengths, texts that stand
  // there twice, ...), unsupported_model for a tokenizer model other than llama, gpt2. What can be
  // done without is left out, with a warning. Works on files without tensors and of any
  // architecture.
  static Result<Tokenizer> from_gguf(const Gguf& gguf);
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  // Any bytes in; the ids of the text alone, without BOS. User-defined tokens written out in the
  // text count as such; with parse_special, control tokens, too. An SPM vocabulary gets its space
  // in front of the text and again after each special token, as in llama.cpp.
  // Never fails; time linear in the text (times a logarithm at most), no recursion. A text of more
  // than 64 MiB is encoded in pieces of that size. A long one is better encoded by an Encoding.
  std::vector<TokenId> encode(std::string_view text, bool parse_special = false) const;

  // The exact bytes that a token stands for: "" for control tokens, the raw byte for <0xNN>.
  // Out-of-range ids give "".
  std::string_view piece(TokenId id) const;
  // The bytes of a whole sequence: decode(encode(text)) == text for any bytes (where the vocabulary
  // can express them). The spaces that encode() puts in for an SPM vocabulary are taken away again.
  std::string decode(std::span<const TokenId> ids) const;
  // One step of decode(): what `id` adds to the text. `after_special` is true at the beginning and
  // is kept from token to token.
  std::string_view text_of(TokenId id, bool& after_special) const;
  // The token as it stands in the vocabulary, for showing ("▁the", "<|im_start|>", "Ġa").
  std::string_view raw_token(TokenId id) const;

  int64_t vocab_size() const;
  // Ids to put in front of a prompt (BOS, if the file says so); may be empty.
  std::span<const TokenId> prefix() const;
  TokenId bos() const;  // kNoToken where there is none
  TokenId eos() const;
  // Ends a text: eos, eot, eom and whatever end tokens the file names.
  bool is_end(TokenId id) const;
  bool is_special(TokenId id) const;  // control or user-defined
  bool adds_space_prefix() const;     // decode() and TextStream strip it

  std::string_view model() const;          // "llama" or "gpt2"
  std::string_view pre_tokenizer() const;  // "qwen2", ...; empty for SPM
  // What a user should know of the vocabulary, a sentence each: "unknown pre-tokenizer 'foo': using
  // 'default'", ...
  const std::vector<std::string>& warnings() const;

 private:
  friend class Encoding;
  struct State;
  explicit Tokenizer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Encodes a text as Tokenizer::encode() does, in slices of some milliseconds: the ids are the same.
// What it needs beside the ids is a few hundred KB, however long the text. (A vocabulary with
// tokens of more than 1 KiB, which none is known to have, or one whose merges depend on what stands
// far behind them can make slices longer.)
class Encoding {
 public:
  static constexpr size_t kSlice = 64 << 10;
  // The tokenizer and the text must stay where they are. A step takes about `slice` bytes (1 or
  // more) of the text.
  Encoding(const Tokenizer& tokenizer, std::string_view text, bool parse_special = false,
           size_t slice = kSlice);
  Encoding(Encoding&&) noexcept;
  Encoding& operator=(Encoding&&) noexcept;
  ~Encoding();

  // Does a slice of the work. False: there was none left.
  bool step();
  // The ids so far: the first ones of the text, which stay. Those taken are not given again.
  std::vector<TokenId> take();
  // A number of ids that the whole text has at least, those taken included: before the first step
  // from the length of the text alone, behind the last one the number.
  uint64_t min_ids() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Turns a stream of tokens into a stream of text that never holds half a UTF-8 character.
class TextStream {
 public:
  // `tokenizer` must stay where it is. `at_start_of_text`: nothing, or a special token, goes before
  // the first token, so that its space prefix (if the vocabulary has one) is not part of the text.
  TextStream(const Tokenizer& tokenizer, bool at_start_of_text);
  // The text that `id` completes: valid UTF-8, "" while a character is incomplete; bytes that can't
  // become valid are U+FFFD.
  std::string push(TokenId id);
  // Does a character wait for its last bytes?
  bool incomplete() const { return !pending_.empty(); }
  // What is left at the end (U+FFFD for an incomplete character).
  std::string flush();

 private:
  const Tokenizer* tokenizer_;
  std::string pending_;
  bool after_special_;
};

}  // namespace sluice
