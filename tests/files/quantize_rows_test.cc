#include "files/quantize/quantize_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "base/half.h"
#include "base/xxh64.h"
#include "files/quantize/quantize_machines.h"
#include "quant/quant.h"

namespace sluice {
namespace {

using Floats = std::vector<float>;
using Bytes = std::vector<uint8_t>;

std::vector<Type> target_types() {
  std::vector<Type> out;
  for (const TypeTraits& t : kTypes) {
    if (can_quantize_to(t.type)) out.push_back(t.type);
  }
  return out;
}

// The same numbers everywhere: sums of four uniform ones, about 0, of deviation `size`.
class Numbers {
 public:
  explicit Numbers(uint32_t seed) : state_(seed) {}
  uint32_t bits() {
    state_ = state_ * 1664525u + 1013904223u;
    return state_ >> 8;
  }
  float uniform() { return static_cast<float>(bits()) * 0x1p-24f; }
  float bell(float size) {
    return (uniform() + uniform() + uniform() + uniform() - 2.0f) * 1.75f * size;
  }

 private:
  uint32_t state_;
};

Floats bell_values(size_t n, uint32_t seed, float size = 0.03f) {
  Numbers numbers(seed);
  Floats out(n);
  for (float& x : out) x = numbers.bell(size);
  return out;
}

Floats some_importance(size_t n, uint32_t seed) {
  Numbers numbers(seed);
  Floats out(n);
  for (float& q : out) q = numbers.uniform() * numbers.uniform() * 4.0f;
  return out;
}

// Nearly all 0: scales are fitted to a few values, and may come out negative.
Floats sparse_importance(size_t n, uint32_t seed) {
  Numbers numbers(seed);
  Floats out(n);
  for (float& q : out) q = numbers.uniform() < 0.06f ? numbers.uniform() : 0.0f;
  return out;
}

// Rows of 256 that are hard to round.
Floats hard_values() {
  Floats out;
  Numbers numbers(5);
  const auto add = [&](auto value_of) {
    for (int i = 0; i < 256; ++i) out.push_back(value_of(i));
  };
  add([](int) { return 0.0f; });
  add([](int) { return -0.0f; });
  add([](int) { return 0.7f; });
  add([](int) { return -0.7f; });
  add([](int i) { return i == 100 ? -3.0f : 0.0f; });
  add([](int i) { return i % 2 != 0 ? 1.0f : -1.0f; });
  add([](int i) { return static_cast<float>(i % 32 - 16); });
  add([](int i) { return static_cast<float>(i % 16) + 0.5f; });
  add([](int i) { return i % 32 == 0 ? 127.0f : static_cast<float>(i % 32) + 0.5f; });
  add([](int i) { return static_cast<float>(i - 255) * 0.01f; });
  add([&](int) { return numbers.bell(1e-20f); });
  add([&](int) { return numbers.bell(1e-12f); });
  add([&](int) { return numbers.bell(1e-7f); });
  add([&](int) { return numbers.bell(1e4f); });
  add([&](int i) { return numbers.bell(i / 32 % 2 != 0 ? 1e-6f : 1.0f); });
  add([&](int) { return -1.0f - numbers.uniform() * 1e-6f; });
  add([&](int i) { return i % 16 == 3 ? 50.0f : numbers.bell(0.01f); });
  add([&](int) { return numbers.bell(1e-40f); });
  add([&](int) { return static_cast<float>(static_cast<int>(numbers.bits() % 7) - 3) * 1.4e-45f; });
  return out;
}

Bytes quantized(Type type, const Floats& values, size_t n, const Floats& importance = {}) {
  const size_t n_rows = values.size() / n;
  Bytes out(n_rows * row_bytes(traits(type), n));
  const Status status =
      quantize_rows(type, values.data(), static_cast<int64_t>(n_rows), static_cast<int64_t>(n),
                    importance.empty() ? nullptr : importance.data(), out.data());
  if (!status) ADD_FAILURE() << traits(type).name << ": " << status.error().message;
  return out;
}

Status status_of(Type type, const Floats& row) {
  Bytes out(row_bytes(traits(type), row.size()));
  return quantize_rows(type, row.data(), 1, static_cast<int64_t>(row.size()), nullptr, out.data());
}

Floats unpacked(Type type, const Bytes& bytes, size_t n) {
  Floats out(n);
  traits(type).dequantize(bytes.data(), static_cast<int64_t>(n), out.data());
  return out;
}

// --- what comes back -----------------------------------------------------------------------------

// The error relative to the values, root mean square; weighted if there are weights.
double relative_error(const Floats& x, const Floats& y, const Floats& weights = {}) {
  double error = 0;
  double size = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double w = weights.empty() ? 1 : weights[i % weights.size()];
    const double difference = static_cast<double>(x[i]) - y[i];
    error += w * difference * difference;
    size += w * static_cast<double>(x[i]) * x[i];
  }
  return std::sqrt(error / size);
}

TEST(QuantizeRows, ErrorsAreWithinEachTypesBounds) {
  const struct {
    Type type;
    double most;
  } kBounds[] = {
      {Type::F32, 0},      {Type::F16, 3e-4},     {Type::BF16, 2e-3},   {Type::Q8_0, 6e-3},
      {Type::Q4_0, 0.1},   {Type::Q4_1, 0.09},    {Type::Q5_0, 0.05},   {Type::Q5_1, 0.045},
      {Type::Q2_K, 0.32},  {Type::Q3_K, 0.17},    {Type::Q4_K, 0.08},   {Type::Q5_K, 0.04},
      {Type::Q6_K, 0.021}, {Type::IQ4_NL, 0.085}, {Type::IQ4_XS, 0.09},
  };
  const Floats x = bell_values(16 * 512, 1);
  for (const auto& [type, most] : kBounds) {
    const double error = relative_error(x, unpacked(type, quantized(type, x, 512), x.size()));
    EXPECT_LE(error, most) << traits(type).name;
    EXPECT_GE(error, 0.6 * most) << traits(type).name;  // the bound is near
  }
}

// Importance makes the error smaller where it is large.
TEST(QuantizeRows, ImportanceCounts) {
  const Floats x = bell_values(16 * 512, 2);
  Floats q(512, 0.01f);
  for (size_t i = 0; i < q.size(); i += 5) q[i] = 10.0f;
  for (const Type type : {Type::Q4_0, Type::Q4_1, Type::Q5_0, Type::Q5_1, Type::Q2_K, Type::Q3_K,
                          Type::Q4_K, Type::Q5_K, Type::Q6_K, Type::IQ4_NL, Type::IQ4_XS}) {
    const Floats plain = unpacked(type, quantized(type, x, 512), x.size());
    const Floats weighted = unpacked(type, quantized(type, x, 512, q), x.size());
    EXPECT_LT(relative_error(x, weighted, q), 0.95 * relative_error(x, plain, q))
        << traits(type).name;
  }
}

TEST(QuantizeRows, ZerosStayZeros) {
  const Floats zeros(512);
  for (const Type type : target_types()) {
    const Bytes bytes = quantized(type, zeros, 512);
    if (!traits(type).computed) continue;
    EXPECT_EQ(unpacked(type, bytes, 512), zeros) << traits(type).name;
  }
}

// Half-way values go away from 0 in Q8_0, to the even one in the types of floats.
TEST(QuantizeRows, Ties) {
  Floats row(32);
  for (size_t i = 1; i < 32; ++i) row[i] = (static_cast<float>(i) + 0.5f) * (i % 2 != 0 ? 1 : -1);
  row[0] = 127.0f;
  const Bytes bytes = quantized(Type::Q8_0, row, 32);
  for (size_t i = 1; i < 32; ++i) {
    const int q = static_cast<int8_t>(bytes[2 + i]);
    EXPECT_EQ(q, (static_cast<int>(i) + 1) * (i % 2 != 0 ? 1 : -1));
  }
  const Bytes halves = quantized(Type::F16, {1.0f + 0x1p-11f, 1.0f + 3 * 0x1p-11f, 0x1p-25f}, 1);
  EXPECT_EQ(halves, (Bytes{0x00, 0x3c, 0x02, 0x3c, 0x00, 0x00}));
  const Bytes bf16 = quantized(Type::BF16, {1.0f + 0x1p-8f, -1.0f - 3 * 0x1p-8f}, 1);
  EXPECT_EQ(bf16, (Bytes{0x80, 0x3f, 0x82, 0xbf}));
}

// --- refused -------------------------------------------------------------------------------------

TEST(QuantizeRows, RefusesWhatIsNoFiniteNumber) {
  for (const Type type : target_types()) {
    for (const size_t at : {size_t{0}, size_t{200}, size_t{511}}) {
      for (const float bad : {std::numeric_limits<float>::infinity(),
                              -std::numeric_limits<float>::infinity(), std::nanf("")}) {
        Floats row = bell_values(512, 3);
        row[at] = bad;
        const Status status = status_of(type, row);
        ASSERT_FALSE(status) << traits(type).name;
        EXPECT_EQ(status.error().code, Code::bad_file);
      }
    }
  }
}

TEST(QuantizeRows, RefusesWhatTheTypeCannotHold) {
  for (const Type type : target_types()) {
    if (type == Type::F32 || type == Type::BF16 || type == Type::MXFP4) continue;
    Floats row = bell_values(512, 3);
    row[300] = 3e8f;
    const Status status = status_of(type, row);
    ASSERT_FALSE(status) << traits(type).name;
    EXPECT_EQ(status.error().code, Code::bad_file);
  }
  EXPECT_TRUE(status_of(Type::F16, {65519.0f}));
  EXPECT_FALSE(status_of(Type::F16, {65520.0f}));
  EXPECT_FALSE(status_of(Type::BF16, {3.4e38f}));
  EXPECT_TRUE(status_of(Type::MXFP4, Floats(32, 0x1p-125f)));
  EXPECT_FALSE(status_of(Type::MXFP4, Floats(32, 0x1p-126f)));
}

TEST(QuantizeRows, RefusesOtherTypes) {
  for (const Type type : {Type::IQ2_XS, Type::IQ3_S, Type::NVFP4, Type::Q8_K, Type::I32}) {
    EXPECT_FALSE(can_quantize_to(type));
    const float x[256] = {};
    uint8_t out[1024];
    const Status status = quantize_rows(type, x, 1, 256, nullptr, out);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, Code::unsupported_type);
  }
}

// --- the same bytes ------------------------------------------------------------------------------

// Values of several kinds. Some are too large or small for some types, so only bytes are compared.
TEST(QuantizeRows, EveryMachineGivesTheSameBytes) {
  Floats values = hard_values();
  const Floats bell = bell_values(9 * 256, 4);
  values.insert(values.end(), bell.begin(), bell.end());
  const RowQuantizerList list = all_row_quantizers();
  const RowQuantizer& baseline = *list.first[list.count - 1];
  int compared = 0;
  for (const Type type : target_types()) {
    for (const int64_t n : {int64_t{256}, int64_t{1024}}) {
      const int64_t n_rows = static_cast<int64_t>(values.size()) / n;
      Floats importance = some_importance(static_cast<size_t>(n), 6);
      std::fill(importance.begin() + 64, importance.begin() + 128, 0.0f);
      const Floats sparse = sparse_importance(static_cast<size_t>(n), 13);
      for (const float* weights :
           {static_cast<const float*>(nullptr), std::as_const(importance).data(), sparse.data()}) {
        Bytes expected(static_cast<size_t>(n_rows) * row_bytes(traits(type), n));
        ASSERT_TRUE(baseline.quantize(type, {values.data(), n_rows, n, weights, expected.data()}));
        for (int i = 0; i + 1 < list.count; ++i) {
          if (!list.first[i]->supported()) continue;
          Bytes bytes(expected.size());
          list.first[i]->quantize(type, {values.data(), n_rows, n, weights, bytes.data()});
          EXPECT_EQ(bytes, expected) << traits(type).name << ", " << list.first[i]->name;
          ++compared;
        }
      }
    }
  }
  if (compared == 0) GTEST_SKIP() << "this machine has only the baseline";
}

// Rows in one call, and one by one.
TEST(QuantizeRows, ARowsBytesDependOnThatRow) {
  const size_t n = 768;
  const Floats x = bell_values(5 * n, 7);
  const Floats q = some_importance(n, 8);
  for (const Type type : target_types()) {
    for (const Floats& weights : {Floats{}, q}) {
      const Bytes all = quantized(type, x, n, weights);
      Bytes one_by_one;
      for (size_t r = 0; r < 5; ++r) {
        const Floats row(x.begin() + static_cast<int64_t>(r * n),
                         x.begin() + static_cast<int64_t>((r + 1) * n));
        const Bytes bytes = quantized(type, row, n, weights);
        one_by_one.insert(one_by_one.end(), bytes.begin(), bytes.end());
      }
      EXPECT_EQ(all, one_by_one) << traits(type).name;
    }
  }
}

// --- formulas, one block after the other ---------------------------------------------------------

int nearest_int(float x) { return (std::bit_cast<int32_t>(x + 12582912.0f) & 0x7fffff) - 0x400000; }

// Weights by importance where the mean is taken over the row.
Floats row_weights(const float* row, size_t n, const Floats& q) {
  float sum = 0.0f;
  for (size_t i = 0; i < n; ++i) sum += row[i] * row[i];
  const float mean = sum / static_cast<float>(n);
  Floats w(n);
  for (size_t i = 0; i < n; ++i) w[i] = q[i] * std::sqrt(mean + row[i] * row[i]);
  return w;
}

// Writes d (and min) and 32 codes of 4 bits.
void put_block(Bytes& out, const Floats& halves, const int* codes) {
  for (const float half : halves) {
    const uint16_t bits = f32_to_f16(half);
    out.push_back(static_cast<uint8_t>(bits & 255));
    out.push_back(static_cast<uint8_t>(bits >> 8));
  }
  for (int i = 0; i < 16; ++i) out.push_back(static_cast<uint8_t>(codes[i] | codes[i + 16] << 4));
}

void reference_symmetric(const float* x, const float* w, Bytes& out) {
  float m = 0.0f;
  for (int i = 0; i < 32; ++i) m = std::fabs(x[i]) > std::fabs(m) ? x[i] : m;
  int best_codes[32] = {};
  float scale = 0.0f;
  float best = 0.0f;
  for (int trial = -10; trial <= 9 && std::fabs(m) >= 1e-15f; ++trial) {
    if (trial == 0) continue;
    const int step = trial == -10 ? 0 : trial;
    const float k = -(8.0f + 0.1f * static_cast<float>(step)) / m;
    int codes[32];
    float a = 0.0f;
    float b = 0.0f;
    for (int i = 0; i < 32; ++i) {
      const int l = std::clamp(nearest_int(k * x[i]), -8, 7);
      codes[i] = l + 8;
      a += w[i] * x[i] * static_cast<float>(l);
      b += w[i] * static_cast<float>(l) * static_cast<float>(l);
    }
    if (trial != -10 && !(b > 0.0f && a * a > best * b)) continue;
    scale = b > 0.0f ? a / b : 0.0f;
    best = scale * a;
    std::copy_n(codes, 32, best_codes);
  }
  put_block(out, {scale}, best_codes);
}

void reference_offset(const float* x, const float* w, Bytes& out) {
  float min = *std::min_element(x, x + 32);
  const float max = *std::max_element(x, x + 32);
  min = std::min(min, 0.0f);
  int best_codes[32] = {};
  float scale = 0.0f;
  float best = 0.0f;
  float sum_w = 0.0f;
  float sum_x = 0.0f;
  for (int i = 0; i < 32; ++i) sum_w += w[i], sum_x += w[i] * x[i];
  for (int s = -1; s <= 36 && max > min; ++s) {
    const float k =
        s < 0 ? 15.0f / (max - min) : (-0.9f + 0.05f * static_cast<float>(s) + 15.0f) / (max - min);
    int codes[32];
    float sum_l = 0.0f;
    float ll = 0.0f;
    float xl = 0.0f;
    for (int i = 0; i < 32; ++i) {
      const float product = k * (x[i] - min);
      codes[i] = s < 0            ? std::clamp(nearest_int(product), 0, 15)
                 : product > 0.0f ? nearest_int(std::min(product, 15.0f))
                                  : 0;
      const float l = static_cast<float>(codes[i]);
      sum_l += w[i] * l, ll += w[i] * l * l, xl += w[i] * l * x[i];
    }
    float this_scale = 1.0f / k;
    float this_min = min;
    if (s >= 0) {
      const float det = sum_w * ll - sum_l * sum_l;
      if (!(det > 0.0f)) continue;
      this_scale = (sum_w * xl - sum_x * sum_l) / det;
      this_min = (ll * sum_x - sum_l * xl) / det;
      if (this_min > 0.0f) this_min = 0.0f, this_scale = xl / ll;
    }
    float error = 0.0f;
    for (int i = 0; i < 32; ++i) {
      const float difference = this_scale * static_cast<float>(codes[i]) + this_min - x[i];
      error += w[i] * (difference * difference);
    }
    if (s >= 0 && !(error < best)) continue;
    best = error, scale = this_scale, min = this_min;
    std::copy_n(codes, 32, best_codes);
  }
  put_block(out, {scale, min}, best_codes);
}

TEST(QuantizeRows, SearchesAreThoseOfPlainLoops) {
  const size_t n = 256;
  Floats x = hard_values();
  const Floats bell = bell_values(40 * n, 9, 2.0f);
  x.insert(x.end(), bell.begin(), bell.end());
  const Floats q = some_importance(n, 10);
  Bytes symmetric;
  Bytes offset;
  for (size_t r = 0; r < x.size() / n; ++r) {
    const Floats w = row_weights(&x[r * n], n, q);
    for (size_t b = 0; b < n; b += 32) {
      reference_symmetric(&x[r * n + b], &w[b], symmetric);
      reference_offset(&x[r * n + b], &w[b], offset);
    }
  }
  EXPECT_EQ(quantized(Type::Q4_0, x, n, q), symmetric);
  EXPECT_EQ(quantized(Type::Q4_1, x, n, q), offset);
}

// --- recorded ------------------------------------------------------------------------------------

// XXH64 of the bytes of 6 rows of 768, without and with importance, and of hard rows with sparse
// importance. llama-quantize gave the same bytes.
TEST(QuantizeRows, RecordedHashes) {
  const struct {
    Type type;
    uint64_t plain, weighted, hard;
  } kHashes[] = {
      {Type::F32, 0xe03597c7e60ed736ull, 0xe03597c7e60ed736ull, 0x54d269423d79ca75ull},
      {Type::F16, 0xf9be74b998bb370full, 0xf9be74b998bb370full, 0x22bcb70f22810d07ull},
      {Type::Q4_0, 0xf8d1b530385720b4ull, 0x88ecc5a995a4e105ull, 0x73bdd1bb6a4d5da3ull},
      {Type::Q4_1, 0x1934e928f4a61359ull, 0x8c231c25e857908aull, 0x81a0671c51a46446ull},
      {Type::Q5_0, 0x541d627816050d5aull, 0xd0b57d4cad60b16aull, 0x0ee5e329bbc708e0ull},
      {Type::Q5_1, 0x364156b4ddf8eb74ull, 0x1cbbfdab774645e9ull, 0x2e047fc92c4e3b44ull},
      {Type::Q8_0, 0x48580af262ba26bbull, 0x48580af262ba26bbull, 0x3346a0d54a477b07ull},
      {Type::Q2_K, 0x1eb6ccc64f609076ull, 0x2a212a75a6699097ull, 0x055ca552fa220f81ull},
      {Type::Q3_K, 0x6cf3f4315f514621ull, 0x971384c3ff209e84ull, 0xc0a0e6c2c0eabe1aull},
      {Type::Q4_K, 0x3de8ba5ac7125e8dull, 0x6ca1684f06dfa9c7ull, 0x9664371c6364e773ull},
      {Type::Q5_K, 0xb79873aeb79bf179ull, 0x5f79f9128c262929ull, 0xa6296f7ffb826176ull},
      {Type::Q6_K, 0xa48254065e186185ull, 0xd913116a58c0019dull, 0x2bbbe2f292f6eadfull},
      {Type::IQ4_NL, 0x570b208cde9df313ull, 0xb7559fce8f8ade82ull, 0x0f181dd85afd5a4dull},
      {Type::IQ4_XS, 0xa332cfc4a4d69006ull, 0x5bdaee119578df5dull, 0x8203173a424253dfull},
      {Type::BF16, 0x0ec9408368e020aeull, 0x0ec9408368e020aeull, 0x9f8999fd6d73c8f0ull},
      {Type::TQ1_0, 0x3a7eeb953971c493ull, 0x3a7eeb953971c493ull, 0x2d98a937a6b48fc2ull},
      {Type::TQ2_0, 0x4618a595fd095e6full, 0x4618a595fd095e6full, 0x2e712a6c4d1ca751ull},
      {Type::MXFP4, 0xf7d31ffe3eb3d87aull, 0xf7d31ffe3eb3d87aull, 0x638dd9c3ee64cc1full},
      {Type::Q1_0, 0xb5b91ac120bf4498ull, 0xb5b91ac120bf4498ull, 0x395f79903b2f7a3eull},
      {Type::Q2_0, 0x9abfb20dafc9bafeull, 0x9abfb20dafc9bafeull, 0x5599798ac606d564ull},
  };
  const size_t n = 768;
  Floats x = bell_values(6 * n, 11);
  for (size_t i = 0; i < n; ++i) x[3 * n + i] *= i % 100 == 0 ? 20.0f : 0.5f;
  const Floats q = some_importance(n, 12);
  const Floats hard = hard_values();
  const Floats sparse = sparse_importance(256, 14);
  std::vector<Type> covered;
  for (const auto& [type, plain, weighted, of_hard] : kHashes) {
    SCOPED_TRACE(traits(type).name);
    EXPECT_EQ(xxh64(quantized(type, x, n)), plain);
    EXPECT_EQ(xxh64(quantized(type, x, n, q)), weighted);
    EXPECT_EQ(xxh64(quantized(type, hard, 256, sparse)), of_hard);
    covered.push_back(type);
  }
  EXPECT_EQ(covered, target_types());
}

}  // namespace
}  // namespace sluice
