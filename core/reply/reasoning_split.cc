#include "reply/reasoning_split.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace sluice {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

// `end`, or before it where white space begins that reaches up to it.
size_t end_without_space(std::string_view text, size_t end) {
  return text.substr(0, end).find_last_not_of(kSpace) + 1;
}

}  // namespace

ReasoningSplit::ReasoningSplit(const ReplyFormat& format)
    : format_(format),
      place_(format.begins_thinking ? Place::reasoning : Place::start),
      skips_space_(format.begins_thinking) {}

void ReasoningSplit::push(std::string text, std::string_view name, std::vector<ReplyText>& out) {
  pieces_.push_back({std::move(text), std::string(name)});
  work(false, out);
}

void ReasoningSplit::flush(std::vector<ReplyText>& out) { work(true, out); }

void ReasoningSplit::give(std::string text, bool reasoning, std::vector<ReplyText>& out) {
  if (skips_space_) {
    text.erase(0, std::min(text.find_first_not_of(kSpace), text.size()));
    skips_space_ = text.empty();
  }
  out.push_back({std::move(text), reasoning});
}

void ReasoningSplit::work(bool all, std::vector<ReplyText>& out) {
  std::string joined;
  do {
    joined.clear();
    for (const TokenText& piece : pieces_) joined += piece.matched();
  } while (take_mark(joined, out));
  const size_t undecided = all ? joined.size() : undecided_from(joined);
  size_t end = 0;
  size_t n = 0;
  for (; n < pieces_.size(); ++n) {
    end += pieces_[n].matched().size();
    if (end > undecided) break;
    const bool blank = pieces_[n].text.find_first_not_of(kSpace) == std::string::npos;
    if (place_ == Place::start && !blank) place_ = Place::content;
    give(std::move(pieces_[n].text), thinking(), out);
  }
  pieces_.erase(pieces_.begin(), pieces_.begin() + static_cast<ptrdiff_t>(n));
}

// Gives all up to the next mark, and the mark. False: there is none.
bool ReasoningSplit::take_mark(const std::string& joined, std::vector<ReplyText>& out) {
  const std::string& mark = thinking() ? format_.think_end : format_.think_begin;
  if (place_ == Place::content && !format_.begins_anywhere) return false;
  const size_t at = joined.find(mark);
  if (at == std::string::npos) return false;
  const size_t before = end_without_space(joined, at);
  if (place_ == Place::start && before > 0 && !format_.begins_anywhere) return false;

  size_t begin = 0;
  size_t n = 0;
  std::string rest;  // of the mark's last token, behind the mark
  for (; n < pieces_.size() && begin < at + mark.size(); ++n) {
    TokenText& piece = pieces_[n];
    const size_t end = begin + piece.matched().size();
    if (end > at + mark.size() && piece.name.empty()) {
      rest = piece.text.substr(at + mark.size() - begin);
      break;
    }
    const bool reasoning = thinking() || begin >= before;
    if (piece.name.empty()) {
      piece.text.resize(std::min(piece.text.size(), std::max(before, begin) - begin));
    }
    give(std::move(piece.text), reasoning, out);
    begin = end;
  }
  pieces_.erase(pieces_.begin(), pieces_.begin() + static_cast<ptrdiff_t>(n));
  if (!rest.empty()) pieces_.front().text = std::move(rest);
  place_ = thinking() ? Place::content : Place::reasoning;
  skips_space_ = true;
  return true;
}

// The first byte that may belong to a mark, or to white space before one.
size_t ReasoningSplit::undecided_from(const std::string& joined) const {
  const size_t first = std::min(joined.find_first_not_of(kSpace), joined.size());
  const bool begins = place_ != Place::reasoning;
  if (begins && !format_.begins_anywhere) {
    const std::string_view text = std::string_view(joined).substr(first);
    const bool open = place_ == Place::start && format_.think_begin.starts_with(text);
    return open ? 0 : joined.size();
  }
  const std::string& mark = begins ? format_.think_begin : format_.think_end;
  size_t from = joined.size();
  for (size_t n = std::min(mark.size() - 1, joined.size()); n > 0; --n) {
    if (!joined.ends_with(std::string_view(mark).substr(0, n))) continue;
    from -= n;
    break;
  }
  return begins ? from : end_without_space(joined, from);
}

}  // namespace sluice
