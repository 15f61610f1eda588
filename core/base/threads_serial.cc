// The pool with one thread, for wasm without shared memory.
#include "base/threads.h"

namespace sluice {

struct Pool::State {};

Pool::Pool(int) {}
Pool::~Pool() = default;
int Pool::size() const { return 1; }
void Pool::limit(int) {}
void Pool::start(void (*call)(const void* job, int worker), const void* job, size_t) {
  call(job, 0);
}
bool Pool::in_time(int) { return false; }
bool Pool::take(int, int64_t, Share&) { return false; }
void Pool::finish(int, int64_t, int64_t) {}

}  // namespace sluice
