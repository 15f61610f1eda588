// The prompt, as a command's arguments give it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/token.h"

namespace sluice::cli {

struct Prompt {
  std::optional<std::string> text;             // PROMPT or -p
  std::optional<std::string> file;             // -f; "-" is standard input
  std::optional<std::vector<TokenId>> tokens;  // --tokens
  std::string source;                          // which of them was given; "": none
};
// The bytes of a file; "-" is standard input. `what` it is, for messages. Fails with bad_file.
Result<std::string> read_text(const std::string& path, std::string_view what);
// The text, or the bytes of the file, that was given. If neither was, what is piped in, unless it
// is empty. The newline at its end, which echo adds, is removed unless the text is `of_lines`. Else
// nothing. Fails with bad_file if it can't be read.
Result<std::optional<std::string>> prompt_text(const Prompt& prompt, bool of_lines = false);

}  // namespace sluice::cli
