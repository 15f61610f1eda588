#include "files/vocabulary/token_list.h"

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "text/vocab.h"

namespace sluice {
namespace {

constexpr uint64_t kMaxRows = 1u << 22;  // as in text/vocab.cc
constexpr size_t kMaxMerges = 1u << 22;  // as in text/bpe.cc
constexpr size_t kMaxTokenText = 65535;  // likewise
constexpr float kAddedScore = -1000;     // they never come about by merging

// Some files don't say that these are special.
bool looks_special(std::string_view text) {
  return text == "<pad>" || text == "<mask>" || text == "<2mass>" || text == "[@BOS@]" ||
         (text.size() >= 4 && text.starts_with("<|") && text.ends_with("|>")) ||
         (text.starts_with("<｜") && text.ends_with("｜>")) ||
         (text.starts_with("<unused") && text.ends_with(">"));
}

// Gemma 4's tokens that stand in the text of replies, where others look for them.
bool is_shown(std::string_view text) {
  constexpr std::string_view kShown[] = {"<|channel>",   "<channel|>",       "<|tool_call>",
                                         "<tool_call|>", "<|tool_response>", "<tool_response|>",
                                         "<|\"|>"};
  return std::ranges::find(kShown, text) != std::end(kShown);
}

bool is_byte_text(std::string_view text) {
  const auto hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F'); };
  return text.size() == 6 && text.starts_with("<0x") && hex(text[3]) && hex(text[4]) &&
         text[5] == '>';
}

std::string with_spaces(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t at = std::min(text.find(kSpaceSign), text.size());
    out.append(text.substr(0, at));
    text.remove_prefix(at);
    if (text.empty()) break;
    out.push_back(' ');
    text.remove_prefix(kSpaceSign.size());
  }
  return out;
}

class TokenLister {
 public:
  TokenLister(const TokenizerJson& tokenizer, const std::vector<AddedToken>& added,
              VocabularyKind kind, uint64_t n_vocab, Notes& notes)
      : tokenizer_(tokenizer), list_(added), kind_(kind), n_vocab_(n_vocab), notes_(notes) {}

  Result<TokenList> list(const SentencePieces* pieces);

 private:
  static constexpr uint32_t kEmpty = UINT32_MAX;
  bool is_added(uint32_t id) const { return added_[id] != kEmpty; }
  bool is_gap(uint32_t id) const { return !is_added(id) && own_[id] == kEmpty; }
  // The text of an id that is no gap.
  std::string_view original(uint32_t id) const {
    return is_added(id) ? std::string_view(list_[added_[id]].text) : tokenizer_.tokens[own_[id]];
  }

  Status place_own();
  Status place_added();
  Status check_own() const;
  TokenType added_type(const AddedToken& token) const;
  TokenType own_type(std::string_view text, const SentencePiece* piece) const;
  void name_tokens(const SentencePieces* pieces);
  Status fill_gaps();
  std::string word_piece_text(std::string_view text) const;
  bool agree(const SentencePieces& pieces) const;
  void list_merges();
  void score_by_merges();
  void note_left_out(const AddedToken& first, uint64_t count);

  const TokenizerJson& tokenizer_;
  const std::vector<AddedToken>& list_;
  const VocabularyKind kind_;
  const uint64_t n_vocab_;
  Notes& notes_;
  std::vector<uint32_t> own_;    // by id: the place in tokenizer_.tokens, or kEmpty
  std::vector<uint32_t> added_;  // by id: the place in list_, or kEmpty
  TokenIds left_out_;            // added tokens without a row
  TokenList out_;
};

Status TokenLister::place_own() {
  for (size_t i = 0; i < tokenizer_.tokens.size(); ++i) {
    const std::string_view text = tokenizer_.tokens[i];
    const uint32_t id = tokenizer_.ids[i];
    if (text.size() > kMaxTokenText) {
      return fail(Code::bad_file, "token ", id, " of tokenizer.json has ", text.size(),
                  " bytes; at most ", kMaxTokenText, " are expected");
    }
    if (out_.ids.add(text, id) != TokenIds::kNone) {
      return fail(Code::bad_file, "the token '", printable(text),
                  "' stands twice in tokenizer.json");
    }
    if (id >= n_vocab_) continue;  // see check_own()
    if (own_[id] != kEmpty) {
      return fail(Code::bad_file, "the tokens '", printable(tokenizer_.tokens[own_[id]]), "' and '",
                  printable(text), "' of tokenizer.json both have the id ", id);
    }
    own_[id] = static_cast<uint32_t>(i);
  }
  return {};
}

Status TokenLister::place_added() {
  uint64_t left_out = 0;
  const AddedToken* first = nullptr;
  left_out_.reset(list_.size());
  for (size_t i = 0; i < list_.size(); ++i) {
    const AddedToken& token = list_[i];
    if (token.text.size() > kMaxTokenText) {
      return fail(Code::bad_file, "the added token ", token.id, " has ", token.text.size(),
                  " bytes; at most ", kMaxTokenText, " are expected");
    }
    if (token.id >= n_vocab_) {
      if (left_out++ == 0) first = &token;
      left_out_.add(token.text,
                    static_cast<uint32_t>(std::min<uint64_t>(token.id, UINT32_MAX - 1)));
      continue;
    }
    const auto id = static_cast<uint32_t>(token.id);
    const uint32_t other = out_.ids.add(token.text, id);
    if (is_added(id) || (other != TokenIds::kNone && other != id) ||
        (own_[id] != kEmpty && tokenizer_.tokens[own_[id]] != token.text)) {
      return fail(Code::bad_file, "the added token '", printable(token.text), "' has the id ", id,
                  ", but the id or the text belongs to another token");
    }
    added_[id] = static_cast<uint32_t>(i);
  }
  if (left_out > 0) note_left_out(*first, left_out);
  return {};
}

void TokenLister::note_left_out(const AddedToken& first, uint64_t count) {
  notes_.push_back(
      {NoteCode::token_not_in_vocabulary,
       concat("the added token '", printable(first.text), "' has the id ", first.id,
              count > 1 ? concat(" and ", count - 1, " more have others") : "",
              ", but the model has ", n_vocab_, " rows of tokens: left out"),
       {{"key", std::string("added_tokens")}, {"id", first.id}, {"tokens", n_vocab_}}});
}

// A text that becomes a token without a row can't be computed.
Status TokenLister::check_own() const {
  for (size_t i = 0; i < tokenizer_.tokens.size(); ++i) {
    if (tokenizer_.ids[i] < n_vocab_) continue;
    if (left_out_.find(tokenizer_.tokens[i]) != TokenIds::kNone) continue;
    return fail(Code::bad_file, "the token '", printable(tokenizer_.tokens[i]),
                "' of tokenizer.json has the id ", tokenizer_.ids[i], ", but the model has ",
                n_vocab_, " rows of tokens. The files belong to different models");
  }
  return {};
}

// "##ing" goes on with a word, "ing" begins one.
std::string TokenLister::word_piece_text(std::string_view text) const {
  if (text.starts_with("##")) return std::string(text.substr(2));
  return concat(kSpaceSign, text);
}

TokenType TokenLister::added_type(const AddedToken& token) const {
  if (kind_ == VocabularyKind::raw && is_shown(token.text)) return TokenType::user_defined;
  return token.special || looks_special(token.text) ? TokenType::control : TokenType::user_defined;
}

TokenType TokenLister::own_type(std::string_view text, const SentencePiece* piece) const {
  if (kind_ == VocabularyKind::bytes || kind_ == VocabularyKind::word_piece) {
    return TokenType::normal;
  }
  if (is_byte_text(text)) return TokenType::byte;
  if (text == tokenizer_.unknown_token) return TokenType::unknown;
  // Only <0xNN> can stand for a byte.
  return piece == nullptr || piece->type == TokenType::byte ? TokenType::normal : piece->type;
}

void TokenLister::name_tokens(const SentencePieces* pieces) {
  const auto rows = static_cast<uint32_t>(n_vocab_);
  out_.texts.resize(rows);
  out_.types.assign(rows, static_cast<int32_t>(TokenType::unused));
  const bool scored = kind_ == VocabularyKind::spaces;
  if (scored) out_.scores.assign(rows, kAddedScore);
  for (uint32_t id = 0; id < rows; ++id) {
    if (is_gap(id)) continue;
    const std::string_view text = original(id);
    const SentencePiece* piece =
        pieces != nullptr && id < pieces->pieces.size() ? &pieces->pieces[id] : nullptr;
    const TokenType type = is_added(id) ? added_type(list_[added_[id]]) : own_type(text, piece);
    out_.types[id] = static_cast<int32_t>(type);
    out_.texts[id] =
        type == TokenType::user_defined && is_added(id) ? with_spaces(text) : std::string(text);
    if (kind_ == VocabularyKind::word_piece && type != TokenType::control) {
      out_.texts[id] = word_piece_text(out_.texts[id]);
    }
    if (scored && piece != nullptr && !is_added(id)) out_.scores[id] = piece->score;
  }
}

// Ids without a token get names that no other token has. Tokens whose texts became equal ("##a" and
// an added "a") get their own back: engines want each text once.
Status TokenLister::fill_gaps() {
  IndexTable names;
  names.reset(out_.texts.size());
  const auto insert = [&](uint32_t id) {
    return names.insert(hash_text(out_.texts[id]), id, [&](uint32_t other) {
      return out_.texts[other] == out_.texts[id];
    }) == IndexTable::kNone;
  };
  std::vector<uint32_t> nameless;
  for (uint32_t id = 0; id < out_.texts.size(); ++id)
    if (is_gap(id) || (!out_.texts[id].empty() && !insert(id))) nameless.push_back(id);
  for (const uint32_t id : nameless) {
    out_.texts[id] = is_gap(id) ? concat("[PAD", id, "]") : std::string(original(id));
    if (insert(id)) continue;
    return fail(Code::bad_file, "the text '", printable(out_.texts[id]), "' of token ", id,
                " belongs to another token of tokenizer.json, too");
  }
  return {};
}

// tokenizer.model and tokenizer.json have the same own tokens.
bool TokenLister::agree(const SentencePieces& pieces) const {
  if (!pieces.merges) return false;
  for (uint32_t id = 0; id < n_vocab_; ++id) {
    if (own_[id] == kEmpty || is_added(id)) continue;
    if (id >= pieces.pieces.size()) return false;
    if (pieces.pieces[id].text != tokenizer_.tokens[own_[id]]) return false;
  }
  return true;
}

// A piece's score is minus the rank of the first merge that makes it: so the same pairs merge in
// the same order. Pieces that no merge makes come last.
void TokenLister::score_by_merges() {
  const size_t count = tokenizer_.merges.size() / 2;
  std::vector<bool> made(out_.scores.size());
  const auto last = -static_cast<float>(count);
  for (uint32_t id = 0; id < n_vocab_; ++id)
    if (own_[id] != kEmpty && !is_added(id)) out_.scores[id] = last;
  std::string joined;
  for (size_t rank = 0; rank < count; ++rank) {
    joined = tokenizer_.merges[2 * rank];
    joined += tokenizer_.merges[2 * rank + 1];
    const uint32_t id = out_.ids.find(joined);
    if (id == TokenIds::kNone || id >= n_vocab_ || made[id] || is_added(id)) continue;
    made[id] = true;
    out_.scores[id] = rank == 0 ? 0.f : -static_cast<float>(rank);
  }
}

// Merges whose texts are tokens; no engine can do others. A space is written as in the bytes'
// coding, because it divides the two.
void TokenLister::list_merges() {
  const bool written = kind_ == VocabularyKind::bytes || kind_ == VocabularyKind::raw;
  uint64_t skipped = tokenizer_.broken_merges;
  const auto append = [](std::string& out, std::string_view part) {
    for (const char c : part) {
      if (c == ' ') {
        out.append("\xc4\xa0");  // U+0120
      } else {
        out.push_back(c);
      }
    }
  };
  const auto known = [&](std::string_view text) { return out_.ids.find(text) < n_vocab_; };
  std::string joined;
  for (size_t i = 0; i < tokenizer_.merges.size(); i += 2) {
    const std::string_view left = tokenizer_.merges[i];
    const std::string_view right = tokenizer_.merges[i + 1];
    joined = left;
    joined += right;
    if (left.empty() || right.empty() || !known(left) || !known(right) || !known(joined)) {
      ++skipped;
      continue;
    }
    if (!written) continue;
    std::string& merge = out_.merges.emplace_back();
    merge.reserve(joined.size() + 1);
    append(merge, left);
    merge.push_back(' ');
    append(merge, right);
  }
  if (skipped == 0) return;
  notes_.push_back({NoteCode::merges_skipped,
                    concat(skipped,
                           skipped == 1 ? " merge of tokenizer.json names a token"
                                        : " merges of tokenizer.json name tokens",
                           " that it does not have: left out"),
                    {{"merges", skipped}}});
}

Result<TokenList> TokenLister::list(const SentencePieces* pieces) {
  if (n_vocab_ == 0 || n_vocab_ > kMaxRows) {
    return fail(Code::bad_file, "the model has ", n_vocab_, " rows of tokens; 1 to ", kMaxRows,
                " are expected");
  }
  const size_t tokens = tokenizer_.tokens.size() + list_.size();
  const size_t merges = tokenizer_.merges.size() / 2;
  if (tokens > 2 * kMaxRows || merges > kMaxMerges) {
    return fail(Code::bad_file, "tokenizer.json has ", tokens, " tokens and ", merges,
                " merges; at most ", 2 * kMaxRows, " and ", kMaxMerges, " are expected");
  }
  const auto rows = static_cast<size_t>(n_vocab_);
  own_.assign(rows, kEmpty);
  added_.assign(rows, kEmpty);
  out_.ids.reset(tokens);
  SLUICE_TRY(place_own());
  SLUICE_TRY(place_added());
  SLUICE_TRY(check_own());
  if (pieces != nullptr && !agree(*pieces)) pieces = nullptr;
  name_tokens(pieces);
  if (kind_ == VocabularyKind::spaces && pieces == nullptr) score_by_merges();
  if (kind_ != VocabularyKind::word_piece) list_merges();
  SLUICE_TRY(fill_gaps());
  return std::move(out_);
}

}  // namespace

Result<TokenList> list_tokens(const TokenizerJson& tokenizer, const std::vector<AddedToken>& added,
                              VocabularyKind kind, const SentencePieces* pieces, uint64_t n_vocab,
                              Notes& notes) {
  return TokenLister(tokenizer, added, kind, n_vocab, notes).list(pieces);
}

}  // namespace sluice
