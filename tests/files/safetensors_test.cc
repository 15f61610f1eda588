// Headers of safetensors files, and folders with several of them: what must be refused.
#include "files/convert/safetensors.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "files/convert/hf_weights.h"
#include "make/hf_folder.h"

namespace sluice {
namespace {

Result<std::vector<SafeTensor>> read_tensors(const std::string& file) {
  MemorySource source(file);
  return read_safetensors(source);
}

// A header with one entry, `fields`, and four bytes of data.
Result<std::vector<SafeTensor>> read_entry(const std::string& fields) {
  return read_tensors(safetensors_of("{\"a\":{" + fields + "}}", "1234"));
}

TEST(Safetensors, ReadsTensorsInTheHeadersOrder) {
  // The second one begins at an odd place, the header is padded, "__metadata__" is skipped.
  const auto tensors = read_tensors(safetensors_of(
      R"( {"b":{"dtype":"U8","shape":[3],"data_offsets":[0,3],"more":{"x":[1,{"y":null}]}},)"
      R"("__metadata__":{"format":"pt"},"a":{"dtype":"BF16","shape":[1,2],"data_offsets":[3,7]},)"
      R"("empty":{"dtype":"F32","shape":[2,0],"data_offsets":[3,3]},)"
      R"("one":{"dtype":"F8_E4M3","shape":[],"data_offsets":[7,8]}}  )",
      "12345678"));
  ASSERT_TRUE(tensors) << tensors.error().message;
  ASSERT_EQ(tensors->size(), 4u);
  EXPECT_EQ((*tensors)[0].name, "b");
  EXPECT_EQ((*tensors)[1].type, SafeType::bf16);
  EXPECT_EQ((*tensors)[1].shape, (std::vector<uint64_t>{1, 2}));
  EXPECT_EQ((*tensors)[1].at - (*tensors)[0].at, 3u);
  EXPECT_EQ((*tensors)[1].bytes, 4u);
  EXPECT_EQ((*tensors)[2].elements(), 0u);
  EXPECT_EQ((*tensors)[3].elements(), 1u);
}

TEST(Safetensors, ReadsFilesWithoutTensors) {
  EXPECT_TRUE(read_tensors(safetensors_of("{}")));
  EXPECT_TRUE(read_tensors(safetensors_of(R"({"__metadata__":{}})")));
}

TEST(Safetensors, CountsBitsOfNarrowTypes) {
  EXPECT_TRUE(read_entry(R"("dtype":"F4","shape":[8],"data_offsets":[0,4])"));
  EXPECT_TRUE(read_entry(R"("dtype":"F6_E2M3","shape":[2,2],"data_offsets":[0,3])").error().code ==
              Code::bad_file);  // one byte is nobody's
  EXPECT_FALSE(read_entry(R"("dtype":"F4","shape":[7],"data_offsets":[0,4])"));
}

TEST(Safetensors, RefusesWhatIsNoHeader) {
  for (const std::string& file :
       {std::string(), std::string("1234567"), bytes_of<uint64_t>(100'000'001) + "{}",
        bytes_of<uint64_t>(UINT64_MAX) + "{}", bytes_of<uint64_t>(3) + "{}", safetensors_of(""),
        safetensors_of("[]"), safetensors_of("7"), safetensors_of("\"a\""), safetensors_of("{"),
        safetensors_of("{} x"), safetensors_of("\xef\xbb\xbf{}"), safetensors_of("{\"\xff\":{}}"),
        safetensors_of("{}", "1"), safetensors_of(R"({"__metadata__":{"a":1}})"),
        safetensors_of(R"({"__metadata__":{"a":{}}})"), safetensors_of(R"({"__metadata__":7})")}) {
    const auto tensors = read_tensors(file);
    ASSERT_FALSE(tensors) << file;
    EXPECT_EQ(tensors.error().code, Code::bad_file);
  }
}

TEST(Safetensors, RefusesWrongEntries) {
  EXPECT_TRUE(read_entry(R"("dtype":"F32","shape":[1],"data_offsets":[0,4])"));
  for (const char* fields : {
           R"("dtype":"F31","shape":[1],"data_offsets":[0,4])",
           R"("dtype":7,"shape":[1],"data_offsets":[0,4])",
           R"("dtype":["F32"],"shape":[1],"data_offsets":[0,4])",
           R"("shape":[1],"data_offsets":[0,4])",
           R"("dtype":"F32","data_offsets":[0,4])",
           R"("dtype":"F32","shape":[1])",
           R"("dtype":"F32","shape":[1],"data_offsets":[0])",
           R"("dtype":"F32","shape":[1],"data_offsets":[0,4,4])",
           R"("dtype":"F32","shape":[1],"data_offsets":[4,0])",
           R"("dtype":"F32","shape":[1],"data_offsets":[0,5])",
           R"("dtype":"F32","shape":[1],"data_offsets":[1,5])",
           R"("dtype":"F32","shape":[1],"data_offsets":[-1,4])",
           R"("dtype":"F32","shape":[1],"data_offsets":[0,4.0])",
           R"("dtype":"F32","shape":[1],"data_offsets":["0",4])",
           R"("dtype":"F32","shape":[1],"data_offsets":[0,18446744073709551616])",
           R"("dtype":"F32","shape":[2],"data_offsets":[0,4])",
           R"("dtype":"F32","shape":[1.0],"data_offsets":[0,4])",
           R"("dtype":"F32","shape":[-1],"data_offsets":[0,4])",
           R"("dtype":"F32","shape":[[1]],"data_offsets":[0,4])",
           R"("dtype":"F32","shape":1,"data_offsets":[0,4])",
           R"("dtype":"F32","shape":{},"data_offsets":[0,4])",
           R"("dtype":"F32","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,4])",
           // A product of 2^64 * 4.
           R"("dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4])",
           R"("dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4])",
       }) {
    const auto tensors = read_entry(fields);
    ASSERT_FALSE(tensors) << fields;
    EXPECT_EQ(tensors.error().code, Code::bad_file) << fields;
    EXPECT_NE(tensors.error().message.find("a"), std::string::npos);
  }
  for (const char* entry : {"7", "[]", "null", "\"F32\"", "true", "-1", "0.5"})
    EXPECT_FALSE(read_tensors(safetensors_of(concat("{\"a\":", entry, "}")))) << entry;
}

TEST(Safetensors, RefusesRangesThatDontFitTogether) {
  const auto two = [](const char* first, const char* second) {
    return read_tensors(
        safetensors_of(concat(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":)", first,
                              R"(},"b":{"dtype":"U8","shape":[2],"data_offsets":)", second, "}}"),
                       "1234"));
  };
  EXPECT_TRUE(two("[0,2]", "[2,4]"));
  EXPECT_TRUE(two("[2,4]", "[0,2]"));
  EXPECT_FALSE(two("[0,2]", "[1,3]"));  // overlap
  EXPECT_FALSE(two("[0,2]", "[0,2]"));
  EXPECT_FALSE(two("[0,2]", "[3,5]"));  // a gap
  EXPECT_FALSE(two("[1,3]", "[3,5]"));  // not from 0 on
}

TEST(Safetensors, RefusesNamesThatComeTwice) {
  const std::string entry = R"("a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  const auto tensors = read_tensors(safetensors_of("{" + entry + "," + entry + "}"));
  ASSERT_FALSE(tensors);
  EXPECT_NE(tensors.error().message.find("twice"), std::string::npos);
}

TEST(Safetensors, RefusesDeepNesting) {
  const std::string deep(100'000, '[');
  EXPECT_FALSE(read_entry(R"("dtype":"F32","shape":[1],"data_offsets":[0,4],"x":)" + deep));
  EXPECT_FALSE(read_entry(R"("shape":)" + deep));
}

// --- folders -------------------------------------------------------------------------------------

std::string file_of(const std::string& name) {
  return safetensors_of(
      concat("{\"", name, R"(":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})"), "1");
}

constexpr const char* kFirst = "model-00001-of-00002.safetensors";
constexpr const char* kSecond = "model-00002-of-00002.safetensors";

MemoryFolder two_shards() {
  MemoryFolder folder;
  folder.files = {{kFirst, file_of("a")}, {kSecond, file_of("b")}};
  folder.files["model.safetensors.index.json"] =
      concat(R"({"weight_map":{"a":")", kFirst, R"(","b":")", kSecond, "\"}}");
  return folder;
}

void expect_refused(MemoryFolder& folder, std::string_view reason, Code code = Code::bad_file) {
  const auto weights = HfWeights::open(folder);
  ASSERT_FALSE(weights) << reason;
  EXPECT_EQ(weights.error().code, code);
  EXPECT_NE(weights.error().message.find(reason), std::string::npos) << weights.error().message;
}

TEST(HfWeights, ReadsShards) {
  MemoryFolder folder = two_shards();
  const auto weights = HfWeights::open(folder);
  ASSERT_TRUE(weights) << weights.error().message;
  ASSERT_EQ(weights->tensors().size(), 2u);
  EXPECT_EQ(weights->find("b"), 1);
  EXPECT_EQ(weights->find("c"), -1);
  uint8_t byte = 0;
  ASSERT_TRUE(weights->read(weights->tensors()[1], 0, {&byte, 1}));
  EXPECT_EQ(byte, '1');
}

TEST(HfWeights, NamesTheShardThatIsMissing) {
  MemoryFolder folder = two_shards();
  folder.files.erase(kSecond);
  expect_refused(folder, kSecond);
}

TEST(HfWeights, RefusesAnIndexThatDoesntFit) {
  MemoryFolder folder = two_shards();
  folder.files[kSecond] = file_of("c");
  expect_refused(folder, "which model.safetensors.index.json doesn't name");
  folder.files[kSecond] = file_of("a");
  expect_refused(folder, "is in model-00001-of-00002.safetensors and in model-00002");
  folder.files[kSecond] = safetensors_of("{}");
  expect_refused(folder, "the tensor b is missing in model-00002-of-00002.safetensors");
  folder.files[kFirst] = file_of("b");
  folder.files[kSecond] = file_of("a");
  expect_refused(folder, "has the tensor");
  folder.files[kSecond] = "short";
  expect_refused(folder, kSecond);
}

TEST(HfWeights, RefusesHostileNamesOfFiles) {
  for (const char* name : {"../model.safetensors", "/etc/passwd", "..", "a/b.safetensors", "",
                           "a\\\\b.safetensors", "model.bin", "\\u0000.safetensors"}) {
    MemoryFolder folder = two_shards();
    folder.files["model.safetensors.index.json"] = concat(R"({"weight_map":{"a":")", name, "\"}}");
    expect_refused(folder, "can be none of the folder");
  }
  for (const char* index : {"{}", "[]", R"({"weight_map":7})", R"({"weight_map":{"a":7}})", "{"}) {
    MemoryFolder folder = two_shards();
    folder.files["model.safetensors.index.json"] = index;
    expect_refused(folder, "model.safetensors.index.json");
  }
}

TEST(HfWeights, RefusesASingleFileBesideAnIndex) {
  MemoryFolder folder = two_shards();
  folder.files["model.safetensors"] = file_of("a");
  expect_refused(folder, "and an index of other files");
}

// A clone without the large files has these in their place.
TEST(HfWeights, RefusesPointersOfGitLfs) {
  MemoryFolder folder = two_shards();
  folder.files["model-00002-of-00002.safetensors"] =
      "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 988097824\n";
  expect_refused(folder, "model-00002-of-00002.safetensors is a pointer of Git LFS");
  folder = two_shards();
  folder.files["model.safetensors.index.json"] = "version https://git-lfs.github.com/spec/v1\n";
  expect_refused(folder, "model.safetensors.index.json is a pointer of Git LFS");
}

TEST(HfWeights, RefusesOtherForms) {
  MemoryFolder folder;
  expect_refused(folder, "neither model.safetensors nor");
  folder.files["pytorch_model.bin"] = "PK";
  expect_refused(folder, "safetensors", Code::unsupported_model);
}

}  // namespace
}  // namespace sluice
