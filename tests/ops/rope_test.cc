// The tables of RoPE's cosines and sines: how they grow, and their numbers under each way of
// scaling, against plain double arithmetic.
#include "ops/rope.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <vector>

#include "base/math.h"

namespace sluice {
namespace {

TEST(RopeTable, HasTheSameRowsHoweverItGrew) {
  const float factors[] = {1, 2, 4, 8};
  RopeTable at_once({.dims = 8, .scale = 2}, factors);
  RopeTable by_steps({.dims = 8, .scale = 2}, factors);
  ASSERT_TRUE(at_once.extend(600).has_value());
  for (const int64_t end : {1, 2, 256, 100, 257, 600}) {
    ASSERT_TRUE(by_steps.extend(end).has_value());
    if (end == 256) {
      EXPECT_EQ(by_steps.held_bytes(), RopeTable::bytes(8, 256));
    }
  }
  EXPECT_EQ(at_once.held_bytes(), RopeTable::bytes(8, 600));
  EXPECT_EQ(by_steps.held_bytes(), at_once.held_bytes());
  EXPECT_EQ(RopeTable::bytes(8, 600), 3u * 256 * 8 * 4);
  for (int64_t p = 0; p < 600; ++p) {
    for (int64_t i = 0; i < 4; ++i) {
      const double theta =
          pow_f64(10000, -static_cast<double>(i) / 4) / 2 / static_cast<double>(factors[i]);
      EXPECT_EQ(at_once.cos(p)[i], static_cast<float>(cos_f64(static_cast<double>(p) * theta)));
      EXPECT_EQ(at_once.sin(p)[i], static_cast<float>(sin_f64(static_cast<double>(p) * theta)));
    }
    EXPECT_EQ(std::memcmp(at_once.cos(p), by_steps.cos(p), 32), 0) << p;
  }
}

TEST(RopeTable, RefusesAnglesThatHaveNoCosine) {
  const float factors[] = {1e-30f};
  RopeTable table({.dims = 2}, factors);
  ASSERT_TRUE(table.extend(1).has_value());
  for (int i = 0; i < 2; ++i) {
    const Status status = table.extend(9);
    ASSERT_FALSE(status.has_value());
    EXPECT_EQ(status.error().code, Code::bad_file);
    EXPECT_NE(status.error().message.find("position 1"), std::string::npos);
  }
}

// --- scaling -------------------------------------------------------------------------------------

// Pair i's radians a position, by YaRN's paper and the standard library.
double yarn_theta(int64_t i, int64_t dims, double base, double factor, double original,
                  double beta_fast, double beta_slow) {
  const auto n = static_cast<double>(dims);
  const auto at = [&](double turns) {
    return n * std::log(original / (2 * std::numbers::pi * turns)) / (2 * std::log(base));
  };
  const double low = std::max(0.0, std::floor(at(beta_fast)));
  const double high = std::min(n - 1, std::ceil(at(beta_slow)));
  double slow = (static_cast<double>(i) - low) / std::max(0.001, high - low);
  slow = std::min(1.0, std::max(0.0, slow));
  const double own = std::pow(base, -2.0 * static_cast<double>(i) / n);
  return own / factor * slow + own * (1 - slow);
}

// Compares a table's rows with cosines and sines of these angles, times `magnitude`.
void expect_rows(RopeTable& table, const std::vector<double>& theta, double magnitude) {
  ASSERT_TRUE(table.extend(400).has_value());
  ASSERT_EQ(table.n_pairs(), static_cast<int>(theta.size()));
  for (const int64_t p : {0, 1, 7, 100, 399}) {
    for (size_t i = 0; i < theta.size(); ++i) {
      const double angle = static_cast<double>(p) * theta[i];
      EXPECT_NEAR(static_cast<double>(table.cos(p)[i]), std::cos(angle) * magnitude,
                  1e-7 * magnitude)
          << "pair " << i << ", position " << p;
      EXPECT_NEAR(static_cast<double>(table.sin(p)[i]), std::sin(angle) * magnitude,
                  1e-7 * magnitude)
          << "pair " << i << ", position " << p;
    }
  }
}

TEST(RopeTable, IsScaledByFrequencyWithYarn) {
  struct Case {
    int64_t dims;
    double base, factor, original, fast, slow, magnitude;
  };
  const float factors[] = {1, 1.5f, 0.5f, 4, 1, 2, 1, 1};
  for (const Case& c : {Case{16, 10000, 4, 128, 32, 1, 1.3},
                        {16, 10000, 16, 16, 8, 1.5, 1},
                        {128, 1e6, 8, 32768, 32, 1, 1.2},
                        {64, 500000, 40, 4096, 32, 1, 1},
                        {16, 10000, 1, 128, 32, 1, 1},
                        {8, 1.5, 2, 1, 32, 1, 1},
                        {2, 10000, 2, 4e9, 1, 1, 1}}) {
    SCOPED_TRACE(testing::Message() << c.dims << " dims, original " << c.original);
    RopeNumbers numbers{.dims = c.dims, .freq_base = c.base, .scale = c.factor};
    numbers.magnitude = c.magnitude;
    numbers.yarn = Yarn{c.original, c.fast, c.slow, 1.25};
    std::vector<double> theta;
    for (int64_t i = 0; i < c.dims / 2; ++i)
      theta.push_back(yarn_theta(i, c.dims, c.base, c.factor, c.original, c.fast, c.slow));
    RopeTable table(numbers, nullptr);
    expect_rows(table, theta, 1.25 * c.magnitude);
    if (c.dims > 16) continue;
    for (size_t i = 0; i < theta.size(); ++i) theta[i] /= static_cast<double>(factors[i]);
    RopeTable divided(numbers, factors);
    expect_rows(divided, theta, 1.25 * c.magnitude);
  }
}

TEST(RopeTable, IsScaledAlikeWithoutYarn) {
  RopeNumbers numbers{.dims = 12, .freq_base = 5000, .scale = 8, .magnitude = 1.2};
  std::vector<double> theta;
  for (int i = 0; i < 6; ++i) theta.push_back(std::pow(5000, -i / 6.0) / 8);
  RopeTable table(numbers, nullptr);
  expect_rows(table, theta, 1.2);
}

// With a base just above 1, or an original context that no pair turns in, all stays finite.
TEST(RopeTable, IsFiniteWithAbsurdNumbersOfYarn) {
  for (const double base : {1 + 1e-15, 1.001, 1e300}) {
    for (const double original : {1.0, 4294967296.0}) {
      for (const double factor : {1.0, 1e300}) {
        RopeNumbers numbers{.dims = 64, .freq_base = base, .scale = factor};
        numbers.yarn = Yarn{.original_context = original};
        RopeTable table(numbers, nullptr);
        ASSERT_TRUE(table.extend(300).has_value());
        for (int i = 0; i < 32; ++i) {
          EXPECT_LE(std::abs(table.cos(299)[i]), 1) << base << " " << original << " " << factor;
          EXPECT_LE(std::abs(table.sin(299)[i]), 1) << base << " " << original << " " << factor;
        }
      }
    }
  }
}

}  // namespace
}  // namespace sluice
