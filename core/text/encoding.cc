// Encoding: text to token ids, in slices.
#include <algorithm>
#include <utility>
#include <variant>

#include "base/unicode.h"
#include "base/utf8.h"
#include "text/special_search.h"
#include "text/tokenizer_state.h"

namespace sluice {
namespace {

constexpr size_t kMaxPiece = 64u << 20;  // bytes of plain text; a longer one is divided

// The first piece of a plain text. It ends with a whole character.
std::string_view first_piece(std::string_view text) {
  const std::string_view piece = text.substr(0, kMaxPiece);
  if (piece.size() == text.size()) return text;
  return piece.substr(0, piece.size() - utf8_incomplete_tail(piece));
}

}  // namespace

// Encodes the plain text before each special token, then the token.
struct Encoding::State {
  const Tokenizer::State& tokenizer;
  std::string_view text;
  size_t slice;  // bytes of text
  SpecialSearch search;
  size_t at = 0;  // text[at..] is neither encoded nor in `plain`
  size_t next_match = 0;
  std::string_view unchanged = {};  // of a plain text that is changed first: what is left of it
  std::string changed = {};         // and what has become of the rest
  size_t changed_from = 0;          // so many bytes
  std::variant<std::monostate, SpmEncoder::PlainText, BpeEncoder::PlainText,
               WordPieceEncoder::PlainText>
      plain = {};
  bool after_special = true;  // also at the beginning
  MergeList list = {};
  std::vector<TokenId> ids = {};
  uint64_t taken = 0;

  bool advance(size_t& budget);
  void scan(size_t& budget);
  size_t text_end(const SpecialSearch::Match& match) const;
  void begin_plain(size_t end);
  void change(size_t& budget);
  void begin_encoding(std::string_view of);
  bool encode_plain(size_t& budget);
  size_t plain_left() const;
};

// Looks for special tokens in the next part of the text. This is much faster than encoding.
void Encoding::State::scan(size_t& budget) {
  const uint64_t before = search.work();
  search.scan();
  next_match = 0;
  const uint64_t cost = std::max<uint64_t>((search.work() - before) / 4, 1);
  budget -= static_cast<size_t>(std::min<uint64_t>(budget, cost));
}

// Where the plain text before a special token ends.
size_t Encoding::State::text_end(const SpecialSearch::Match& match) const {
  size_t end = match.begin;
  while (match.id == tokenizer.swallows_space && end > at) {
    size_t begin = end - 1;
    while (begin > at && (static_cast<uint8_t>(text[begin]) & 0xc0) == 0x80) --begin;
    const ClassifiedChar last = classify(text.substr(begin, end - begin));
    if (last.kind != CharClass::space || last.length != end - begin) break;
    end = begin;
  }
  return end;
}

// Begins with the text up to a place, or a piece of it.
void Encoding::State::begin_plain(size_t end) {
  const std::string_view piece = first_piece(text.substr(at, end - at));
  at += piece.size();
  if (!tokenizer.changes_text()) return begin_encoding(piece);
  changed.clear();
  changed_from = 0;
  unchanged = piece;
}

// Changes the next part of a plain text as the vocabulary has it, and begins to encode it when
// there is no more. A U+2581 of the text must not become a space: as in SpmEncoder it becomes byte
// tokens.
void Encoding::State::change(size_t& budget) {
  if (tokenizer.nfc) {
    const size_t size = tokenizer.nfc->append(unchanged, budget, changed);
    unchanged.remove_prefix(size);
    changed_from += size;
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
  changed_from += size;
  budget -= size;
  if (!changed.empty() && (unchanged.empty() || is_sign(0))) {
    begin_encoding(changed);
  } else if (changed.empty()) {
    for (const char c : kSpaceSign) ids.push_back(vocabulary.byte_token(static_cast<uint8_t>(c)));
    unchanged.remove_prefix(kSpaceSign.size());
    --budget;
  }
}

void Encoding::State::begin_encoding(std::string_view of) {
  const size_t part = std::min(slice, kSlice);
  if (const auto* spm = std::get_if<SpmEncoder>(&tokenizer.encoder)) {
    plain = spm->begin(of, tokenizer.space_prefix && after_special, part);
  } else if (const auto* bpe = std::get_if<BpeEncoder>(&tokenizer.encoder)) {
    plain = bpe->begin(of, part);
  } else {
    plain = WordPieceEncoder::PlainText{of};
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
      changed_from = 0;
    }
  } else if (!unchanged.empty()) {
    change(budget);
  } else if (next_match < search.matches().size()) {
    const SpecialSearch::Match& match = search.matches()[next_match];
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
  } else if (search.scanned() < text.size() && search.scanned() - at <= kMaxPiece) {
    scan(budget);
  } else if (at < text.size()) {
    begin_plain(search.scanned());
  } else {
    return false;
  }
  return true;
}

// Bytes that are left of the plain text that is encoded, as it was changed.
size_t Encoding::State::plain_left() const {
  if (const auto* spm = std::get_if<SpmEncoder::PlainText>(&plain)) return spm->left();
  if (const auto* bpe = std::get_if<BpeEncoder::PlainText>(&plain)) return bpe->left();
  if (const auto* word = std::get_if<WordPieceEncoder::PlainText>(&plain)) return word->left();
  return changed.size();
}

Encoding::Encoding(const Tokenizer& tokenizer, std::string_view text, bool parse_special,
                   size_t slice, std::vector<TextSpan> input)
    : state_(new State{*tokenizer.state_, text, slice,
                       SpecialSearch(tokenizer.state_->special, text, parse_special,
                                     std::move(input), std::min(slice, kSlice))}) {}
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

uint64_t Encoding::min_ids() const {
  const State& state = *state_;
  const uint64_t so_far = state.taken + state.ids.size();
  const uint64_t per_id = state.tokenizer.max_bytes_per_id();
  if (per_id == 0) return so_far;
  const uint64_t left = state.text.size() - state.at + state.unchanged.size() + state.plain_left();
  return so_far + (left + per_id - 1) / per_id;
}

uint64_t Encoding::bytes_left() const {
  const State& state = *state_;
  uint64_t plain = state.plain_left();
  if (!state.changed.empty()) plain = plain * state.changed_from / state.changed.size();
  return state.text.size() - state.at + state.unchanged.size() + plain;
}

}  // namespace sluice
