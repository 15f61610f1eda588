// Tests of views of choices: they show what the sampler does, also from the logits that were kept.
#include "sample/view_choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace sluice {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

double log_sum_of(const std::vector<float>& logits) {
  double max = -std::numeric_limits<double>::infinity(), sum = 0;
  for (const float logit : logits) max = std::max(max, static_cast<double>(tame(logit)));
  for (const float logit : logits) sum += std::exp(static_cast<double>(tame(logit)) - max);
  return max + std::log(sum);
}

RawLogits kept_of(const std::vector<float>& logits, size_t n) {
  RawLogits raw;
  raw.log_sum = log_sum_of(logits);
  std::vector<Candidate> best;
  select_best({logits, {}}, std::min(n, logits.size()), best);
  for (const auto& [logit, id] : best) raw.best.emplace_back(id, logit);
  return raw;
}

ChoiceView view_all(const std::vector<float>& logits, const ChoiceSetting& setting) {
  return view_choice(logits, log_sum_of(logits), setting);
}
ChoiceView view_kept(const std::vector<float>& logits, size_t n, const ChoiceSetting& setting) {
  return view_choice(kept_of(logits, n), static_cast<int64_t>(logits.size()), setting);
}

std::vector<std::string_view> step_names(const ChoiceView& view) {
  std::vector<std::string_view> names;
  for (const ChoiceView::Step& step : view.steps) names.push_back(choice_step_name(step.step));
  return names;
}

// Random cases, the same in each run.
class Cases {
 public:
  int below(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }
  bool one_in(int n) { return below(n) == 0; }
  float between(float least, float most) {
    return least + (most - least) * static_cast<float>(random_() >> 8) * 0x1p-24f;
  }

  std::vector<float> logits() {
    std::vector<float> out(static_cast<size_t>(1 + below(one_in(3) ? 600 : 60)));
    const float width = between(0.5f, 30);
    const bool ties = one_in(3), strange = one_in(4);
    for (float& logit : out) {
      logit = between(-width, width) - between(0, width);
      if (ties) logit = std::round(logit);
      if (strange && one_in(10)) {
        const float values[] = {kNan, kInf, -kInf, 3e38f, -3e38f, 0, -0.f};
        logit = values[below(7)];
      }
    }
    return out;
  }

  // Its text is short of tokens, so that they repeat.
  ChoiceSetting setting(int n_vocab) {
    ChoiceSetting s;
    s.sampler.temperature = one_in(5) ? 0 : one_in(4) ? 1 : between(0.05f, 3);
    if (!one_in(4)) s.sampler.top_k = 1 + below(one_in(2) ? 10 : 80);
    if (one_in(2)) s.sampler.top_p = between(0, 1);
    if (one_in(2)) s.sampler.min_p = between(0, 0.5f);
    if (one_in(6)) s.sampler.top_n_sigma = between(0.1f, 3);
    if (one_in(3)) s.sampler.typical_p = between(0, 1);
    if (one_in(3)) s.sampler.xtc_probability = between(0, 1);
    s.sampler.xtc_threshold = between(0, 0.4f);
    s.sampler.seed = random_();
    s.sampler.draws = static_cast<uint64_t>(below(1000));
    const int of = std::min(n_vocab, 3 + below(30));
    tokens_.clear();
    for (int i = below(60); i > 0; --i) tokens_.push_back(below(of) * (n_vocab / of));
    s.before = tokens_;
    s.penalties.prompt_tokens = static_cast<size_t>(below(60));
    if (one_in(2)) s.penalties.repeat_penalty = between(one_in(3) ? 0.5f : 1, 2);
    s.penalties.repeat_last_n = one_in(3) ? -1 : below(40);
    if (one_in(3)) s.penalties.presence_penalty = between(one_in(3) ? -2 : 0, 2);
    if (one_in(3)) s.penalties.frequency_penalty = between(one_in(3) ? -2 : 0, 2);
    if (one_in(3)) {
      for (int i = 1 + below(4); i > 0; --i)
        s.penalties.logit_bias.emplace_back(below(n_vocab + 2), between(one_in(2) ? -20 : 0, 20));
    }
    suppressed_.clear();
    if (one_in(3))
      for (int id = below(5); id < n_vocab + 3; id += 1 + below(9)) suppressed_.push_back(id);
    s.penalties.suppressed = suppressed_;
    if (one_in(3)) s.penalties.dry.multiplier = between(0, 5);
    s.penalties.dry.allowed_length = 1 + below(3);
    if (one_in(2)) s.penalties.dry.breakers = {"c", "dd"};
    s.piece = [this](int32_t id) { return std::string_view(pieces_[static_cast<size_t>(id) % 7]); };
    s.most = 1000;
    return s;
  }

 private:
  std::mt19937 random_{7};
  std::vector<TokenId> tokens_;
  std::vector<TokenId> suppressed_;
  std::string pieces_[7] = {"a", "b", "bd", "d", "", "ea", "f"};
};

TEST(ViewChoice, AViewTakesWhatTheSamplerTakes) {
  Cases cases;
  for (int i = 0; i < 4000; ++i) {
    const std::vector<float> logits = cases.logits();
    const ChoiceSetting setting = cases.setting(static_cast<int>(logits.size()));
    const ChoiceView view = view_all(logits, setting);
    ASSERT_TRUE(view.enough);
    Sampler sampler(setting.sampler, setting.penalties, setting.piece);
    ASSERT_EQ(view.taken, sampler.sample(logits, setting.before)) << i;
    // The probabilities of all, and where the random number lies in them.
    ASSERT_EQ(view.candidates.size(), logits.size());
    double sum = 0;
    uint64_t drawn = 0;
    std::vector<float> p(logits.size());
    for (const ChoiceView::Token& token : view.candidates) {
      sum += static_cast<double>(token.p);
      drawn += token.p > 0;
      EXPECT_TRUE(token.p == 0 || token.cut < 0 || view.nucleus == 1) << i;
      EXPECT_LT(token.cut, static_cast<int>(view.steps.size()));
      p[static_cast<size_t>(token.id)] = token.p;
    }
    EXPECT_NEAR(sum, 1, 1e-5) << i;
    EXPECT_EQ(drawn, view.nucleus) << i;
    EXPECT_GT(p[static_cast<size_t>(view.taken)], 0) << i;
    EXPECT_LE(view.mass, 1 + 1e-5);
    EXPECT_EQ(view.place.has_value(), sampler.draws() > setting.sampler.draws) << i;
    uint64_t left = logits.size();
    for (const ChoiceView::Step& step : view.steps) {
      EXPECT_LE(step.left, left) << i;
      left = step.left;
      EXPECT_TRUE(step.mass >= 0 && step.mass <= 1.0001) << i;
    }
  }
}

// Bit by bit, whatever the text, the options and what was kept.
TEST(ViewChoice, KeptLogitsGiveTheViewOfAllOrSayThatTheyDoNot) {
  Cases cases;
  std::map<bool, int> enough;
  int partly = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::vector<float> logits = cases.logits();
    ChoiceSetting setting = cases.setting(static_cast<int>(logits.size()));
    const ChoiceView all = view_all(logits, setting);
    const auto n = static_cast<size_t>(1 + cases.below(cases.one_in(2) ? 256 : 20));
    const ChoiceView kept = view_kept(logits, n, setting);
    ++enough[kept.enough];
    if (!kept.enough) {
      EXPECT_TRUE(n < logits.size()) << i;
      EXPECT_TRUE(kept.steps.empty() && kept.candidates.empty() && kept.taken == kNoToken);
      continue;
    }
    partly += n < logits.size();
    const bool usual = std::ranges::all_of(logits, [](float x) { return std::fabs(x) < 1e30f; });
    ASSERT_EQ(kept.taken, all.taken) << i;
    ASSERT_EQ(kept.place, all.place) << i;
    ASSERT_EQ(kept.nucleus, all.nucleus) << i;
    EXPECT_NEAR(kept.mass, all.mass, 1e-5) << i;
    ASSERT_EQ(step_names(kept), step_names(all)) << i;
    for (size_t s = 0; s < all.steps.size(); ++s) {
      // Of those that weren't kept nobody knows which the model or a penalty makes -infinity.
      if (all.steps[s].step == ChoiceStep::penalties && !usual) continue;
      ASSERT_EQ(kept.steps[s].left, all.steps[s].left) << i << " " << s;
    }
    ASSERT_EQ(kept.candidates.size(), std::min(n, logits.size())) << i;
    double others = 1;
    for (size_t c = 0; c < kept.candidates.size(); ++c) {
      const ChoiceView::Token& one = kept.candidates[c];
      const ChoiceView::Token& same = all.candidates[c];
      ASSERT_EQ(one.id, same.id) << i;
      ASSERT_EQ(one.logprob, same.logprob) << i;
      ASSERT_EQ(one.cut, same.cut) << i;
      ASSERT_EQ(one.p, same.p) << i;
      others -= static_cast<double>(one.p);
    }
    EXPECT_NEAR(others, 0, 1e-5) << i << ": no other could be drawn";
  }
  EXPECT_GT(partly, 3000);
  EXPECT_GT(enough[false], 3000);
}

// The changed log-probabilities and masses, where penalties changed only what was kept.
TEST(ViewChoice, KeptLogitsCountTheChangesOfTheirOwn) {
  std::vector<float> logits(500, -3);
  for (size_t i = 0; i < 20; ++i) logits[i * 10] = static_cast<float>(i) * 0.3f;
  const std::vector<TokenId> before = {190, 180, 180};
  ChoiceSetting setting;
  setting.sampler.top_k = 5;
  setting.penalties.frequency_penalty = 1;
  setting.penalties.logit_bias = {{170, -kInf}, {160, 2.f}};
  setting.before = before;
  setting.most = 20;
  const ChoiceView all = view_all(logits, setting);
  const ChoiceView kept = view_kept(logits, 20, setting);
  ASSERT_TRUE(kept.enough);
  for (size_t c = 0; c < 20; ++c) {
    if (std::isinf(all.candidates[c].changed)) {
      EXPECT_EQ(all.candidates[c].changed, kept.candidates[c].changed);
    } else {
      EXPECT_NEAR(all.candidates[c].changed, kept.candidates[c].changed, 1e-4) << c;
    }
  }
  ASSERT_EQ(kept.steps.size(), 2u);
  EXPECT_EQ(kept.steps[0].left, 499u);
  EXPECT_EQ(kept.steps[0].mass, 1);
  EXPECT_EQ(kept.steps[1].left, 5u);
  EXPECT_NEAR(kept.steps[1].mass, all.steps[1].mass, 1e-5);
  double sum = 0;  // of all after penalties
  for (const ChoiceView::Token& token : view_all(logits,
                                                 [&] {
                                                   ChoiceSetting every = setting;
                                                   every.most = 500;
                                                   return every;
                                                 }())
                                            .candidates)
    sum += std::exp(static_cast<double>(token.changed));
  EXPECT_NEAR(sum, 1, 1e-5);
}

TEST(ViewChoice, StepsAreInTheSamplersOrderAndSayWhatTheyCut) {
  // Probabilities 0.4, 0.3, 0.15, 0.1, 0.04, 0.01.
  std::vector<float> logits;
  for (const float p : {0.4f, 0.3f, 0.15f, 0.1f, 0.04f, 0.01f}) logits.push_back(std::log(p));
  ChoiceSetting setting;
  setting.sampler = {.temperature = 0.5f,
                     .top_k = 5,
                     .top_p = 0.9f,
                     .min_p = 0.3f,
                     .top_n_sigma = 100,
                     .typical_p = 0.999999f,
                     .xtc_probability = 1,
                     .xtc_threshold = 0.35f};
  setting.penalties.presence_penalty = 1;
  setting.most = 3;
  const ChoiceView view = view_all(logits, setting);
  EXPECT_EQ(step_names(view),
            (std::vector<std::string_view>{"penalties", "topNSigma", "topK", "typicalP", "topP",
                                           "minP", "xtc", "temperature"}));
  const uint64_t left[] = {6, 6, 5, 5, 4, 3, 2, 2};
  const double mass[] = {1, 1, 0.99, 0.99, 0.95, 0.85, 0.45, 0.45};
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(view.steps[i].left, left[i]) << i;
    EXPECT_NEAR(view.steps[i].mass, mass[i], 1e-5) << i;
  }
  EXPECT_EQ(view.nucleus, 2u);
  EXPECT_NEAR(view.mass, 0.45, 1e-5);
  ASSERT_EQ(view.candidates.size(), 3u);
  EXPECT_EQ(view.candidates[0].id, 0);
  EXPECT_EQ(view.candidates[0].cut, 6);
  EXPECT_EQ(view.candidates[0].p, 0);
  // 0.3 and 0.15 at the temperature 0.5: 4 : 1.
  EXPECT_NEAR(view.candidates[1].p, 0.8, 1e-5);
  EXPECT_NEAR(view.candidates[2].p, 0.2, 1e-5);
  EXPECT_EQ(view.candidates[2].cut, -1);
  EXPECT_NEAR(view.candidates[1].logprob, std::log(0.3), 1e-5);
  EXPECT_NEAR(view.candidates[1].changed, std::log(0.3), 1e-5);
  // Without any step.
  setting = {};
  setting.most = 6;
  const ChoiceView plain = view_all(logits, setting);
  EXPECT_TRUE(plain.steps.empty());
  EXPECT_EQ(plain.nucleus, 6u);
  for (const ChoiceView::Token& token : plain.candidates)
    EXPECT_NEAR(token.p, std::exp(logits[static_cast<size_t>(token.id)]), 1e-5);
}

TEST(ViewChoice, OneThatIsTakenFromBehindIsToldOf) {
  const std::vector<float> logits = {5, 4, 3, 2, 1};
  ChoiceSetting setting;
  setting.sampler.temperature = 0;
  setting.penalties.logit_bias = {{4, 100.f}, {0, -kInf}};
  setting.most = 2;
  const ChoiceView view = view_all(logits, setting);
  EXPECT_EQ(view.taken, 4);
  ASSERT_EQ(view.candidates.size(), 3u);
  EXPECT_EQ(view.candidates[2].id, 4);
  EXPECT_EQ(view.candidates[2].p, 1);
  EXPECT_FALSE(view.place.has_value());
  EXPECT_EQ(step_names(view), (std::vector<std::string_view>{"penalties", "temperature"}));
  EXPECT_EQ(view.candidates[0].cut, 0);  // banned
  EXPECT_EQ(view.candidates[1].cut, 1);
  EXPECT_EQ(view.steps[0].left, 4u);
  EXPECT_EQ(view.steps[1].left, 1u);
}

TEST(ViewChoice, SaysWhereOthersCouldBeTaken) {
  std::vector<float> logits(100);
  for (size_t i = 0; i < 100; ++i) logits[i] = -static_cast<float>(i);
  const std::vector<TokenId> before = {50, 1};
  ChoiceSetting base;
  base.sampler.top_k = 4;
  base.before = before;
  const auto enough = [&](auto change, size_t kept = 10) {
    ChoiceSetting setting = base;
    change(setting);
    return view_kept(logits, kept, setting).enough;
  };
  using S = ChoiceSetting;
  EXPECT_TRUE(enough([](S&) {}));
  EXPECT_FALSE(enough([](S& s) { s.sampler.top_k = 0; }));
  EXPECT_TRUE(enough([](S& s) { s.sampler.top_k = 0; }, 100));
  EXPECT_TRUE(enough([](S& s) { s.sampler.top_k = 9; }));
  EXPECT_FALSE(enough([](S& s) { s.sampler.top_k = 10; }));  // the tenth is the least kept
  EXPECT_FALSE(enough([](S& s) { s.sampler.top_k = 11; }));
  EXPECT_FALSE(enough([](S& s) { s.sampler.top_n_sigma = 3; }));
  EXPECT_TRUE(enough([](S& s) { s.sampler.top_n_sigma = 3; }, 100));
  EXPECT_TRUE(enough([](S& s) {
    s.sampler.temperature = 0;
    s.sampler.top_n_sigma = 3;
    s.sampler.top_k = 0;
  }));
  EXPECT_TRUE(enough([](S& s) { s.penalties.logit_bias = {{5, 50.f}, {60, -1.f}}; }));
  // The fourth has -3, and what wasn't kept -9 at most.
  EXPECT_TRUE(enough([](S& s) { s.penalties.logit_bias = {{60, 5.9f}}; }));
  EXPECT_FALSE(enough([](S& s) { s.penalties.logit_bias = {{60, 6.f}}; }));
  // Seven of ten go: the best left is not sure to be better than what wasn't kept.
  EXPECT_FALSE(enough([](S& s) {
    for (TokenId id = 0; id < 7; ++id) s.penalties.logit_bias.emplace_back(id, -100.f);
  }));
  EXPECT_TRUE(enough([](S& s) { s.penalties.repeat_penalty = 2; }));
  EXPECT_FALSE(enough([](S& s) { s.penalties.repeat_penalty = 0.9f; }));
  EXPECT_TRUE(enough([](S& s) {
    s.penalties.repeat_penalty = 0.9f;
    s.penalties.repeat_last_n = 1;
  }));
  EXPECT_FALSE(enough([](S& s) { s.penalties.presence_penalty = -1; }));
  EXPECT_TRUE(enough([](S& s) {
    s.penalties.presence_penalty = -1;
    s.penalties.prompt_tokens = 1;
  }));
  EXPECT_FALSE(enough([](S& s) { s.penalties.frequency_penalty = -1; }));
}

TEST(ViewChoice, NothingBreaksIt) {
  const ChoiceSetting setting;
  EXPECT_FALSE(view_choice(std::vector<float>{}, 0, setting).enough);
  EXPECT_FALSE(view_choice(RawLogits{}, 5, setting).enough);
  for (const float value : {kNan, -kInf, kInf, 0.f}) {
    const std::vector<float> logits(5, value);
    for (const float temperature : {0.f, 1.f}) {
      ChoiceSetting one;
      one.sampler.temperature = temperature;
      one.sampler.top_k = 2;
      one.most = 5;
      const ChoiceView view = view_all(logits, one);
      EXPECT_EQ(view.candidates.size(), 5u);
      EXPECT_GE(view.nucleus, 1u);
      EXPECT_FALSE(view_kept(logits, 3, one).enough);  // all are equal
      EXPECT_EQ(view_kept(logits, 5, one).taken, view.taken);
    }
  }
  // Numbers of a file that somebody made.
  RawLogits raw = {.log_sum = static_cast<double>(kNan),
                   .entropy = -1,
                   .draws = UINT64_MAX,
                   .best = {{2147483646, 1.f}, {0, kNan}, {7, 5.f}}};
  ChoiceSetting one;
  one.sampler.top_k = 1;
  EXPECT_EQ(view_choice(raw, 2147483647, one).taken, 7);
  raw.log_sum = static_cast<double>(kInf);
  EXPECT_EQ(view_choice(raw, 2147483647, one).nucleus, 1u);
}

}  // namespace
}  // namespace sluice
