// Checks of the cache's kernels: storing keys and values, attention over a chunk of positions.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/half.h"
#include "base/math.h"
#include "parity_support.h"

namespace sluice::parity {
namespace {

size_t kv_bytes(KvType type) { return type == KvType::f32 ? 4 : type == KvType::f16 ? 2 : 1; }
const char* kv_name(KvType type) {
  return type == KvType::f32 ? "f32" : type == KvType::f16 ? "f16" : "q8_0";
}

// Cached positions of one head in the layout of KvChunk, and the numbers that they represent.
struct Cache {
  Cache(KvType kv_type, bool paired_halves, int dim, int positions)
      : type(kv_type),
        paired(paired_halves && type == KvType::f16),
        head_dim(static_cast<size_t>(dim)),
        padded(static_cast<size_t>(padded_head_dim(head_dim))),
        scales((head_dim + 31) / 32) {
    const size_t n = static_cast<size_t>(positions);
    const size_t groups = (n + 15) / 16;
    k.resize(groups * head_dim * 16 * kv_bytes(type), 0xcd);  // garbage where no position is stored
    k_scales.resize(groups * scales * 16, NAN);
    v.resize(kKvChunk * padded * kv_bytes(type), 0xcd);
    v_scales.resize(n * scales, NAN);
  }

  // Rounds an element into `bytes`; returns the number that is stored.
  float put(uint8_t* bytes, float value) const {
    if (type == KvType::f32) {
      std::memcpy(bytes, &value, 4);
      return value;
    }
    const uint16_t half = f32_to_f16(std::clamp(value, -65504.0f, 65504.0f));
    put_half(bytes, half);
    return f16_to_f32(half);
  }

  // Stores position p's key and value by the definition, and appends the numbers to keys and
  // values.
  void store(size_t p, const float* key, const float* value) {
    const size_t bytes = kv_bytes(type);
    const auto key_at = [&](size_t d) {
      return k.data() + ((p / 16 * head_dim + d) * 16 + place(p % 16)) * bytes;
    };
    const auto value_at = [&](size_t d) {
      return v.data() + ((d / 16 * kKvChunk + p) * 16 + place(d % 16)) * bytes;
    };
    for (size_t d = 0; d < padded; ++d) std::memset(value_at(d), 0, bytes);
    for (size_t d = 0; d < head_dim; ++d) {
      if (type == KvType::q8_0) break;
      keys.push_back(put(key_at(d), key[d]));
      values.push_back(put(value_at(d), value[d]));
    }
    for (size_t b = 0; b < scales && type == KvType::q8_0; ++b) {
      const size_t count = std::min<size_t>(32, head_dim - 32 * b);
      int8_t kq[32], vq[32];
      const float kd = round_block(key + 32 * b, static_cast<int64_t>(count), kq);
      const float vd = round_block(value + 32 * b, static_cast<int64_t>(count), vq);
      k_scales[(p / 16 * scales + b) * 16 + p % 16] = kd;
      v_scales[p * scales + b] = vd;
      for (size_t i = 0; i < count; ++i) {
        const size_t d = 32 * b + i;
        *key_at(d) = static_cast<uint8_t>(kq[i]);
        *value_at(d) = static_cast<uint8_t>(vq[i]);
        keys.push_back(static_cast<float>(kq[i]) * kd);
        values.push_back(static_cast<float>(vq[i]) * vd);
      }
    }
  }

  size_t place(size_t i) const {
    return paired ? static_cast<size_t>(half_place(static_cast<int>(i))) : i;
  }

  KvType type;
  bool paired;
  size_t head_dim, padded, scales;
  ByteVector k, v;
  Floats k_scales, v_scales;
  Floats keys, values;  // [position][head_dim]
};

constexpr KvType kKvTypes[] = {KvType::f32, KvType::f16, KvType::q8_0};

}  // namespace

void check_store(const Kernels& kernels, Report& report) {
  Random random(7);
  for (const KvType type : kKvTypes) {
    for (const int head_dim : {8, 20, 32, 64, 80, 128}) {
      const int n = 19;
      Cache want(type, kernels.paired_halves, head_dim, n), got = want;
      for (size_t p = 0; p < static_cast<size_t>(n); ++p) {
        Floats key = random.activations(head_dim), value = random.activations(head_dim);
        if (p % 4 == 1) key[p % 8] = p == 1 ? 1e6f : -65520.0f;  // beyond a half
        if (p % 4 == 2) value[p % 8] = p == 2 ? -1e30f : 65519.0f;
        want.store(p, key.data(), value.data());
        kernels.store_k(type, key.data(), head_dim, static_cast<int>(p), got.k.data(),
                        got.k_scales.data());
        kernels.store_v(type, value.data(), head_dim, static_cast<int>(p), got.v.data(),
                        got.v_scales.data());
      }
      const std::string what = std::string(kv_name(type)) + ", head of " + std::to_string(head_dim);
      report.equal_bytes("store_k " + what, got.k.data(), want.k.data(), want.k.size());
      report.equal_bytes("store_v " + what, got.v.data(), want.v.data(), want.v.size());
      if (type != KvType::q8_0) continue;
      report.equal("k_scales " + what, got.k_scales.data(), want.k_scales.data(),
                   static_cast<int64_t>(want.k_scales.size()));
      report.equal("v_scales " + what, got.v_scales.data(), want.v_scales.data(),
                   static_cast<int64_t>(want.v_scales.size()));
    }
  }
}

namespace {

// The running softmax of one query, by the definition in kernels.h. Without values it has not
// begun.
struct Running {
  float max = 0, sum = 0;
  Floats values;
};

void reference_attend(const Cache& cache, int begin, int n, const float* q, float scale,
                      Running& state) {
  const size_t positions = static_cast<size_t>(n);
  Floats scores(positions);
  const float most = cache.type == KvType::f16 ? 65504.0f : INFINITY;
  for (size_t p = 0; p < positions; ++p) {
    float acc = 0;
    for (size_t d = 0; d < cache.head_dim; ++d) {
      acc = acc + std::clamp(q[d], -most, most) * cache.keys[p * cache.head_dim + d];
    }
    scores[p] = scale * acc;
  }
  const size_t from = static_cast<size_t>(begin);
  std::fill_n(scores.begin(), from, -INFINITY);
  const float m =
      reduce(n, -INFINITY, larger, [&](int64_t p) { return scores[static_cast<size_t>(p)]; });
  for (float& score : scores) score = exp_f32(score - m);
  std::fill_n(scores.begin(), from, 0.0f);
  const float s = reduce(n, 0.0f, plus, [&](int64_t p) { return scores[static_cast<size_t>(p)]; });
  Floats w(cache.head_dim);
  for (size_t p = from; p < positions; ++p) {
    for (size_t d = 0; d < cache.head_dim; ++d) {
      w[d] = w[d] + scores[p] * cache.values[p * cache.head_dim + d];
    }
  }
  if (state.values.empty()) {
    state = {m, s, w};
    return;
  }
  const float both = larger(state.max, m);
  const float a = exp_f32(state.max - both), b = exp_f32(m - both);
  state.max = both;
  state.sum = state.sum * a + s * b;
  for (size_t d = 0; d < w.size(); ++d) state.values[d] = state.values[d] * a + w[d] * b;
}

}  // namespace

void check_attend(const Kernels& kernels, Report& report) {
  Random random(8);
  for (const KvType type : kKvTypes) {
    for (const int head_dim : {8, 32, 64, 80, 128}) {
      for (const int n : {1, 2, 15, 16, 17, 33, 100, 256}) {
        Cache cache(type, kernels.paired_halves, head_dim, n);
        for (size_t p = 0; p < static_cast<size_t>(n); ++p) {
          const Floats key = random.activations(head_dim), value = random.activations(head_dim);
          cache.store(p, key.data(), value.data());
        }
        const int n_heads = 1 + random.below(5), n_tokens = 1 + random.below(12);
        const int n_queries = n_heads * n_tokens;
        const size_t queries = static_cast<size_t>(n_queries);
        const int q_stride = n_heads * head_dim + random.below(20);
        Floats q = random.activations(n_tokens * q_stride);
        if (n % 16 == 1) q[0] = n == 1 ? 1e30f : -65536.0f;  // beyond a half
        Floats max(queries), sum(queries), values(queries * cache.padded);
        Floats scratch(static_cast<size_t>(attend_scratch(type, n_tokens, n_heads, head_dim)));
        std::vector<Running> want(queries);
        // First the last token sees all of the chunk, which begins the softmax. Then some tokens
        // may see nothing. Then all tokens see all of the chunk.
        for (const int visible : {n - n_tokens + 1, n / 2 - n_tokens + 1, n}) {
          const bool first = want[0].values.empty();
          if (first && visible < 1) continue;
          const Attend attend{
              {type, cache.k.data(), cache.k_scales.data(), cache.v.data(), cache.v_scales.data()},
              visible,
              kNoWindow,
              n,
              n_tokens,
              n_heads,
              head_dim,
              q.data(),
              q_stride,
              0.125f,
              first,
              max.data(),
              sum.data(),
              values.data(),
              scratch.data()};
          kernels.attend(attend);
          const std::string what = std::string("attend ") + kv_name(type) + ", head of " +
                                   std::to_string(head_dim) + ", " + std::to_string(visible) +
                                   " positions, " + std::to_string(n_tokens) + " tokens of " +
                                   std::to_string(n_heads) + " heads";
          for (size_t i = 0; i < queries; ++i) {
            const size_t token = i / static_cast<size_t>(n_heads);
            const int sees = std::min(visible + static_cast<int>(token), n);
            if (sees < 1) continue;
            const float* query = q.data() + token * static_cast<size_t>(q_stride) +
                                 i % static_cast<size_t>(n_heads) * cache.head_dim;
            reference_attend(cache, 0, sees, query, 0.125f, want[i]);
          }
          for (size_t i = 0; i < queries; ++i) {
            report.equal(what + ", max", &max[i], &want[i].max, 1);
            report.equal(what + ", sum", &sum[i], &want[i].sum, 1);
            report.equal(what + ", values", &values[i * cache.padded], want[i].values.data(),
                         head_dim);
          }
        }
      }
    }
  }
}

// Windows of tokens at `position`, over all chunks in the order of attention. In a chunk all
// tokens, some or none see something, for the first time or again. If `astride`, the windows of the
// first tokens begin in one chunk and those of the last ones in the next.
void check_attend_window(const Kernels& kernels, Report& report) {
  Random random(10);
  for (const KvType type : kKvTypes) {
    for (const int head_dim : {8, 20}) {
      std::vector<Cache> chunks;
      for (int c = 0; c < 4; ++c) {
        Cache& cache = chunks.emplace_back(type, kernels.paired_halves, head_dim, kKvChunk);
        for (size_t p = 0; p < kKvChunk; ++p) {
          const Floats key = random.activations(head_dim), value = random.activations(head_dim);
          cache.store(p, key.data(), value.data());
        }
      }
      for (const auto& [window, astride] : {std::pair{1, false},
                                            {5, false},
                                            {100, false},
                                            {256, false},
                                            {257, false},
                                            {600, false},
                                            {3, true},
                                            {40, true},
                                            {256, true},
                                            {300, true},
                                            {512, true},
                                            {600, true}}) {
        const int n_heads = 1 + random.below(4), n_tokens = 2 + random.below(12);
        const int position =
            astride ? kKvChunk - n_tokens / 2 + window - 1 : random.below(4 * kKvChunk - n_tokens);
        const size_t queries = static_cast<size_t>(n_heads * n_tokens);
        const int q_stride = n_heads * head_dim;
        const Floats q = random.activations(n_tokens * q_stride);
        Floats max(queries), sum(queries), values(queries * chunks[0].padded);
        Floats scratch(static_cast<size_t>(attend_scratch(type, n_tokens, n_heads, head_dim)));
        std::vector<Running> want(queries);
        const int end = position + n_tokens;
        const int start = std::max(position - window + 1, 0) / kKvChunk;
        for (int c = start; c * kKvChunk < end; ++c) {
          const Cache& cache = chunks[static_cast<size_t>(c)];
          const int first = c * kKvChunk;
          kernels.attend(
              {{type, cache.k.data(), cache.k_scales.data(), cache.v.data(), cache.v_scales.data()},
               position + 1 - first,
               position + 1 - window - first,
               kKvChunk,
               n_tokens,
               n_heads,
               head_dim,
               q.data(),
               q_stride,
               0.125f,
               c == start,
               max.data(),
               sum.data(),
               values.data(),
               scratch.data()});
          for (size_t i = 0; i < queries; ++i) {
            const int p = position + static_cast<int>(i) / n_heads;
            const int begin = std::max(p - window + 1 - first, 0);
            const int sees = std::min(p + 1 - first, kKvChunk);
            if (begin >= sees) continue;
            reference_attend(cache, begin, sees, q.data() + i * chunks[0].head_dim, 0.125f,
                             want[i]);
          }
        }
        const std::string what =
            std::string("attend ") + kv_name(type) + ", head of " + std::to_string(head_dim) +
            ", window of " + std::to_string(window) + " at " + std::to_string(position) + ", " +
            std::to_string(n_tokens) + " tokens of " + std::to_string(n_heads) + " heads";
        for (size_t i = 0; i < queries; ++i) {
          report.equal(what + ", max", &max[i], &want[i].max, 1);
          report.equal(what + ", sum", &sum[i], &want[i].sum, 1);
          report.equal(what + ", values", &values[i * chunks[0].padded], want[i].values.data(),
                       head_dim);
        }
      }
    }
  }
}

}  // namespace sluice::parity
