// template_tokens [SECONDS [SEED]]: what fuzz_template_tokens does, by seeds, without a fuzzer, and
// goes on after what is wrong. Prints the counts.
//
// template_tokens costs [SECONDS [SEED]]: how long a unit of work takes in templates that make much
// of long inputs, in the processor's time. Prints the mean of those with a million units, and the
// slowest.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string_view>

#include "base/stopwatch.h"
#include "template_truth.h"

namespace {

using namespace sluice;

constexpr size_t kBytes = 1200;  // of decisions

int find_wrong(double seconds, uint64_t seed) {
  constexpr uint64_t kShown = 20;
  TemplateTruth truth;
  const Stopwatch watch;
  do {
    const auto wrong = truth.check(bytes_of_seed(seed, kBytes));
    if (wrong && truth.counts().wrong <= kShown)
      std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), wrong->c_str());
    ++seed;
  } while (watch.seconds() < seconds);
  std::printf("%s\n", shown(truth.counts()).c_str());
  return truth.counts().wrong == 0 && tell_something(truth.counts()) ? 0 : 1;
}

struct Cost {
  uint64_t seed;
  uint64_t work;
  double seconds;
  std::string source;
  double each() const { return 1e9 * seconds / static_cast<double>(work); }
};

Cost cost_of(uint64_t seed) {
  const std::vector<uint8_t> made_bytes = bytes_of_seed(seed, kBytes);
  const std::span<const uint8_t> bytes = made_bytes;
  Choices for_input(bytes.first(kBytes / 3));
  Choices for_template(bytes.subspan(kBytes / 3));
  MadeTemplate made = make_template(for_template, true);
  const jinja::Value input = value_of(
      make_chat_input(for_input, {.parts = made.parts, .repeat = 1 + seed % 400}), nullptr);
  jinja::Limits limits;
  limits.max_work = 3'000'000;
  limits.max_memory = 64 << 20;
  const auto program = jinja::parse_program(made.source, limits);
  if (!program) return {};
  const jinja::RenderOptions options;
  const std::clock_t begin = std::clock();
  uint64_t work = 0;
  {
    jinja::Interpreter interpreter(**program, limits, input, options);
    const auto rendered = interpreter.run();
    work = interpreter.meter.used_work();
  }
  const auto ticks = static_cast<double>(std::clock() - begin);
  return {seed, work, ticks / CLOCKS_PER_SEC, std::move(made.source)};
}

int find_costs(double seconds, uint64_t seed) {
  constexpr uint64_t kMuch = 1'000'000;
  constexpr size_t kShown = 8;
  std::vector<Cost> costs;
  double longest = 0;
  const Stopwatch watch;
  for (; watch.seconds() < seconds; ++seed) {
    Cost cost = cost_of(seed);
    longest = std::max(longest, cost.seconds);
    if (cost.work >= kMuch) costs.push_back(std::move(cost));
  }
  std::ranges::sort(costs, std::greater(), &Cost::each);
  double all_seconds = 0, all_work = 0;
  for (const Cost& cost : costs) {
    all_seconds += cost.seconds;
    all_work += static_cast<double>(cost.work);
  }
  for (const Cost& cost : std::span(costs).first(std::min(kShown, costs.size())))
    std::printf("%.1f ns a unit, %llu units, seed %llu: %s\n", cost.each(),
                static_cast<unsigned long long>(cost.work),
                static_cast<unsigned long long>(cost.seed), cost.source.c_str());
  std::printf("%zu with a million units: %.1f ns a unit; the longest run took %.0f ms\n",
              costs.size(), 1e9 * all_seconds / all_work, 1e3 * longest);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const bool costs = argc > 1 && std::string_view(argv[1]) == "costs";
  char** const rest = argv + (costs ? 2 : 1);
  const double seconds = rest < argv + argc ? std::atof(rest[0]) : 10;
  const uint64_t seed = rest + 1 < argv + argc ? std::strtoull(rest[1], nullptr, 10) : 1;
  return costs ? find_costs(seconds, seed) : find_wrong(seconds, seed);
}
