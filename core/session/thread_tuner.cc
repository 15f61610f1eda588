#include "session/thread_tuner.h"

#include <algorithm>

namespace sluice {

int ThreadTuner::threads() const {
  if (settled_ || tries_ % 2 == 0) return more_;
  return more_ / 2;
}

void ThreadTuner::add(double seconds) {
  if (!adaptive_) return;
  if (settled_) {
    // The machine's other work changes, so measure again.
    if (++tokens_ >= kRenewal) *this = ThreadTuner(max_, true);
    return;
  }
  double& best = best_[tries_ % 2];
  best = tries_ < 2 ? seconds : std::min(best, seconds);
  if (++tries_ < 2 * kTries) return;
  tries_ = 0;
  if (best_[1] > kMargin * best_[0]) {
    settled_ = true;
    return;
  }
  more_ /= 2;
  settled_ = more_ == 1;
}

}  // namespace sluice
