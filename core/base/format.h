// Builds the texts of messages and errors.
#pragma once  // face

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/result.h"

namespace sluice {

namespace detail {
// A text or number in a message. Doesn't own the text.
class Part {
 public:
  Part(std::string_view text) : kind_(Kind::text), size_(text.size()), text_(text.data()) {}
  // A pointer is all that is kept: reading the size would take code in each of the many messages.
  Part(const char* text) : kind_(Kind::c_text), text_(text) {}
  Part(const std::string& text) : kind_(Kind::string), string_(&text) {}
  Part(double value) : kind_(Kind::f64), f64_(value) {}
  Part(float value) : kind_(Kind::f32), f64_(static_cast<double>(value)) {}
  template <typename T>
  requires std::is_integral_v<T> Part(T value)
      : kind_(std::is_signed_v<T> ? Kind::i64 : Kind::u64), u64_(static_cast<uint64_t>(value)) {}
  // Appends a float as the shortest text that reads as the same number.
  void append_to(std::string& out) const;

 private:
  enum class Kind : uint32_t { c_text, string, text, i64, u64, f64, f32 };
  Kind kind_;
  size_t size_;  // of a `text`
  union {
    const char* text_;
    const std::string* string_;
    uint64_t u64_;
    double f64_;
  };
};
// These are no templates, to keep the code of the many messages small.
std::string concat(const Part* parts, size_t n);
Error* fail(Code code, const Part* parts, size_t n);
Error take(Error* error);  // deletes it
Error* with_facts(Error* error, Facts facts);
}  // namespace detail

// What fail() returns: an error on its way into the Result or Status that a function returns, which
// is made in its place. As a std::unexpected it would be moved twice and destroyed in each caller.
class [[nodiscard]] NewError {
 public:
  [[gnu::always_inline]] explicit NewError(Error* error) : error_(error) {}  // owns it
  explicit NewError(Error error) : error_(new Error(std::move(error))) {}
  [[gnu::always_inline]] NewError(NewError&& from) : error_(from.release()) {}
  NewError& operator=(NewError&&) = delete;
  [[gnu::always_inline]] ~NewError() {
    if (error_ != nullptr) detail::take(error_);
  }
  template <typename T>
  [[gnu::always_inline]] operator std::expected<T, Error>() && {
    return std::expected<T, Error>(std::unexpect, Taken{release()});
  }
  [[gnu::always_inline]] operator std::unexpected<Error>() && {
    return std::unexpected<Error>(Taken{release()});
  }
  [[gnu::always_inline]] Error* release() { return std::exchange(error_, nullptr); }

 private:
  struct Taken {
    Error* error;
    [[gnu::always_inline]] operator Error() const { return detail::take(error); }
  };
  Error* error_;
};

// Joins texts and numbers: concat("tensor ", name, " has ", n, " rows").
template <typename... Parts>
[[gnu::always_inline]] inline std::string concat(const Parts&... parts) {
  const detail::Part all[] = {detail::Part(parts)...};
  return detail::concat(all, sizeof...(parts));
}

// return fail(Code::bad_file, "the file has ", n, " bytes; ...");
template <typename... Parts>
[[gnu::always_inline]] inline NewError fail(Code code, const Parts&... parts) {
  const detail::Part all[] = {detail::Part(parts)...};
  return NewError(detail::fail(code, all, sizeof...(parts)));
}

// return with_facts(fail(..), {{"tokens", n}, {"room", most}});
[[gnu::always_inline]] inline NewError with_facts(NewError error, Facts facts) {
  return NewError(detail::with_facts(error.release(), std::move(facts)));
}

// --- text of others, shown to a person -----------------------------------------------------------
// What stands in a file, an address or a model's answer must not control a terminal, nor look like
// something else. These replace by '?' invalid UTF-8 and the characters of is_unsafe().

// True of what a terminal obeys (control characters: below U+0020, U+007F to U+009F), and of what
// turns the direction of a text (Unicode's Bidi_Control) or ends its line (U+2028, U+2029).
bool is_unsafe(uint32_t code_point);
constexpr size_t kMaxShownPath = 300;  // bytes of a path in a message
// A name or a value in a message: on one line, cut to `max_bytes`.
std::string printable(std::string_view text, size_t max_bytes = 80);
// A text of several lines: \n and \t stay; \r and the marks U+061C, U+200E and U+200F are left out.
std::string safe_text(std::string_view text);
// JSON in UTF-8 with escapes in place of such characters; so it stays the same JSON.
std::string safe_json(std::string_view json);

// Appends the text as JSON, in quotes. What is no UTF-8 becomes U+FFFD: one for each longest piece
// that begins a character.
void append_json_text(std::string& out, std::string_view text);

// "1 thread", "2 threads": a count with its noun.
std::string counted(uint64_t n, std::string_view noun);

// A count of bytes for people: "2.58 MB" (decimal units). `at_least`: rounded up, so that it is
// enough.
std::string human_bytes(uint64_t bytes, bool at_least = false);

// 16 digits.
std::string hexadecimal(uint64_t number);

// A time for people, rounded, 1 s at least: "1 s", "4 min", "2 h 5 min".
std::string human_duration(double seconds);

}  // namespace sluice
