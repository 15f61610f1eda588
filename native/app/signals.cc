#include "app/signals.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstddef>

#include "app/diagnostics.h"

namespace sluice::cli {
namespace {

// Any thread may run the handler, so the data that it shares is atomic.
static_assert(std::atomic<int>::is_always_lock_free);
std::atomic<int> signals_deferred = 0;
std::atomic<int> caught_signal = 0;

// The handler prints the one that `farewell` names while the other one is written.
constexpr size_t kMaxFarewell = 300;
char farewells[2][kMaxFarewell];
size_t farewell_sizes[2] = {};
std::atomic<int> farewell = 0;

void on_signal(int signal) {
  // SIGHUP doesn't count as the second one: it is often sent twice, or along with another.
  const bool first = caught_signal == 0 || caught_signal == SIGHUP;
  if (signals_deferred == 0 || (!first && signal != SIGHUP)) {
    erase_status_in_signal();
    const int which = farewell;
    [[maybe_unused]] const ssize_t n =
        ::write(STDERR_FILENO, farewells[which], farewell_sizes[which]);
    _exit(128 + signal);
  }
  if (first) caught_signal = signal;
}

void handle(int signal) {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(signal, &action, nullptr);
}

}  // namespace

void install_signal_handlers() {
  handle(SIGINT);
  handle(SIGTERM);
}

bool is_ignored(int signal) {
  struct sigaction action = {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

void set_farewell(std::string_view text) {
  const int other = 1 - farewell;
  farewell_sizes[other] = text.copy(farewells[other], kMaxFarewell);
  farewell = other;
}

void defer_signals() {
  signals_deferred = 1;
  for (const int signal : {SIGHUP, SIGQUIT})
    if (!is_ignored(signal)) handle(signal);
}

int interrupted_by() { return caught_signal; }

}  // namespace sluice::cli
