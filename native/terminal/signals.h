// Signals of a chat at a terminal: Ctrl-C stops an answer and not the program.
#pragma once

namespace sluice::terminal {

// From now on the handler of SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH and SIGCONT only notes
// them.
void note_signals();
// Readable from a noted signal on until drain_wake(), for poll().
int wake_descriptor();
void drain_wake();

// Ctrl-C since the last take_interrupt().
bool interrupted();
bool take_interrupt();
// Since the last call: the terminal's size has changed; the program was continued after Ctrl-Z.
bool take_resize();
bool take_continue();
// The signal that ends the program, SIGTERM, SIGHUP or SIGQUIT; 0: none.
int ending();
// From now on the program is to end.
void end_with(int signal);

}  // namespace sluice::terminal
