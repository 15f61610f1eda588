// Tests of the GGUF parser: what it reads, that pieces of any size give the same, and its memory.
#include "gguf/gguf.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "gguf/check.h"
#include "make/gguf_builder.h"
#include "make/hazards.h"
#include "support/allocation_counter.h"

namespace sluice {
namespace {

// Parses a whole file in pieces, with its size known or not.
Result<Gguf> parse_in_pieces(std::string_view file, size_t piece, bool size_known) {
  GgufParser parser;
  if (size_known) parser.set_file_size(file.size());
  for (size_t at = 0; at < file.size() && !parser.done();) {
    const std::string_view part = file.substr(at, piece);
    const Result<size_t> taken = parser.push(as_bytes(part));
    if (!taken) return std::unexpected(taken.error());
    if (*taken < part.size()) {
      EXPECT_TRUE(parser.done());
    }
    at += *taken;
  }
  SLUICE_TRY(parser.finish());
  return parser.take();
}

void expect_same(const Gguf& a, const Gguf& b) {
  EXPECT_EQ(a.version, b.version);
  EXPECT_EQ(a.alignment, b.alignment);
  EXPECT_EQ(a.data_offset, b.data_offset);
  EXPECT_EQ(a.data_bytes, b.data_bytes);
  ASSERT_EQ(a.metadata.size(), b.metadata.size());
  for (size_t i = 0; i < a.metadata.size(); ++i) {
    EXPECT_EQ(a.metadata[i].first, b.metadata[i].first);
    const MetadataValue& x = a.metadata[i].second;
    const MetadataValue& y = b.metadata[i].second;
    EXPECT_TRUE(x.type == y.type && x.element == y.element && x.count == y.count &&
                x.bytes == y.bytes && x.ends == y.ends)
        << a.metadata[i].first;
  }
  ASSERT_EQ(a.tensors.size(), b.tensors.size());
  for (size_t i = 0; i < a.tensors.size(); ++i) {
    const TensorInfo& x = a.tensors[i];
    const TensorInfo& y = b.tensors[i];
    EXPECT_TRUE(x.name == y.name && x.type == y.type && x.n_dims == y.n_dims &&
                x.offset == y.offset && x.bytes == y.bytes && std::ranges::equal(x.dims, y.dims))
        << x.name;
  }
}

Gguf parse(const GgufBuilder& builder) {
  const std::string file = builder.build();
  Result<Gguf> gguf = parse_gguf(as_bytes(file), file.size());
  if (!gguf) {
    ADD_FAILURE() << gguf.error().message;
    return {};
  }
  return std::move(*gguf);
}

TEST(Gguf, ReadsTheTinyModel) {
  const GgufBuilder builder = tiny_model();
  const Gguf gguf = parse(builder);
  EXPECT_EQ(gguf.version, 3u);
  EXPECT_EQ(gguf.alignment, 32u);
  EXPECT_EQ(gguf.data_offset, builder.header().size());
  EXPECT_EQ(gguf.file_bytes(), builder.build().size());
  EXPECT_EQ(gguf.get_string("general.architecture"), "llama");
  EXPECT_EQ(gguf.get_u64("llama.embedding_length"), 32u);
  EXPECT_EQ(gguf.get_f64("llama.rope.freq_base"), 10000.0);

  const MetadataValue* tokens = gguf.find("tokenizer.ggml.tokens");
  ASSERT_TRUE(tokens);
  ASSERT_EQ(tokens->count, kTinyVocab);
  EXPECT_EQ(tokens->text(0), "<unk>");
  EXPECT_EQ(tokens->text(3), "<0x00>");
  EXPECT_EQ(tokens->text(299), "▁s");
  EXPECT_EQ(tokens->text(300), "");
  EXPECT_FALSE(tokens->as_u64(0));

  ASSERT_EQ(gguf.tensors.size(), builder.tensors.size());
  const TensorInfo* embedding = gguf.find_tensor("token_embd.weight");
  ASSERT_TRUE(embedding);
  EXPECT_EQ(embedding->n_dims, 2u);
  EXPECT_EQ(embedding->dims[0], 32u);
  EXPECT_EQ(embedding->dims[1], kTinyVocab);
  EXPECT_EQ(embedding->dims[2], 1u);
  EXPECT_EQ(embedding->bytes, 32u * kTinyVocab * 4);
  EXPECT_FALSE(gguf.find_tensor("blk.1.attn_q.weight"));
}

TEST(Gguf, FindsTensorsByNameInWhateverOrderTheyStand) {
  std::vector<std::string> names = {"a",       "a.b",      "ab",      "b",
                                    "blk.1.x", "blk.10.x", "blk.2.x", "\xc3\xa9"};
  do {
    GgufBuilder builder;
    for (const std::string& name : names) builder.tensor(name, Type::F32, {1}, "1234");
    const Gguf gguf = parse(builder);
    ASSERT_EQ(gguf.tensors.size(), names.size());
    for (size_t i = 0; i < names.size(); ++i)
      ASSERT_EQ(gguf.find_tensor(names[i]), &gguf.tensors[i]) << names[i];
    for (const char* missing :
         {"", "B", "aa", "a.", "ab ", "blk", "blk.1.", "blk.3.x", "c", "\xc3\xaa"})
      ASSERT_EQ(gguf.find_tensor(missing), nullptr) << missing;
  } while (std::ranges::next_permutation(names.begin() + 3, names.end()).found);
  EXPECT_EQ(parse(GgufBuilder()).find_tensor("a"), nullptr);
}

// The parser refuses two tensors of one name. Which of them a change of a header's tensors finds is
// certain all the same.
TEST(Gguf, FindsTheFirstOfTensorsWithOneName) {
  GgufBuilder builder;
  for (const char* name : {"x", "c", "a", "b"}) builder.tensor(name, Type::F32, {1}, "1234");
  Gguf gguf = parse(builder);
  EXPECT_EQ(find_duplicate_tensor(gguf), std::nullopt);
  gguf.tensors[3].name = "c";
  gguf.index_tensors();
  EXPECT_EQ(find_duplicate_tensor(gguf), "c");
  EXPECT_EQ(gguf.find_tensor("c"), &gguf.tensors[1]);
  EXPECT_EQ(gguf.find_tensor("b"), nullptr);
  builder.tensors[3].name = "c";
  const std::string file = builder.build();
  const auto refused = parse_gguf(as_bytes(file), file.size());
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message.find("the tensor 'c' stands in the file twice"),
            std::string::npos)
      << refused.error().message;
}

TEST(Gguf, ReadsEveryValueType) {
  GgufBuilder builder;
  builder.kv_raw("u8", 0, "\xff").kv_raw("i8", 1, "\xff").kv_raw("bool", 7, "\x01");
  builder.kv_raw("u16", 2, bytes_of<uint16_t>(65535)).kv_raw("i16", 3, bytes_of<int16_t>(-2));
  builder.kv_u32("u32", 0xffffffffu).kv_i32("i32", -3).kv_f32("f32", 0.5f);
  builder.kv_u64("u64", ~uint64_t{0}).kv_raw("i64", 11, bytes_of<int64_t>(INT64_MIN));
  builder.kv_raw("f64", 12, bytes_of(1e300)).kv_string("string", std::string_view("a\0b", 3));
  builder.kv_array<int16_t>("array", ValueType::i16, {1, -2, 3}).kv_strings("none", {});
  const Gguf gguf = parse(builder);

  EXPECT_EQ(gguf.find("u8")->as_u64(), 255u);
  EXPECT_EQ(gguf.find("i8")->as_i64(), -1);
  EXPECT_FALSE(gguf.find("i8")->as_u64());
  EXPECT_EQ(gguf.find("i8")->as_f64(), -1.0);
  EXPECT_EQ(gguf.find("u16")->as_u64(), 65535u);
  EXPECT_EQ(gguf.find("i16")->as_i64(), -2);
  EXPECT_EQ(gguf.find("u32")->as_i64(), 4294967295);
  EXPECT_EQ(gguf.find("i32")->as_f64(), -3.0);
  EXPECT_EQ(gguf.find("f32")->as_f64(), 0.5);
  EXPECT_FALSE(gguf.find("f32")->as_u64());
  EXPECT_EQ(gguf.find("u64")->as_u64(), ~uint64_t{0});
  EXPECT_FALSE(gguf.find("u64")->as_i64());
  EXPECT_EQ(gguf.find("u64")->as_f64(), 18446744073709551616.0);
  EXPECT_EQ(gguf.find("i64")->as_i64(), INT64_MIN);
  EXPECT_EQ(gguf.find("f64")->as_f64(), 1e300);
  EXPECT_EQ(gguf.find("bool")->as_bool(), true);
  EXPECT_EQ(gguf.find("bool")->as_u64(), 1u);
  EXPECT_FALSE(gguf.find("u8")->as_bool());
  EXPECT_FALSE(gguf.find("bool")->as_f64());
  EXPECT_EQ(gguf.find("string")->text(), std::string_view("a\0b", 3));
  EXPECT_EQ(gguf.find("array")->as_i64(1), -2);
  EXPECT_FALSE(gguf.find("array")->as_i64(3));
  EXPECT_FALSE(gguf.find("u8")->as_u64(1));
  EXPECT_EQ(gguf.find("none")->count, 0u);
  EXPECT_EQ(gguf.find("none")->text(0), "");
  EXPECT_EQ(gguf.find("absent"), nullptr);
}

TEST(Gguf, TypedReadsSayWhatWasFound) {
  GgufBuilder builder;
  builder.kv_i32("negative", -7).kv_string("text", "x").kv_f32("float", 1.5f);
  builder.kv_array<uint32_t>("array", ValueType::u32, {1, 2});
  const Gguf gguf = parse(builder);
  const auto expect_error = [](const auto& result, std::string_view says) {
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code, Code::bad_file);
    EXPECT_NE(result.error().message.find(says), std::string::npos) << result.error().message;
  };
  EXPECT_EQ(gguf.get_u64("absent"), std::nullopt);
  EXPECT_EQ(gguf.get_string("absent"), std::nullopt);
  expect_error(gguf.get_u64("negative"), "'negative' is i32 -7; expected one integer");
  expect_error(gguf.get_u64("float"), "'float' is f32 1.5; expected one integer");
  expect_error(gguf.get_u64("array"), "'array' is an array of 2 x u32; expected one integer");
  expect_error(gguf.get_f64("text"), "'text' is a value of type string; expected one number");
  expect_error(gguf.get_bool("negative"), "expected one bool");
  expect_error(gguf.get_string("float"), "expected a string");
}

TEST(Gguf, AnEmptyFileOfNoEntriesIsGood) {
  const Gguf gguf = parse(GgufBuilder());
  EXPECT_TRUE(gguf.metadata.empty());
  EXPECT_TRUE(gguf.tensors.empty());
  EXPECT_EQ(gguf.file_bytes(), 24u);
}

TEST(Gguf, PiecesOfAnySizeGiveTheSame) {
  for (const Oddity& oddity : harmless_oddities()) {
    SCOPED_TRACE(oddity.name);
    const Result<Gguf> whole = parse_gguf(as_bytes(oddity.bytes), oddity.bytes.size());
    ASSERT_TRUE(whole) << whole.error().message;
    for (const size_t piece : {size_t{1}, size_t{7}, size_t{65536}, oddity.bytes.size()}) {
      for (const bool size_known : {false, true}) {
        const Result<Gguf> parts = parse_in_pieces(oddity.bytes, piece, size_known);
        ASSERT_TRUE(parts) << parts.error().message;
        expect_same(*whole, *parts);
      }
    }
  }
}

TEST(Gguf, PushTakesTheHeaderAlone) {
  const std::string file = tiny_model().build();
  const size_t header = tiny_model().header().size();
  GgufParser parser;
  EXPECT_EQ(parser.push(as_bytes(file)), header);
  EXPECT_TRUE(parser.done());
  EXPECT_EQ(parser.push(as_bytes(file)), 0u);
  EXPECT_TRUE(parser.finish());
}

TEST(Gguf, AnErrorStays) {
  GgufParser parser;
  const std::string page = "<!DOCTYPE html><html></html>";
  const auto first = parser.push(as_bytes(page));
  const auto second = parser.push(as_bytes(tiny_model().build()));
  ASSERT_FALSE(first);
  ASSERT_FALSE(second);
  EXPECT_EQ(first.error().message, second.error().message);
  ASSERT_FALSE(parser.finish());
  EXPECT_FALSE(parser.done());
}

TEST(Gguf, TensorsMayLiePastFourGigabytes) {
  GgufBuilder builder;
  builder.tensor("far", Type::F32, {1024, 1024}, "");
  builder.find_tensor("far").offset = uint64_t{5} << 30;
  const std::string header = builder.header();
  const auto gguf = parse_gguf(as_bytes(header), uint64_t{6} << 30);
  ASSERT_TRUE(gguf) << gguf.error().message;
  EXPECT_EQ(gguf->tensors[0].offset, uint64_t{5} << 30);
  EXPECT_EQ(gguf->data_bytes, (uint64_t{5} << 30) + (4u << 20));
}

// Byte by byte: quadratic work would take far too long.
TEST(Gguf, AMillionStringsByteByByte) {
  constexpr uint64_t kCount = 1000000;
  std::string texts;
  for (uint64_t i = 0; i < kCount; ++i) texts += gguf_string(i % 2 ? "" : "ab");
  GgufBuilder builder;
  builder.kv_array_raw("many", static_cast<uint32_t>(ValueType::string), kCount, texts);
  const Result<Gguf> gguf = parse_in_pieces(builder.build(), 1, false);
  ASSERT_TRUE(gguf) << gguf.error().message;
  const MetadataValue* many = gguf->find("many");
  ASSERT_EQ(many->ends.size(), kCount);
  EXPECT_EQ(many->text(kCount - 2), "ab");
  EXPECT_EQ(many->text(kCount - 1), "");
}

TEST(Gguf, AnnouncedSizesTakeNoMemory) {
  constexpr uint64_t kGiB = 1u << 30;
  for (const uint64_t n : {kGiB / 8, kGiB, uint64_t{1} << 63}) {
    const std::string values[] = {
        bytes_of(n),                                                  // of a string
        bytes_of<uint32_t>(0) + bytes_of(n),                          // of an array of u8
        bytes_of<uint32_t>(8) + bytes_of(n / 16),                     // of strings
        bytes_of<uint32_t>(8) + bytes_of<uint64_t>(1) + bytes_of(n),  // of a string in an array
    };
    for (const std::string& value : values) {
      GgufBuilder builder;
      builder.kv_raw("x", value.size() == 8 ? 8 : 9, value);
      const std::string file = builder.build();
      for (const bool size_known : {false, true}) {
        const size_t before = allocated_bytes();
        const Result<Gguf> gguf = parse_in_pieces(file, 1, size_known);
        EXPECT_LT(allocated_bytes() - before, 64u * 1024);
        ASSERT_FALSE(gguf);
        EXPECT_EQ(gguf.error().code, Code::bad_file);
      }
    }
  }
}

// The parser takes at most a few times the header's bytes.
TEST(Gguf, MemoryFollowsTheBytes) {
  const std::string file = tiny_model().header();
  const size_t before = allocated_bytes();
  ASSERT_TRUE(parse_in_pieces(file, 1, false));
  EXPECT_LT(allocated_bytes() - before, 16 * file.size());
}

TEST(Gguf, NamesAndSizesOfTypes) {
  EXPECT_STREQ(file_type(0).name, "F32");
  EXPECT_STREQ(file_type(12).name, "Q4_K");
  EXPECT_STREQ(file_type(39).name, "MXFP4");
  EXPECT_EQ(file_type(4).block, 0u);
  EXPECT_EQ(file_type(std::size(kTypes)).name, nullptr);
  EXPECT_EQ(file_type(~0u).name, nullptr);
  EXPECT_EQ(file_type(39).block, 32u);
  EXPECT_EQ(file_type(39).block_bytes, 17u);
}

// Files of other writers, if they are there.
TEST(Gguf, RealFiles) {
  const std::filesystem::path shared = std::filesystem::path(SLUICE_ROOT) / ".." / "shared";
  int files = 0;
  for (const char* folder : {"models", "data/tokenizers"}) {
    if (!std::filesystem::exists(shared / folder)) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(shared / folder)) {
      if (entry.path().extension() != ".gguf") continue;
      SCOPED_TRACE(entry.path().filename().string());
      const std::string file = read_file(entry.path());
      const Result<Gguf> whole = parse_gguf(as_bytes(file), file.size());
      ASSERT_TRUE(whole) << whole.error().message;
      EXPECT_LE(whole->file_bytes(), file.size());
      const Result<Gguf> parts = parse_in_pieces(file, 61, false);
      ASSERT_TRUE(parts) << parts.error().message;
      expect_same(*whole, *parts);
      ++files;
    }
  }
  if (files == 0) GTEST_SKIP() << "../shared has no models here";
}

}  // namespace
}  // namespace sluice
