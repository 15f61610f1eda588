// Compares every kernel table that this machine supports with the scalar definitions (parity.h).
#include "parity.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <ostream>

#include "kernels/self_test.h"

namespace sluice {

#if defined(SLUICE_EVEX_TWIN)
extern const Kernels kAvxVnniEvex;  // avxvnni.cc for machines with AVX-512 VNNI but not AVX-VNNI
#endif

namespace {

std::vector<const Kernels*> tables() {
  std::vector<const Kernels*> all(all_kernels().begin(), all_kernels().end());
#if defined(SLUICE_EVEX_TWIN)
  all.push_back(&kAvxVnniEvex);
#endif
  return all;
}

struct Case {
  const Kernels* kernels;
  parity::Check check;
};

// GoogleTest prints a case so.
void PrintTo(const Case& test_case, std::ostream* out) {
  *out << test_case.kernels->name << ", " << test_case.check.name;
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Kernels* kernels : tables()) {
    for (const parity::Check& check : parity::checks()) all.push_back({kernels, check});
  }
  return all;
}

class Parity : public testing::TestWithParam<Case> {};

TEST_P(Parity, MatchesTheDefinition) {
  if (!GetParam().kernels->supported()) {
    GTEST_SKIP() << "this machine cannot run " << GetParam().kernels->name;
  }
  parity::Report report;
  GetParam().check.run(*GetParam().kernels, report);
  EXPECT_GT(report.comparisons, 0);
  EXPECT_EQ(report.failures, 0);
  for (const std::string& message : report.messages) ADD_FAILURE() << message;
}

INSTANTIATE_TEST_SUITE_P(Tables, Parity, testing::ValuesIn(cases()), [](const auto& param) {
  return std::string(param.param.kernels->name) + "_" + param.param.check.name;
});

// gelu is the form with tanh, which models were trained with.
TEST(Gelu, IsHalfOfOnePlusTheTangent) {
  for (int i = -1600; i <= 1600; i += 16) {
    float x[16];
    for (int lane = 0; lane < 16; ++lane) x[lane] = static_cast<float>(i + lane) / 128;
    float got[16];
    choose_kernels("generic")->gelu(x, 16, got);
    for (int lane = 0; lane < 16; ++lane) {
      const double v = x[lane];
      const double t = std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v));
      EXPECT_NEAR(got[lane], 0.5 * v * (1 + t), 1e-6 * (1 + std::abs(v))) << v;
    }
  }
}

// gelu_exact is the form with erf.
TEST(Gelu, IsExactWhereAModelSaysSo) {
  for (int i = -1600; i <= 1600; i += 16) {
    float x[16];
    for (int lane = 0; lane < 16; ++lane) x[lane] = static_cast<float>(i + lane) / 128;
    float got[16];
    choose_kernels("generic")->gelu_exact(x, 16, got);
    for (int lane = 0; lane < 16; ++lane) {
      const double v = x[lane];
      const double exact = 0.5 * v * (1 + std::erf(v / M_SQRT2));
      EXPECT_NEAR(got[lane], exact, 1e-6 * std::max(1.0, std::abs(v))) << v;
    }
  }
  // What isn't finite stays so, and what is large as well.
  float wide[16] = {std::nanf(""), INFINITY, -INFINITY, 0x1p47f, -0x1p47f};
  choose_kernels("generic")->gelu_exact(wide, 16, wide);
  for (int lane = 0; lane < 3; ++lane) EXPECT_FALSE(std::isfinite(wide[lane]));
  EXPECT_EQ(wide[3], 0x1p47f);
  EXPECT_EQ(wide[4], 0);
  EXPECT_EQ(wide[5], 0);
}

// Tables whose instructions differ by machine run these checks of themselves at start.
TEST(SelfTest, AcceptsRightKernelsAndRefusesWrongOnes) {
  for (const Kernels* kernels : tables()) {
    if (!kernels->supported()) continue;
    EXPECT_TRUE(gemm_is_exact(*kernels)) << kernels->name;
    EXPECT_TRUE(direct_is_exact(*kernels)) << kernels->name;
  }
  Kernels wrong = *choose_kernels("generic");
  wrong.gemm = [](const Panel&, const Acts&, int, float*, int64_t) {};
  EXPECT_FALSE(gemm_is_exact(wrong));
  EXPECT_TRUE(direct_is_exact(wrong));
  wrong.direct = [](Type type, const uint8_t* strip, const Acts& acts, int n_tokens, float* out,
                    int64_t out_stride) {
    if (type == Type::Q5_1) type = Type::Q5_0;  // one type wrong is enough (a smaller one)
    choose_kernels("generic")->direct(type, strip, acts, n_tokens, out, out_stride);
  };
  EXPECT_FALSE(direct_is_exact(wrong));
}

// Tests the checks themselves: they find a wrong bit.
TEST(ParityReport, FindsADifference) {
  parity::Report report;
  const float got[] = {1.0f, -0.0f}, want[] = {1.0f, 0.0f};
  report.equal("signs of zero", got, want, 2);
  EXPECT_EQ(report.failures, 1);
  report.equal("equal", got, got, 2);
  EXPECT_EQ(report.failures, 1);
  EXPECT_EQ(report.comparisons, 2);
}

TEST(Dispatch, NamesAreUniqueAndGenericIsLast) {
  std::vector<std::string> names;
  for (const Kernels* kernels : all_kernels()) {
    for (const std::string& name : names) EXPECT_NE(name, kernels->name);
    names.push_back(kernels->name);
    EXPECT_TRUE(kernels->name != std::string("generic") || kernels->supported());
  }
  EXPECT_EQ(names.back(), "generic");
}

TEST(Dispatch, ChoosesByNameByEnvironmentAndByRank) {
  unsetenv("SLUICE_KERNELS");
  const Kernels* best = choose_kernels();
  ASSERT_NE(best, nullptr);
  for (const Kernels* kernels : all_kernels()) {
    if (!kernels->supported()) {
      EXPECT_EQ(choose_kernels(kernels->name), nullptr);
      continue;
    }
    EXPECT_EQ(choose_kernels(kernels->name), kernels);
    setenv("SLUICE_KERNELS", kernels->name, 1);
    EXPECT_EQ(choose_kernels(), kernels);
    EXPECT_EQ(choose_kernels("generic")->name, std::string("generic"));
    EXPECT_NE(std::string(supported_kernel_names()).find(kernels->name), std::string::npos);
    unsetenv("SLUICE_KERNELS");
    EXPECT_EQ(choose_kernels(), best);
  }
  setenv("SLUICE_KERNELS", "no-such-table", 1);
  EXPECT_EQ(choose_kernels(), nullptr);
  unsetenv("SLUICE_KERNELS");
  EXPECT_EQ(choose_kernels("no-such-table"), nullptr);
}

}  // namespace
}  // namespace sluice
