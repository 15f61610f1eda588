// The pool where there is only one thread (wasm without shared memory).
#include "base/threads.h"

namespace sluice {

struct Pool::State {};

Pool::Pool(int) {}
Pool::~Pool() = default;
int Pool::size() const { return 1; }
void Pool::barrier() {}
void Pool::run_erased(void (*job)(void* context, int worker), void* context) { job(context, 0); }

}  // namespace sluice
