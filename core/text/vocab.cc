#include "text/vocab.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "base/format.h"
#include "base/utf8.h"

namespace sluice {
namespace {

constexpr uint64_t kMaxTokens = 1u << 22;  // the largest known vocabularies have 2^18
constexpr uint64_t kMaxTokenBytes = 65535;

// The characters of GPT-2's coding; each has one or two bytes.
struct ByteCharacters {
  std::array<std::array<char, 2>, 256> text{};
  std::array<uint8_t, 256> size{};
  std::array<int16_t, 512> byte_of{};  // by code point; -1 if it stands for no byte
};

constexpr ByteCharacters kByteCharacters = [] {
  ByteCharacters out;
  out.byte_of.fill(-1);
  uint32_t next = 256;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte != 0xad);
    const uint32_t c = printable ? byte : next++;
    out.byte_of[c] = static_cast<int16_t>(byte);
    if (c < 0x80) {
      out.text[byte] = {static_cast<char>(c), 0};
      out.size[byte] = 1;
    } else {
      out.text[byte] = {static_cast<char>(0xc0 | c >> 6), static_cast<char>(0x80 | (c & 0x3f))};
      out.size[byte] = 2;
    }
  }
  return out;
}();

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

// The NN of <0xNN>, or -1.
int byte_of_token(std::string_view text) {
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return -1;
  const int high = hex_digit(text[3]);
  const int low = hex_digit(text[4]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

Status check_length(std::string_view key, const MetadataValue& value, uint64_t tokens) {
  // Entries beyond the last token are ignored.
  if (value.is_array() && value.count >= tokens) return {};
  return fail(Code::bad_file, key, " has ", value.is_array() ? value.count : 0,
              " entries, but tokenizer.ggml.tokens has ", tokens, ". The vocabulary is damaged");
}

}  // namespace

std::string_view byte_character(uint8_t byte) {
  return {kByteCharacters.text[byte].data(), kByteCharacters.size[byte]};
}

Result<Vocab> Vocab::from_gguf(const Gguf& gguf, TextCoding coding) {
  Vocab out;
  out.coding_ = coding;
  const MetadataValue* tokens = gguf.find("tokenizer.ggml.tokens");
  if (tokens == nullptr || !tokens->is_array() || tokens->element != ValueType::string) {
    return fail(Code::bad_file, "tokenizer.ggml.tokens is ",
                tokens == nullptr ? "missing" : "no array of strings",
                ": the file has no vocabulary to read");
  }
  const MetadataValue* types = gguf.find("tokenizer.ggml.token_type");
  SLUICE_TRY(out.load_texts(*tokens));
  SLUICE_TRY(out.load_types(types));
  SLUICE_TRY(out.load_scores(gguf.find("tokenizer.ggml.scores")));
  SLUICE_TRY(out.load_bytes(types != nullptr));
  return out;
}

Status Vocab::load_texts(const MetadataValue& tokens) {
  if (tokens.count == 0 || tokens.count > kMaxTokens) {
    return fail(Code::bad_file, "tokenizer.ggml.tokens has ", tokens.count, " entries; 1 to ",
                kMaxTokens, " are expected");
  }
  const auto count = static_cast<uint32_t>(tokens.count);
  texts_ = tokens.bytes;
  text_ends_ = tokens.ends;
  types_.assign(count, TokenType::normal);
  table_.reset(count);
  for (uint32_t i = 0; i < count; ++i) {
    const std::string_view token = text(static_cast<TokenId>(i));
    if (token.size() > kMaxTokenBytes) {
      return fail(Code::bad_file, "token ", i, " of the vocabulary has ", token.size(),
                  " bytes; at most ", kMaxTokenBytes, " are expected");
    }
    if (token.empty()) continue;  // unused ids: no text becomes one of them
    longest_text_ = std::max(longest_text_, token.size());
    const uint32_t other = table_.insert(
        hash_text(token), i, [&](uint32_t id) { return text(static_cast<TokenId>(id)) == token; });
    if (other != IndexTable::kNone) {
      return fail(Code::bad_file, "tokens ", other, " and ", i, " of the vocabulary are both '",
                  printable(token), "'; each text may stand there once");
    }
  }
  return {};
}

Status Vocab::load_types(const MetadataValue* types) {
  if (types == nullptr) return {};
  SLUICE_TRY(check_length("tokenizer.ggml.token_type", *types, types_.size()));
  for (size_t i = 0; i < types_.size(); ++i) {
    const auto type = types->as_i64(i);
    if (!type) return fail(Code::bad_file, "tokenizer.ggml.token_type holds no integers");
    const bool known = *type >= 0 && *type <= static_cast<int64_t>(TokenType::byte);
    types_[i] = known ? static_cast<TokenType>(*type) : TokenType::undefined;
  }
  return {};
}

Status Vocab::load_scores(const MetadataValue* scores) {
  if (scores == nullptr || coding_ != TextCoding::spaces) return {};  // BPE doesn't use them
  SLUICE_TRY(check_length("tokenizer.ggml.scores", *scores, types_.size()));
  scores_.resize(types_.size());
  for (size_t i = 0; i < scores_.size(); ++i) {
    const auto score = scores->as_f64(i);
    if (!score || std::isnan(*score)) {
      return fail(Code::bad_file, "tokenizer.ggml.scores[", i, "] is no number");
    }
    scores_[i] = static_cast<float>(std::clamp<double>(*score, -FLT_MAX, FLT_MAX));
  }
  return {};
}

Status Vocab::load_bytes(bool typed) {
  byte_tokens_.fill(kNoToken);
  for (TokenId id = 0; id < size(); ++id) {
    const int byte = byte_of_token(text(id));
    // In a file without types, only the text tells which tokens are bytes.
    if (!typed && coding_ != TextCoding::bytes && byte >= 0) {
      types_[static_cast<size_t>(id)] = TokenType::byte;
    }
    if (type(id) != TokenType::byte) continue;
    if (byte < 0) {
      return fail(Code::bad_file, "byte token ", id, " of the vocabulary is '", printable(text(id)),
                  "'; <0x00> to <0xFF> are expected");
    }
    TokenId& place = byte_tokens_[static_cast<size_t>(byte)];
    if (coding_ != TextCoding::bytes && place == kNoToken) place = id;
  }
  for (size_t byte = 0; byte < byte_tokens_.size(); ++byte) {
    if (byte_tokens_[byte] != kNoToken) continue;
    const char raw = static_cast<char>(byte);
    byte_tokens_[byte] =
        find_plain(coding_ == TextCoding::bytes ? byte_character(static_cast<uint8_t>(byte))
                                                : std::string_view(&raw, 1));
  }
  return {};
}

void Vocab::finish() {
  pieces_.clear();
  pieces_.reserve(texts_.size());
  piece_ends_.clear();
  piece_ends_.reserve(types_.size());
  for (TokenId id = 0; id < size(); ++id) {
    append_piece(pieces_, id);
    piece_ends_.push_back(static_cast<uint32_t>(pieces_.size()));
    if (is_plain(id)) longest_plain_ = std::max(longest_plain_, text(id).size());
  }
}

bool Vocab::has_all_bytes() const {
  return std::ranges::find(byte_tokens_, kNoToken) == byte_tokens_.end();
}

// A piece is never longer than its token's text.
void Vocab::append_piece(std::string& out, TokenId id) const {
  const std::string_view token = text(id);
  if (type(id) == TokenType::byte) {
    out.push_back(static_cast<char>(byte_of_token(token)));
    return;
  }
  if (type(id) == TokenType::user_defined || type(id) == TokenType::guarded) {
    out.append(token);
    return;
  }
  if (!is_plain(id)) return;
  if (coding_ != TextCoding::bytes) {
    for (size_t at = 0; at < token.size();) {
      const bool space = token.substr(at).starts_with(kSpaceSign);
      out.push_back(space ? ' ' : token[at]);
      at += space ? kSpaceSign.size() : 1;
    }
    return;
  }
  for (size_t at = 0; at < token.size();) {
    const Utf8Char c = utf8_decode(token.substr(at));
    const int byte = c.valid && c.code_point < kByteCharacters.byte_of.size()
                         ? kByteCharacters.byte_of[c.code_point]
                         : -1;
    if (byte >= 0) {
      out.push_back(static_cast<char>(byte));
    } else {
      out.append(token.substr(at, c.length));  // outside the coding: kept as it is
    }
    at += c.length;
  }
}

bool Vocab::is_plain(TokenId id) const {
  const TokenType t = type(id);
  return t != TokenType::control && t != TokenType::unknown && t != TokenType::byte &&
         t != TokenType::guarded;
}

void Vocab::guard(TokenId id) {
  types_[static_cast<size_t>(id)] = TokenType::guarded;
  std::ranges::replace(byte_tokens_, id, kNoToken);
}

TokenId Vocab::find(std::string_view text_wanted) const {
  if (text_wanted.empty() || text_wanted.size() > longest_text_) return kNoToken;
  const uint32_t id = table_.find(hash_text(text_wanted), [&](uint32_t candidate) {
    return text(static_cast<TokenId>(candidate)) == text_wanted;
  });
  return id == IndexTable::kNone ? kNoToken : static_cast<TokenId>(id);
}

TokenId Vocab::find_plain(std::string_view text_wanted) const {
  const TokenId id = find(text_wanted);
  return id != kNoToken && is_plain(id) ? id : kNoToken;
}

std::string_view Vocab::part(const std::string& all, const std::vector<uint32_t>& ends,
                             TokenId id) {
  const auto i = static_cast<size_t>(id);
  const size_t begin = i == 0 ? 0 : ends[i - 1];
  return std::string_view(all).substr(begin, ends[i] - begin);
}

}  // namespace sluice
