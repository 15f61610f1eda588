#include "jinja/text_writer.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace sluice::jinja {

bool TextWriter::append(std::string_view text) {
  meter_.pass(text.size());
  const size_t needed = text_.size() + text.size();
  if (needed > text_.capacity()) {
    const size_t capacity = std::max(needed, 2 * text_.capacity());
    // For a moment there are both. Spans count in 32 bits.
    if (needed < text.size() || needed > UINT32_MAX || !meter_.has_room(capacity)) {
      return meter_.has_room(UINT64_MAX);  // which ends the work
    }
    text_.reserve(capacity);
    meter_.take(text_.capacity());
    meter_.give_back(taken_);
    taken_ = text_.capacity();
  }
  if (meter_.spent()) return false;
  text_ += text;
  return true;
}

size_t TextWriter::find_span(const InputSpans& spans, size_t at) {
  meter_.work(1 + std::bit_width(spans.size()) / 4);  // a step of the search is short
  const auto found = std::partition_point(spans.begin(), spans.end(),
                                          [at](const InputSpan& each) { return each.end <= at; });
  return static_cast<size_t>(found - spans.begin());
}

void TextWriter::mark(size_t begin, size_t end, uint32_t field, size_t offset, bool loose) {
  if (begin >= end) return;
  const InputSpan span{static_cast<uint32_t>(begin), static_cast<uint32_t>(end), field,
                       field == 0 ? 0 : static_cast<uint32_t>(offset)};
  if (!input_.empty()) {
    InputSpan& last = input_.back();
    const bool goes_on =
        loose || field == 0 || last.offset + (last.end - last.begin) == span.offset;
    if (last.end == span.begin && last.field == field && goes_on) {
      last.end = span.end;
      return;
    }
  }
  // What grows is there twice for a moment. Without the room for it the text comes to nothing.
  const size_t n = input_.size();
  if (n == input_.capacity() && !meter_.has_room(2 * n * sizeof(InputSpan))) return;
  meter_.work(1);
  input_.push_back(span);
}

void TextWriter::add(std::string_view text, bool from_input) {
  if (append(text) && from_input) mark(size() - text.size(), size(), 0, 0);
}

void TextWriter::copy(const Text& from, std::string_view part) {
  if (!append(part) || from.input.empty() || part.empty()) return;
  const auto begin = static_cast<size_t>(part.data() - from.text.data());
  const size_t end = begin + part.size();
  const size_t shift = size() - end;  // modulo
  for (size_t i = find_span(from.input, begin); i < from.input.size(); ++i) {
    const InputSpan& span = from.input[i];
    if (span.begin >= end) break;
    meter_.work(1);
    const size_t first = std::max<size_t>(span.begin, begin);
    const size_t last = std::min<size_t>(span.end, end);
    mark(first + shift, last + shift, span.field, span.offset + (first - span.begin));
  }
}

void TextWriter::change(std::string_view text, const Text& from, size_t at) {
  if (!append(text) || from.input.empty()) return;
  const size_t i = find_span(from.input, at);
  if (i == from.input.size() || from.input[i].begin > at) return;
  const InputSpan& span = from.input[i];
  mark(size() - text.size(), size(), span.field, span.offset + (at - span.begin), true);
}

void TextWriter::mark_input(size_t begin) {
  const size_t first = find_span(input_, begin);
  const size_t n = input_.size() - first;
  if (!meter_.has_room(n * sizeof(InputSpan))) return;
  InputSpans behind(&meter_);
  behind.reserve(n);
  for (size_t i = first; i < input_.size(); ++i) behind.push_back(input_[i]);
  while (input_.size() > first) input_.pop_back();
  meter_.work(n);
  for (const InputSpan& span : behind) {
    mark(begin, span.begin, 0, 0);
    mark(span.begin, span.end, span.field, span.offset);
    begin = span.end;
  }
  mark(begin, size(), 0, 0);
}

Value TextWriter::take() {
  if (meter_.spent()) return {};
  constexpr uint64_t kObject = 5;  // to allocate it and to free it
  meter_.work(kObject);
  meter_.pass(text_.size());
  auto* const made = new Text(std::move(text_), std::move(input_));
  made->charge(&meter_, sizeof(Text) + taken_);
  meter_.give_back(taken_);
  taken_ = 0;
  text_ = {};
  input_ = InputSpans(&meter_);
  return Value::object(made);
}

Rendered TextWriter::take_rendered() {
  Rendered rendered;
  if (!meter_.has_room(input_.size() * sizeof(InputSpan))) return rendered;
  rendered.input.reserve(input_.size());
  for (const InputSpan& span : input_) rendered.input.push_back(span);
  rendered.text = std::exchange(text_, {});
  rendered.work = meter_.used_work();
  return rendered;
}

}  // namespace sluice::jinja
