// The tokens of a GGUF file: their texts, types and scores, and the bytes that each stands for.
// Everything is checked and copied; the Gguf isn't needed afterwards.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/token.h"
#include "gguf/gguf.h"
#include "text/index_table.h"

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
  // In no file: user-defined, but no plain text becomes it (Vocab::guard).
  guarded = 7,
};

// How the text of a normal token is coded.
enum class TextCoding : uint8_t {
  spaces,  // SentencePiece: UTF-8 with U+2581 for a space; scores say what merges
  raw,     // the same texts, without scores (BPE of characters, WordPiece)
  bytes,   // GPT-2: one printable character for each byte
};

// SentencePiece's character for a space, U+2581.
inline constexpr std::string_view kSpaceSign = "\xe2\x96\x81";

// The character for `byte` in GPT-2's coding, as UTF-8: printable Latin-1 characters stand for
// themselves, U+0100 and the following ones for the other bytes, in order.
std::string_view byte_character(uint8_t byte);

class Vocab {
 public:
  // Fails with bad_file if there are no tokens or too many, if a text is too long or occurs twice,
  // if there are fewer types than tokens, if a byte token isn't <0xNN>, or, for SentencePiece, if
  // there are fewer scores than tokens or one is NaN.
  static Result<Vocab> from_gguf(const Gguf& gguf, TextCoding coding);

  TokenId size() const { return static_cast<TokenId>(types_.size()); }
  bool contains(TokenId id) const { return id >= 0 && id < size(); }
  // These need an id that the vocabulary contains.
  std::string_view text(TokenId id) const { return part(texts_, text_ends_, id); }
  std::string_view piece(TokenId id) const { return part(pieces_, piece_ends_, id); }
  TokenType type(TokenId id) const { return types_[static_cast<size_t>(id)]; }
  float score(TokenId id) const { return scores_.empty() ? 0.f : scores_[static_cast<size_t>(id)]; }
  // True if not a control, unknown, guarded or byte token: plain text can become this token.
  bool is_plain(TokenId id) const;

  // The token with this text, or kNoToken.
  TokenId find(std::string_view text) const;
  // The plain token with this text, or kNoToken.
  TokenId find_plain(std::string_view text) const;
  // The token for one byte: `<0xNN>`, or else the plain token of that byte, or kNoToken.
  TokenId byte_token(uint8_t byte) const { return byte_tokens_[byte]; }
  // True if each of the 256 bytes has a token.
  bool has_all_bytes() const;
  // Bytes of the longest text of all tokens and, after finish(), of all plain tokens.
  size_t longest_text() const { return longest_text_; }
  size_t longest_plain() const { return longest_plain_; }

  // Makes a token a control token. Some files give their end tokens the type normal.
  void make_control(TokenId id) { types_[static_cast<size_t>(id)] = TokenType::control; }
  void make_normal(TokenId id) { types_[static_cast<size_t>(id)] = TokenType::normal; }
  // Only where the special token itself is found does a text become this user-defined token.
  void guard(TokenId id);
  // Computes the pieces. The types must not change afterwards.
  void finish();

 private:
  static std::string_view part(const std::string& all, const std::vector<uint32_t>& ends,
                               TokenId id);
  Status load_texts(const MetadataValue& tokens);
  Status load_types(const MetadataValue* types);
  Status load_scores(const MetadataValue* scores);
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
