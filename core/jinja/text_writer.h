// Writes texts, each byte with where it comes from. There is no other way to a new text while a
// template runs, so none is made without its parts and without the meter.
#pragma once  // face

#include <string>
#include <string_view>

#include "jinja/meter.h"
#include "jinja/value.h"

namespace sluice::jinja {

// A rendered prompt.
struct Rendered {
  std::string text;
  InputSpans input{nullptr};  // the bytes that come from the input; all others are the template's
  uint64_t work = 0;          // units of Meter that parsing and rendering took
};

// When the memory is spent it writes nothing more, and the meter tells.
class TextWriter {
 public:
  explicit TextWriter(Meter& meter) : meter_(meter), input_(&meter) {}
  ~TextWriter() { meter_.give_back(taken_); }
  TextWriter(const TextWriter&) = delete;
  TextWriter& operator=(const TextWriter&) = delete;

  // A text of the template's own.
  void own(std::string_view text) { add(text, false); }
  // A text of the template's own, or of the input's but of no one field.
  void add(std::string_view text, bool from_input);
  // A part of a text, with its parts; the view is into from.text.
  void copy(const Text& from, std::string_view part);
  void copy(const Text& from) { copy(from, from.text); }
  // What stands for the character that begins at byte `at` of `from`, and comes from where it does.
  void change(std::string_view text, const Text& from, size_t at);
  // What was written from `begin` on is all from the input.
  void mark_input(size_t begin);

  size_t size() const { return text_.size(); }
  std::string_view view() const { return text_; }
  Meter& meter() const { return meter_; }

  // The text as a value of its own; this is empty afterwards. Missing if the meter is spent.
  Value take();
  // The same for the result. Look at the meter afterwards: the spans are copied.
  Rendered take_rendered();

 private:
  // Whether there was room for it.
  bool append(std::string_view text);
  // The first span that ends behind this byte.
  size_t find_span(const InputSpans& spans, size_t at);
  // Bytes that were just written come from there. `loose`: they go on with the last span whatever
  // the offset.
  void mark(size_t begin, size_t end, uint32_t field, size_t offset, bool loose = false);

  Meter& meter_;
  std::string text_;
  InputSpans input_;
  size_t taken_ = 0;  // of the meter, for text_
};

}  // namespace sluice::jinja
