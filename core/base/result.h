// Errors as values. Nothing in core/ throws; a function that can fail returns Result<T>.
#pragma once

#include <cstdint>
#include <expected>
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
void append(std::string& out, std::string_view text);
void append(std::string& out, double value);  // the shortest text that stands for this number
void append(std::string& out, float value);
void append_signed(std::string& out, int64_t value);
void append_unsigned(std::string& out, uint64_t value);
template <typename T>
requires std::is_integral_v<T>
void append(std::string& out, T value) {
  if constexpr (std::is_signed_v<T>) {
    append_signed(out, static_cast<int64_t>(value));
  } else {
    append_unsigned(out, static_cast<uint64_t>(value));
  }
}
}  // namespace detail

// Joins texts and numbers: concat("tensor ", name, " has ", n, " rows").
template <typename... Parts>
std::string concat(const Parts&... parts) {
  std::string out;
  (detail::append(out, parts), ...);
  return out;
}

// return fail(Code::bad_file, "the file has ", n, " bytes; ...");
template <typename... Parts>
std::unexpected<Error> fail(Code code, const Parts&... parts) {
  return std::unexpected(Error{code, concat(parts...)});
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
