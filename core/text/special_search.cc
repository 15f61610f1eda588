#include "text/special_search.h"

#include <algorithm>
#include <utility>

namespace sluice {
namespace {

using Kind = SpecialTokens::Kind;

// What resolve() knows of a byte: kNone, the longest token that begins there and overlaps none that
// was taken, or this bit. A token that was taken has the bit and its own number at its first byte.
constexpr uint32_t kTaken = SpecialTokens::kMaxNodes;

bool is_taken(uint32_t at) { return at >= kTaken && at != SpecialTokens::kNone; }

bool in_order(const std::vector<TextSpan>& spans) {
  size_t end = 0;
  for (const TextSpan& span : spans) {
    if (span.begin < end || span.end < span.begin) return false;
    end = span.end;
  }
  return true;
}

}  // namespace

// Goes from a place of the text towards its beginning. Sees nothing from that place on.
class SpecialSearch::Reader {
 public:
  Reader(const SpecialSearch& search, size_t end) : search_(search), at_(end) {
    if (!search.guards_) return;
    const auto after = std::partition_point(search.input_.begin(), search.input_.end(),
                                            [&](const TextSpan& span) { return span.begin < end; });
    spans_ = static_cast<size_t>(after - search.input_.begin());
  }

  // Reads a byte. The longest token that begins with it and may be found, or kNone.
  uint32_t back() {
    const SpecialTokens& tokens = *search_.tokens_;
    const auto byte = static_cast<uint8_t>(search_.text_[--at_]);
    everywhere_ = tokens.next(everywhere_, byte, search_.everywhere_);
    const uint32_t match = tokens.match(everywhere_, search_.everywhere_);
    if (!search_.guards_) return match;
    while (spans_ > 0 && search_.input_[spans_ - 1].begin > at_) --spans_;
    if (spans_ > 0 && at_ < search_.input_[spans_ - 1].end) {
      outside_ = SpecialTokens::kRoot;  // forgets all that follows: a match would have this byte
      return match;
    }
    outside_ = tokens.next(outside_, byte, Kind::all);
    const uint32_t other = tokens.match(outside_, Kind::all);
    if (match == SpecialTokens::kNone || other == SpecialTokens::kNone)
      return std::min(match, other);
    return tokens.size(match) < tokens.size(other) ? other : match;
  }
  size_t at() const { return at_; }

 private:
  const SpecialSearch& search_;
  size_t at_;
  size_t spans_ = 0;  // those that begin at or before the byte that is read next
  uint32_t everywhere_ = SpecialTokens::kRoot;
  uint32_t outside_ = SpecialTokens::kRoot;  // of the bytes up to the next one of the input
};

SpecialSearch::SpecialSearch(const SpecialTokens& tokens, std::string_view text, bool parse_special,
                             std::vector<TextSpan> input, size_t part)
    : tokens_(&tokens),
      text_(text),
      everywhere_(!parse_special  ? Kind::user_defined
                  : input.empty() ? Kind::all
                                  : Kind::unguarded),
      guards_(parse_special && !input.empty()),
      input_(std::move(input)),
      part_(std::max<size_t>(part, 1)) {
  if (!in_order(input_)) input_ = {{0, text.size()}};
}

bool SpecialSearch::scan() {
  matches_.clear();
  if (scanned_ == text_.size()) return false;
  const Kind kind = guards_ ? Kind::all : everywhere_;
  if (tokens_->empty(kind)) {
    scanned_ = text_.size();
    return true;
  }
  const size_t begin = scanned_;
  const size_t left = text_.size() - begin;
  const size_t reach = tokens_->reach(kind);
  const size_t part = std::max(part_, reach);
  const bool whole = left <= part + reach;
  find(begin, begin + (whole ? left : part + reach));
  scanned_ = begin + (whole ? left : part);
  if (!whole)
    std::erase_if(matches_, [&](const Match& match) { return match.begin >= begin + part; });
  if (!matches_.empty())
    scanned_ = std::max(scanned_, matches_.back().begin + matches_.back().size);
  return true;
}

// All matches of a window of the text.
void SpecialSearch::find(size_t begin, size_t end) {
  candidates_.clear();
  for (Reader reader(*this, end); reader.at() > begin;) {
    const uint32_t match = reader.back();
    if (match != SpecialTokens::kNone) candidates_.push_back({reader.at(), match});
  }
  work_ += end - begin;
  std::reverse(candidates_.begin(), candidates_.end());
  for (size_t first = 0; first < candidates_.size();) {
    size_t last = first + 1;
    size_t cluster_end = end_of(candidates_[first]);
    for (; last < candidates_.size() && candidates_[last].begin < cluster_end; ++last)
      cluster_end = std::max(cluster_end, end_of(candidates_[last]));
    if (last == first + 1) {
      const auto [at, match] = candidates_[first];
      matches_.push_back({at, tokens_->size(match), tokens_->id(match)});
    } else {
      resolve(first, last, cluster_end);
    }
    first = last;
  }
}

bool SpecialSearch::goes_before(const Candidate& a, const Candidate& b) const {
  const uint32_t size_a = tokens_->size(a.match), size_b = tokens_->size(b.match);
  return size_a != size_b ? size_a > size_b : a.begin < b.begin;
}

void SpecialSearch::push(Candidate candidate) {
  heap_.push_back(candidate);
  std::push_heap(heap_.begin(), heap_.end(),
                 [this](const Candidate& a, const Candidate& b) { return goes_before(b, a); });
}

// Chooses among candidates that overlap: candidates_[first..last], which end before `end`.
void SpecialSearch::resolve(size_t first, size_t last, size_t end) {
  const size_t base = candidates_[first].begin;
  at_.assign(end - base, SpecialTokens::kNone);
  heap_.clear();
  for (size_t i = first; i < last; ++i) {
    at_[candidates_[i].begin - base] = candidates_[i].match;
    push(candidates_[i]);
  }
  while (!heap_.empty()) {
    const Candidate best = heap_.front();
    std::pop_heap(heap_.begin(), heap_.end(),
                  [this](const Candidate& a, const Candidate& b) { return goes_before(b, a); });
    heap_.pop_back();
    ++work_;
    uint32_t& place = at_[best.begin - base];
    if (place != best.match)
      continue;  // its bytes were taken, or a shorter token came in its place
    std::fill_n(&place, tokens_->size(best.match), kTaken);
    place = kTaken | best.match;
    retract(base, best);
  }
  for (size_t i = 0; i < at_.size(); ++i) {
    if (!is_taken(at_[i]) || at_[i] == kTaken) continue;
    const uint32_t match = at_[i] & ~kTaken;
    matches_.push_back({base + i, tokens_->size(match), tokens_->id(match)});
  }
}

// Candidates before a token that was taken, whose end overlaps it, become the longest ones that end
// before it. They are not longer than the token, so as many bytes are read again as it has.
void SpecialSearch::retract(size_t base, const Candidate& taken) {
  const size_t size = tokens_->size(taken.match);
  Reader reader(*this, taken.begin);
  while (reader.at() > base && taken.begin - reader.at() + 1 < size &&
         !is_taken(at_[reader.at() - 1 - base])) {
    const uint32_t match = reader.back();
    ++work_;
    uint32_t& place = at_[reader.at() - base];
    if (place == SpecialTokens::kNone || end_of({reader.at(), place}) <= taken.begin) continue;
    place = match;
    if (match != SpecialTokens::kNone) push({reader.at(), match});
  }
}

}  // namespace sluice
