// Work on files that a terminal shows, and that Ctrl-C ends.
#pragma once

#include <string>

#include "base/result.h"
#include "files/files.h"

namespace sluice::cli {

// A callback that shows "VERB 40%, TENSOR" on a terminal's stderr, and ends the work after a
// signal. Call defer_signals() before, and erase_status() after.
OnFileProgress shown_progress(const std::string& verb);

// Reports an error of such work. Returns the exit status: of a signal if one ended it.
int report_work(const Error& error, bool json);

// How many threads work on files unless the user says: one for each core.
int default_file_threads();

}  // namespace sluice::cli
