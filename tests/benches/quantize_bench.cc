// A benchmark, not a test. quantize_bench [TYPE]: for each type millions of values a second that
// one thread rounds, without importance and with, by the code of each machine.
#include <chrono>
#include <cstdio>
#include <string_view>
#include <utility>
#include <vector>

#include "files/quantize/quantize_machines.h"
#include "files/quantize/quantize_rows.h"
#include "quant/quant.h"

namespace sluice {
namespace {

constexpr int64_t kRows = 32;
constexpr int64_t kColumns = 4096;

// The best of several runs, in millions of values a second.
double rate(const RowQuantizer& quantizer, Type type, const QuantizeJob& job) {
  using Clock = std::chrono::steady_clock;
  double best = 1e30;
  const auto begin = Clock::now();
  do {
    const auto start = Clock::now();
    quantizer.quantize(type, job);
    const std::chrono::duration<double> seconds = Clock::now() - start;
    best = seconds.count() < best ? seconds.count() : best;
  } while (Clock::now() - begin < std::chrono::milliseconds(150));
  return static_cast<double>(job.n_rows * job.n) / best / 1e6;
}

void run(std::string_view only) {
  std::vector<float> values(kRows * kColumns);
  std::vector<float> importance(kColumns);
  unsigned seed = 1;
  const auto uniform = [&seed] {
    seed = seed * 1664525u + 1013904223u;
    return static_cast<float>(seed >> 8) * 0x1p-24f;
  };
  for (float& x : values) x = uniform() + uniform() + uniform() - 1.5f;
  for (float& q : importance) q = uniform() * uniform();
  std::vector<uint8_t> out(values.size() * 4);
  const RowQuantizerList list = all_row_quantizers();
  std::printf("%-8s", "");
  for (int i = 0; i < list.count; ++i) {
    if (list.first[i]->supported()) std::printf(" %21s", list.first[i]->name);
  }
  std::printf("\n");
  for (const TypeTraits& t : kTypes) {
    if (!can_quantize_to(t.type) || (!only.empty() && only != t.name)) continue;
    std::printf("%-8s", t.name);
    for (int i = 0; i < list.count; ++i) {
      const RowQuantizer& quantizer = *list.first[i];
      if (!quantizer.supported()) continue;
      for (const float* weights :
           {static_cast<const float*>(nullptr), std::as_const(importance).data()}) {
        std::printf(" %10.1f",
                    rate(quantizer, t.type, {values.data(), kRows, kColumns, weights, out.data()}));
      }
    }
    std::printf("\n");
  }
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) { sluice::run(argc > 1 ? argv[1] : ""); }
