// Tests how many threads the tuner chooses from the times of tokens.
#include "session/thread_tuner.h"

#include <gtest/gtest.h>

#include <functional>

namespace sluice {
namespace {

// The tuner's choice after `tokens` tokens that take seconds(threads) each.
int settle(ThreadTuner& tuner, int tokens, const std::function<double(int)>& seconds) {
  for (int i = 0; i < tokens; ++i) tuner.add(seconds(tuner.threads()));
  return tuner.threads();
}

TEST(ThreadTuner, KeepsAllWhereMoreAreFaster) {
  ThreadTuner tuner(8, true);
  EXPECT_EQ(tuner.threads(), 8);
  EXPECT_EQ(settle(tuner, 20, [](int n) { return 1.0 / n; }), 8);
  EXPECT_EQ(tuner.best(), 8);
}

TEST(ThreadTuner, FindsTheFewerThatAreFaster) {
  const auto crowded = [](int n) { return n > 2 ? 1.0 * n : 2.0 / n; };
  ThreadTuner tuner(8, true);
  EXPECT_EQ(settle(tuner, 100, crowded), 2);
  ThreadTuner odd(3, true);
  EXPECT_EQ(settle(odd, 100, [](int n) { return n; }), 1);
}

TEST(ThreadTuner, KeepsMoreWhereItHardlyMatters) {
  ThreadTuner tuner(4, true);
  EXPECT_EQ(settle(tuner, 100, [](int n) { return n == 4 ? 1.0 : 0.99; }), 4);
}

// A single slow token does not count.
TEST(ThreadTuner, TakesTheBestOfSeveral) {
  int token = 0;
  ThreadTuner tuner(4, true);
  EXPECT_EQ(settle(tuner, 30, [&](int n) { return token++ == 2 ? 100.0 : 1.0 / n; }), 4);
}

TEST(ThreadTuner, AsksAgainLater) {
  bool busy = true;
  const auto seconds = [&](int n) { return busy ? n : 1.0 / n; };
  ThreadTuner tuner(4, true);
  EXPECT_EQ(settle(tuner, 100, seconds), 1);
  busy = false;
  EXPECT_EQ(settle(tuner, 1000, seconds), 4);
}

TEST(ThreadTuner, LeavesANumberThatWasAskedFor) {
  ThreadTuner tuner(4, false);
  EXPECT_EQ(settle(tuner, 1000, [](int n) { return n; }), 4);
}

}  // namespace
}  // namespace sluice
