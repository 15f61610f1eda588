#include "files/gguf_writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "files/bytes.h"
#include "gguf/gguf.h"
#include "make/gguf_builder.h"

namespace sluice {
namespace {

TensorInfo tensor(const std::string& name, Type type, std::vector<uint64_t> dims) {
  TensorInfo out;
  out.name = name;
  out.type = static_cast<uint32_t>(type);
  out.n_dims = static_cast<uint32_t>(dims.size());
  std::ranges::copy(dims, out.dims);
  return out;
}

// Whatever the parser understood is written as it was, byte for byte.
TEST(GgufWriter, WritesWhatTheParserRead) {
  const std::string file = tiny_model().build();
  Gguf gguf = *parse_gguf(as_bytes(file), file.size());
  const Gguf before = gguf;
  ASSERT_TRUE(place_tensors(gguf));
  StringSink sink;
  GgufWriter writer(gguf, sink);
  ASSERT_TRUE(writer.begin());
  for (const TensorInfo& each : before.tensors) {
    // In two pieces.
    const auto data = as_bytes(file).subspan(before.data_offset + each.offset, each.bytes);
    ASSERT_TRUE(writer.append(data.first(data.size() / 2)));
    ASSERT_TRUE(writer.append(data.subspan(data.size() / 2)));
  }
  EXPECT_TRUE(writer.done());
  EXPECT_EQ(writer.written(), sink.bytes.size());
  // The last tensor is padded, too.
  ASSERT_GE(sink.bytes.size(), file.size());
  EXPECT_EQ(sink.bytes.substr(0, file.size()), file);
  EXPECT_EQ(sink.bytes.size() % 32, 0u);
}

TEST(GgufWriter, WritesEveryKindOfValue) {
  Gguf gguf;
  set_value(gguf, "u32", u32_value(7));
  set_value(gguf, "i32", i32_value(-7));
  set_value(gguf, "u64", u64_value(1ull << 40));
  set_value(gguf, "f32", f32_value(0.5f));
  set_value(gguf, "bool", bool_value(true));
  set_value(gguf, "text", text_value("a"));
  set_value(gguf, "texts", texts_value(std::vector<std::string>{"", "b", "cc"}));
  set_value(gguf, "i32s", i32s_value(std::vector<int32_t>{-1, 2}));
  set_value(gguf, "u32s", u32s_value(std::vector<uint32_t>{3}));
  set_value(gguf, "f32s", f32s_value(std::vector<float>{}));
  set_value(gguf, "bools", bools_value({true, false}));
  set_value(gguf, "u32", u32_value(8));  // keeps its place
  ASSERT_TRUE(place_tensors(gguf));
  const std::string bytes = header_bytes(gguf);
  const auto read = parse_gguf(as_bytes(bytes), bytes.size());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->metadata.front().first, "u32");
  EXPECT_EQ(*read->get_u64("u32"), 8u);
  EXPECT_EQ(read->find("i32")->as_i64(), -7);
  EXPECT_EQ(*read->get_u64("u64"), 1ull << 40);
  EXPECT_EQ(*read->get_f64("f32"), 0.5);
  EXPECT_EQ(*read->get_bool("bool"), true);
  EXPECT_EQ(*read->get_string("text"), "a");
  EXPECT_EQ(read->find("texts")->text(2), "cc");
  EXPECT_EQ(read->find("i32s")->as_i64(0), -1);
  EXPECT_EQ(read->find("u32s")->as_u64(0), 3u);
  EXPECT_EQ(read->find("f32s")->count, 0u);
  EXPECT_EQ(read->find("bools")->as_bool(1), false);
  EXPECT_TRUE(remove_value(gguf, "text"));
  EXPECT_FALSE(remove_value(gguf, "text"));
}

TEST(GgufWriter, PlacesTensorsAtMultiplesOfTheAlignment) {
  Gguf gguf;
  gguf.tensors = {tensor("a", Type::F32, {3}), tensor("b", Type::Q8_0, {32, 2})};
  ASSERT_TRUE(place_tensors(gguf));
  EXPECT_EQ(gguf.tensors[1].offset, 32u);
  EXPECT_EQ(gguf.tensors[1].bytes, 68u);
  EXPECT_EQ(gguf.data_bytes, 100u);
  EXPECT_EQ(gguf.find_tensor("b"), &gguf.tensors[1]);
}

TEST(GgufWriter, RefusesWhatNoFileCanHave) {
  Gguf gguf;
  gguf.tensors = {tensor("a", Type::Q4_K, {64})};
  EXPECT_EQ(place_tensors(gguf).error().code, Code::invalid_argument);
  gguf.tensors = {tensor("a", Type::Q4_2, {64})};
  EXPECT_EQ(place_tensors(gguf).error().code, Code::invalid_argument);
  gguf.tensors = {tensor("a", Type::F32, {1ull << 40, 1ull << 40})};
  EXPECT_EQ(place_tensors(gguf).error().code, Code::invalid_argument);
}

}  // namespace
}  // namespace sluice
