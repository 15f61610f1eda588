// Small files that only their owner may read, read and written whole.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sluice::cli {

// The bytes of a regular file. Fails with bad_file if it can't be read or has more than
// `max_bytes`.
Result<std::string> read_whole_file(const std::string& path, size_t max_bytes);
// Writes the file, readable for its owner only: all of it, or the file stays as it was. A link's
// target is written. Fails with invalid_argument or storage_full.
Status write_private_file(const std::string& path, std::string_view text);
// Writes what `write` writes to the descriptor that it gets, in the same way. It returns 0 or an
// errno, as this does.
int replace_file(const std::string& path, const std::function<int(int descriptor)>& write);
// The file that `path` names, perhaps by a link.
std::string target_of(const std::string& path);
// Makes a folder and those above it that are missing, for its owner only. False: it isn't there.
bool make_private_folder(const std::string& path);

}  // namespace sluice::cli
