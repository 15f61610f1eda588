#include "files/compare.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "files/bytes.h"
#include "make/gguf_builder.h"

namespace sluice {
namespace {

// A file in memory.
class Model final : public StringSource {
 public:
  explicit Model(const GgufBuilder& builder) : Model(builder.build()) {}
  const Gguf header;

 private:
  explicit Model(const std::string& bytes)
      : StringSource(bytes), header(*parse_gguf(as_bytes(bytes), bytes.size())) {}
};

GgufBuilder::Tensor tensor(const std::string& name, uint32_t type, std::vector<uint64_t> dims,
                           std::string data) {
  return {name, type, std::move(dims), std::move(data), std::nullopt, std::nullopt, std::nullopt};
}
GgufBuilder::Tensor floats(const std::string& name, const std::vector<float>& values) {
  return tensor(name, 0, {values.size()}, bytes_of(values));
}

TensorComparison compare(Model& a, Model& b, int threads = 2) {
  Pool pool(threads);
  auto out = compare_tensors({a.header, a}, {b.header, b}, pool, nullptr);
  EXPECT_TRUE(out);
  return *out;
}

TEST(CompareFields, FindsWhatDiffers) {
  GgufBuilder one, two;
  one.kv_u32("same", 1).kv_u32("type", 1).kv_string("text", "abcdef").kv_string("only a", "x");
  one.kv_strings("texts", {"a", "b", "c"}).kv_array<int32_t>("list", ValueType::i32, {1, 2, 3});
  two.kv_array<int32_t>("list", ValueType::i32, {1, 2}).kv_strings("texts", {"a", "bb", "c"});
  two.kv_f32("only b", 1).kv_string("text", "abcxef").kv_i32("type", 1).kv_u32("same", 1);
  const Model a(one), b(two);
  const auto found = compare_fields(a.header, b.header);
  std::vector<std::string> keys;
  for (const FieldDifference& each : found) keys.push_back(each.key);
  EXPECT_EQ(keys, (std::vector<std::string>{"type", "text", "only a", "texts", "list", "only b"}));
  EXPECT_FALSE(found[0].first);
  EXPECT_EQ(found[1].first, 3u);
  EXPECT_EQ(found[2].b, nullptr);
  EXPECT_EQ(found[3].first, 1u);
  EXPECT_EQ(found[4].first, 2u);
  EXPECT_EQ(found[5].a, nullptr);
  EXPECT_TRUE(compare_fields(a.header, a.header).empty());
}

TEST(CompareFields, TellsTextsApartThatAreTheSameEndToEnd) {
  GgufBuilder one, two;
  one.kv_strings("texts", {"ab", "c"});
  two.kv_strings("texts", {"a", "bc"});
  const Model a(one), b(two);
  const auto found = compare_fields(a.header, b.header);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].first, 0u);
}

TEST(CompareFields, LeavesOutHowAFileIsLaidOut) {
  GgufBuilder one, two;
  one.kv_u32("a", 1);
  two.kv_u32("general.alignment", 64).alignment = 64;
  two.kv_u32("split.count", 3).kv_string("edit.padding", "   ").kv_u32("splits", 1).kv_u32("a", 1);
  const Model a(one), b(two);
  const auto found = compare_fields(a.header, b.header);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].key, "splits");
  EXPECT_EQ(compare_fields(b.header, a.header).size(), 1u);
}

TEST(CompareTensors, InAnotherOrderAreEqual) {
  GgufBuilder one, two;
  one.tensors = {floats("x", {1, 2}), floats("y", std::vector<float>(100'000, 3.0f))};
  two.tensors = {one.tensors[1], one.tensors[0]};
  two.kv_u32("general.alignment", 64).alignment = 64;
  Model a(one), b(two);
  const TensorComparison found = compare(a, b);
  EXPECT_TRUE(found.different.empty());
  EXPECT_EQ(found.n_equal, 2u);
}

TEST(CompareTensors, FindsWhatOnlyOneHasAndOtherShapes) {
  GgufBuilder one, two;
  one.tensors = {floats("a", {1}), tensor("turned", 0, {2, 3}, std::string(24, '\0')),
                 floats("c", {1})};
  two.tensors = {floats("b", {1}), tensor("turned", 0, {3, 2}, std::string(24, '\0')),
                 floats("c", {1})};
  Model a(one), b(two);
  const TensorComparison found = compare(a, b);
  using Kind = TensorDifference::Kind;
  ASSERT_EQ(found.different.size(), 3u);
  EXPECT_EQ(found.different[0].kind, Kind::only_a);
  EXPECT_EQ(found.different[1].kind, Kind::shape);
  EXPECT_EQ(found.different[2].kind, Kind::only_b);
  EXPECT_EQ(found.different[2].b->name, "b");
  EXPECT_EQ(found.n_equal, 1u);
}

TEST(CompareTensors, SayHowFarNumbersAreApart) {
  GgufBuilder one, two;
  one.tensors = {floats("x", {3, 4, 0, 0}), floats("zero", {0, 0}), floats("wrong", {NAN, 1})};
  two.tensors = {floats("x", {3, 4, 0, 1}), floats("zero", {0, 2}), floats("wrong", {1, 2})};
  Model a(one), b(two);
  const TensorComparison found = compare(a, b);
  ASSERT_EQ(found.different.size(), 3u);
  const TensorError& x = *found.different[0].error;
  EXPECT_EQ(x.rms_a, 2.5);
  EXPECT_EQ(x.rms_difference, 0.5);
  EXPECT_EQ(x.relative(), 0.2);
  EXPECT_EQ(x.largest_difference, 1);
  EXPECT_NEAR(*x.cosine(), 5 / std::sqrt(26), 1e-15);
  const TensorError& zero = *found.different[1].error;
  EXPECT_FALSE(zero.relative());
  EXPECT_FALSE(zero.cosine());
  const TensorError& wrong = *found.different[2].error;
  EXPECT_EQ(wrong.n_not_finite, 1u);
  EXPECT_EQ(wrong.rms_difference, 1);
}

TEST(CompareTensors, OfOtherTypesAreComparedAsNumbers) {
  GgufBuilder one, two;
  std::string block = bytes_of<uint16_t>(0x3c00);  // 1.0
  std::vector<float> same;
  for (int i = 0; i < 32; ++i) {
    block.push_back(static_cast<char>(i - 16));
    same.push_back(static_cast<float>(i - 16));
  }
  one.tensors = {tensor("x", 8, {32}, block), tensor("iq", 16, {256}, std::string(66, 'a')),
                 tensor("same", 16, {256}, std::string(66, 'a'))};
  two.tensors = {floats("x", same), tensor("iq", 16, {256}, std::string(66, 'b')),
                 tensor("same", 16, {256}, std::string(66, 'a'))};
  Model a(one), b(two);
  const TensorComparison found = compare(a, b);
  ASSERT_EQ(found.different.size(), 2u);
  EXPECT_EQ(found.different[0].error->rms_difference, 0);
  EXPECT_EQ(found.different[0].error->cosine(), 1);
  EXPECT_FALSE(found.different[1].error);  // IQ2_XXS isn't computed
  EXPECT_EQ(found.n_equal, 1u);
}

// A difference in any chunk is found, and its figures don't depend on the threads.
TEST(CompareTensors, AreTheSameWithAnyNumberOfThreads) {
  std::vector<float> values(4'300'000);  // more than one batch
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 7919 % 2003) - 1000;
  GgufBuilder one, two;
  one.tensors = {floats("x", values)};
  values.back() += 1;
  two.tensors = {floats("x", values)};
  Model a(one), b(two);
  const TensorComparison single = compare(a, b, 1);
  ASSERT_EQ(single.different.size(), 1u);
  EXPECT_NEAR(single.different[0].error->largest_difference, 1, 1e-6);
  for (const int threads : {2, 5}) {
    const TensorComparison found = compare(a, b, threads);
    EXPECT_EQ(found.different[0].error->rms_a, single.different[0].error->rms_a);
    EXPECT_EQ(found.different[0].error->product, single.different[0].error->product);
  }
}

TEST(CompareTensors, EndWhenTheyAreToldAndFailAsTheirSource) {
  GgufBuilder one;
  one.tensors = {floats("x", {1, 2})};
  Model a(one), b(one);
  Pool pool(2);
  const auto ended = compare_tensors({a.header, a}, {b.header, b}, pool,
                                     [](const FileProgress&) { return false; });
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, Code::aborted);
  Gguf beyond = a.header;
  beyond.data_offset += 1000;
  const auto failed = compare_tensors({beyond, a}, {b.header, b}, pool, nullptr);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Code::bad_file);
}

}  // namespace
}  // namespace sluice
