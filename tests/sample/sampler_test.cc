#include "sample/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

namespace sluice {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Options : SamplerOptions, PenaltyOptions {};

// Options that don't change the distribution.
Options plain(uint64_t seed = 1) {
  return {{.temperature = 1, .top_k = 0, .top_p = 1, .min_p = 0, .seed = seed}, {}};
}

// The defaults of a generation.
Options usual() { return {{.temperature = 0.8f, .top_k = 40, .top_p = 0.95f, .min_p = 0.05f}, {}}; }

// How often each token came in n draws.
std::map<int32_t, int> draw(const Options& options, const std::vector<float>& logits, int n = 2000,
                            const std::vector<int32_t>& recent = {}) {
  Sampler sampler(options, options);
  std::map<int32_t, int> counts;
  for (int i = 0; i < n; ++i) ++counts[sampler.sample(logits, recent)];
  return counts;
}

std::set<int32_t> drawn(const Options& options, const std::vector<float>& logits,
                        const std::vector<int32_t>& recent = {}) {
  std::set<int32_t> ids;
  for (const auto& [id, count] : draw(options, logits, 2000, recent)) ids.insert(id);
  return ids;
}

std::vector<float> varied_logits(size_t n) {
  std::vector<float> logits(n);
  uint32_t state = 7;
  for (float& logit : logits) {
    state = state * 1664525 + 1013904223;
    logit = static_cast<float>(state >> 8) * 0x1p-24f * 12;
  }
  return logits;
}

TEST(Sampler, GreedyTakesTheBestAndOfEqualOnesTheFirst) {
  Options options = plain();
  options.temperature = 0;
  EXPECT_EQ(Sampler(options, options).sample(std::vector<float>{1, 3, 2}, {}), 1);
  EXPECT_EQ(Sampler(options, options).sample(std::vector<float>{1, 3, 3, 3}, {}), 1);
  EXPECT_EQ(Sampler(options, options).sample(std::vector<float>{-5}, {}), 0);
}

TEST(Sampler, SuppressedTokensNeverCome) {
  const std::vector<float> logits = {1, 9, 8, 0, 9};
  const std::vector<int32_t> suppressed = {1, 4};
  Options options = plain();
  options.suppressed = suppressed;
  options.logit_bias = {{1, 100.f}, {3, 100.f}, {4, -1.f}};
  EXPECT_EQ(drawn(options, logits), (std::set<int32_t>{3}));
  options.logit_bias = {};
  EXPECT_EQ(drawn(options, logits), (std::set<int32_t>{0, 2, 3}));
  // Whatever else changes or chooses logits.
  options.repeat_penalty = 100;
  options.presence_penalty = -2;
  options.top_n_sigma = 100;
  options.typical_p = 0.99f;
  options.xtc_probability = 0.5f;
  options.xtc_threshold = 0;
  for (const int32_t id : drawn(options, logits, {1, 1, 4, 2})) EXPECT_TRUE(id != 1 && id != 4);
  options.temperature = 0;
  options.repeat_penalty = 1;
  EXPECT_EQ(drawn(options, logits), (std::set<int32_t>{2}));
}

TEST(Sampler, FollowsTheDistribution) {
  // Weights 1 : 2 : 5.
  const std::vector<float> logits = {0, std::log(2.f), std::log(5.f)};
  auto counts = draw(plain(), logits, 8000);
  EXPECT_NEAR(counts[0], 1000, 150);
  EXPECT_NEAR(counts[1], 2000, 200);
  EXPECT_NEAR(counts[2], 5000, 250);
  Options cold = plain();
  cold.temperature = 0.5f;  // weights 1 : 4 : 25
  counts = draw(cold, logits, 9000);
  EXPECT_NEAR(counts[0], 300, 80);
  EXPECT_NEAR(counts[1], 1200, 160);
}

TEST(Sampler, TheSameSeedGivesTheSameChoicesOnEveryMachine) {
  const std::vector<float> logits = varied_logits(1000);
  Options options = usual();
  options.seed = 42;
  Sampler one(options, options);
  Sampler two(options, options);
  std::vector<int32_t> ids;
  for (int i = 0; i < 12; ++i) {
    ids.push_back(one.sample(logits, {}));
    EXPECT_EQ(two.sample(logits, {}), ids.back());
  }
  // The ids are part of the contract: a link with a seed must keep its text.
  EXPECT_EQ(ids, (std::vector<int32_t>{276, 489, 943, 678, 453, 618, 378, 10, 678, 708, 378, 950}));
  options.seed = 43;
  Sampler other(options, options);
  std::vector<int32_t> other_ids;
  for (int i = 0; i < 12; ++i) other_ids.push_back(other.sample(logits, {}));
  EXPECT_NE(other_ids, ids);
}

// What a run chooses from one distribution, each choice behind those before.
std::vector<int32_t> written(const Options& options, const std::vector<float>& logits, int n = 12,
                             std::vector<int32_t> tokens = {}) {
  Sampler sampler(options, options);
  const size_t before = tokens.size();
  for (int i = 0; i < n; ++i) tokens.push_back(sampler.sample(logits, tokens));
  return {tokens.begin() + static_cast<std::ptrdiff_t>(before), tokens.end()};
}

TEST(Sampler, TheOldestOptionsChooseAsTheyAlwaysDid) {
  const std::vector<float> logits = varied_logits(1000);
  Options options = usual();
  options.seed = 42;
  options.repeat_penalty = 1.3f;
  EXPECT_EQ(written(options, logits),
            (std::vector<int32_t>{276, 489, 444, 143, 453, 849, 943, 537, 123, 240, 117, 515}));
  options.top_k = 0;
  EXPECT_EQ(written(options, logits),
            (std::vector<int32_t>{187, 988, 27, 10, 869, 577, 955, 566, 932, 192, 123, 787}));
  options.top_p = 1;
  options.min_p = 0;
  EXPECT_EQ(written(options, logits),
            (std::vector<int32_t>{708, 128, 242, 351, 27, 869, 195, 790, 346, 604, 189, 480}));
  options.top_k = 7;
  EXPECT_EQ(written(options, logits),
            (std::vector<int32_t>{817, 453, 869, 489, 670, 988, 378, 143, 943, 580, 117, 189}));
  options.temperature = 0;
  EXPECT_EQ(written(options, logits),
            (std::vector<int32_t>{670, 453, 869, 49, 489, 817, 378, 117, 943, 444, 678, 988}));
  // 70 tokens that are drawn, each lowered for the next 64.
  options = {{.temperature = 0}, {.repeat_penalty = 1.5f}};
  const std::vector<int32_t> greedy = written(options, logits, 70);
  EXPECT_EQ(std::vector(greedy.end() - 8, greedy.end()),
            (std::vector<int32_t>{219, 732, 192, 670, 453, 869, 49, 489}));
}

TEST(Sampler, TopK) {
  Options options = plain();
  options.top_k = 2;
  EXPECT_EQ(drawn(options, {1, 1.2f, 0.9f, 1.1f}), (std::set<int32_t>{1, 3}));
  EXPECT_EQ(drawn(options, {1, 1, 1, 1}), (std::set<int32_t>{0, 1}));
  options.top_k = 100;
  EXPECT_EQ(drawn(options, {1, 1, 1}), (std::set<int32_t>{0, 1, 2}));
}

TEST(Sampler, TopPKeepsUntilTheSumIsReached) {
  // Probabilities 0.4, 0.3, 0.2, 0.1.
  const std::vector<float> logits = {std::log(0.1f), std::log(0.4f), std::log(0.2f),
                                     std::log(0.3f)};
  Options options = plain();
  options.top_p = 0.35f;
  EXPECT_EQ(drawn(options, logits), (std::set<int32_t>{1}));
  options.top_p = 0.65f;
  EXPECT_EQ(drawn(options, logits), (std::set<int32_t>{1, 3}));
  options.top_p = 0.85f;
  EXPECT_EQ(drawn(options, logits), (std::set<int32_t>{1, 2, 3}));
  options.top_p = 0;
  EXPECT_EQ(drawn(options, logits), (std::set<int32_t>{1}));
  // Relative to what top-k left: 0.4 of 0.7.
  options.top_p = 0.5f;
  options.top_k = 2;
  EXPECT_EQ(drawn(options, logits), (std::set<int32_t>{1}));
  // Among equals the lower ids stay.
  options.top_k = 0;
  EXPECT_EQ(drawn(options, {2, 2, 2, 2}), (std::set<int32_t>{0, 1}));
}

TEST(Sampler, MinPIsRelativeToTheBest) {
  const std::vector<float> logits = {std::log(0.1f), std::log(0.4f), std::log(0.2f),
                                     std::log(0.3f)};
  Options options = plain();
  options.min_p = 0.6f;
  EXPECT_EQ(drawn(options, logits), (std::set<int32_t>{1, 3}));
  options.min_p = 1;
  EXPECT_EQ(drawn(options, logits), (std::set<int32_t>{1}));
  // The cuts look at the distribution before the temperature.
  options.min_p = 0.6f;
  options.temperature = 50;
  EXPECT_EQ(drawn(options, logits), (std::set<int32_t>{1, 3}));
}

TEST(Sampler, RepeatPenaltyLooksAtTheLast64Tokens) {
  Options options = plain();
  options.temperature = 0;
  options.repeat_penalty = 2;
  const std::vector<float> logits = {3, 2, -1};
  EXPECT_EQ(Sampler(options, options).sample(logits, {}), 0);
  EXPECT_EQ(Sampler(options, options).sample(logits, std::vector<int32_t>{0}), 1);
  EXPECT_EQ(Sampler(options, options).sample(logits, std::vector<int32_t>{0, 0, 0}),
            1);  // once, not thrice
  // Ids outside the vocabulary are ignored.
  EXPECT_EQ(Sampler(options, options).sample(logits, std::vector<int32_t>{-1, 3, 1000}), 0);
  std::vector<int32_t> recent(65, 2);
  recent[0] = 0;
  EXPECT_EQ(Sampler(options, options).sample(logits, recent), 0);  // out of the window
  recent.erase(recent.begin() + 1);
  EXPECT_EQ(Sampler(options, options).sample(logits, recent), 1);
  // A negative logit gets more negative.
  EXPECT_EQ(
      Sampler(options, options).sample(std::vector<float>{-1, -1.5f}, std::vector<int32_t>{0}), 1);
}

TEST(Sampler, CutsAgreeWithSortingEverything) {
  const std::vector<float> logits = varied_logits(5000);
  std::vector<int32_t> order(logits.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int32_t>(i);
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    const float x = logits[static_cast<size_t>(a)];
    const float y = logits[static_cast<size_t>(b)];
    return x != y ? x > y : a < b;
  });
  double total = 0;
  for (const float logit : logits) total += std::exp(double{logit});
  Options options = plain();
  options.top_p = 0.01f;
  std::set<int32_t> expected;
  double sum = 0;
  for (const int32_t id : order) {
    if (sum >= 0.01 * total) break;
    expected.insert(id);
    sum += std::exp(double{logits[static_cast<size_t>(id)]});
  }
  EXPECT_EQ(drawn(options, logits), expected);
}

TEST(Sampler, HostileLogits) {
  for (const Options& options : {plain(), usual()}) {
    EXPECT_EQ(drawn(options, {kNan, 1, kNan}), (std::set<int32_t>{1}));
    EXPECT_EQ(drawn(options, {1, kInf, 5}), (std::set<int32_t>{1}));
    EXPECT_EQ(drawn(options, {-kInf, -kInf, 2}), (std::set<int32_t>{2}));
    EXPECT_EQ(drawn(options, {kNan, -kInf, kNan}), (std::set<int32_t>{0}));
    EXPECT_EQ(Sampler(options, options).sample({}, {}), 0);
  }
  Options tiny = plain();
  tiny.temperature = 1e-45f;
  EXPECT_EQ(drawn(tiny, {1, 2, 1.9999f}), (std::set<int32_t>{1}));
  Options penalized = plain();
  penalized.repeat_penalty = 0.01f;
  EXPECT_EQ(drawn(penalized, {3e38f, 1}, {0, 1}), (std::set<int32_t>{0}));
}

// 3000 logits of only 40 values, with some NaNs and infinities among them.
std::vector<float> coarse_logits() {
  std::vector<float> logits = varied_logits(3000);
  for (float& logit : logits) logit = std::floor(logit * 40 / 12);
  for (size_t i = 5; i < logits.size(); i += 700) logits[i] = kNan;
  for (size_t i = 1234; i < logits.size(); i += 1500) logits[i] = kInf;
  return logits;
}

TEST(BestLogprobs, AgreeWithSortingManyLogits) {
  const std::vector<float> logits = coarse_logits();
  std::vector<int32_t> ids(logits.size());
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int32_t>(i);
  const auto logit_of = [&](int32_t id) {
    const float logit = logits[static_cast<size_t>(id)];
    return std::isnan(logit) ? -kInf : logit;
  };
  std::sort(ids.begin(), ids.end(), [&](int32_t a, int32_t b) {
    return std::pair(-logit_of(a), a) < std::pair(-logit_of(b), b);
  });
  for (const int n : {1, 2, 3, 64, 65, 100, 2999, 3000}) {
    const auto best = best_logprobs(logits, n, 0);
    ASSERT_EQ(best.size(), static_cast<size_t>(n));
    for (size_t i = 0; i < best.size(); ++i) EXPECT_EQ(best[i].first, ids[i]) << i << " of " << n;
  }
}

TEST(Sampler, PenaltiesDecideAmongManyLogits) {
  std::vector<float> logits = varied_logits(3000);
  for (float& logit : logits) logit += 1;  // 1 to 13
  const auto best =
      static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
  Options options = plain();
  options.temperature = 0;
  // A token that is raised above all others wins, at any place.
  options.repeat_penalty = 0.01f;
  for (const int32_t id : {0, 63, 64, 1000, 2999})
    EXPECT_EQ(Sampler(options, options).sample(logits, std::vector{id}), id);
  // If the best one is lowered, the next one wins.
  options.repeat_penalty = 100;
  const int32_t second = Sampler(options, options).sample(logits, std::vector{best});
  EXPECT_NE(second, best);
  logits[static_cast<size_t>(best)] = 0;
  EXPECT_EQ(second, std::max_element(logits.begin(), logits.end()) - logits.begin());
}

TEST(BestLogprobs, AreSortedAndOfTheRawLogits) {
  const std::vector<float> logits = {1, 3, kNan, 3, 2};
  const double log_sum = 3 + std::log(std::exp(-2.) + 2 + std::exp(-1.));
  const auto best = best_logprobs(logits, 3, log_sum);
  ASSERT_EQ(best.size(), 3u);
  EXPECT_EQ(best[0].first, 1);
  EXPECT_EQ(best[1].first, 3);
  EXPECT_EQ(best[2].first, 4);
  EXPECT_FLOAT_EQ(best[0].second, static_cast<float>(3 - log_sum));
  EXPECT_FLOAT_EQ(best[2].second, static_cast<float>(2 - log_sum));
  EXPECT_EQ(best_logprobs(logits, 100, log_sum).size(), 5u);
  EXPECT_TRUE(best_logprobs(logits, 0, log_sum).empty());
  EXPECT_TRUE(best_logprobs(logits, -3, log_sum).empty());
  EXPECT_TRUE(best_logprobs({}, 3, 0).empty());
}

}  // namespace
}  // namespace sluice
