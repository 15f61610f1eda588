// What the numbers of a tensor are like.
#pragma once  // face

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/threads.h"
#include "files/files.h"
#include "gguf/gguf.h"

namespace sluice {

struct TensorStatistics {
  uint64_t elements = 0;
  uint64_t n_nan = 0;
  uint64_t n_infinite = 0;
  // Of the finite numbers; all 0 if there are none. -0 counts as 0.
  uint64_t n_zero = 0;
  float min = 0, max = 0, largest = 0;  // largest: the largest magnitude
  double mean = 0, deviation = 0, rms = 0;
  // The numbers that so many of them, in percent, are below: exact, between two of them by linear
  // interpolation.
  static constexpr std::array<double, 9> kPercents = {0.1, 1, 5, 25, 50, 75, 95, 99, 99.9};
  std::array<double, kPercents.size()> percentiles = {};

  // How many numbers are in each of `bins`, of the same width, from `low` to `high`: about the
  // percentiles 0.1 and 99.9, so that a few numbers far away don't hide the shape. Others are below
  // and above. If low == high, all of these are in the first bin.
  static constexpr size_t kBins = 24;
  float low = 0, high = 0;
  uint64_t below = 0, above = 0;
  std::array<uint64_t, kBins> bins = {};

  uint64_t n_finite() const { return elements - n_nan - n_infinite; }
};

// Reads the tensor twice, by pieces with all workers. Each number depends only on the tensor.
// `progress`: done and total in bytes that are read. Fails with unsupported_type if the engine
// doesn't compute with the type, as the source does, or with aborted.
Result<TensorStatistics> tensor_statistics(ByteSource& source, const Gguf& header,
                                           const TensorInfo& tensor, Pool& pool,
                                           const OnFileProgress& progress);

}  // namespace sluice
