#include "allocation_counter.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<size_t> total_bytes{0};
}

size_t sluice::allocated_bytes() { return total_bytes; }

void* operator new(size_t bytes) {
  total_bytes += bytes;
  void* memory = std::malloc(bytes);
  if (!memory) std::abort();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
