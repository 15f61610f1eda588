// The tokens of a GGUF file: their texts, kinds and scores, and the bytes that each stands for.
// Checked when built; everything is copied, so the Gguf may go away.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gguf/gguf.h"
#include "text/index_table.h"
#include "text/token.h"

namespace sluice {

// GGUF's tokenizer.ggml.token_type.
enum class TokenType : uint8_t {
  undefined = 0,
  normal = 1,
  unknown = 2,
  control = 3,
  user_defined = 4,
  unused = 5,
  byte = 6,
};

// How a normal token's text stands for bytes.
enum class TextCoding : uint8_t {
  spaces,  // SentencePiece: UTF-8, a space is written as U+2581
  bytes,   // GPT-2: one printable character a byte
};

// SentencePiece's sign for a space, U+2581.
inline constexpr std::string_view kSpaceSign = "\xe2\x96\x81";

// The UTF-8 text of the character that stands for `byte` in GPT-2's coding: printable Latin-1 is
// itself, the others are U+0100 and on, in order.
std::string_view byte_character(uint8_t byte);

class Vocab {
 public:
  // bad_file: no or too many tokens, a text too long or twice, fewer types than tokens, for a
  // SentencePiece vocabulary fewer scores or one that is NaN, a byte token that is not <0xNN>.
  static Result<Vocab> from_gguf(const Gguf& gguf, TextCoding coding);

  TokenId size() const { return static_cast<TokenId>(types_.size()); }
  bool contains(TokenId id) const { return id >= 0 && id < size(); }
  // For ids that it contains:
  std::string_view text(TokenId id) const { return part(texts_, text_ends_, id); }
  std::string_view piece(TokenId id) const { return part(pieces_, piece_ends_, id); }
  TokenType type(TokenId id) const { return types_[static_cast<size_t>(id)]; }
  float score(TokenId id) const { return scores_.empty() ? 0.f : scores_[static_cast<size_t>(id)]; }
  // Neither control nor unknown nor byte token: it can come from plain text and stands for text.
  bool is_plain(TokenId id) const;

  // The token with this text, or kNoToken.
  TokenId find(std::string_view text) const;
  // The same among plain tokens alone.
  TokenId find_plain(std::string_view text) const;
  // The token for one byte: `<0xNN>` or, failing that, the plain token of that one byte.
  TokenId byte_token(uint8_t byte) const { return byte_tokens_[byte]; }
  // Has each of the 256 bytes a token?
  bool has_all_bytes() const;
  // Bytes of the longest text of all, and (once finished) of all plain tokens.
  size_t longest_text() const { return longest_text_; }
  size_t longest_plain() const { return longest_plain_; }

  // Files now and then call their end tokens normal ones: makes such a token a control token.
  void make_control(TokenId id) { types_[static_cast<size_t>(id)] = TokenType::control; }
  // Fills in the pieces; after this the types stay as they are.
  void finish();

 private:
  static std::string_view part(const std::string& all, const std::vector<uint32_t>& ends,
                               TokenId id);
  Status load_texts(const Value& tokens);
  Status load_types(const Value* types);
  Status load_scores(const Value* scores);
  Status load_bytes(bool typed);
  void append_piece(std::string& out, TokenId id) const;

  TextCoding coding_ = TextCoding::spaces;
  std::string texts_;
  std::vector<uint32_t> text_ends_;
  std::string pieces_;
  std::vector<uint32_t> piece_ends_;
  std::vector<TokenType> types_;
  std::vector<float> scores_;
  std::array<TokenId, 256> byte_tokens_{};
  IndexTable table_;
  size_t longest_text_ = 0;
  size_t longest_plain_ = 0;
};

}  // namespace sluice
