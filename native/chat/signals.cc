#include "chat/signals.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

namespace sluice::chat {
namespace {

volatile std::sig_atomic_t interrupt_noted = 0;
volatile std::sig_atomic_t resize_noted = 0;
volatile std::sig_atomic_t continue_noted = 0;
volatile std::sig_atomic_t ending_signal = 0;
int wake_pipe[2] = {-1, -1};

void note_signal(int signal) {
  const int error = errno;
  switch (signal) {
    case SIGINT:
      interrupt_noted = 1;
      break;
    case SIGWINCH:
      resize_noted = 1;
      break;
    case SIGCONT:
      continue_noted = 1;
      break;
    default:
      // Asked twice, a program that hangs ends.
      if (signal == SIGTERM && ending_signal == SIGTERM) _exit(128 + signal);
      ending_signal = signal;
  }
  [[maybe_unused]] const ssize_t n = ::write(wake_pipe[1], "", 1);
  errno = error;
}

bool take(volatile std::sig_atomic_t& noted) {
  const bool was = noted != 0;
  noted = 0;
  return was;
}

}  // namespace

void note_signals() {
  if (wake_pipe[0] < 0 && ::pipe2(wake_pipe, O_CLOEXEC | O_NONBLOCK) != 0) return;
  struct sigaction action = {};
  action.sa_handler = note_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGCONT})
    sigaction(signal, &action, nullptr);
}

int wake_descriptor() { return wake_pipe[0]; }

void drain_wake() {
  char bytes[64];
  while (::read(wake_pipe[0], bytes, sizeof bytes) > 0) {
  }
}

bool interrupted() { return interrupt_noted != 0; }
bool take_interrupt() { return take(interrupt_noted); }
bool take_resize() { return take(resize_noted); }
bool take_continue() { return take(continue_noted); }
int ending() { return ending_signal; }
void end_with(int signal) { ending_signal = signal; }

}  // namespace sluice::chat
