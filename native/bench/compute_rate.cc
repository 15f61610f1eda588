#include "bench/compute_rate.h"

#include <algorithm>
#include <map>
#include <vector>

#include "bench/together.h"
#include "quant/matrix.h"
#include "quant/quant.h"
#include "quant/types.h"

namespace sluice::cli {
namespace {

constexpr int64_t kCols = 1024;
constexpr int kTokens = 64;

struct alignas(64) Line {
  uint8_t bytes[64];
};
std::vector<Line> lines(int64_t bytes) {
  return std::vector<Line>(static_cast<size_t>(bytes / 64));
}

// One thread's operands. All are zero: the time doesn't depend on them.
class MatMul {
 public:
  MatMul(const Kernels& kernels, Type type) : kernels_(kernels), floats_(traits(type).floats) {
    describe_panel(type, panel_);
    panel_.codes = codes_[0].bytes;
    panel_.scales = panel_.mins = reinterpret_cast<float*>(scales_[0].bytes);
  }

  void run() {
    if (floats_ != FloatKind::none) {
      kernels_.float_product(floats_, codes_[0].bytes, x_.data(), kCols, kTokens, out_.data(),
                             kStripRows);
      return;
    }
    const Acts acts{q_.data(), digits_.data(), d_.data(), d_.data(), sums_.data(), kCols};
    kernels_.gemm(panel_, acts, kTokens, out_.data(), kStripRows);
  }

 private:
  const Kernels& kernels_;
  FloatKind floats_;
  Panel panel_{};
  std::vector<Line> codes_ = lines(kCols * kStripRows * 4);  // enough for f32
  std::vector<Line> scales_ = lines(kCols * 4);              // of groups of 16
  std::vector<int8_t> q_ = std::vector<int8_t>(kCols * kTokens);
  std::vector<int8_t> digits_ = std::vector<int8_t>(2 * kCols * kTokens);
  std::vector<float> d_ = std::vector<float>(kCols / kActBlock * kTokens);
  std::vector<int32_t> sums_ = std::vector<int32_t>(kCols / 16 * kTokens);
  std::vector<float> x_ = std::vector<float>(kCols * kTokens);
  std::vector<float> out_ = std::vector<float>(kStripRows * kTokens);
};

}  // namespace

double multiply_rate(const Kernels& kernels, Type type, int threads) {
  std::vector<MatMul> products;
  products.reserve(static_cast<size_t>(threads));
  for (int i = 0; i < threads; ++i) products.emplace_back(kernels, type);
  const double multiplied = static_cast<double>(kCols) * kTokens * kStripRows * threads;
  return median_rate(multiplied / 1e9, [&](int rounds) {
    return seconds_together(threads, [&](size_t thread) {
      for (int i = 0; i < rounds; ++i) products[thread].run();
    });
  });
}

Type main_type(const Gguf& header) {
  std::map<uint32_t, uint64_t> bytes;
  for (const TensorInfo& tensor : header.tensors) {
    bytes[tensor.type] += tensor.bytes;
  }
  const auto most = std::max_element(bytes.begin(), bytes.end(),
                                     [](auto& a, auto& b) { return a.second < b.second; });
  return static_cast<Type>(most->first);
}

}  // namespace sluice::cli
