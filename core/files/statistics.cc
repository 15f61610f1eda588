// Percentiles come from two passes. The first counts the numbers by the upper 16 bits of a key that
// is ordered as they are. That tells in which of these 65536 classes each percentile lies. The
// second counts the numbers of these few classes by the lower 16 bits. Counts are the same in
// whatever order they are made; sums are those of chunks, added in the chunks' order.
#include "files/statistics.h"

#include <atomic>
#include <bit>
#include <cmath>
#include <memory>

#include "base/format.h"
#include "files/tensor_chunks.h"

namespace sluice {
namespace {

constexpr size_t kClasses = 1 << 16;

// Keys are ordered as the floats are; -0 has the key of 0.
uint32_t key_of(float value) {
  const auto bits = std::bit_cast<uint32_t>(value + 0.0f);
  return bits ^ ((bits >> 31) != 0 ? 0xffffffffu : 0x80000000u);
}
float of_key(uint32_t key) {
  return std::bit_cast<float>(key ^ ((key >> 31) != 0 ? 0x80000000u : 0xffffffffu));
}

// Sums over some numbers; `squares` of their distances to the mean.
struct Moments {
  uint64_t n = 0;
  double mean = 0;
  double squares = 0;

  void add(const Moments& other) {
    if (other.n == 0) return;
    const auto a = static_cast<double>(n), b = static_cast<double>(other.n);
    const double distance = other.mean - mean;
    mean += distance * (b / (a + b));
    squares += other.squares + distance * distance * (a * b / (a + b));
    n += other.n;
  }
};

struct ChunkFigures {
  uint64_t n_nan = 0, n_infinite = 0, n_zero = 0;
  Moments moments;
  uint32_t least = UINT32_MAX, most = 0;  // keys
};

struct ChunkScratch {
  std::vector<uint8_t> bytes;
  std::vector<float> values;
  std::vector<uint64_t> classes;
  std::array<uint64_t, TensorStatistics::kBins + 2> bins = {};  // below, the bins, above
};

ChunkFigures figures_of(std::span<const float> values, std::vector<uint64_t>& classes) {
  ChunkFigures out;
  double sum = 0;
  for (const float value : values) {
    if (std::isnan(value)) {
      ++out.n_nan;
    } else if (std::isinf(value)) {
      ++out.n_infinite;
    } else {
      const uint32_t key = key_of(value);
      ++classes[key >> 16];
      out.least = std::min(out.least, key);
      out.most = std::max(out.most, key);
      if (value == 0) ++out.n_zero;
      sum += static_cast<double>(value);
    }
  }
  Moments& moments = out.moments;
  moments.n = values.size() - out.n_nan - out.n_infinite;
  if (moments.n == 0) return out;
  moments.mean = sum / static_cast<double>(moments.n);
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    const double distance = static_cast<double>(value) - moments.mean;
    moments.squares += distance * distance;
  }
  return out;
}

// The places of the percentiles among the sorted numbers, and the classes in which these are.
struct Ranks {
  struct Rank {
    uint64_t at = 0;  // among all finite numbers, from 0
    size_t slot = 0;  // of its class
  };
  std::vector<Rank> ranks;       // two for each percentile: those between which it lies
  std::vector<size_t> classes;   // by slot, ascending
  std::vector<uint64_t> before;  // by slot: the numbers in lower classes
  std::array<double, TensorStatistics::kPercents.size()> fraction = {};
};

Ranks find_ranks(uint64_t n, const std::vector<uint64_t>& counts) {
  Ranks out;
  for (size_t i = 0; i < out.fraction.size(); ++i) {
    const double place = TensorStatistics::kPercents[i] / 100 * static_cast<double>(n - 1);
    const auto at = std::min(static_cast<uint64_t>(place), n - 1);
    out.fraction[i] = place - static_cast<double>(at);
    out.ranks.push_back({at});
    out.ranks.push_back({std::min(at + 1, n - 1)});
  }
  // Percentiles ascend, but the upper neighbour of one may lie beyond the next one's lower.
  uint64_t before = 0;
  for (size_t i = 0; i < kClasses; before += counts[i++]) {
    bool used = false;
    for (Ranks::Rank& rank : out.ranks) {
      if (rank.at < before || rank.at - before >= counts[i]) continue;
      rank.slot = out.classes.size();
      used = true;
    }
    if (!used) continue;
    out.classes.push_back(i);
    out.before.push_back(before);
  }
  return out;
}

// Counts of the numbers of some classes, by the lower half of their keys.
class Fine {
 public:
  explicit Fine(const std::vector<size_t>& classes)
      : slots_(kClasses, kNone), counts_(classes.size() * kClasses) {
    for (size_t slot = 0; slot < classes.size(); ++slot)
      slots_[classes[slot]] = static_cast<uint8_t>(slot);
  }
  void count(uint32_t key) {
    const uint8_t slot = slots_[key >> 16];
    if (slot == kNone) return;
    counts_[slot * kClasses + (key & 0xffff)].fetch_add(1, std::memory_order_relaxed);
  }
  // The key of the number at `at` among those of the slot's class.
  uint32_t key_at(size_t slot, size_t number, uint64_t at) const {
    for (uint32_t low = 0; low < kClasses; ++low) {
      const uint64_t count = counts_[slot * kClasses + low].load(std::memory_order_relaxed);
      if (at < count) return static_cast<uint32_t>(number << 16) | low;
      at -= count;
    }
    return 0;  // not reached: the class has more numbers
  }

 private:
  static constexpr uint8_t kNone = 255;  // more than there are ranks
  std::vector<uint8_t> slots_;
  std::vector<std::atomic<uint64_t>> counts_;
};

size_t bin_of(const TensorStatistics& statistics, float value) {
  constexpr size_t kBins = TensorStatistics::kBins;
  if (value < statistics.low) return 0;
  if (value > statistics.high) return kBins + 1;
  const double width = static_cast<double>(statistics.high) - static_cast<double>(statistics.low);
  if (width <= 0) return 1;
  const double place = (static_cast<double>(value) - static_cast<double>(statistics.low)) / width;
  return 1 + std::min(static_cast<size_t>(place * kBins), kBins - 1);
}

// Goes through the tensor once. `each` is called on workers, `merge` on this thread, in order.
template <typename Each, typename Merge>
Status pass(const ChunkReader& reader, Pool& pool, std::vector<ChunkScratch>& scratch,
            const Each& each, const Merge& merge) {
  for (uint64_t begin = 0; begin < reader.chunks(); begin += kBatch) {
    const uint64_t end = std::min(begin + kBatch, reader.chunks());
    SLUICE_TRY(for_chunks(pool, begin, end, [&](int worker, uint64_t chunk) -> Status {
      ChunkScratch& own = scratch[static_cast<size_t>(worker)];
      SLUICE_ASSIGN(const auto values, reader.values(chunk, own.bytes, own.values));
      each(own, chunk - begin, values);
      return {};
    }));
    SLUICE_TRY(merge(begin, end));
  }
  return {};
}

}  // namespace

Result<TensorStatistics> tensor_statistics(ByteSource& source, const Gguf& header,
                                           const TensorInfo& tensor, Pool& pool,
                                           const OnFileProgress& progress) {
  const ChunkReader reader(source, header.data_offset, tensor);
  TensorStatistics out;
  out.elements = reader.elements();
  std::vector<ChunkScratch> scratch(static_cast<size_t>(pool.size()));
  for (ChunkScratch& own : scratch) own.classes.resize(kClasses);
  const auto go_on = [&](uint64_t pass_number, uint64_t chunks) -> Status {
    const double part = static_cast<double>(chunks) / static_cast<double>(reader.chunks());
    const uint64_t done = pass_number * tensor.bytes +
                          static_cast<uint64_t>(part * static_cast<double>(tensor.bytes));
    if (progress && !progress({done, 2 * tensor.bytes, tensor.name}))
      return fail(Code::aborted, "interrupted");
    return {};
  };

  std::array<ChunkFigures, kBatch> figures;
  Moments moments;
  uint32_t least = UINT32_MAX, most = 0;
  SLUICE_TRY(pass(
      reader, pool, scratch,
      [&](ChunkScratch& own, uint64_t i, std::span<const float> values) {
        figures[i] = figures_of(values, own.classes);
      },
      [&](uint64_t begin, uint64_t end) {
        for (uint64_t i = 0; i < end - begin; ++i) {
          const ChunkFigures& each = figures[i];
          out.n_nan += each.n_nan;
          out.n_infinite += each.n_infinite;
          out.n_zero += each.n_zero;
          least = std::min(least, each.least);
          most = std::max(most, each.most);
          moments.add(each.moments);
        }
        return go_on(0, end);
      }));
  if (moments.n == 0) return out;
  const double n = static_cast<double>(moments.n);
  out.min = of_key(least);
  out.max = of_key(most);
  out.largest = std::max(std::abs(out.min), std::abs(out.max));
  out.mean = moments.mean;
  out.deviation = std::sqrt(moments.squares / n);
  out.rms = std::sqrt(moments.squares / n + moments.mean * moments.mean);

  std::vector<uint64_t> classes(kClasses);
  for (const ChunkScratch& own : scratch)
    for (size_t i = 0; i < kClasses; ++i) classes[i] += own.classes[i];
  const Ranks ranks = find_ranks(moments.n, classes);
  const size_t first = ranks.classes[ranks.ranks.front().slot];
  const size_t last = ranks.classes[ranks.ranks.back().slot];
  out.low = of_key(std::max(static_cast<uint32_t>(first << 16), least));
  out.high = of_key(std::min(static_cast<uint32_t>(last << 16) | 0xffff, most));

  Fine fine(ranks.classes);
  SLUICE_TRY(pass(
      reader, pool, scratch,
      [&](ChunkScratch& own, uint64_t, std::span<const float> values) {
        for (const float value : values) {
          if (!std::isfinite(value)) continue;
          fine.count(key_of(value));
          ++own.bins[bin_of(out, value)];
        }
      },
      [&](uint64_t, uint64_t end) { return go_on(1, end); }));
  for (const ChunkScratch& own : scratch) {
    out.below += own.bins.front();
    out.above += own.bins.back();
    for (size_t i = 0; i < out.bins.size(); ++i) out.bins[i] += own.bins[i + 1];
  }
  const auto value_at = [&](const Ranks::Rank& rank) {
    const size_t slot = rank.slot;
    return static_cast<double>(
        of_key(fine.key_at(slot, ranks.classes[slot], rank.at - ranks.before[slot])));
  };
  for (size_t i = 0; i < out.percentiles.size(); ++i) {
    const double under = value_at(ranks.ranks[2 * i]), over = value_at(ranks.ranks[2 * i + 1]);
    out.percentiles[i] = under + ranks.fraction[i] * (over - under);
  }
  return out;
}

}  // namespace sluice
