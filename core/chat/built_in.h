// Templates for files that have none, one for each family.
#pragma once

#include <string>
#include <string_view>

#include "gguf/gguf.h"
#include "text/tokenizer.h"

namespace sluice {

struct BuiltIn {
  std::string_view family;  // "chatml", ...
  std::string_view text;    // its template
  // With which the next turn begins, where no token ends a reply; else "".
  std::string_view stop = "";
};

struct Guess {
  BuiltIn built_in;
  std::string reason;  // "the vocabulary has <|im_start|>"
};

// By the special tokens of the vocabulary, else by the architecture and the name. `tokenizer` may
// be null.
Guess guess_family(const Gguf& header, const Tokenizer* tokenizer);

}  // namespace sluice
