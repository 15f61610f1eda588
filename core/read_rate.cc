// How fast threads read memory.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/aligned.h"
#include "base/stopwatch.h"
#include "base/threads.h"
#include "engine_inside.h"

namespace sluice {
namespace {

using ReadVector = uint64_t __attribute__((vector_size(16), may_alias));

constexpr int64_t kReadBlock = 256 << 10;
constexpr int64_t kReadBlocks = 256;
constexpr int kLoads = 8;  // so many at a time keep the memory busy

// The result only keeps the compiler from removing the loads.
uint64_t read_block(const uint8_t* data) {
  ReadVector sums[kLoads] = {};
  const auto* vectors = reinterpret_cast<const ReadVector*>(data);
  for (size_t at = 0; at < kReadBlock / sizeof(ReadVector); at += kLoads)
    for (size_t i = 0; i < kLoads; ++i) sums[i] ^= vectors[at + i];
  uint64_t all = 0;
  for (const ReadVector& sum : sums) all ^= sum[0] ^ sum[1];
  return all;
}

}  // namespace

double read_rate(int threads, double seconds) {
  Pool pool(threads);
  static std::atomic<uint64_t> sink = 0;
  const uint64_t bytes = kReadBlock * kReadBlocks;
  const auto memory = AlignedBuffer::allocate_uninitialized(bytes, "a measurement");
  if (!memory) return 0;
  uint8_t* const data = memory->data();
  std::memset(data, 1, bytes);  // all pages that were never written may be one page
  double best = 0;              // others may need the machine, too
  const Stopwatch all;
  while (best == 0 || all.seconds() < seconds) {
    const Stopwatch one;
    pool.run([&pool, data](int worker) {
      pool.parallel_for(worker, kReadBlocks, [data](Share part) {
        for (int64_t i = part.begin; i < part.end; ++i)
          sink.fetch_xor(read_block(data + i * kReadBlock), std::memory_order_relaxed);
      });
    });
    const double took = one.seconds();
    if (took > 0) best = std::max(best, static_cast<double>(bytes) / took);
  }
  return best;
}

}  // namespace sluice
