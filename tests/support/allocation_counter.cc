#include "allocation_counter.h"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<size_t> total_bytes{0};
std::atomic<size_t> live_bytes{0};
std::atomic<size_t> most_bytes{0};
std::atomic<size_t> bytes_at_reset{0};

void release(void* memory) {
  live_bytes -= malloc_usable_size(memory);
  std::free(memory);
}
}  // namespace

size_t sluice::allocated_bytes() { return total_bytes; }

void sluice::reset_peak_bytes() {
  bytes_at_reset = live_bytes.load();
  most_bytes = live_bytes.load();
}
size_t sluice::peak_bytes() { return most_bytes - bytes_at_reset; }

void* operator new(size_t bytes) {
  total_bytes += bytes;
  void* memory = std::malloc(bytes);
  if (!memory) std::abort();
  const size_t live = live_bytes += malloc_usable_size(memory);
  size_t most = most_bytes;
  while (live > most && !most_bytes.compare_exchange_weak(most, live)) continue;
  return memory;
}
void operator delete(void* memory) noexcept { release(memory); }
void operator delete(void* memory, size_t) noexcept { release(memory); }
