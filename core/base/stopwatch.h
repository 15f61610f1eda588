// Measures the seconds since it was made.
#pragma once

#include <chrono>

namespace sluice {

class Stopwatch {
 public:
  // If `on` is false, it reads no clock and seconds() is 0.
  explicit Stopwatch(bool on = true) : on_(on) {
    if (on) start_ = std::chrono::steady_clock::now();
  }
  double seconds() const {
    if (!on_) return 0;
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  bool on_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace sluice
