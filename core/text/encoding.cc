// Encoding: text to token ids, in slices.
#include <algorithm>
#include <utility>
#include <variant>

#include "base/utf8.h"
#include "text/tokenizer_state.h"
#include "text/unicode.h"

namespace sluice {
namespace {

constexpr size_t kMaxPiece = 64u << 20;  // bytes of text; longer texts are encoded in pieces

// The first piece of a text. It ends with a whole character.
std::string_view first_piece(std::string_view text) {
  const std::string_view piece = text.substr(0, kMaxPiece);
  if (piece.size() == text.size()) return text;
  return piece.substr(0, piece.size() - utf8_incomplete_tail(piece));
}

}  // namespace

// Encodes the text piece by piece: in a piece, the plain text before each special token, then the
// token.
struct Encoding::State {
  const Tokenizer::State& tokenizer;
  const SpecialTokens& special;
  size_t slice;           // bytes of text
  std::string_view rest;  // the text after the piece
  std::vector<TextSpan> literal;
  std::string_view piece = {};
  size_t piece_begin = 0;  // in the text
  size_t at = 0;           // piece[at..] is neither encoded nor in `plain`
  size_t scanned = 0;      // special tokens that begin in piece[..scanned] are found
  std::vector<SpecialTokens::Match> matches = {};
  size_t next_match = 0;
  std::string_view unchanged = {};  // of a plain text that is changed first: what is left of it
  std::string changed = {};         // and what has become of the rest
  std::variant<std::monostate, SpmEncoder::PlainText, BpeEncoder::PlainText,
               WordPieceEncoder::PlainText>
      plain = {};
  bool after_special = true;  // also at the beginning
  MergeList list = {};
  std::vector<TokenId> ids = {};
  uint64_t taken = 0;

  bool advance(size_t& budget);
  std::vector<SpecialTokens::Match> find(size_t begin, std::string_view seen) const;
  void scan(size_t& budget);
  size_t text_end(const SpecialTokens::Match& match) const;
  void begin_plain(size_t end);
  void change(size_t& budget);
  void begin_encoding(std::string_view text);
  bool encode_plain(size_t& budget);
  uint64_t bytes_left() const;
};

// The special tokens in a part of the piece that begins at `begin`. The literal spans divide it.
std::vector<SpecialTokens::Match> Encoding::State::find(size_t begin, std::string_view seen) const {
  if (literal.empty()) return special.find(seen);
  begin += piece_begin;
  std::vector<SpecialTokens::Match> found;
  size_t from = 0;
  const auto find_before = [&](size_t end) {
    for (SpecialTokens::Match match : special.find(seen.substr(from, end - from))) {
      match.begin += static_cast<uint32_t>(from);
      found.push_back(match);
    }
  };
  auto span = std::partition_point(literal.begin(), literal.end(),
                                   [&](const TextSpan& each) { return each.end <= begin; });
  for (; span != literal.end() && span->begin < begin + seen.size(); ++span) {
    find_before(std::max(span->begin, begin) - begin);
    from = std::min(span->end - begin, seen.size());
  }
  find_before(seen.size());
  return found;
}

// Looks for special tokens in the next part of the piece.
void Encoding::State::scan(size_t& budget) {
  matches.clear();
  next_match = 0;
  if (special.empty()) {
    scanned = piece.size();
    return;
  }
  const size_t part = std::max(4 * slice, special.reach());
  const std::string_view seen = piece.substr(scanned, part + special.reach());
  matches = find(scanned, seen);
  const bool whole = scanned + seen.size() == piece.size();
  if (!whole) std::erase_if(matches, [&](const auto& match) { return match.begin >= part; });
  size_t end = whole ? seen.size() : part;
  for (SpecialTokens::Match& match : matches) {
    end = std::max<size_t>(end, match.begin + match.size);
    match.begin += static_cast<uint32_t>(scanned);
  }
  scanned += end;
  budget = 0;
}

// Where the plain text before a special token ends.
size_t Encoding::State::text_end(const SpecialTokens::Match& match) const {
  size_t end = match.begin;
  while (match.id == tokenizer.swallows_space && end > at) {
    size_t begin = end - 1;
    while (begin > at && (static_cast<uint8_t>(piece[begin]) & 0xc0) == 0x80) --begin;
    const ClassifiedChar last = classify(piece.substr(begin, end - begin));
    if (last.kind != CharClass::space || last.length != end - begin) break;
    end = begin;
  }
  return end;
}

void Encoding::State::begin_plain(size_t end) {
  const std::string_view text = piece.substr(at, end - at);
  at = end;
  if (!tokenizer.changes_text()) return begin_encoding(text);
  changed.clear();
  unchanged = text;
}

// Changes the next part of a plain text as the vocabulary has it, and begins to encode it when
// there is no more. A U+2581 of the text must not become a space: as in SpmEncoder it becomes byte
// tokens.
void Encoding::State::change(size_t& budget) {
  if (tokenizer.nfc) {
    const size_t size = tokenizer.nfc->append(unchanged, budget, changed);
    unchanged.remove_prefix(size);
    budget -= std::min(budget, size);
    if (unchanged.empty()) begin_encoding(changed);
    return;
  }
  const Vocab& vocabulary = tokenizer.vocabulary;
  const auto is_sign = [&](size_t i) {
    return vocabulary.has_all_bytes() && unchanged.substr(i).starts_with(kSpaceSign);
  };
  size_t size = 0;
  for (; size < std::min(budget, unchanged.size()) && !is_sign(size); ++size) {
    if (unchanged[size] == ' ') {
      changed.append(kSpaceSign);
    } else {
      changed.push_back(unchanged[size]);
    }
  }
  unchanged.remove_prefix(size);
  budget -= size;
  if (!changed.empty() && (unchanged.empty() || is_sign(0))) {
    begin_encoding(changed);
  } else if (changed.empty()) {
    for (const char c : kSpaceSign) ids.push_back(vocabulary.byte_token(static_cast<uint8_t>(c)));
    unchanged.remove_prefix(kSpaceSign.size());
    --budget;
  }
}

void Encoding::State::begin_encoding(std::string_view text) {
  if (const auto* spm = std::get_if<SpmEncoder>(&tokenizer.encoder)) {
    plain = spm->begin(text, tokenizer.space_prefix && after_special, slice);
  } else if (const auto* bpe = std::get_if<BpeEncoder>(&tokenizer.encoder)) {
    plain = bpe->begin(text, slice);
  } else {
    plain = WordPieceEncoder::PlainText{text};
  }
  after_special = false;
}

bool Encoding::State::encode_plain(size_t& budget) {
  if (auto* spm = std::get_if<SpmEncoder::PlainText>(&plain)) {
    return std::get<SpmEncoder>(tokenizer.encoder)
        .encode(tokenizer.vocabulary, *spm, budget, list, ids);
  }
  if (auto* words = std::get_if<WordPieceEncoder::PlainText>(&plain)) {
    return std::get<WordPieceEncoder>(tokenizer.encoder)
        .encode(tokenizer.vocabulary, *words, budget, ids);
  }
  return std::get<BpeEncoder>(tokenizer.encoder)
      .encode(tokenizer.vocabulary, std::get<BpeEncoder::PlainText>(plain), budget, list, ids);
}

// Does the next thing that there is to do. False: all is encoded.
bool Encoding::State::advance(size_t& budget) {
  if (!std::holds_alternative<std::monostate>(plain)) {
    if (!encode_plain(budget)) {
      plain = std::monostate();
      changed.clear();
    }
  } else if (!unchanged.empty()) {
    change(budget);
  } else if (next_match < matches.size()) {
    const SpecialTokens::Match& match = matches[next_match];
    const size_t end = text_end(match);
    if (at < end) {
      begin_plain(end);
      return true;
    }
    ids.push_back(match.id);
    at = match.begin + match.size;
    after_special = true;
    ++next_match;
    --budget;
  } else if (scanned < piece.size()) {
    scan(budget);
  } else if (at < piece.size()) {
    begin_plain(piece.size());
  } else if (!rest.empty()) {
    piece_begin += piece.size();
    piece = first_piece(rest);
    rest.remove_prefix(piece.size());
    at = scanned = 0;
  } else {
    return false;
  }
  return true;
}

uint64_t Encoding::State::bytes_left() const {
  uint64_t left = rest.size() + piece.size() - at + unchanged.size();
  if (std::holds_alternative<std::monostate>(plain)) left += changed.size();
  if (const auto* spm = std::get_if<SpmEncoder::PlainText>(&plain)) left += spm->left();
  if (const auto* bpe = std::get_if<BpeEncoder::PlainText>(&plain)) left += bpe->left();
  if (const auto* word = std::get_if<WordPieceEncoder::PlainText>(&plain)) left += word->left();
  return left;
}

Encoding::Encoding(const Tokenizer& tokenizer, std::string_view text, bool parse_special,
                   size_t slice, std::vector<TextSpan> literal)
    : state_(
          new State{*tokenizer.state_,
                    parse_special ? tokenizer.state_->all_special : tokenizer.state_->user_defined,
                    slice, text, std::move(literal)}) {}
Encoding::Encoding(Encoding&&) noexcept = default;
Encoding& Encoding::operator=(Encoding&&) noexcept = default;
Encoding::~Encoding() = default;

bool Encoding::step() {
  size_t budget = state_->slice;
  while (budget > 0) {
    if (!state_->advance(budget)) return false;
  }
  return true;
}

std::vector<TokenId> Encoding::take() {
  state_->taken += state_->ids.size();
  return std::exchange(state_->ids, {});
}

uint64_t Encoding::bytes_left() const { return state_->bytes_left(); }

uint64_t Encoding::min_ids() const {
  const uint64_t so_far = state_->taken + state_->ids.size();
  const uint64_t per_id = state_->tokenizer.max_bytes_per_id();
  return per_id == 0 ? so_far : so_far + (state_->bytes_left() + per_id - 1) / per_id;
}

}  // namespace sluice
