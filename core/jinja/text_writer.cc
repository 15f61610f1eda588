#include "jinja/text_writer.h"

#include <algorithm>
#include <bit>

namespace sluice::jinja {
namespace {

// The first span that ends behind this byte.
size_t span_behind(const InputSpans& spans, size_t at) {
  const auto found = std::partition_point(spans.begin(), spans.end(),
                                          [at](const InputSpan& each) { return each.end <= at; });
  return static_cast<size_t>(found - spans.begin());
}

}  // namespace

bool TextWriter::grow(size_t more) {
  meter_.pass(more);
  const size_t needed = text_.size() + more;
  if (needed > text_.capacity()) {
    const size_t capacity = std::max(needed, 2 * text_.capacity());
    // For a moment there are both. Spans count in 32 bits.
    if (needed < more || needed > UINT32_MAX || !meter_.has_room(capacity)) {
      meter_.has_room(UINT64_MAX);
      return false;
    }
    text_.reserve(capacity);
    meter_.take(text_.capacity());
    meter_.give_back(taken_);
    taken_ = text_.capacity();
  }
  return !meter_.spent();
}

void TextWriter::mark(InputSpan span, bool loose) {
  if (span.begin == span.end) return;
  if (span.field == 0) span.offset = 0;
  if (!input_.empty()) {
    InputSpan& last = input_.back();
    const bool goes_on =
        loose || span.field == 0 || last.offset + (last.end - last.begin) == span.offset;
    if (last.end == span.begin && last.field == span.field && goes_on) {
      last.end = span.end;
      return;
    }
  }
  if (input_.size() == input_.capacity()) {
    // What grows is there twice for a moment. Without the room for it the text comes to nothing.
    const size_t capacity = std::max<size_t>(2 * input_.capacity(), 1);
    if (!meter_.has_room(capacity * sizeof(InputSpan))) return;
    input_.reserve(capacity);
  }
  meter_.work(1);
  input_.push_back(span);
}

void TextWriter::own(std::string_view text) {
  if (grow(text.size())) text_ += text;
}

void TextWriter::input(std::string_view text) {
  if (!grow(text.size())) return;
  const auto begin = static_cast<uint32_t>(text_.size());
  text_ += text;
  mark({begin, static_cast<uint32_t>(text_.size()), 0, 0});
}

void TextWriter::copy(const Text& from, std::string_view part) {
  if (!grow(part.size())) return;
  const size_t shift = text_.size();
  text_ += part;
  if (from.input.empty() || part.empty()) return;
  const auto begin = static_cast<size_t>(part.data() - from.text.data());
  const size_t end = begin + part.size();
  meter_.work(std::bit_width(from.input.size()));
  for (size_t i = span_behind(from.input, begin); i < from.input.size(); ++i) {
    const InputSpan& span = from.input[i];
    if (span.begin >= end) break;
    meter_.work(1);
    const size_t first = std::max<size_t>(span.begin, begin);
    const size_t last = std::min<size_t>(span.end, end);
    mark({static_cast<uint32_t>(shift + first - begin), static_cast<uint32_t>(shift + last - begin),
          span.field, static_cast<uint32_t>(span.offset + (first - span.begin))});
  }
}

void TextWriter::change(std::string_view text, const Text& from, size_t at) {
  if (!grow(text.size())) return;
  const auto begin = static_cast<uint32_t>(text_.size());
  text_ += text;
  if (from.input.empty()) return;
  // Another text may stand where the last one was, so only what its spans say counts.
  const bool known = changed_ == &from && hint_ <= from.input.size();
  if (!known || (hint_ > 0 && from.input[hint_ - 1].end > at)) {
    changed_ = &from;
    meter_.work(std::bit_width(from.input.size()));
    hint_ = span_behind(from.input, at);
  }
  while (hint_ < from.input.size() && from.input[hint_].end <= at) ++hint_;
  if (hint_ == from.input.size() || from.input[hint_].begin > at) return;
  const InputSpan& span = from.input[hint_];
  mark({begin, static_cast<uint32_t>(text_.size()), span.field,
        static_cast<uint32_t>(span.offset + (at - span.begin))},
       true);
}

void TextWriter::mark_input(size_t begin) {
  const size_t first = span_behind(input_, begin);
  const size_t n = input_.size() - first;
  if (!meter_.has_room(n * sizeof(InputSpan))) return;
  InputSpans behind(&meter_);
  behind.reserve(n);
  for (size_t i = first; i < input_.size(); ++i) behind.push_back(input_[i]);
  while (input_.size() > first) input_.pop_back();
  meter_.work(behind.size());
  auto done = static_cast<uint32_t>(begin);
  for (const InputSpan& span : behind) {
    mark({done, std::max(done, span.begin), 0, 0});
    mark(span);
    done = span.end;
  }
  mark({done, static_cast<uint32_t>(text_.size()), 0, 0});
}

Value TextWriter::take() {
  if (meter_.spent()) return {};
  meter_.pass(text_.size());
  auto* const made = new Text(std::move(text_), std::move(input_));
  made->charge(&meter_, sizeof(Text) + taken_);
  meter_.give_back(taken_);
  taken_ = 0;
  text_ = {};
  input_ = InputSpans(&meter_);
  changed_ = nullptr;
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
