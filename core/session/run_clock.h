// The times of a run.
#pragma once  // inside

#include <chrono>
#include <optional>

#include "base/stopwatch.h"
#include "session/clock.h"

namespace sluice {

struct RunClock {
  Clock::time_point asked;    // when the caller asked for it
  Clock::time_point started;  // when its tokens were known
  Clock::time_point first_token;
  Clock::time_point last_token;
  double prompt_ms = 0;                            // without waited_ms; 0: the prompt isn't done
  double waited_ms = 0;                            // for weights
  std::optional<Clock::time_point> waiting_since;  // the wait that waited_ms doesn't contain yet
  std::optional<Stopwatch> decode_pass;            // runs during a pass that decodes

  // From where the rate of the prompt is measured.
  struct Mark {
    Clock::time_point at;
    double blocks;  // that were computed of the pass
    bool arriving;  // weights arrived for the first time
  };
  std::optional<Mark> mark;

  // Adds the time of waiting up to now to waited_ms. `go_on`: the run still waits.
  void add_waiting(bool go_on) {
    const Clock::time_point now = Clock::now();
    if (waiting_since) waited_ms += milliseconds(*waiting_since, now);
    waiting_since = go_on ? std::optional(now) : std::nullopt;
  }
  // From one time to another, without waited_ms.
  double worked_ms(Clock::time_point from, Clock::time_point to) const {
    return milliseconds(from, to) - waited_ms;
  }
};

}  // namespace sluice
