#pragma once  // face

#include "quant/types.h"

namespace sluice {

// How fast this machine decodes: bytes of weights of this type per second that so many threads, or
// half of them if these are faster, multiply for one token after another. The median of passes over
// 128 MiB, more than most caches hold. Takes about `seconds`, and the time to write that memory
// once. 0 if there is no memory for it. A decoded token reads MemoryPlan::per_token of weights, so
// this tells about how many a second can have.
double decode_rate(Type type, int threads, double seconds);

}  // namespace sluice
