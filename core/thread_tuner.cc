#include "thread_tuner.h"

#include <algorithm>

namespace sluice {

int ThreadTuner::threads() const {
  if (settled_ || tries_ % 2 == 0) return more_;
  return more_ / 2;
}

void ThreadTuner::add(double seconds) {
  if (!adaptive_) return;
  if (settled_) {
    // What was best may be so no longer: the machine's other work comes and goes.
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
