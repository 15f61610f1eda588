// Where commands that write models put them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace sluice::cli {

// The paths of a model of so many files that is to be written to `path`: itself, or as split models
// are named, NAME-0000I-of-0000N.gguf. `path` may be one of these names, or NAME.gguf. Fails with
// invalid_argument if it is the name of a file of a model that is split otherwise.
Result<std::vector<std::string>> split_output_paths(const std::string& path, size_t n_files);

// Fails with invalid_argument if one of the files that are to be written is one of those that are
// read, by whatever name.
Status check_other_files(const std::vector<std::string>& written,
                         const std::vector<std::string>& read);

// Fails with storage_full if the folder of `path` has no room for so many bytes more.
Status check_room(const std::string& path, uint64_t bytes);

}  // namespace sluice::cli
