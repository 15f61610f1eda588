// Errors as values. Nothing in core/ throws; a function that can fail returns Result<T>. And notes:
// what a user or developer should know although nothing failed.
#pragma once  // face

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace sluice {

// C++, the command line and JavaScript use the same codes with the same names. The TypeScript
// library adds those that only occur there: worker_died, unsupported_browser,
// unsupported_environment, closed (a call after close()).
enum class Code {
  bad_file,
  unsupported_model,
  unsupported_type,
  out_of_memory,
  budget_too_small,
  context_full,
  invalid_argument,
  not_found,  // a name that should be known isn't: of a model in the cache
  busy,
  aborted,
  download_failed,   // native/ and the TypeScript library download, the core doesn't
  download_corrupt,  // the bytes that came aren't those that were promised
  offline,
  storage_full,
};

// The name of a code as users and JSON see it: "bad_file", "unsupported_model", ...
std::string_view code_name(Code code);

// A figure or a name that a message tells, for programs. `name` is a literal and one of these:
//   out_of_memory, budget_too_small  neededBytes, availableBytes, leastBytes (the least budget that
//                                    would do; absent if all must be in memory), contextSize (one
//                                    that would do; absent if none would). Where a session gets too
//                                    little: bytes more, and its tokens
//   storage_full       neededBytes, availableBytes, directory
//   context_full       tokens (of the input, at least, or about if it is far too long), room (the
//                      most that would do)
//   invalid_argument   directory, where an output can't be written
//   unsupported_model  architecture, tokenizer, tensor, or key and value
//   unsupported_type   tensor, type
//   download_failed, offline  url (without its query), status (HTTP)
//   bad_file           url, of a file that was downloaded
//   download_corrupt   url, expectedSha256, foundSha256
// Each may be absent. web/engine/src/shared/facts.ts has the same names. Those of notes stand
// beside their codes.
struct Fact {
  std::string_view name;
  std::variant<uint64_t, std::string> value;
};
using Facts = std::vector<Fact>;  // in JSON an object: {"neededBytes":2580000}

// `message` says what was found, what was expected and what to do, in one or two sentences.
struct Error {
  Code code;
  std::string message;
  Facts facts = {};
};

// What a note is about, for programs. C++, the command line and JavaScript use the same codes with
// the same names; web/engine/src/shared/notes.ts adds those that only occur in a browser. In
// brackets: the facts.
enum class NoteCode {
  // Of the file
  token_not_in_vocabulary,  // an id names no token and is left out [key, id, tokens]
  unknown_pre_tokenizer,    // 'default' is used; the text may be cut in other places [name]
  no_pre_tokenizer,         // likewise: the file names none
  merges_skipped,           // merges of the vocabulary name tokens that it doesn't have [merges]
  special_tokens_too_long,  // special tokens are so long that none is looked for [tokens]
  no_bos_token,             // the file wants it before prompts, and has none
  sampling_value_unusable,  // the file recommends a value that no option may have [key, value]
  context_beyond_training,  // the context is larger than the model's own [contextSize, trained]
  // Of the machine
  fewer_threads,  // than asked for [threads, asked]
  // Of a chat
  no_chat_template,       // the one of a family is used, which is a guess [family]
  tools_left_out,         // the built-in template knows none [family]
  content_parts_joined,   // the template knows only text
  content_parts_unknown,  // likewise, but the parts are given as they are
  unknown_role,           // one that is in no list: its token stays text [role, token]
};

// The name of a code as users and JSON see it: "fewer_threads", ...
std::string_view note_code_name(NoteCode code);

// For whom the note is: "developer" if only the author of the program or site can mend it, because
// it is about what was given to the library. Else "user".
std::string_view note_audience(NoteCode code);

// `message` is a sentence or two without a full stop at the end. `facts`: what it tells, by the
// names above.
struct Note {
  NoteCode code;
  std::string message;
  Facts facts = {};
};
using Notes = std::vector<Note>;

template <typename T>
using Result = std::expected<T, Error>;
using Status = std::expected<void, Error>;

// An error on its way into the Result or Status that a function returns: moved there once. A
// std::unexpected would be one more copy to move and to destroy.
class PassedError {
 public:
  explicit PassedError(Error& error) : error_(error) {}
  template <typename T>
  operator std::expected<T, Error>() && {
    return std::expected<T, Error>(std::unexpect, std::move(error_));
  }
  operator std::unexpected<Error>() && { return std::unexpected<Error>(std::move(error_)); }

 private:
  Error& error_;
};

}  // namespace sluice

// Returns the error of `expr` (a Result or Status) from the function, if there is one.
#define SLUICE_TRY(expr)                                     \
  do {                                                       \
    if (auto sluice_try = (expr); !sluice_try.has_value()) { \
      return ::sluice::PassedError(sluice_try.error());      \
    }                                                        \
  } while (0)

// SLUICE_ASSIGN(auto config, parse_config(gguf)): declares or assigns the value, or returns the
// error.
#define SLUICE_ASSIGN(target, expr) SLUICE_ASSIGN_AT(target, expr, __LINE__)
#define SLUICE_ASSIGN_AT(target, expr, line) SLUICE_ASSIGN_NAMED(target, expr, line)
#define SLUICE_ASSIGN_NAMED(target, expr, line)                 \
  auto sluice_result_##line = (expr);                           \
  if (!sluice_result_##line.has_value())                        \
    return ::sluice::PassedError(sluice_result_##line.error()); \
  target = std::move(*sluice_result_##line)
