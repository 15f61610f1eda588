// A benchmark, not a test. It measures the kernels of each table: ns per (1 row x 32 weights x 1
// token) on one thread with the weights in the second-level cache, then the rate at which the
// decode kernels read weights from memory. kernel_bench [TABLE [KERNEL]] measures only that table
// and only decode, gemm, float, vectors, attention, delta or stream.
//
// For comparison, hand-written loops with these layouts on a Xeon (Sapphire Rapids):
//   AVX2          Q4_0 GEMM 8x4 0.27-0.29
//   AVX-512 VNNI  Q8_0 decode 0.23-0.24, Q4_0 decode 0.25-0.29, GEMM 16x8 0.14-0.15
//   wasm strict   Q8_0 1.83, Q4_0 1.5, GEMM 1.46-1.64; wasm relaxed Q8_0 0.70-0.76 (saturating dots
//   1.35-2.5), Q4_0 0.82-0.90, GEMM 0.6-0.7
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string_view>
#include <vector>

#include "base/aligned.h"
#include "kernels/kernels.h"
#include "make/blocks.h"

namespace sluice {
namespace {

constexpr int64_t kCols = 2048;
constexpr int kTokens = 32;

// The best of several runs, in ns per call.
double time_ns(const std::function<void()>& run) {
  using Clock = std::chrono::steady_clock;
  double best = 1e30;
  int calls = 1;
  for (int round = 0; round < 12;) {
    const auto start = Clock::now();
    for (int i = 0; i < calls; ++i) run();
    const double ns =
        static_cast<double>(std::chrono::nanoseconds(Clock::now() - start).count()) / calls;
    if (ns * calls < 2e6) {
      calls *= 2;
      continue;
    }
    best = std::min(best, ns);
    ++round;
  }
  return best;
}

struct Data {
  AlignedBuffer memory;
  static Data make(size_t bytes, unsigned seed) {
    Data data{*AlignedBuffer::allocate(bytes, "benchmark data")};
    for (size_t i = 0; i < bytes; ++i) {
      seed = seed * 1664525u + 1013904223u;
      data.memory.data()[i] = static_cast<uint8_t>(seed >> 24);
    }
    return data;
  }
};

// Sets the scales and mins of a type with blocks to 1/16, and the weights of a float type to 1.
void set_scales(Type type, uint8_t* rows, size_t bytes) {
  const TypeTraits& t = traits(type);
  const uint32_t one = t.floats == FloatKind::f32   ? 0x3f800000
                       : t.floats == FloatKind::f16 ? 0x3c00
                                                    : 0x3f80;
  set_floats(t, rows, bytes, [&] { return t.group != 0 ? 0x2c00 : one; });
}

class Bench {
 public:
  explicit Bench(const Kernels& kernels) : kernels_(kernels) {
    const size_t n = static_cast<size_t>(kCols) * kTokens;
    x_.resize(n);
    for (size_t i = 0; i < n; ++i) x_[i] = static_cast<float>(static_cast<int>(i * 37 % 201) - 100);
    q_.resize(n), digits_.resize(2 * n), d_.resize(n / 32), ds_.resize(n / 32),
        sums_.resize(n / 16);
    kernels.quantize(x_.data(), static_cast<int64_t>(n), q_.data(), digits_.data(), d_.data(),
                     ds_.data(), sums_.data());
    out_.resize(16 * kTokens);
    panel_memory_ = *AlignedBuffer::allocate(kCols * 16 * 9, "panel");
    panel_.codes = panel_memory_.data();
    panel_.scales = reinterpret_cast<float*>(panel_.codes + kCols * 16);
    panel_.mins = panel_.scales + kCols;
  }

  // Runs all measurements, or only the one with the name `only`.
  void run(std::string_view only) {
    std::printf("%s\n", kernels_.name);
    const auto wanted = [&](std::string_view name) { return only.empty() || only == name; };
    for (const Type type : integer_types()) {
      if (wanted("decode")) decode(type);
      if (wanted("gemm")) gemm(type);
    }
    for (const Type type : float_types()) {
      if (wanted("float")) floats(type);
    }
    if (wanted("vectors")) vectors();
    if (wanted("attention")) attention();
    if (wanted("delta")) delta_rule();
    for (const Type type : {Type::Q4_0, Type::Q8_0}) {
      if (wanted("stream")) stream(type);
    }
  }

 private:
  Acts acts() const {
    return {q_.data(), digits_.data(), d_.data(), ds_.data(), sums_.data(), kCols};
  }

  Data strip(Type type, int64_t n_strips = 1) {
    const size_t bytes = 16 * static_cast<size_t>(row_bytes(traits(type), kCols));
    Data rows = Data::make(bytes, 7);
    set_scales(type, rows.memory.data(), bytes);
    Data packed{*AlignedBuffer::allocate(bytes * static_cast<size_t>(n_strips), "weights")};
    for (size_t s = 0; s < static_cast<size_t>(n_strips); ++s) {
      pack_strip(type, rows.memory.data(), kCols, packed.memory.data() + s * bytes);
    }
    return packed;
  }

  void print(const char* what, Type type, int tokens, double ns) const {
    std::printf("  %-12s %-5s %2d tokens  %6.3f ns/32w\n", what, traits(type).name, tokens,
                ns / (16 * kCols / 32) / tokens);
  }

  void decode(Type type) {
    const Data weights = strip(type);
    for (const int tokens : {1, 2, 4}) {
      print("direct", type, tokens, time_ns([&] {
              kernels_.direct(type, weights.memory.data(), acts(), tokens, out_.data(), 16);
            }));
    }
  }

  void gemm(Type type) {
    const size_t bytes = 16 * static_cast<size_t>(row_bytes(traits(type), kCols));
    Data rows = Data::make(bytes, 9);
    set_scales(type, rows.memory.data(), bytes);
    print("unpack_rows", type, 1,
          time_ns([&] { unpack_rows(type, rows.memory.data(), 16, kCols, panel_); }));
    for (const int tokens : {1, 2, 4, kTokens}) {
      print("gemm", type, tokens,
            time_ns([&] { kernels_.gemm(panel_, acts(), tokens, out_.data(), 16); }));
    }
    const Data weights = strip(type);
    print("unpack", type, 1,
          time_ns([&] { kernels_.unpack(type, weights.memory.data(), kCols, panel_); }));
  }

  void floats(Type type) {
    const Data weights = strip(type);
    for (const int tokens : {1, kTokens}) {
      print("float", type, tokens, time_ns([&] {
              kernels_.float_product(traits(type).floats, weights.memory.data(), x_.data(), kCols,
                                     tokens, out_.data(), 16);
            }));
    }
  }

  void vectors() {
    std::vector<float> out(x_.begin(), x_.begin() + kCols);
    const auto report = [](const char* what, double ns) {
      std::printf("  %-12s %6.3f ns/element\n", what, ns / kCols);
    };
    report("quantize", time_ns([&] {
             kernels_.quantize(x_.data(), kCols, q_.data(),
                               kernels_.reads_digits ? digits_.data() : nullptr, d_.data(),
                               ds_.data(), sums_.data());
           }));
    report("rms_norm",
           time_ns([&] { kernels_.rms_norm(x_.data(), x_.data(), kCols, 1e-5f, out.data()); }));
    report("silu_mul",
           time_ns([&] { kernels_.silu_mul(x_.data(), x_.data(), kCols, out.data()); }));
    report("sum_exp", time_ns([&] { kernels_.sum_exp(x_.data(), kCols, 100.0f); }));
    report("rope_halves",
           time_ns([&] { kernels_.rope_halves(out.data(), x_.data(), x_.data(), kCols / 2); }));
    report("rope_adjacent",
           time_ns([&] { kernels_.rope_adjacent(out.data(), x_.data(), x_.data(), kCols / 2); }));
  }

  // A whole chunk with one head of one token, two heads of one token, and two heads of 16 tokens.
  void attention() {
    constexpr int kDim = 128;
    const size_t elements = static_cast<size_t>(kKvChunk) * kDim;
    const AlignedBuffer k = *AlignedBuffer::allocate(elements * 4, "k");
    const AlignedBuffer v = *AlignedBuffer::allocate(elements * 4, "v");
    const std::vector<float> scales(kKvChunk * kDim / kKvScaleBlock, 0.01f);
    for (const KvType type : {KvType::f32, KvType::f16, KvType::q8_0}) {
      for (const auto& [heads, tokens] : {std::pair{1, 1}, {2, 1}, {2, 16}}) {
        const auto queries = static_cast<size_t>(heads * tokens);
        std::vector<float> state(queries * (2 + kDim));
        std::vector<float> scratch(static_cast<size_t>(attend_scratch(type, tokens, heads, kDim)));
        const Attend attend{{type, k.data(), scales.data(), v.data(), scales.data()},
                            kKvChunk,
                            kNoWindow,
                            kKvChunk,
                            tokens,
                            heads,
                            kDim,
                            x_.data(),
                            heads * kDim,
                            0.125f,
                            false,
                            state.data(),
                            state.data() + queries,
                            state.data() + 2 * queries,
                            scratch.data()};
        const double ns = time_ns([&] { kernels_.attend(attend); });
        std::printf("  attend %-5s %d heads x %2d tokens  %6.2f ns/(position x query)\n",
                    type == KvType::f32   ? "f32"
                    : type == KvType::f16 ? "f16"
                                          : "q8_0",
                    heads, tokens, ns / kKvChunk / static_cast<double>(queries));
      }
    }
  }

  // One value head: its state has kDim keys for as many values.
  void delta_rule() {
    constexpr int kDim = 128;
    const AlignedBuffer state = *AlignedBuffer::allocate(4 * kDim * kDim, "state");
    std::memset(state.data(), 0, state.size());
    const std::vector<float> rows(3 * kDim * kDeltaTokens, 0.01f), halves(kDeltaTokens, 0.5f);
    std::vector<float> out(kDim * kDeltaTokens);
    for (const int tokens : {1, 16, kDeltaTokens}) {
      const float* q = rows.data();
      const DeltaRule rule{q,
                           q + kDim,
                           q + 2 * kDim,
                           3 * kDim,
                           halves.data(),
                           halves.data(),
                           state.as<float>(),
                           state.as<float>(),
                           out.data(),
                           kDim,
                           tokens,
                           kDim};
      const double ns = time_ns([&] { kernels_.delta_rule(rule); });
      std::printf("  delta_rule   %2d tokens  %6.2f ns/(16 numbers of the state x token)\n", tokens,
                  ns * 16 / kDim / kDim / tokens);
    }
  }

  // One token and a matrix far larger than the caches.
  void stream(Type type) {
    const int64_t n_strips = type == Type::Q8_0 ? 4096 : 8192;
    const Data weights = strip(type, n_strips);
    const size_t bytes = weights.memory.size() / static_cast<size_t>(n_strips);
    double best = 1e30;
    for (int round = 0; round < 5; ++round) {
      const auto start = std::chrono::steady_clock::now();
      for (size_t s = 0; s < static_cast<size_t>(n_strips); ++s) {
        kernels_.direct(type, weights.memory.data() + s * bytes, acts(), 1, out_.data(), 16);
      }
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
      best = std::min(best, seconds.count());
    }
    double read = 1e30;
    uint64_t total = 0;
    for (int round = 0; round < 5; ++round) {
      const auto start = std::chrono::steady_clock::now();
      const uint64_t* p = weights.memory.as<uint64_t>();
      uint64_t a = 0, b = 0, c = 0, d = 0;
      for (size_t i = 0; i + 32 <= weights.memory.size() / 8; i += 32) {
        a += p[i], b += p[i + 8], c += p[i + 16], d += p[i + 24];
      }
      total += a + b + c + d;
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
      read = std::min(read, seconds.count());
    }
    const double gigabytes = static_cast<double>(weights.memory.size()) * 1e-9;
    std::printf("  stream       %-5s %6.1f GB/s (plain reading %.1f%s)\n", traits(type).name,
                gigabytes / best, gigabytes / read, total == 1 ? " " : "");
  }

  const Kernels& kernels_;
  std::vector<float> x_, d_, ds_, out_;
  std::vector<int8_t> q_, digits_;
  std::vector<int32_t> sums_;
  AlignedBuffer panel_memory_;
  Panel panel_;
};

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  for (const sluice::Kernels* kernels : sluice::all_kernels()) {
    if (!kernels->supported()) continue;
    if (argc > 1 && std::string_view(argv[1]) != kernels->name) continue;
    sluice::Bench(*kernels).run(argc > 2 ? argv[2] : "");
  }
}
