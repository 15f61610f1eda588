// Errors as values. Nothing in core/ throws; a function that can fail returns Result<T>.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
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
