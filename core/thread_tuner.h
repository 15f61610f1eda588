// How many of a pool's threads decode fastest: measured, not assumed. More threads than the memory
// can feed, slow cores beside fast ones, two threads of one core, another program on half of them:
// the count of cores says nothing of these.
#pragma once

namespace sluice {

// Says how many threads the next token is to have and is told how long it took. All of them and
// half take turns; while fewer are faster, so do they and their half. Results don't depend on it.
class ThreadTuner {
 public:
  // `adaptive` false: always all.
  ThreadTuner(int max_threads, bool adaptive)
      : max_(max_threads),
        adaptive_(adaptive && max_threads > 1),
        more_(max_threads),
        settled_(!adaptive_) {}

  int threads() const;
  int best() const { return more_; }  // as far as is known
  void add(double seconds);

 private:
  static constexpr int kTries = 3;         // of each side; the best counts
  static constexpr double kMargin = 0.97;  // what fewer threads must take at most, of the time
  static constexpr int kRenewal = 512;     // tokens until it is asked again

  int max_;
  bool adaptive_;
  int more_;  // is compared with its half
  bool settled_;
  int tries_ = 0;
  int tokens_ = 0;  // since it was settled
  double best_[2] = {0, 0};
};

}  // namespace sluice
