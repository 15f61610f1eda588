// Values of the metadata as text for people.
#pragma once  // face

#include <cstdint>
#include <string>
#include <string_view>

#include "gguf/gguf.h"

namespace sluice {

// A text in quotes on one line, with \n, \r and \t written so. At most so many of its bytes are
// shown.
std::string quoted_text(std::string_view text, size_t max_bytes);
// One element of an array, or a value that is none (i = 0): 7, true, "text". Of a text, from byte
// `from` on, at most so many bytes are shown, on one line.
std::string element_text(const MetadataValue& value, uint64_t i, size_t max_bytes, size_t from = 0);
// A value in about so many bytes. Of an array, its first elements: 3 x u32 [1, 2, 3].
std::string value_text(const MetadataValue& value, size_t max_bytes);

}  // namespace sluice
