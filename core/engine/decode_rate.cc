// How fast this machine decodes: the matrix products of one token after another, over more weights
// than caches hold.
#include "engine/decode_rate.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/aligned.h"
#include "base/stopwatch.h"
#include "base/threads.h"
#include "kernels/kernels.h"
#include "ops/matmul.h"

namespace sluice {
namespace {

// Of a model of about a billion weights.
constexpr int64_t kCols = 2048;
constexpr int64_t kRows = 2048;
constexpr uint64_t kBytes = 128U << 20;
constexpr size_t kLeastPasses = 3;

// The products of one token. What a job needs is behind one pointer: it is copied for every worker.
struct Token {
  const Kernels& kernels;
  std::vector<Matrix> matrices;
  Input in;
  float* out;
  std::vector<MatmulScratch> scratch;  // a worker's
};

double seconds_of(Pool& pool, Token& token) {
  const Stopwatch watch;
  pool.run([&pool, token = &token](int worker) {
    for (const Matrix& matrix : token->matrices) {
      pool.parallel_for(worker, matrix.strips(), [token, worker, &matrix](Share strips) {
        matmul(token->kernels, matrix, token->in, 1, token->out, kRows, strips,
               token->scratch[static_cast<size_t>(worker)]);
      });
    }
  });
  return watch.seconds();
}

}  // namespace

double decode_rate(Type type, int threads, double seconds) {
  const Kernels* kernels = choose_kernels();
  const uint64_t bytes_per_matrix = row_bytes(traits(type), kCols) * kRows;
  const uint64_t n_matrices = kBytes / bytes_per_matrix;
  const auto weights =
      AlignedBuffer::allocate_uninitialized(n_matrices * bytes_per_matrix, "a measurement");
  auto inputs = Activations::allocate(kCols, 1);
  const auto out = AlignedBuffer::allocate(kRows * sizeof(float), "a measurement");
  if (kernels == nullptr || !weights || !inputs || !out) return 0;
  // Pages that were never written may be one page. The numbers don't matter; these are finite.
  std::memset(weights->data(), 1, weights->size());
  Token token{*kernels, {}, inputs->rows_of(kCols), out->as<float>(), {}};
  for (uint64_t i = 0; i < n_matrices; ++i) {
    token.matrices.push_back({type, kRows, kCols, weights->data() + i * bytes_per_matrix, true});
  }
  for (int i = 0; i < std::clamp(threads, 1, Pool::kMaxThreads); ++i) {
    auto scratch = MatmulScratch::allocate(kCols);
    if (!scratch) return 0;
    token.scratch.push_back(std::move(*scratch));
  }
  Pool pool(threads);  // ends before what its jobs read
  // A browser compiles the code better once it has run for a while.
  for (const Stopwatch warming; warming.seconds() < seconds / 2;) seconds_of(pool, token);
  // As an engine does, the number of threads is taken that is faster; the median, since whatever
  // else the machine does now, it will do then.
  double best = 0;
  for (const int n : {pool.size(), (pool.size() + 1) / 2}) {
    pool.limit(n);
    std::vector<double> passes;
    const Stopwatch all;
    while (passes.size() < kLeastPasses || all.seconds() < seconds / 4) {
      passes.push_back(seconds_of(pool, token));
    }
    const auto middle = passes.begin() + static_cast<std::ptrdiff_t>(passes.size() / 2);
    std::nth_element(passes.begin(), middle, passes.end());
    best = std::max(best, static_cast<double>(weights->size()) / *middle);
    if (n == 1) break;
  }
  return best;
}

}  // namespace sluice
