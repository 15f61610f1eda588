#include "files/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "files/bytes.h"
#include "make/gguf_builder.h"

namespace sluice {
namespace {

std::string file_of(uint32_t type, const std::vector<uint64_t>& dims, const std::string& data) {
  GgufBuilder file;
  file.kv_string("general.architecture", "none");
  file.tensors.push_back({"t", type, dims, data, std::nullopt, std::nullopt, std::nullopt});
  return file.build();
}

Result<TensorStatistics> statistics_of(const std::string& file, int threads,
                                       const OnFileProgress& progress = nullptr) {
  StringSource source(file);
  const auto header = parse_gguf(as_bytes(file), file.size());
  EXPECT_TRUE(header) << header.error().message;
  Pool pool(threads);
  return tensor_statistics(source, *header, header->tensors[0], pool, progress);
}

TensorStatistics of_floats(const std::vector<float>& values, int threads = 2) {
  return *statistics_of(file_of(0, {values.size()}, bytes_of(values)), threads);
}

// numpy.percentile's own definition, of sorted values.
double percentile(const std::vector<float>& values, double percent) {
  const double place = percent / 100 * static_cast<double>(values.size() - 1);
  const auto at = static_cast<size_t>(place);
  const double low = static_cast<double>(values[at]);
  const double high = static_cast<double>(values[std::min(at + 1, values.size() - 1)]);
  return low + (place - static_cast<double>(at)) * (high - low);
}

std::vector<float> random_floats(size_t n) {
  std::vector<float> out;
  uint64_t state = 1;
  for (size_t i = 0; i < n; ++i) {
    double sum = 0;
    for (int k = 0; k < 4; ++k) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      sum += static_cast<double>(state >> 40) / (1 << 24) - 0.5;
    }
    out.push_back(static_cast<float>(sum * (i % 997 == 0 ? 40 : 0.02)));
  }
  return out;
}

TEST(Statistics, AreThoseOfTheNumbers) {
  // Several chunks, the last one short.
  const std::vector<float> values = random_floats(200'001);
  const TensorStatistics all = of_floats(values);
  double sum = 0, squares = 0;
  for (const float value : values) sum += static_cast<double>(value);
  const double mean = sum / static_cast<double>(values.size());
  double rms = 0;
  for (const float value : values) {
    squares += (static_cast<double>(value) - mean) * (static_cast<double>(value) - mean);
    rms += static_cast<double>(value) * static_cast<double>(value);
  }
  const auto n = static_cast<double>(values.size());
  EXPECT_EQ(all.elements, values.size());
  EXPECT_EQ(all.n_finite(), values.size());
  EXPECT_EQ(all.min, *std::ranges::min_element(values));
  EXPECT_EQ(all.max, *std::ranges::max_element(values));
  EXPECT_EQ(all.largest, std::max(-all.min, all.max));
  EXPECT_NEAR(all.mean, mean, 1e-14);
  EXPECT_NEAR(all.deviation, std::sqrt(squares / n), 1e-14);
  EXPECT_NEAR(all.rms, std::sqrt(rms / n), 1e-14);
  std::vector<float> sorted = values;
  std::ranges::sort(sorted);
  for (size_t i = 0; i < all.percentiles.size(); ++i)
    EXPECT_EQ(all.percentiles[i], percentile(sorted, TensorStatistics::kPercents[i])) << i;
  uint64_t counted = all.below + all.above;
  for (const uint64_t bin : all.bins) counted += bin;
  EXPECT_EQ(counted, values.size());
  EXPECT_LT(all.high, all.max / 4);  // numbers far away don't widen the bins
  EXPECT_GT(all.above, 0u);
}

TEST(Statistics, AreTheSameWithAnyNumberOfThreads) {
  const std::string file = file_of(0, {1000, 300}, bytes_of(random_floats(300'000)));
  const TensorStatistics one = *statistics_of(file, 1);
  for (const int threads : {2, 3, 7}) {
    const TensorStatistics all = *statistics_of(file, threads);
    EXPECT_EQ(all.mean, one.mean);
    EXPECT_EQ(all.deviation, one.deviation);
    EXPECT_EQ(all.percentiles, one.percentiles);
    EXPECT_EQ(all.bins, one.bins);
  }
}

TEST(Statistics, CountWhatIsNoNumber) {
  const float inf = std::numeric_limits<float>::infinity();
  const TensorStatistics all = of_floats({NAN, inf, -inf, 0.0f, -0.0f, 2, -NAN, -6});
  EXPECT_EQ(all.elements, 8u);
  EXPECT_EQ(all.n_nan, 2u);
  EXPECT_EQ(all.n_infinite, 2u);
  EXPECT_EQ(all.n_zero, 2u);
  EXPECT_EQ(all.min, -6);
  EXPECT_EQ(all.max, 2);
  EXPECT_EQ(all.mean, -1);
  EXPECT_EQ(all.rms, std::sqrt(10.0));
  EXPECT_EQ(all.deviation, 3);
  const TensorStatistics none = of_floats({NAN, inf});
  EXPECT_EQ(none.n_finite(), 0u);
  EXPECT_EQ(none.min, 0);
}

TEST(Statistics, OfNumbersAtTheEndsOfTheRange) {
  const float most = std::numeric_limits<float>::max();
  const float least = std::numeric_limits<float>::denorm_min();
  const TensorStatistics all = of_floats({most, -most, least, -least});
  EXPECT_EQ(all.min, -most);
  EXPECT_EQ(all.max, most);
  EXPECT_TRUE(std::isfinite(all.rms));
  EXPECT_TRUE(std::isfinite(all.deviation));
  EXPECT_EQ(all.percentiles[4], 0);  // between -least and least
  EXPECT_EQ(all.bins.front(), 1u);
  EXPECT_EQ(all.bins.back(), 1u);
  // One number alone, and many that are the same.
  for (const size_t n : {1u, 70'000u}) {
    const TensorStatistics same = of_floats(std::vector<float>(n, 0.1f));
    EXPECT_EQ(same.low, 0.1f);
    EXPECT_EQ(same.high, 0.1f);
    EXPECT_EQ(same.bins[0], n);
    EXPECT_EQ(same.percentiles[0], static_cast<double>(0.1f));
    EXPECT_EQ(same.deviation, 0);
  }
}

TEST(Statistics, ReadQuantizedNumbers) {
  // One block of Q8_0: d = 0.5, codes -16 to 15.
  std::string block = bytes_of<uint16_t>(0x3800);
  for (int i = -16; i < 16; ++i) block.push_back(static_cast<char>(i));
  const TensorStatistics all = *statistics_of(file_of(8, {32}, block), 1);
  EXPECT_EQ(all.min, -8);
  EXPECT_EQ(all.max, 7.5);
  EXPECT_EQ(all.mean, -0.25);
  EXPECT_EQ(all.n_zero, 1u);
}

TEST(Statistics, RefuseTypesThatAreNotComputed) {
  const auto got = statistics_of(file_of(24, {4}, "abcd"), 1);  // I8
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, Code::unsupported_type);
}

TEST(Statistics, EndWhenTheyAreTold) {
  const std::string file = file_of(0, {1 << 16}, std::string(4 << 16, '\0'));
  uint64_t calls = 0;
  const auto got = statistics_of(file, 1, [&](const FileProgress& progress) {
    EXPECT_EQ(progress.total, 2u * (4 << 16));
    EXPECT_EQ(progress.done, progress.total / 2);
    EXPECT_EQ(progress.tensor, "t");
    ++calls;
    return false;
  });
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, Code::aborted);
  EXPECT_EQ(calls, 1u);
}

}  // namespace
}  // namespace sluice
