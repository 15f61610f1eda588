#include "bandwidth.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace sluice::cli {
namespace {

using Clock = std::chrono::steady_clock;
using Vector = uint64_t __attribute__((vector_size(64), may_alias));

constexpr size_t kBlock = 8 * sizeof(Vector);  // eight loads a turn keep the memory busy
constexpr int kMeasurements = 7;
constexpr double kSeconds = 0.02;

// Reads all of it; the result only keeps the loads from being left out.
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

// Seconds that all threads need for `rounds` readings of the buffer: from the first one's start to
// the last one's end, so that a thread that was kept waiting counts.
double measure(const uint8_t* data, size_t bytes, int threads, int rounds) {
  static std::atomic<uint64_t> sink = 0;
  const Reader read = widest_reader();
  const size_t part = bytes / kBlock / static_cast<size_t>(threads) * kBlock;
  std::barrier together(threads);
  std::vector<Clock::time_point> starts(static_cast<size_t>(threads));
  std::vector<Clock::time_point> ends(static_cast<size_t>(threads));
  const auto work = [&](size_t thread) {
    together.arrive_and_wait();
    starts[thread] = Clock::now();
    uint64_t all = 0;
    for (int i = 0; i < rounds; ++i) all ^= read(data + thread * part, part);
    sink ^= all;
    ends[thread] = Clock::now();
  };
  std::vector<std::thread> others;
  for (size_t i = 1; i < starts.size(); ++i) others.emplace_back(work, i);
  work(0);
  for (std::thread& thread : others) thread.join();
  const auto first = std::min_element(starts.begin(), starts.end());
  const auto last = std::max_element(ends.begin(), ends.end());
  return std::chrono::duration<double>(*last - *first).count();
}

}  // namespace

double read_bandwidth(uint64_t bytes, int threads) {
  const size_t size = std::max<size_t>(bytes / kBlock, static_cast<size_t>(threads)) * kBlock;
  const std::unique_ptr<uint8_t, Free> data(
      static_cast<uint8_t*>(std::aligned_alloc(4096, (size + 4095) / 4096 * 4096)));
  if (data == nullptr) return 0;
  std::fill_n(data.get(), size, uint8_t{1});  // pages that were never written are all the same one
  const double once = std::max(measure(data.get(), size, threads, 1), 1e-7);
  const int rounds = static_cast<int>(std::clamp(kSeconds / once, 1.0, 1e6));
  const size_t read =
      size / kBlock / static_cast<size_t>(threads) * kBlock * static_cast<size_t>(threads);
  std::vector<double> rates;
  for (int i = 0; i < kMeasurements; ++i) {
    const double seconds = measure(data.get(), size, threads, rounds);
    rates.push_back(static_cast<double>(read) * rounds / seconds / 1e9);
  }
  std::nth_element(rates.begin(), rates.begin() + kMeasurements / 2, rates.end());
  return rates[kMeasurements / 2];
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
