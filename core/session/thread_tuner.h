// Finds how many of a pool's threads decode fastest, by measuring. The number of cores doesn't
// tell: the memory may be too slow for all threads, some cores may be slower than others, two
// threads may share a core, and other programs may use some cores.
#pragma once

namespace sluice {

// threads() is the number of threads for the next token; add() takes the time that the token took.
// Compares a number with its half, in turns, beginning with all threads. While the half is faster,
// goes on with the half. Results don't depend on the number.
class ThreadTuner {
 public:
  // If `adaptive` is false, threads() is always max_threads.
  ThreadTuner(int max_threads, bool adaptive)
      : max_(max_threads),
        adaptive_(adaptive && max_threads > 1),
        more_(max_threads),
        settled_(!adaptive_) {}

  int threads() const;
  int best() const { return more_; }  // the fastest number so far
  void add(double seconds);

 private:
  static constexpr int kTries = 3;         // of each number; the fastest one counts
  static constexpr double kMargin = 0.97;  // the half may take at most this part of the time
  static constexpr int kRenewal = 512;     // tokens until it measures again

  int max_;
  bool adaptive_;
  int more_;  // compared with its half
  bool settled_;
  int tries_ = 0;
  int tokens_ = 0;  // since it was settled
  double best_[2] = {0, 0};
};

}  // namespace sluice
