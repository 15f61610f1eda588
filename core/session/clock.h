// The clock of loading and running.
#pragma once

#include <chrono>

namespace sluice {

using Clock = std::chrono::steady_clock;

inline double milliseconds(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

}  // namespace sluice
