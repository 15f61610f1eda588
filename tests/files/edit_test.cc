#include "files/edit.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "files/gguf_writer.h"
#include "files/value_text.h"
#include "make/gguf_builder.h"

namespace sluice {
namespace {

GgufBuilder small_file() {
  GgufBuilder file;
  file.kv_string("general.name", "Old").kv_u32("n", 7).kv_f32("x", 1).kv_bool("flag", false);
  file.kv_strings("words", {"a", "b"}).kv_array<int32_t>("list", ValueType::i32, {1, 2});
  file.tensors.push_back(
      {"t", 0, {8}, std::string(32, 'd'), std::nullopt, std::nullopt, std::nullopt});
  return file;
}

Gguf parsed(const std::string& bytes) { return *parse_gguf(as_bytes(bytes), bytes.size()); }

Status set(Gguf& gguf, const std::string& key, const std::string& text) {
  MetadataEdit edit;
  edit.set = {{key, text}};
  return edit_metadata(gguf, edit);
}

// The value after it was set, as text with its type; or what the error says.
std::string after(const std::string& key, const std::string& text) {
  Gguf gguf = parsed(small_file().build());
  if (const Status done = set(gguf, key, text); !done) {
    EXPECT_EQ(done.error().code, Code::invalid_argument);
    return done.error().message;
  }
  const MetadataValue& value = *gguf.find(key);
  return std::string(value_type_name(value.type)) + " " + value_text(value, 80);
}

TEST(Edit, KeepsTheTypeOfAKey) {
  EXPECT_EQ(after("n", "0"), "u32 0");
  EXPECT_EQ(after("n", "4294967295"), "u32 4294967295");
  EXPECT_EQ(after("n", "u32:8"), "u32 8");
  EXPECT_EQ(after("x", "-2.5e3"), "f32 -2500");
  EXPECT_EQ(after("x", "3.4028235e38"), "f32 3.4028235e+38");
  EXPECT_EQ(after("flag", "true"), "bool true");
  EXPECT_EQ(after("general.name", "[1, 2]"), "string \"[1, 2]\"");
  EXPECT_EQ(after("general.name", ""), "string \"\"");
  EXPECT_EQ(after("general.name", "str:u32:5"), "string \"u32:5\"");
  EXPECT_EQ(after("general.name", "a=b:c"), "string \"a=b:c\"");
  EXPECT_EQ(after("list", "[-2147483648, 2147483647]"), "array 2 x i32 [-2147483648, 2147483647]");
  EXPECT_EQ(after("list", "[]"), "array 0 x i32 []");
  EXPECT_EQ(after("words", "[\"\", \"\\u00e9\"]"), "array 2 x string [\"\", \"\u00e9\"]");
}

TEST(Edit, RefusesWhatATypeCanNotHold) {
  for (const auto& [key, text] :
       std::vector<std::pair<std::string, std::string>>{{"n", "-1"},
                                                        {"n", "4294967296"},
                                                        {"n", "1.0"},
                                                        {"n", "+1"},
                                                        {"n", " 1"},
                                                        {"n", ""},
                                                        {"n", "0x10"},
                                                        {"x", "3.5e38"},
                                                        {"x", "nan"},
                                                        {"x", "inf"},
                                                        {"x", "1,5"},
                                                        {"x", ""},
                                                        {"flag", "1"},
                                                        {"flag", "True"},
                                                        {"list", "7"},
                                                        {"list", "[1.5]"},
                                                        {"list", "[2147483648]"},
                                                        {"list", "[\"a\"]"},
                                                        {"list", "[1,]"},
                                                        {"list", "[[1]]"},
                                                        {"list", "[99999999999999999999]"},
                                                        {"words", "[1]"},
                                                        {"words", "\"a\""},
                                                        {"general.name", "\xff"}}) {
    EXPECT_NE(after(key, text).find("expected"), std::string::npos) << key << "=" << text;
  }
  EXPECT_NE(after("n", "i32:1").find("has the type u32, not i32"), std::string::npos);
  EXPECT_NE(after("general.name", "u32:1").find("write str:u32:1"), std::string::npos);
}

TEST(Edit, GivesNewKeysTheirTypes) {
  EXPECT_EQ(after("a.b", "u8:255"), "u8 255");
  EXPECT_EQ(after("a.b", "i8:-128"), "i8 -128");
  EXPECT_EQ(after("a.b", "u16:65535"), "u16 65535");
  EXPECT_EQ(after("a.b", "i16:-32768"), "i16 -32768");
  EXPECT_EQ(after("a.b", "i32:-2147483648"), "i32 -2147483648");
  EXPECT_EQ(after("a.b", "u64:18446744073709551615"), "u64 18446744073709551615");
  EXPECT_EQ(after("a.b", "i64:-9223372036854775808"), "i64 -9223372036854775808");
  EXPECT_EQ(after("a.b", "f64:1e300"), "f64 1e+300");
  EXPECT_EQ(after("a.b", "bool:true"), "bool true");
  EXPECT_EQ(after("a.b", "str:[1]"), "string \"[1]\"");
  EXPECT_EQ(after("a.b", "u8[]:[0, 255]"), "array 2 x u8 [0, 255]");
  EXPECT_EQ(after("a.b", "f32[]:[1, 2.5]"), "array 2 x f32 [1, 2.5]");
  EXPECT_EQ(after("a.b", "u64[]:[18446744073709551615]"), "array 1 x u64 [18446744073709551615]");
  EXPECT_EQ(after("a.b", "[1, -2]"), "array 2 x i32 [1, -2]");
  EXPECT_EQ(after("a.b", "[1, 0.5]"), "array 2 x f32 [1, 0.5]");
  EXPECT_EQ(after("a.b", "[true]"), "array 1 x bool [true]");
  EXPECT_EQ(after("general.url", "u"), "string \"u\"");
  EXPECT_EQ(after("tokenizer.ggml.eot_token_id", "3"), "u32 3");
  EXPECT_EQ(after("llama.rope.freq_base", "1e6"), "f32 1e+06");
  for (const char* text : {"7", "text", "u9:1", "u32[:1", ":"})
    EXPECT_NE(after("a.b", text).find("is new, so its value needs a type"), std::string::npos);
  for (const char* text : {"[]", "[1, \"a\"]", "[null]", "[true, 1]"})
    EXPECT_NE(after("a.b", text).find("give one, as in i32[]:"), std::string::npos) << text;
}

TEST(Edit, RefusesKeysOfTheLayout) {
  for (const char* key :
       {"general.alignment", "split.count", "split.no", "edit.padding", "", "\xff"}) {
    Gguf gguf = parsed(small_file().build());
    EXPECT_FALSE(set(gguf, key, "u32:64")) << key;
    MetadataEdit edit;
    edit.remove = {key};
    const Status removed = edit_metadata(gguf, edit);
    ASSERT_FALSE(removed) << key;
    EXPECT_EQ(removed.error().code, Code::invalid_argument);
  }
}

TEST(Edit, RemovesBeforeItSets) {
  Gguf gguf = parsed(small_file().build());
  MetadataEdit edit;
  edit.remove = {"n"};
  edit.set = {{"n", "u64:1"}, {"n", "2"}};
  edit.chat_template = "{{ 1 }}";
  ASSERT_TRUE(edit_metadata(gguf, edit));
  EXPECT_EQ(gguf.find("n")->type, ValueType::u64);
  EXPECT_EQ(gguf.find("n")->as_u64(), 2u);
  EXPECT_EQ(**gguf.get_string("tokenizer.chat_template"), "{{ 1 }}");
  const Status again = edit_metadata(gguf, {{"none"}, {}, {}});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Code::not_found);
}

// The data behind an edited header are where its tensors say.
void expect_data(const std::string& header) {
  const std::string file = header + std::string(32, 'd');
  const auto gguf = parse_gguf(as_bytes(file), file.size());
  ASSERT_TRUE(gguf) << gguf.error().message;
  EXPECT_EQ(file.substr(gguf->data_offset + gguf->tensors[0].offset, 32), std::string(32, 'd'));
}

TEST(Edit, HeadersHaveTheSameTensors) {
  Gguf gguf = parsed(small_file().build());
  for (const size_t n : {0u, 1u, 31u, 32u, 33u, 5000u}) {
    ASSERT_TRUE(set(gguf, "general.name", std::string(n, 'x')));
    const auto header = edited_header(gguf);
    ASSERT_TRUE(header);
    expect_data(*header);
  }
}

TEST(Edit, FillsThePlaceOfTheOldHeader) {
  Gguf gguf = parsed(small_file().build());
  ASSERT_TRUE(set(gguf, "general.name", std::string(500, 'x')));
  const uint64_t room = edited_header(gguf)->size();
  bool padded = false;
  for (size_t n = 0; n <= 500; ++n) {
    ASSERT_TRUE(set(gguf, "general.name", std::string(n, 'x')));
    const auto header = edited_header(gguf, room);
    ASSERT_TRUE(header) << n << ": " << header.error().message;
    ASSERT_EQ(header->size(), room) << n;
    expect_data(*header);
    const Gguf read = parsed(*header + std::string(32, 'd'));
    ASSERT_EQ(read.data_offset, room) << n;
    padded |= read.find(kPaddingKey) != nullptr;
    // What fills it is room for the next edit, and no part of a file that is written anew.
    if (n % 100 == 0) {
      ASSERT_TRUE(edited_header(read, room));
      EXPECT_EQ(edited_header(read)->size(), edited_header(gguf)->size());
    }
  }
  EXPECT_TRUE(padded);
  ASSERT_TRUE(set(gguf, "general.name", std::string(600, 'x')));
  const auto larger = edited_header(gguf, room);
  ASSERT_FALSE(larger);
  EXPECT_EQ(larger.error().code, Code::invalid_argument);
  EXPECT_NE(larger.error().message.find(" bytes are missing"), std::string::npos);
}

TEST(Edit, SaysWhenAGapCanNotBeFilled) {
  GgufBuilder file = small_file();
  file.kv_u32("general.alignment", 8).alignment = 8;
  const std::string bytes = file.build();
  Gguf gguf = parsed(bytes);
  ASSERT_TRUE(set(gguf, "general.name", "Old plus much more text, 40 bytes in all"));
  const uint64_t room = edited_header(gguf)->size();
  ASSERT_TRUE(set(gguf, "general.name", "Old plus much more text"));
  const auto header = edited_header(gguf, room);
  ASSERT_FALSE(header);
  EXPECT_NE(header.error().message.find("too few to be filled up"), std::string::npos);
}

TEST(Edit, RefusesHeadersThatNobodyReads) {
  Gguf gguf = parsed(small_file().build());
  EXPECT_TRUE(set(gguf, std::string(65'535, 'k'), "u8:1"));
  EXPECT_FALSE(set(gguf, std::string(65'536, 'k'), "u8:1"));
  set_value(gguf, std::string(70'000, 'k'), u32_value(1));
  const auto header = edited_header(gguf);
  ASSERT_FALSE(header);
  EXPECT_EQ(header.error().code, Code::invalid_argument);
  EXPECT_NE(header.error().message.find("its key has 70000 bytes"), std::string::npos);
}

TEST(ValueText, IsShortAndOnOneLine) {
  EXPECT_EQ(value_text(text_value("a\nb\x1b[31m"), 80), "\"a\\nb?[31m\"");
  EXPECT_EQ(value_text(text_value(std::string(100, 'x')), 5), "\"xxxxx...\"");
  EXPECT_EQ(element_text(text_value("abcdef"), 0, 80, 3), "...\"def\"");
  EXPECT_EQ(value_text(u32s_value(std::vector<uint32_t>{1, 2, 3}), 80), "3 x u32 [1, 2, 3]");
  EXPECT_EQ(value_text(u32s_value(std::vector<uint32_t>{1, 2, 3}), 17), "3 x u32 [1, 2, 3]");
  EXPECT_EQ(value_text(u32s_value(std::vector<uint32_t>{1, 2, 3}), 16), "3 x u32 [1, ...]");
  const std::string many = value_text(u32s_value(std::vector<uint32_t>(1000, 7)), 30);
  EXPECT_LE(many.size(), 30u);
  EXPECT_TRUE(many.ends_with(", ...]"));
}

}  // namespace
}  // namespace sluice
