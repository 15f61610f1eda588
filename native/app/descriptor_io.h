// Reads and writes whole texts. A signal doesn't end them, and a non-blocking descriptor is waited
// for.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sluice::cli {

// Writes all of the text. Returns 0 or an errno.
int write_to(int descriptor, std::string_view text);
// Appends what can be read to `text`, until its end or until `text` has more than `max_bytes`.
// Returns 0 or an errno.
int read_from(int descriptor, size_t max_bytes, std::string& text);

}  // namespace sluice::cli
