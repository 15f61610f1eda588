// Text to token ids and back, with the vocabulary of a GGUF file: SentencePiece with byte fallback
// (`llama`), byte-level BPE (`gpt2`), BPE of characters (`gemma4`) or WordPiece (`bert`).
#pragma once  // face

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/token.h"
#include "gguf/gguf.h"

namespace sluice {

// The bytes from `begin` to before `end` of a text.
struct TextSpan {
  size_t begin;
  size_t end;
};

class Tokenizer {
 public:
  // Builds it from tokenizer.ggml.*. Fails with bad_file if the vocabulary is inconsistent
  // (lengths, a text twice, all tokens suppressed, ...), with unsupported_model if the tokenizer
  // model isn't llama, gpt2, gemma4 or bert. Skips wrong entries that it can do without, and adds a
  // warning. The file may have any architecture and no tensors.
  static Result<Tokenizer> from_gguf(const Gguf& gguf);
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  // The ids of a text, without BOS. The text may be any bytes. User-defined tokens that are written
  // out in it are recognized, with parse_special also control tokens. For an SPM vocabulary a space
  // is added before the text and after each special token, as in llama.cpp. WordPiece gives the ids
  // of Hugging Face's tokenizers. Never fails. Takes O(n log n) for n bytes, without recursion.
  // More than 64 MiB without a special token are encoded in pieces of that size. For long texts use
  // an Encoding. Special tokens of more than 1,000 bytes are not found; a warning says so.
  //
  // `input`: which parts of the text come from other people (spans in order, without overlaps; if
  // they aren't so, all of it counts as input). A guarded token is found only where none of its
  // bytes is in them: matches that have such a byte are dropped before the longest wins. Other
  // user-defined tokens (<think>, runs of spaces) are found everywhere.
  std::vector<TokenId> encode(std::string_view text, bool parse_special = false,
                              std::vector<TextSpan> input = {}) const;
  // Where parse_special finds guarded tokens. In order.
  std::vector<TextSpan> find_control(std::string_view text) const;

  // The bytes that a token stands for: "" for control tokens and ids out of range, the byte for
  // <0xNN>.
  std::string_view piece(TokenId id) const;
  // The bytes of a sequence, without the spaces that encode() adds. decode(encode(text)) == text if
  // the vocabulary has tokens for all bytes of the text. WordPiece doesn't keep the text: its words
  // have a space between them.
  std::string decode(std::span<const TokenId> ids) const;
  // One step of decode(): the text that `id` adds. `after_special` must be true at the beginning;
  // pass it on from token to token.
  std::string_view text_of(TokenId id, bool& after_special) const;
  // The token as it is written in the vocabulary ("▁the", "<|im_start|>", "Ġa").
  std::string_view raw_token(TokenId id) const;
  // The token that is written so in the vocabulary, or kNoToken.
  TokenId find_raw(std::string_view raw) const;

  int64_t vocab_size() const;
  // Ids to put before a prompt (BOS, if the file asks for it, for gemma4 in any case); may be
  // empty.
  std::span<const TokenId> prefix() const;
  // Ids to put behind a text that a model reads as a whole, to embed it or to fill in its masked
  // words: [SEP] of WordPiece; else EOS, or the separator if there is no EOS, if the file has
  // add_eos_token; else empty. No prompt gets it.
  std::span<const TokenId> suffix() const;
  // The ids of a text between prefix and suffix, both also if the text has them itself.
  std::vector<TokenId> framed(std::vector<TokenId> text) const;
  // The ids of a text with the prefix. A text that begins with BOS itself gets no second one.
  std::vector<TokenId> with_prefix(std::vector<TokenId> text) const;
  TokenId bos() const;  // kNoToken if there is none
  TokenId eos() const;
  TokenId mask() const;  // stands for a word that is to be filled in; kNoToken if there is none
  // True if the token ends a text: eos, eot, eom and other end tokens of the file.
  bool is_end(TokenId id) const;
  bool is_special(TokenId id) const;  // control or user-defined
  // True for special tokens that no text of other people may become: control tokens, and of the
  // user-defined ones those that end a text or have a name of guarded_names.h.
  bool is_guarded(TokenId id) const;
  // The tokens that the model must never write (tokenizer.ggml.suppress_tokens), ascending. Never
  // the whole vocabulary.
  std::span<const TokenId> suppressed() const;
  bool adds_space_prefix() const;  // encode() adds it, decode() and TextStream remove it

  std::string_view model() const;          // "llama", "gpt2", "gemma4" or "bert"
  std::string_view pre_tokenizer() const;  // "qwen2", ...; empty for SPM and WordPiece
  // What is wrong with the vocabulary: "unknown pre-tokenizer 'foo': using 'default'", ...
  const Notes& warnings() const;

 private:
  friend class Encoding;
  struct State;
  explicit Tokenizer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Encodes a text to the same ids as Tokenizer::encode(), in slices of some milliseconds. Needs a
// few MB at most besides the ids, however long the text and whatever is found in it; if the
// vocabulary wants NFC or signs for spaces (gemma4), also a changed copy of the text between two
// special tokens. (Some 100 MB, and longer slices, if special tokens have hundreds of different
// lengths, or if merges depend on text far after them. No known vocabulary is so. If they depend on
// text more than 1 MiB after them, the size of slices can change ids.)
//
// Who wants no more than some number of ids stops calling step(); bytes_left() tells how much of
// the text is missing then.
class Encoding {
 public:
  static constexpr size_t kSlice = 64 << 10;
  // The tokenizer and the text must outlive this. A step encodes about `slice` bytes (1 or more).
  // `input` as for encode().
  Encoding(const Tokenizer& tokenizer, std::string_view text, bool parse_special = false,
           size_t slice = kSlice, std::vector<TextSpan> input = {});
  Encoding(Encoding&&) noexcept;
  Encoding& operator=(Encoding&&) noexcept;
  ~Encoding();

  // Does a slice of the work. False: all is encoded.
  bool step();
  // The ids since the last call. They don't change when more text is encoded.
  std::vector<TokenId> take();
  // The whole text has at least so many ids, including those taken. At first this is computed from
  // the text's length; after the last step it is the exact number.
  uint64_t min_ids() const;
  // Bytes of the text that are not encoded yet. Those that have been read and wait for what follows
  // them may be missing: as many as the longest token has.
  uint64_t bytes_left() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Turns a stream of tokens into a stream of text, without half UTF-8 characters.
class TextStream {
 public:
  // `tokenizer` must outlive this. `at_start_of_text`: nothing or a special token comes before the
  // first token, so the space that encode() adds there is removed.
  TextStream(const Tokenizer& tokenizer, bool at_start_of_text);
  // The text that is complete with `id`, as valid UTF-8; "" while a character is incomplete.
  // Invalid bytes become U+FFFD.
  std::string push(TokenId id);
  // True while a character lacks its last bytes.
  bool incomplete() const { return !pending_.empty(); }
  // The rest at the end: U+FFFD for an incomplete character, else "".
  std::string flush();

 private:
  const Tokenizer* tokenizer_;
  std::string pending_;
  bool after_special_;
};

}  // namespace sluice
