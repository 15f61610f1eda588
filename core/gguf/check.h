// Checks of the GGUF parser that look at more than one entry, or at what is no GGUF at all.
#pragma once

#include <string_view>

#include "base/result.h"
#include "gguf/gguf.h"

namespace sluice {

// The end of a refusal of a file whose header is wrong.
inline constexpr std::string_view kDamaged = ". The file is damaged: download or convert it again";

// Keys and names are unique, and no tensors overlap (each one's own place is checked already).
Status check_directory(const Gguf& gguf);

// bad_file, from the first bytes (24 are enough): shows them, and says what the file looks like, as
// a server that answers with a page or a message instead of the model is common.
std::unexpected<Error> not_gguf(std::string_view first);

}  // namespace sluice
