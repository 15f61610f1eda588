// Signals that end the program.
#pragma once

#include <string_view>

namespace sluice::cli {

// Makes SIGINT and SIGTERM end the program at once, with status 128 + their number.
void install_signal_handlers();
// What a signal that ends the program prints on standard error; "" nothing. Longer than 300 bytes
// it is cut. May be called again and again.
void set_farewell(std::string_view text);
// From now on the first signal, also SIGHUP and SIGQUIT, only sets interrupted_by(). The second one
// ends the program, unless it is SIGHUP.
void defer_signals();
// The signal that was caught, or 0.
int interrupted_by();
// Whoever started the program has it ignore this signal, as nohup does with SIGHUP.
bool is_ignored(int signal);

}  // namespace sluice::cli
