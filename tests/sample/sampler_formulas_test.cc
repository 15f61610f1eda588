// Tests of each sampler against a plain computation of its published formula, and of their order.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <string>

#include "base/format.h"
#include "sample/sampler.h"

namespace sluice {
namespace {

using Tokens = std::vector<int32_t>;
using Logits = std::map<int32_t, double>;

struct Options : SamplerOptions, PenaltyOptions {};

constexpr float kInf = std::numeric_limits<float>::infinity();

// A vocabulary of 40 tokens whose texts are one or two of "a", "b", ":" and a newline.
std::string text_of(int32_t id) {
  std::string text;
  for (int32_t rest = id + 4; rest > 3; rest /= 4) text += "ab:\n"[rest % 4];
  return text;
}
std::string_view piece_of(int32_t id) {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> texts;
    for (int32_t i = 0; i < 40; ++i) texts.push_back(text_of(i));
    return texts;
  }();
  return id >= 0 && id < 40 ? std::string_view(all[static_cast<size_t>(id)]) : "";
}

// --- the formulas, one after the other -----------------------------------------------------------

void add_biases(Logits& logits, const Options& o) {
  for (const auto& [id, bias] : o.logit_bias) logits[id] += static_cast<double>(bias);
}

void add_penalties(Logits& logits, const Options& o, const Tokens& tokens) {
  const size_t window = o.repeat_last_n < 0 ? tokens.size() : static_cast<size_t>(o.repeat_last_n);
  for (auto& [id, logit] : logits) {
    const size_t begin = tokens.size() - std::min(window, tokens.size());
    const auto repeat = static_cast<double>(o.repeat_penalty);
    if (std::count(tokens.begin() + static_cast<std::ptrdiff_t>(begin), tokens.end(), id) > 0)
      logit = logit > 0 ? logit / repeat : logit * repeat;
    const auto count = static_cast<double>(std::count(
        tokens.begin() + static_cast<std::ptrdiff_t>(o.prompt_tokens), tokens.end(), id));
    logit -= count * static_cast<double>(o.frequency_penalty);
    logit -= (count > 0 ? 1 : 0) * static_cast<double>(o.presence_penalty);
  }
}

// Whether a breaker ends in the last token.
bool breaks(const Tokens& tokens, const std::vector<std::string>& breakers) {
  std::string text;
  for (const int32_t id : tokens) text += piece_of(id);
  const size_t last = text.size() - piece_of(tokens.back()).size();
  return std::any_of(breakers.begin(), breakers.end(), [&](const std::string& breaker) {
    for (size_t at = text.find(breaker); at != std::string::npos; at = text.find(breaker, at + 1))
      if (at + breaker.size() > last) return true;
    return false;
  });
}

void add_dry(Logits& logits, const Options& o, const Tokens& tokens) {
  if (o.dry.multiplier == 0) return;
  const size_t n = tokens.size();
  const size_t window = o.dry.last_n < 0 ? n : std::min(n, static_cast<size_t>(o.dry.last_n));
  size_t most = 0;
  while (most < window &&
         !breaks(Tokens(tokens.begin(), tokens.end() - static_cast<std::ptrdiff_t>(most)),
                 o.dry.breakers))
    ++most;
  std::map<int32_t, size_t> longest;
  for (size_t next = n - window + 1; next < n; ++next) {
    size_t length = 0;
    while (length < most && next - length > n - window &&
           tokens[next - 1 - length] == tokens[n - 1 - length])
      ++length;
    longest[tokens[next]] = std::max(longest[tokens[next]], length);
  }
  for (const auto& [id, length] : longest) {
    Tokens with = tokens;
    with.push_back(id);
    const auto allowed = static_cast<size_t>(o.dry.allowed_length);
    if (length < allowed || breaks(with, o.dry.breakers)) continue;
    logits[id] -= static_cast<double>(o.dry.multiplier) *
                  std::pow(static_cast<double>(o.dry.base), static_cast<double>(length - allowed));
  }
}

std::map<int32_t, double> probabilities(const Logits& logits) {
  double total = 0;
  for (const auto& [id, logit] : logits) total += std::exp(logit);
  std::map<int32_t, double> p;
  for (const auto& [id, logit] : logits) p[id] = std::exp(logit) / total;
  return p;
}

// Keeps the first ones, by `key`, that together have this probability.
void keep(Logits& logits, double share, auto key) {
  const auto p = probabilities(logits);
  std::vector<std::pair<double, int32_t>> order;
  for (const auto& [id, probability] : p) order.emplace_back(key(probability), id);
  std::sort(order.begin(), order.end());
  double sum = 0;
  for (const auto& [unused, id] : order) {
    if (sum >= share) logits.erase(id);
    sum += p.at(id);
  }
}

void cut_sigma(Logits& logits, double n) {
  double mean = 0, variance = 0, best = -1e300;
  for (const auto& [id, logit] : logits) mean += logit / static_cast<double>(logits.size());
  for (const auto& [id, logit] : logits) {
    variance += (logit - mean) * (logit - mean) / static_cast<double>(logits.size());
    best = std::max(best, logit);
  }
  std::erase_if(logits, [&](const auto& l) { return l.second < best - n * std::sqrt(variance); });
}

void cut_top_k(Logits& logits, size_t k) {
  std::vector<std::pair<double, int32_t>> order;
  for (const auto& [id, logit] : logits) order.emplace_back(-logit, id);
  std::sort(order.begin(), order.end());
  for (size_t i = k; i < order.size(); ++i) logits.erase(order[i].second);
}

void cut_typical(Logits& logits, double share) {
  double entropy = 0;
  for (const auto& [id, p] : probabilities(logits)) entropy -= p * std::log(p);
  keep(logits, share, [entropy](double p) { return std::fabs(-std::log(p) - entropy); });
}

void cut_min_p(Logits& logits, double share) {
  const auto p = probabilities(logits);
  double best = 0;
  for (const auto& [id, each] : p) best = std::max(best, each);
  std::erase_if(logits, [&](const auto& l) { return p.at(l.first) < share * best; });
}

void cut_xtc(Logits& logits, double threshold) {
  std::vector<std::pair<double, int32_t>> tops;
  for (const auto& [id, p] : probabilities(logits))
    if (p >= threshold) tops.emplace_back(p, id);
  std::sort(tops.begin(), tops.end());
  for (size_t i = 1; i < tops.size(); ++i) logits.erase(tops[i].second);
}

Logits changed_by_formula(const std::vector<float>& given, const Options& o, const Tokens& tokens) {
  Logits logits;
  for (const float logit : given) logits[static_cast<int32_t>(logits.size())] = double{logit};
  add_biases(logits, o);
  add_penalties(logits, o, tokens);
  add_dry(logits, o, tokens);
  return logits;
}

// The tokens that are left to choose from. XTC is off, or certain.
std::set<int32_t> left_by_formula(const std::vector<float>& given, const Options& o,
                                  const Tokens& tokens) {
  Logits logits = changed_by_formula(given, o, tokens);
  if (o.top_n_sigma > 0) cut_sigma(logits, static_cast<double>(o.top_n_sigma));
  if (o.top_k > 0) cut_top_k(logits, static_cast<size_t>(o.top_k));
  if (o.typical_p < 1) cut_typical(logits, static_cast<double>(o.typical_p));
  if (o.top_p < 1) keep(logits, static_cast<double>(o.top_p), [](double p) { return -p; });
  if (o.min_p > 0) cut_min_p(logits, static_cast<double>(o.min_p));
  if (o.xtc_probability > 0) cut_xtc(logits, static_cast<double>(o.xtc_threshold));
  std::set<int32_t> ids;
  for (const auto& [id, logit] : logits) ids.insert(id);
  return ids;
}

// --- the sampler ---------------------------------------------------------------------------------

std::set<int32_t> left_by_sampler(const std::vector<float>& logits, Options options,
                                  const Tokens& tokens) {
  options.temperature = 100;  // all that are left are about equally likely
  Sampler sampler(options, options, piece_of);
  std::set<int32_t> ids;
  for (int i = 0; i < 1500; ++i) ids.insert(sampler.sample(logits, tokens));
  return ids;
}

int32_t greedy(const std::vector<float>& logits, Options options, const Tokens& tokens) {
  options.temperature = 0;
  return Sampler(options, options, piece_of).sample(logits, tokens);
}

// Numbers that every standard library gives alike.
class Dice {
 public:
  explicit Dice(uint32_t seed) : engine_(seed) {}
  int whole(int least, int most) {
    return least + static_cast<int>(engine_() % static_cast<uint32_t>(most - least + 1));
  }
  float number(float least, float most) {
    return least + (most - least) * static_cast<float>(engine_() >> 8) * 0x1p-24f;
  }
  std::vector<float> logits() {
    std::vector<float> all(40);
    for (float& logit : all) logit = number(-3, 5);
    return all;
  }
  Tokens tokens(int kinds) {
    Tokens all(static_cast<size_t>(whole(1, 60)));
    for (int32_t& id : all) id = whole(0, kinds - 1);
    return all;
  }

 private:
  std::mt19937 engine_;
};

Options some_penalties(Dice& dice, const Tokens& tokens) {
  Options o;
  if (dice.whole(0, 1) == 0) o.repeat_penalty = dice.number(0.7f, 2);
  o.repeat_last_n = dice.whole(-1, 20);
  if (dice.whole(0, 1) == 0) o.presence_penalty = dice.number(-2, 2);
  if (dice.whole(0, 1) == 0) o.frequency_penalty = dice.number(-2, 2);
  o.prompt_tokens = static_cast<size_t>(dice.whole(0, static_cast<int>(tokens.size())));
  for (int i = dice.whole(0, 4); i > 0; --i)
    o.logit_bias.emplace_back(7 * i, dice.number(-100, 100) / 20);
  if (dice.whole(0, 1) == 0) {
    o.dry = {.multiplier = dice.number(0, 3),
             .base = dice.number(1, 3),
             .allowed_length = dice.whole(1, 4),
             .last_n = dice.whole(-1, 50)};
    if (dice.whole(0, 1) == 0) o.dry.breakers = {":a", "b", "\n\n", "aab"};
  }
  return o;
}

TEST(Formulas, GreedyTakesTheBestAfterBiasPenaltiesAndDry) {
  int changed = 0;
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    Dice dice(seed);
    const std::vector<float> logits = dice.logits();
    const Tokens tokens = dice.tokens(seed % 3 == 0 ? 2 : seed % 3 == 1 ? 4 : 40);
    const Options options = some_penalties(dice, tokens);
    const Logits formula = changed_by_formula(logits, options, tokens);
    const auto best = std::max_element(formula.begin(), formula.end(),
                                       [](auto& a, auto& b) { return a.second < b.second; });
    ASSERT_EQ(greedy(logits, options, tokens), best->first) << seed;
    changed += best->first != std::max_element(logits.begin(), logits.end()) - logits.begin();
  }
  EXPECT_GT(changed, 500);
}

TEST(Formulas, OfAllSamplersInTheirOrder) {
  for (uint32_t seed = 0; seed < 120; ++seed) {
    Dice dice(seed);
    const std::vector<float> logits = dice.logits();
    const Tokens tokens = dice.tokens(4);
    Options options = some_penalties(dice, tokens);
    if (dice.whole(0, 1) == 0) options.top_n_sigma = dice.number(0.2f, 3);
    if (dice.whole(0, 1) == 0) options.top_k = dice.whole(1, 40);
    if (dice.whole(0, 1) == 0) options.typical_p = dice.number(0.1f, 1);
    if (dice.whole(0, 1) == 0) options.top_p = dice.number(0.3f, 1);
    if (dice.whole(0, 3) == 0) options.min_p = dice.number(0, 0.5f);
    if (dice.whole(0, 1) == 0) options.xtc_probability = 1;
    options.xtc_threshold = dice.number(0.02f, 0.3f);
    ASSERT_EQ(left_by_sampler(logits, options, tokens), left_by_formula(logits, options, tokens))
        << seed;
  }
}

// Of each, alone: a failure names it.
TEST(Formulas, OfEachCut) {
  using Set = void (*)(Options&, Dice&);
  const std::map<std::string, Set> each = {
      {"sigma", [](Options& o, Dice& d) { o.top_n_sigma = d.number(0.1f, 3); }},
      {"typical", [](Options& o, Dice& d) { o.typical_p = d.number(0.05f, 1); }},
      {"xtc",
       [](Options& o, Dice& d) {
         o.xtc_probability = 1;
         o.xtc_threshold = d.number(0, 0.15f);
       }},
  };
  for (const auto& [name, set] : each) {
    int cuts = 0;
    for (uint32_t seed = 0; seed < 30; ++seed) {
      Dice dice(seed);
      const std::vector<float> logits = dice.logits();
      Options options;
      set(options, dice);
      const auto left = left_by_sampler(logits, options, {});
      ASSERT_EQ(left, left_by_formula(logits, options, {})) << name << ", " << seed;
      cuts += left.size() < logits.size();
    }
    EXPECT_GT(cuts, 15) << name;
  }
}

// --- each by hand --------------------------------------------------------------------------------

TEST(Penalties, CountTheAnswerAlone) {
  const std::vector<float> logits = {3, 2.5f, 0};
  Options options;
  options.presence_penalty = 1;
  options.prompt_tokens = 2;
  EXPECT_EQ(greedy(logits, options, {0, 0}), 0);  // the prompt
  EXPECT_EQ(greedy(logits, options, {0, 0, 0}), 1);
  options.presence_penalty = 0;
  options.frequency_penalty = 0.2f;
  EXPECT_EQ(greedy(logits, options, {0, 0, 0, 0}), 0);     // 3 - 0.4
  EXPECT_EQ(greedy(logits, options, {0, 0, 0, 0, 0}), 1);  // 3 - 0.6
  // They have no window.
  Tokens longer(3000, 2);
  longer[2] = longer[3] = longer[4] = 0;
  EXPECT_EQ(greedy(logits, options, longer), 1);
  options.frequency_penalty = -0.2f;
  EXPECT_EQ(greedy(logits, options, {0, 0, 1, 1, 1}), 1);
}

TEST(Penalties, TheRepeatWindow) {
  const std::vector<float> logits = {3, 2, 0};
  Options options;
  options.repeat_penalty = 2;
  options.repeat_last_n = 2;
  EXPECT_EQ(greedy(logits, options, {0, 2}), 1);
  EXPECT_EQ(greedy(logits, options, {0, 2, 2}), 0);
  options.repeat_last_n = 0;
  EXPECT_EQ(greedy(logits, options, {0}), 0);
  options.repeat_last_n = -1;
  Tokens longer(1000, 2);
  EXPECT_EQ(greedy(logits, options, longer), 0);
  longer[0] = 0;
  EXPECT_EQ(greedy(logits, options, longer), 1);
}

TEST(LogitBias, BansForcesAndComesFirst) {
  const std::vector<float> logits = {3, 2, -20};
  Options options;
  options.logit_bias = {{0, -100}};
  Sampler banned(options, options);
  for (int i = 0; i < 1000; ++i) ASSERT_NE(banned.sample(logits, {}), 0);
  options.logit_bias = {{2, 100}};
  EXPECT_EQ(greedy(logits, options, {}), 2);
  // Of two for one token the last counts, and ids that the model doesn't have are left out.
  options.logit_bias = {{2, 100}, {9, 100}, {-1, 100}, {2, 1}};
  EXPECT_EQ(greedy(logits, options, {}), 0);
  // Before the repeat penalty: (1 + 4) / 2 is less than 3.
  options.logit_bias = {{1, 4}};
  options.repeat_penalty = 2;
  EXPECT_EQ(greedy({3, 1}, options, {1}), 0);
}

// Of the tokens 0 to 3 the texts are a, b, : and a newline.
TEST(Dry, FollowsItsFormula) {
  ASSERT_EQ(concat(text_of(0), text_of(1), text_of(2), text_of(3)), "ab:\n");
  // Behind 0 1 1 0 1 the token 1 would repeat 0 1 1: it is lowered by 2 * 3^(2 - 2).
  std::vector<float> logits = {0, 1.9f, 0, 0};
  Options options;
  options.dry = {.multiplier = 2, .base = 3, .allowed_length = 2};
  EXPECT_EQ(greedy(logits, options, {0, 1, 1, 0, 1}), 0);
  logits[1] = 2.1f;
  EXPECT_EQ(greedy(logits, options, {0, 1, 1, 0, 1}), 1);
  // Behind 2 0 1 1 2 0 1 by 2 * 3.
  logits[1] = 5.9f;
  EXPECT_EQ(greedy(logits, options, {2, 0, 1, 1, 2, 0, 1}), 0);
  logits[1] = 6.1f;
  EXPECT_EQ(greedy(logits, options, {2, 0, 1, 1, 2, 0, 1}), 1);
  options.dry.allowed_length = 4;
  logits[1] = 0.1f;
  EXPECT_EQ(greedy(logits, options, {2, 0, 1, 1, 2, 0, 1}), 1);
  // The window ends within the earlier one.
  options.dry.allowed_length = 3;
  options.dry.last_n = 7;
  EXPECT_EQ(greedy(logits, options, {2, 0, 1, 1, 2, 0, 1}), 0);
  options.dry.last_n = 6;
  EXPECT_EQ(greedy(logits, options, {2, 0, 1, 1, 2, 0, 1}), 1);
}

TEST(Dry, BreakersEndARepetitionAndAreFree) {
  const std::vector<float> logits = {0, 1, 0, 0};
  Options options;
  options.dry = {.multiplier = 100, .base = 1, .allowed_length = 2};
  const Tokens tokens = {0, 2, 0, 1, 0, 2, 0};
  EXPECT_EQ(greedy(logits, options, tokens), 0);
  options.dry.breakers = {":"};  // only one token is behind it
  EXPECT_EQ(greedy(logits, options, tokens), 1);
  options.dry.breakers = {"a:"};  // it ends in the token ":"
  EXPECT_EQ(greedy(logits, options, tokens), 1);
  options.dry.breakers = {"b:"};
  EXPECT_EQ(greedy(logits, options, tokens), 0);
  options.dry.breakers = {"aab", "ab"};  // it would end in the next token
  EXPECT_EQ(greedy(logits, options, tokens), 1);
}

TEST(Dry, TakesTimeInProportionToTheText) {
  Options options;
  options.temperature = 0;
  options.dry = {.multiplier = 1, .base = 100, .allowed_length = 1};
  for (int i = 0; i < 64; ++i) options.dry.breakers.push_back(std::string(63, 'a') + "b");
  Tokens tokens(300'000, 0);
  Sampler sampler(options, options, piece_of);
  // The penalty is more than a float holds.
  EXPECT_EQ(sampler.sample(std::vector<float>{3e38f, 1}, tokens), 1);
  tokens.push_back(1);
  EXPECT_EQ(sampler.sample(std::vector<float>{2, 1}, tokens), 0);  // behind a breaker
}

TEST(Xtc, DrawsOneNumberIfItIsOn) {
  const std::vector<float> logits = {1, 1.1f, 1.2f};
  Options options;
  const auto draws = [&] {
    Sampler sampler(options);
    for (int i = 0; i < 10; ++i) sampler.sample(logits, {});
    return sampler.draws();
  };
  EXPECT_EQ(draws(), 10u);
  options.xtc_probability = 0.5f;
  EXPECT_EQ(draws(), 20u);
  options.temperature = 0;
  EXPECT_EQ(draws(), 0u);
  // In half of the cases only the least likely is left.
  options.temperature = 1e-3f;
  std::map<int32_t, int> counts;
  Sampler sampler(options);
  for (int i = 0; i < 4000; ++i) ++counts[sampler.sample(logits, {})];
  EXPECT_NEAR(counts[0], 2000, 150);
  EXPECT_NEAR(counts[2], 2000, 150);
}

// At a threshold of 0 the least likely token stays, which is none of those that can't come.
TEST(Xtc, LeavesBannedTokensOut) {
  Options options;
  options.xtc_probability = 1;
  options.xtc_threshold = 0;
  EXPECT_EQ(left_by_sampler({1, -kInf, 0}, options, {}), std::set<int32_t>{2});
  options.dry = {.multiplier = 100, .base = 100, .allowed_length = 1};
  EXPECT_EQ(left_by_sampler({1, 2, 0}, options, Tokens(50, 1)), std::set<int32_t>{2});
}

// --- runs ----------------------------------------------------------------------------------------

// A sampler keeps counts and breakers from token to token; one that begins anew finds the same.
TEST(Sampler, GoesOnAnywhere) {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    Dice dice(seed);
    Tokens tokens = dice.tokens(4);
    Options options = some_penalties(dice, tokens);
    options.xtc_probability = seed % 2 == 0 ? 0.4f : 0;
    options.typical_p = 0.9f;
    Sampler sampler(options, options, piece_of);
    for (int i = 0; i < 30; ++i) {
      std::vector<float> logits = dice.logits();
      for (size_t id = 0; id < 4; ++id) logits[id] += 3;
      options.draws = sampler.draws();
      const int32_t next = Sampler(options, options, piece_of).sample(logits, tokens);
      ASSERT_EQ(sampler.sample(logits, tokens), next) << seed << ", " << i;
      tokens.push_back(next);
    }
  }
}

TEST(Sampler, HostileLogitsWithEverySampler) {
  Options options;
  options.repeat_penalty = 100;
  options.presence_penalty = options.frequency_penalty = -2;
  options.logit_bias = {{0, 100}, {1, -100}};
  options.top_n_sigma = 0.1f;
  options.typical_p = 0;
  options.xtc_probability = 1;
  options.xtc_threshold = 0;
  options.dry = {.multiplier = 100, .base = 100, .allowed_length = 1};
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tokens tokens(500, 1);
  for (const std::vector<float>& logits : {std::vector<float>{nan, nan, nan},
                                           {-kInf, -kInf, -kInf},
                                           {kInf, kInf, -kInf},
                                           {-3e38f, 3e38f, nan},
                                           {0, 0, 0}}) {
    for (const float temperature : {0.f, 1e-45f, 1.f, 100.f}) {
      options.temperature = temperature;
      const int32_t id = Sampler(options, options, piece_of).sample(logits, tokens);
      EXPECT_TRUE(id >= 0 && id < 3);
    }
  }
}

}  // namespace
}  // namespace sluice
