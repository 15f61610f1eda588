// Tests of the block formats: unpacking and values against a scalar reading of each format, the
// error of rounding, packing and reading back, and the oracle on cases worked out by hand.
#include "quant/quant.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "base/half.h"
#include "make/blocks.h"
#include "make/quantize.h"
#include "quant/matrix.h"

namespace sluice {
namespace {

float half_at(const uint8_t* p) { return f16_to_f32(static_cast<uint16_t>(p[0] | p[1] << 8)); }

// The number that a code of IQ4_NL and IQ4_XS stands for.
int uneven(int code) {
  static constexpr int kValues[] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                    1,    13,   25,  38,  53,  69,  89,  113};
  return kValues[code];
}

// Element i of a block, after the description of the formats in ggml-common.h.
float element(Type type, const uint8_t* b, int i) {
  const auto nibble = [&](const uint8_t* p) { return i < 16 ? p[i] & 15 : p[i - 16] >> 4; };
  const auto fifth = [&](const uint8_t* p) { return (p[i / 8] >> i % 8 & 1) << 4; };
  const auto f = [](int value) { return static_cast<float>(value); };
  switch (type) {
    case Type::F32: {
      float value;
      std::memcpy(&value, b, 4);
      return value;
    }
    case Type::F16:
      return half_at(b);
    case Type::BF16:
      return bf16_to_f32(static_cast<uint16_t>(b[0] | b[1] << 8));
    case Type::Q4_0:
      return half_at(b) * f(nibble(b + 2) - 8);
    case Type::Q4_1:
      return half_at(b) * f(nibble(b + 4)) + half_at(b + 2);
    case Type::Q5_0:
      return half_at(b) * f((nibble(b + 6) | fifth(b + 2)) - 16);
    case Type::Q5_1:
      return half_at(b) * f(nibble(b + 8) | fifth(b + 4)) + half_at(b + 2);
    case Type::Q8_0:
      return half_at(b) * f(static_cast<int8_t>(b[2 + i]));
    case Type::Q4_K:
    case Type::Q5_K: {
      const int j = i / 32;  // the group, and its 6-bit scale and min
      const uint8_t* q = b + 4;
      const int scale = j < 4 ? q[j] & 63 : (q[j + 4] & 15) | (q[j - 4] >> 6) << 4;
      const int min = j < 4 ? q[j + 4] & 63 : q[j + 4] >> 4 | (q[j] >> 6) << 4;
      const uint8_t* nibbles = b + (type == Type::Q5_K ? 48 : 16);
      const uint8_t byte = nibbles[i / 64 * 32 + i % 32];
      int code = i / 32 % 2 == 0 ? byte & 15 : byte >> 4;
      if (type == Type::Q5_K) code |= (b[16 + i % 32] >> j & 1) << 4;
      return half_at(b) * f(scale) * f(code) + -(half_at(b + 2) * f(min));
    }
    case Type::Q6_K: {
      const int half = i / 128, quarter = i / 32 % 4;
      const uint8_t low = b[64 * half + (quarter % 2) * 32 + i % 32];
      const int high = b[128 + 32 * half + i % 32] >> (2 * quarter) & 3;
      const int code = (quarter < 2 ? low & 15 : low >> 4) | high << 4;
      return half_at(b + 208) * f(static_cast<int8_t>(b[192 + i / 16])) * f(code - 32);
    }
    case Type::Q2_K: {
      const int scale = b[i / 16] & 15, min = b[i / 16] >> 4;
      const int code = b[16 + i / 128 * 32 + i % 32] >> i / 32 % 4 * 2 & 3;
      return half_at(b + 80) * f(scale) * f(code) + -(half_at(b + 82) * f(min));
    }
    case Type::Q3_K: {
      const int j = i / 16;  // the group, and its 6-bit scale
      const int low = j < 8 ? b[96 + j] & 15 : b[88 + j] >> 4;
      const int scale = (low | (b[104 + j % 4] >> j / 4 * 2 & 3) << 4) - 32;
      const int code = b[32 + i / 128 * 32 + i % 32] >> i / 32 % 4 * 2 & 3;
      const bool high = (b[i % 32] >> i / 32 & 1) != 0;
      return half_at(b + 108) * f(scale) * f(high ? code : code - 4);
    }
    case Type::IQ4_NL:
      return half_at(b) * f(uneven(nibble(b + 2)));
    case Type::IQ4_XS: {
      const int j = i / 32;  // the group, and its 6-bit scale
      const int scale = (j % 2 == 0 ? b[4 + j / 2] & 15 : b[4 + j / 2] >> 4) |
                        ((b[2] | b[3] << 8) >> 2 * j & 3) << 4;
      const uint8_t byte = b[8 + 16 * j + i % 16];
      return half_at(b) * f(scale - 32) * f(uneven(i % 32 < 16 ? byte & 15 : byte >> 4));
    }
    default:
      ADD_FAILURE() << "element() has no reading of " << traits(type).name << ": write one";
      return NAN;
  }
}

std::vector<uint8_t> random_bytes(Type type, int64_t rows, int64_t cols, uint32_t seed) {
  const TypeTraits& t = traits(type);
  std::mt19937 random(seed);
  std::vector<uint8_t> bytes(static_cast<size_t>(rows) *
                             static_cast<size_t>(row_bytes(t, static_cast<uint64_t>(cols))));
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  // Exponents that keep halves and floats finite.
  set_floats(t, bytes.data(), bytes.size(), [&] {
    const auto bits = static_cast<uint32_t>(random());
    return float_bytes(t) == 4 ? bits & 0xb7ffffff : bits & 0xb7ff;
  });
  return bytes;
}

std::vector<float> normal_values(int64_t n, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> values(static_cast<size_t>(n));
  for (float& value : values) {
    float sum = 0;  // a sum of 12 uniform numbers is close to normal
    for (int i = 0; i < 12; ++i) sum += static_cast<float>(random() >> 8) * 0x1p-24f;
    value = (sum - 6.0f) * 0.02f;
  }
  return values;
}

TEST(Quant, FindsTypesByTheirNumbers) {
  EXPECT_EQ(find_traits(0), &traits(Type::F32));
  EXPECT_EQ(find_traits(14), &traits(Type::Q6_K));
  for (const uint32_t not_computed : {4u, 9u, 24u, 0xffffffffu}) {
    EXPECT_EQ(find_traits(not_computed), nullptr) << not_computed;
  }
  EXPECT_EQ(find_traits(std::size(kTypes)), nullptr);
}

TEST(Quant, NamesTheTypesForMessages) {
  const std::string names = computed_type_names();
  EXPECT_TRUE(names.starts_with("F32, F16, Q4_0, Q4_1, ")) << names;
  EXPECT_NE(names.find(", BF16"), std::string::npos) << names;
  EXPECT_EQ(names.find("Q8_1"), std::string::npos) << names;
}

// Every bit of a block belongs to exactly one number.
TEST(Quant, RowsGiveEveryNumberItsOwnBits) {
  for (const Type type : integer_types()) {
    const TypeTraits& t = traits(type);
    SCOPED_TRACE(t.name);
    std::vector<uint8_t> used(t.block_bytes);
    const auto take = [&](size_t at, int bits) {
      ASSERT_LT(at, used.size());
      EXPECT_EQ(used[at] & bits, 0) << "byte " << at;
      used[at] = static_cast<uint8_t>(used[at] | bits);
    };
    const auto take_plane = [&](const Plane& plane, uint32_t n) {
      if (plane.bits == 0) return;
      const uint32_t span = 8u / plane.bits * plane.run;
      for (uint32_t i = 0; i < n; ++i) {
        take(plane.at + i / span * plane.run + i % plane.run,
             ((1 << plane.bits) - 1) << i % span / plane.run * plane.bits);
      }
    };
    for (const size_t place : places_of_floats(t)) take(place, 255), take(place + 1, 255);
    take_plane(t.low, t.block);
    take_plane(t.high, t.block);
    const uint32_t groups = t.block / static_cast<uint32_t>(t.group);
    if (t.scales.kind == Scales::sixes) {
      for (size_t i = 0; i < 12; ++i) take(t.scales.low.at + i, 255);
    } else {
      take_plane(t.scales.low, t.has_min ? 2 * groups : groups);
      take_plane(t.scales.high, t.has_min ? 2 * groups : groups);
    }
    EXPECT_EQ(used, std::vector<uint8_t>(t.block_bytes, 255));
  }
}

TEST(Quant, DequantizesEveryElementAsTheFormatSays) {
  for (const Type type : every_type()) {
    const TypeTraits& t = traits(type);
    const int64_t n = 3 * t.block;
    const std::vector<uint8_t> row = random_bytes(type, 1, n, 5);
    std::vector<float> values(static_cast<size_t>(n));
    t.dequantize(row.data(), n, values.data());
    for (int64_t i = 0; i < n; ++i) {
      const uint8_t* block = row.data() + i / t.block * t.block_bytes;
      ASSERT_EQ(values[static_cast<size_t>(i)], element(type, block, static_cast<int>(i % t.block)))
          << t.name << " " << i;
    }
  }
}

TEST(Quant, UnpacksCodesThatGiveTheValues) {
  for (const Type type : every_type()) {
    const TypeTraits& t = traits(type);
    if (t.group == 0) continue;
    const int64_t n = 5 * t.block;
    const std::vector<uint8_t> row = random_bytes(type, 1, n, 6);
    std::vector<uint8_t> codes(static_cast<size_t>(n));
    std::vector<float> scales(codes.size()), mins(codes.size());
    t.unpack(row.data(), n, codes.data(), scales.data(), mins.data());
    for (size_t i = 0; i < codes.size(); ++i) {
      const size_t g = i / static_cast<size_t>(t.group);
      ASSERT_LT(codes[i], 1 << t.bits) << t.name;
      float value = scales[g] * static_cast<float>(codes[i] - t.bias);
      if (t.has_min) value += mins[g];
      const uint8_t* block = row.data() + i / t.block * t.block_bytes;
      ASSERT_EQ(value, element(type, block, static_cast<int>(i % t.block))) << t.name << " " << i;
    }
  }
}

// The bounds are relative root-mean-square errors on normal values, a little above the known ones.
TEST(Quant, RoundsWithinTheFormatsError) {
  const std::vector<std::pair<Type, double>> bounds = {
      {Type::F32, 0.0},    {Type::F16, 4e-4},  {Type::BF16, 3e-3},  {Type::Q4_0, 0.10},
      {Type::Q4_1, 0.085}, {Type::Q5_0, 0.05}, {Type::Q5_1, 0.042}, {Type::Q8_0, 0.0065},
      {Type::Q4_K, 0.08},  {Type::Q5_K, 0.04}, {Type::Q6_K, 0.022}};
  const int64_t n = 4096;
  const std::vector<float> values = normal_values(n, 9);
  for (const auto& [type, bound] : bounds) {
    const TypeTraits& t = traits(type);
    std::vector<uint8_t> row(static_cast<size_t>(row_bytes(t, static_cast<uint64_t>(n))));
    quantizer(type)(values.data(), n, row.data());
    std::vector<float> back(values.size());
    t.dequantize(row.data(), n, back.data());
    double error = 0, power = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      error += std::pow(double{back[i]} - double{values[i]}, 2);
      power += std::pow(double{values[i]}, 2);
    }
    EXPECT_LE(std::sqrt(error / power), bound) << t.name;
  }
}

TEST(Quant, RoundsZerosConstantsAndGarbageWithoutHarm) {
  for (const Type type : every_type()) {
    const TypeTraits& t = traits(type);
    Quantize* const quantize = quantizer(type);
    if (quantize == nullptr) continue;
    const int64_t n = 2 * t.block;
    std::vector<uint8_t> row(static_cast<size_t>(row_bytes(t, static_cast<uint64_t>(n))));
    std::vector<float> back(static_cast<size_t>(n));
    quantize(std::vector<float>(static_cast<size_t>(n), 0.0f).data(), n, row.data());
    t.dequantize(row.data(), n, back.data());
    for (const float value : back) ASSERT_EQ(value, 0.0f) << t.name;
    quantize(std::vector<float>(static_cast<size_t>(n), -0.75f).data(), n, row.data());
    t.dequantize(row.data(), n, back.data());
    for (const float value : back) ASSERT_NEAR(value, -0.75f, 0.02f) << t.name;
    std::vector<float> odd(static_cast<size_t>(n), 1e38f);
    for (size_t i = 0; i < odd.size(); i += 3) odd[i] = i % 2 == 0 ? NAN : -INFINITY;
    quantize(odd.data(), n, row.data());  // no value is promised, only that nothing traps
    t.dequantize(row.data(), n, back.data());
  }
}

TEST(Quant, QuantizesQ8AsAWorkedExample) {
  std::vector<float> values(32, 0.0f);
  values[0] = -127.0f;
  values[1] = 63.5f;  // ties go away from zero
  values[2] = -0.5f;
  std::vector<uint8_t> row(34);
  quantizer(Type::Q8_0)(values.data(), 32, row.data());
  EXPECT_EQ(half_at(row.data()), 1.0f);
  EXPECT_EQ(static_cast<int8_t>(row[2]), -127);
  EXPECT_EQ(static_cast<int8_t>(row[3]), 64);
  EXPECT_EQ(static_cast<int8_t>(row[4]), -1);
}

// Makes each number that may not be finite NaN or infinite, one at a time. The largest finite
// numbers pass.
TEST(Matrix, PackingFindsWhatIsNotFinite) {
  for (const Type type : every_type()) {
    const TypeTraits& t = traits(type);
    const int64_t cols = t.block == 1 ? 11 : 2 * t.block;
    std::vector<uint8_t> rows = random_bytes(type, 16, cols, 13);
    const size_t row_size = rows.size() / 16;
    const size_t size = float_bytes(t);
    const uint32_t infinity = infinity_bits(t);
    const uint32_t sign = size == 4 ? 0x80000000u : 0x8000u;
    std::vector<uint8_t> packed(rows.size());
    ASSERT_TRUE(pack_strip(type, rows.data(), cols, packed.data())) << t.name;
    EXPECT_EQ(first_not_finite(type, rows.data(), 16, cols), -1) << t.name;
    for (size_t row = 0; row < 16; ++row) {
      for (size_t at = 0; at < row_size; at += t.block_bytes) {
        for (const size_t place : places_of_floats(t)) {
          uint8_t* number = &rows[row * row_size + at + place];
          const std::vector<uint8_t> good(number, number + size);
          for (const uint32_t bits : {infinity, infinity | sign, infinity + 1, sign * 2 - 1}) {
            std::memcpy(number, &bits, size);
            EXPECT_FALSE(pack_strip(type, rows.data(), cols, packed.data()))
                << t.name << " " << row;
            EXPECT_EQ(first_not_finite(type, rows.data(), 16, cols), static_cast<int64_t>(row));
            EXPECT_EQ(first_not_finite(type, rows.data(), static_cast<int64_t>(row), cols), -1);
          }
          for (const uint32_t bits : {infinity - 1, (infinity - 1) | sign, sign, 1u}) {
            std::memcpy(number, &bits, size);
            EXPECT_TRUE(pack_strip(type, rows.data(), cols, packed.data())) << t.name << " " << row;
            EXPECT_EQ(first_not_finite(type, rows.data(), 16, cols), -1);
          }
          std::memcpy(number, good.data(), size);
        }
      }
    }
  }
}

TEST(Matrix, ReadsEveryRowPackedOrNot) {
  for (const Type type : every_type()) {
    const TypeTraits& t = traits(type);
    const int64_t cols = 2 * (t.block == 1 ? 20 : t.block), rows = 35;
    const std::vector<uint8_t> file = random_bytes(type, rows, cols, 11);
    const size_t row_size = file.size() / static_cast<size_t>(rows);
    // Whole strips are packed; the last three rows are not.
    std::vector<uint8_t> packed = file;
    for (size_t s = 0; s < 2; ++s) {
      pack_strip(type, &file[s * 16 * row_size], cols, &packed[s * 16 * row_size]);
    }
    EXPECT_NE(packed, file) << t.name;
    const Matrix plain{type, rows, cols, file.data(), false};
    const Matrix strips{type, rows, cols, packed.data(), true};
    std::vector<float> want(static_cast<size_t>(cols)), got(want), got_packed(want);
    for (int64_t r = 0; r < rows; ++r) {
      t.dequantize(&file[static_cast<size_t>(r) * row_size], cols, want.data());
      read_row(plain, r, got.data());
      read_row(strips, r, got_packed.data());
      ASSERT_EQ(std::memcmp(got.data(), want.data(), want.size() * 4), 0) << t.name << " " << r;
      ASSERT_EQ(std::memcmp(got_packed.data(), want.data(), want.size() * 4), 0)
          << t.name << " " << r;
    }
  }
}

TEST(Matrix, UnpacksRowsToThePanelsPlaces) {
  for (const Type type : every_type()) {
    const TypeTraits& t = traits(type);
    if (t.group == 0) continue;
    const int64_t cols = t.block == 32 ? 288 : 512;  // more than one chunk of 256; 288 with a rest
    for (const int n_rows : {1, 5, 16}) {
      const std::vector<uint8_t> rows = random_bytes(type, n_rows, cols, 12);
      const size_t n = static_cast<size_t>(cols);
      std::vector<uint8_t> panel_codes(n * 16);
      std::vector<float> panel_scales(n), panel_mins(n);
      Panel panel{};
      panel.codes = panel_codes.data();
      panel.scales = panel_scales.data();
      panel.mins = panel_mins.data();
      unpack_rows(type, rows.data(), n_rows, cols, panel);
      EXPECT_EQ(panel.group, t.group);
      EXPECT_EQ(panel.bits, t.bits);
      EXPECT_EQ(t.bias, t.has_min ? 0 : 1 << (t.bits - 1));  // products assume this
      EXPECT_EQ(panel.has_min, t.has_min);
      std::vector<uint8_t> codes(n);
      std::vector<float> scales(n), mins(n);
      for (size_t r = 0; r < 16; ++r) {
        const bool present = r < static_cast<size_t>(n_rows);
        if (present) {
          t.unpack(&rows[r * rows.size() / static_cast<size_t>(n_rows)], cols, codes.data(),
                   scales.data(), mins.data());
        }
        for (size_t i = 0; i < n; ++i) {
          const size_t g = i / static_cast<size_t>(t.group);
          if (present) {
            ASSERT_EQ(panel_codes[(i / 4 * 16 + r) * 4 + i % 4], codes[i]) << t.name;
          }
          ASSERT_EQ(panel_scales[g * 16 + r], present ? scales[g] : 0.0f) << t.name;
          if (t.has_min) {
            ASSERT_EQ(panel_mins[g * 16 + r], present ? mins[g] : 0.0f) << t.name;
          }
        }
      }
    }
  }
}

TEST(Reference, QuantizesAsDefined) {
  std::vector<float> x(64, 0.0f);
  x[0] = 127.0f;
  x[1] = 0.5f;  // ties to even
  x[2] = 1.5f;
  x[3] = -2.5f;
  std::vector<int8_t> q(64);
  float d[2];
  reference_quantize(x.data(), 64, q.data(), d);
  EXPECT_EQ(d[0], 1.0f);
  EXPECT_EQ(d[1], 0.0f);
  EXPECT_EQ(q[0], 127);
  EXPECT_EQ(q[1], 0);
  EXPECT_EQ(q[2], 2);
  EXPECT_EQ(q[3], -2);
  EXPECT_EQ(q[32], 0);
}

TEST(Reference, DotsAsWorkedOut) {
  // Q4_1: scale 2, min 1, all codes 3, activations 1 with d = 0.5:
  // 32 * 3 * (2 * 0.5) + 1 * (0.5 * 32) = 112.
  std::vector<uint8_t> row(20, 0x33);
  const uint16_t two = f32_to_f16(2.0f), one = f32_to_f16(1.0f);
  std::memcpy(row.data(), &two, 2);
  std::memcpy(row.data() + 2, &one, 2);
  const std::vector<int8_t> q(32, 1);
  const float d = 0.5f;
  EXPECT_EQ(reference_dot(Type::Q4_1, row.data(), 32, {q.data(), &d}), 112.0f);

  const float weights[] = {1.0f, 2.0f, -3.0f}, x[] = {10.0f, 100.0f, 1.0f};
  EXPECT_EQ(reference_dot_float(Type::F32, reinterpret_cast<const uint8_t*>(weights), 3, x),
            207.0f);
}

}  // namespace
}  // namespace sluice
