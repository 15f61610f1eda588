// template_tokens [SECONDS [SEED]]: what fuzz_template_tokens does, by seeds, without a fuzzer, and
// goes on after what is wrong. Prints the counts.
#include <cstdio>
#include <cstdlib>

#include "base/stopwatch.h"
#include "template_truth.h"

int main(int argc, char** argv) {
  using namespace sluice;
  const double seconds = argc > 1 ? std::atof(argv[1]) : 10;
  uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  constexpr size_t kBytes = 1200;
  constexpr uint64_t kShown = 20;
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
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
