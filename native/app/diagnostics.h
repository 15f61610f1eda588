// Lines on standard error: errors, warnings, notes, and a status line that the next one replaces.
// Nothing in them controls the terminal.
#pragma once

#include <string>

#include "base/result.h"

namespace sluice::cli {

// "sluice: error: ..." on stderr and, with `json`, an error event on stdout. Returns the exit
// status of the error.
int report(const Error& error, bool json);
// "sluice: ..."
void note(const std::string& text);
// "sluice: warning: ...", for each.
void warn(const std::string& text);
void warn(const Notes& notes);
// From now on there are no notes, warnings or status lines.
void be_quiet();

// A status line needs a terminal.
bool can_show_status();
// Shows it, cut to the terminal's width.
void show_status(const std::string& text);
void erase_status();
// The same as the program ends, for a signal handler.
void erase_status_in_signal();

}  // namespace sluice::cli
