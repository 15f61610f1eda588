// Signals of a chat at a terminal: Ctrl-C stops an answer and not the program.
#pragma once

namespace sluice::terminal {

// From now on SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH and SIGCONT are only noted.
void note_signals();
// Readable from a noted signal on until drain_wake(), for poll().
int wake_descriptor();
void drain_wake();

// Ctrl-C since it was last taken.
bool interrupted();
bool take_interrupt();
// The terminal's size has changed, or the program goes on after Ctrl-Z, since it was last taken.
bool take_resize();
bool take_continue();
// The signal that ends the program, SIGTERM, SIGHUP or SIGQUIT; 0: none.
int ending();
// From now on the program is to end.
void end_with(int signal);

}  // namespace sluice::terminal
