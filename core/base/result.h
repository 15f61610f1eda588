// Errors as values. Nothing in core/ throws; a function that can fail returns Result<T>.
#pragma once

#include <cstdint>
#include <expected>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace sluice {

// The same codes, with the same names, in C++, at the command line and in JavaScript. The codes
// that only a browser can meet (offline, worker_died, ...) are the TypeScript library's own.
enum class Code {
  bad_file,
  unsupported_model,
  unsupported_type,
  out_of_memory,
  budget_too_small,
  context_full,
  invalid_argument,
  busy,
  aborted,
};

// "bad_file", "unsupported_model", ...: what users and JSON see.
std::string_view code_name(Code code);

// `message` says what was found, what was expected and what to do, in one or two sentences.
struct Error {
  Code code;
  std::string message;
};

template <typename T>
using Result = std::expected<T, Error>;
using Status = std::expected<void, Error>;

namespace detail {
// A text or number of a message, by reference.
class Part {
 public:
  Part(std::string_view text) : kind_(Kind::text), size_(text.size()), text_(text.data()) {}
  Part(const char* text) : Part(std::string_view(text)) {}
  Part(const std::string& text) : Part(std::string_view(text)) {}
  Part(double value) : kind_(Kind::f64), f64_(value) {}
  Part(float value) : kind_(Kind::f32), f64_(static_cast<double>(value)) {}
  template <typename T>
  requires std::is_integral_v<T> Part(T value)
      : kind_(std::is_signed_v<T> ? Kind::i64 : Kind::u64), u64_(static_cast<uint64_t>(value)) {}
  void append_to(std::string& out) const;  // of a float the shortest text that stands for it

 private:
  enum class Kind : uint32_t { text, i64, u64, f64, f32 };
  Kind kind_;
  size_t size_ = 0;
  union {
    const char* text_;
    uint64_t u64_;
    double f64_;
  };
};
// Not templates, so that the many messages take little code.
std::string concat(std::initializer_list<Part> parts);
std::unexpected<Error> fail(Code code, std::initializer_list<Part> parts);
}  // namespace detail

// Joins texts and numbers: concat("tensor ", name, " has ", n, " rows").
template <typename... Parts>
[[gnu::always_inline]] inline std::string concat(const Parts&... parts) {
  return detail::concat({detail::Part(parts)...});
}

// return fail(Code::bad_file, "the file has ", n, " bytes; ...");
template <typename... Parts>
[[gnu::always_inline]] inline std::unexpected<Error> fail(Code code, const Parts&... parts) {
  return detail::fail(code, {detail::Part(parts)...});
}

// Text from a file made safe for a message: control characters and invalid UTF-8 replaced by '?',
// cut to `max_bytes`.
std::string printable(std::string_view text, size_t max_bytes = 80);

// "1 thread", "2 threads": a count with its noun.
std::string counted(uint64_t n, std::string_view noun);

// A count of bytes for people: "2.58 MB" (decimal units).
std::string human_bytes(uint64_t bytes);

}  // namespace sluice

// Leaves the function with the error of `expr` (a Result or Status), if it holds one.
#define SLUICE_TRY(expr)                                     \
  do {                                                       \
    if (auto sluice_try = (expr); !sluice_try.has_value()) { \
      return std::unexpected(std::move(sluice_try).error()); \
    }                                                        \
  } while (0)

// SLUICE_ASSIGN(auto config, parse_config(gguf)): declares or assigns the value, or leaves with the
// error.
#define SLUICE_ASSIGN(target, expr) SLUICE_ASSIGN_AT(target, expr, __LINE__)
#define SLUICE_ASSIGN_AT(target, expr, line) SLUICE_ASSIGN_NAMED(target, expr, line)
#define SLUICE_ASSIGN_NAMED(target, expr, line)                      \
  auto sluice_result_##line = (expr);                                \
  if (!sluice_result_##line.has_value())                             \
    return std::unexpected(std::move(sluice_result_##line).error()); \
  target = std::move(*sluice_result_##line)
