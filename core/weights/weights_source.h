// Loads weights in the background, as a FileReader's threads do. (In a browser the engine's caller
// loads them.)
#pragma once

#include <cstdint>

#include "base/result.h"

namespace sluice {

class WeightsSource {
 public:
  virtual ~WeightsSource() = default;
  // Call it when a cursor has moved or ended, or waits for rows: more may be wanted now. From any
  // thread.
  virtual void wake() = 0;
  // The failure that keeps weights from arriving, if there is one.
  virtual Status status() = 0;
  // Waits until weights.arrivals() isn't `seen`, no read is in flight any more or one has failed;
  // 0.1 s at most, so that the caller sees a signal. Fails as status() does.
  virtual Status wait(uint64_t seen) = 0;
};

}  // namespace sluice
