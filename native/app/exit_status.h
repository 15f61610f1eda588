// The program's exit status. Ctrl-C gives 128 + the signal's number.
#pragma once

#include <expected>
#include <string>

#include "base/result.h"

namespace sluice::cli {

enum Exit : int {
  kDone = 0,
  kFailed = 1,    // while running: context_full, download_failed, output that can't be written, ...
  kUsage = 2,     // invalid_argument
  kBadFile = 3,   // bad_file, unsupported_model, unsupported_type, download_corrupt
  kNoMemory = 4,  // out_of_memory, budget_too_small
};
int exit_status(Code code);
// The same, and kFailed for what unwritable() has marked.
int exit_status(const Error& error);
// Marks an error that says that the system doesn't let an output be written in this folder, by the
// fact "directory": it has the status kFailed, whatever its code is.
std::unexpected<Error> unwritable(Error error, const std::string& directory);

}  // namespace sluice::cli
