#include "bench/bandwidth.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>

#include "bench/together.h"

namespace sluice::cli {
namespace {

using Vector = uint64_t __attribute__((vector_size(64), may_alias));

constexpr size_t kBlock = 8 * sizeof(Vector);  // eight loads at a time keep the memory busy

// Reads all bytes. The result only keeps the compiler from removing the loads.
[[gnu::always_inline]] inline uint64_t read_all(const uint8_t* data, size_t bytes) {
  Vector sums[8] = {};
  for (size_t at = 0; at + kBlock <= bytes; at += kBlock) {
    const Vector* block = reinterpret_cast<const Vector*>(data + at);
    for (int i = 0; i < 8; ++i) sums[i] ^= block[i];
  }
  uint64_t all = 0;
  for (const Vector& sum : sums) {
    for (int i = 0; i < 8; ++i) all ^= sum[i];
  }
  return all;
}

uint64_t read_baseline(const uint8_t* data, size_t bytes) { return read_all(data, bytes); }
#if defined(__x86_64__)
[[gnu::target("avx2")]] uint64_t read_avx2(const uint8_t* data, size_t bytes) {
  return read_all(data, bytes);
}
[[gnu::target("avx512f")]] uint64_t read_avx512(const uint8_t* data, size_t bytes) {
  return read_all(data, bytes);
}
#endif

using Reader = uint64_t (*)(const uint8_t*, size_t);

Reader widest_reader() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return read_avx512;
  if (__builtin_cpu_supports("avx2")) return read_avx2;
#endif
  return read_baseline;
}

struct Free {
  void operator()(uint8_t* data) const { std::free(data); }
};

}  // namespace

double read_bandwidth(uint64_t bytes, int threads) {
  static std::atomic<uint64_t> sink = 0;
  const size_t size = std::max<size_t>(bytes / kBlock, static_cast<size_t>(threads)) * kBlock;
  const std::unique_ptr<uint8_t, Free> data(
      static_cast<uint8_t*>(std::aligned_alloc(4096, (size + 4095) / 4096 * 4096)));
  if (data == nullptr) return 0;
  std::fill_n(data.get(), size, uint8_t{1});  // all pages that were never written are one page
  const Reader read = widest_reader();
  const size_t part = size / kBlock / static_cast<size_t>(threads) * kBlock;
  const auto all_parts = static_cast<double>(part) * threads;
  return median_rate(all_parts / 1e9, [&](int rounds) {
    return seconds_together(threads, [&](size_t thread) {
      uint64_t all = 0;
      for (int i = 0; i < rounds; ++i) all ^= read(data.get() + thread * part, part);
      sink ^= all;
    });
  });
}

uint64_t last_level_cache() {
  // Linux's own list; sysconf() adds up the caches of all sockets on some machines.
  uint64_t largest = 0;
  for (int i = 0; i < 8; ++i) {
    std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(i) + "/size");
    uint64_t size = 0;
    char unit = 0;
    if (file >> size >> unit) largest = std::max(largest, size << (unit == 'M' ? 20 : 10));
  }
  return largest != 0 ? largest : uint64_t{32} << 20;
}

}  // namespace sluice::cli
