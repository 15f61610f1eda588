#include "terminal/signals.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>

#include "app/signals.h"

namespace sluice::terminal {
namespace {

// Any thread may run the handler.
static_assert(std::atomic<int>::is_always_lock_free);
std::atomic<int> interrupt_noted = 0;
std::atomic<int> resize_noted = 0;
std::atomic<int> continue_noted = 0;
std::atomic<int> ending_signal = 0;
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
      // The second signal ends a program that hangs. (SIGHUP is often sent twice.)
      if (signal != SIGHUP && ending_signal == signal) _exit(128 + signal);
      ending_signal = signal;
  }
  [[maybe_unused]] const ssize_t n = ::write(wake_pipe[1], "", 1);
  errno = error;
}

bool take(std::atomic<int>& noted) { return noted.exchange(0) != 0; }

}  // namespace

void note_signals() {
  if (wake_pipe[0] < 0 && ::pipe2(wake_pipe, O_CLOEXEC | O_NONBLOCK) != 0) return;
  struct sigaction action = {};
  action.sa_handler = note_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGCONT}) {
    const bool may_be_ignored = signal == SIGHUP || signal == SIGQUIT;
    if (!may_be_ignored || !cli::is_ignored(signal)) sigaction(signal, &action, nullptr);
  }
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

}  // namespace sluice::terminal
