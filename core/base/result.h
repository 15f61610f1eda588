// Errors as values. Nothing in core/ throws; a function that can fail returns Result<T>.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace sluice {

// C++, the command line and JavaScript use the same codes with the same names. The TypeScript
// library adds those that only occur in a browser (worker_died, unsupported_browser).
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
  download_failed,   // native/ and the TypeScript library download, the core doesn't
  download_corrupt,  // the bytes that came aren't those that were promised
  offline,
  storage_full,
};

// The name of a code as users and JSON see it: "bad_file", "unsupported_model", ...
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

// Returns the error of `expr` (a Result or Status) from the function, if there is one.
#define SLUICE_TRY(expr)                                     \
  do {                                                       \
    if (auto sluice_try = (expr); !sluice_try.has_value()) { \
      return std::unexpected(std::move(sluice_try).error()); \
    }                                                        \
  } while (0)

// SLUICE_ASSIGN(auto config, parse_config(gguf)): declares or assigns the value, or returns the
// error.
#define SLUICE_ASSIGN(target, expr) SLUICE_ASSIGN_AT(target, expr, __LINE__)
#define SLUICE_ASSIGN_AT(target, expr, line) SLUICE_ASSIGN_NAMED(target, expr, line)
#define SLUICE_ASSIGN_NAMED(target, expr, line)                      \
  auto sluice_result_##line = (expr);                                \
  if (!sluice_result_##line.has_value())                             \
    return std::unexpected(std::move(sluice_result_##line).error()); \
  target = std::move(*sluice_result_##line)
