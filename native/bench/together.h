// Measures work that several threads do at the same time.
#pragma once  // inside

#include <algorithm>
#include <barrier>
#include <chrono>
#include <limits>
#include <system_error>
#include <thread>
#include <vector>

namespace sluice::cli {

constexpr int kMeasurements = 7;
constexpr double kSeconds = 0.02;  // of one measurement, at least

// Seconds that work(thread) takes on `threads` threads together, from the first one's start to the
// last one's end: a thread that has to wait counts. Infinity if they can't all be started.
template <typename Work>
double seconds_together(int threads, const Work& work) {
  using Clock = std::chrono::steady_clock;
  std::barrier ready(threads);
  std::vector<Clock::time_point> starts(static_cast<size_t>(threads));
  std::vector<Clock::time_point> ends(static_cast<size_t>(threads));
  const auto timed = [&](size_t thread) {
    ready.arrive_and_wait();
    starts[thread] = Clock::now();
    work(thread);
    ends[thread] = Clock::now();
  };
  std::vector<std::thread> others;
  others.reserve(starts.size());
  bool all_started = true;
  for (size_t i = 1; i < starts.size(); ++i) {
    try {
      others.emplace_back(timed, i);
    } catch (const std::system_error&) {
      all_started = false;
      ready.arrive_and_drop();
    }
  }
  timed(0);
  for (std::thread& thread : others) thread.join();
  if (!all_started) return std::numeric_limits<double>::infinity();
  const auto first = std::min_element(starts.begin(), starts.end());
  const auto last = std::max_element(ends.begin(), ends.end());
  return std::chrono::duration<double>(*last - *first).count();
}

// The amount of work per second: the median of several measurements. measure(rounds) returns the
// seconds that `rounds` rounds of `amount` each take. 0 if that is infinite.
template <typename Measure>
double median_rate(double amount, const Measure& measure) {
  const double once = std::max(measure(1), 1e-7);
  const int rounds = static_cast<int>(std::clamp(kSeconds / once, 1.0, 1e6));
  std::vector<double> rates;
  for (int i = 0; i < kMeasurements; ++i) rates.push_back(amount * rounds / measure(rounds));
  std::nth_element(rates.begin(), rates.begin() + kMeasurements / 2, rates.end());
  return rates[kMeasurements / 2];
}

}  // namespace sluice::cli
