// Made templates with made inputs: no text of an input becomes a control token
// (fuzz/template_truth.h).
#include <gtest/gtest.h>

#include "fuzz/template_truth.h"

namespace sluice {
namespace {

TEST(MadeTemplates, TakeNoControlTokensFromTheInput) {
  TemplateTruth truth;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    const auto wrong = truth.check(bytes_of_seed(seed, 1200));
    EXPECT_FALSE(wrong.has_value()) << "seed " << seed << ": " << wrong.value_or("");
  }
  EXPECT_TRUE(tell_something(truth.counts())) << shown(truth.counts());
}

}  // namespace
}  // namespace sluice
