// What brings a Weights its bytes by itself, as the threads of a FileReader do. (In a browser the
// caller of the engine brings them.)
#pragma once

#include <cstdint>

#include "base/result.h"

namespace sluice {

class WeightsSource {
 public:
  virtual ~WeightsSource() = default;
  // Something may be wanted now that wasn't: call it when a cursor has moved or ended, or waits for
  // rows. From any thread.
  virtual void wake() = 0;
  // The failure that keeps weights from arriving, if there is one.
  virtual Status status() = 0;
  // Waits until weights.arrivals() isn't `seen`, nothing is on its way any more or reading has
  // failed; 0.1 s at most, so that the caller sees a signal. Fails as status() does.
  virtual Status wait(uint64_t seen) = 0;
};

}  // namespace sluice
