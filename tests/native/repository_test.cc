// Tests of native/pull/repository.h: which files of a repository are taken, hostile indexes, names;
// and of what the cache keeps of them. tests/cli/convert-hub.test.mjs has the downloads.
#include "pull/repository.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/format.h"
#include "pull/block_file.h"
#include "pull/cache.h"
#include "pull/disk.h"
#include "pull/header_check.h"
#include "pull/journal.h"

namespace sluice::pull {
namespace {

namespace fs = std::filesystem;

constexpr char kHub[] = "https://huggingface.co";

std::span<const uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

std::vector<HubFile> files_named(const std::vector<std::string>& names) {
  std::vector<HubFile> files;
  for (const std::string& name : names) files.push_back({name, 1, ""});
  return files;
}

Address repository(const std::string& text) {
  auto address = parse_address(text, kHub);
  EXPECT_TRUE(address);
  return *address;
}

// The names with commas between them, or the message.
std::string chosen(const std::vector<HubFile>& files) {
  const auto sources = choose_sources(files, repository("hf:o/r@v1"));
  if (!sources) {
    EXPECT_EQ(sources.error().code, Code::invalid_argument);
    return sources.error().message;
  }
  std::string out;
  for (const std::string& name : sources->names) out += concat(out.empty() ? "" : ",", name);
  return sources->sharded ? out + " and shards" : out;
}

std::string index_of(const std::string& json, const std::vector<std::string>& names) {
  const auto shards = read_index(json, files_named(names));
  if (!shards) {
    EXPECT_EQ(shards.error().code, Code::bad_file);
    return shards.error().message;
  }
  std::string out;
  for (const std::string& name : *shards) out += concat(out.empty() ? "" : ",", name);
  return out;
}

TEST(Repository, TakesWhatAConversionReads) {
  EXPECT_EQ(chosen(files_named({"config.json", "tokenizer.json", "model.safetensors"})),
            "config.json,tokenizer.json");
  EXPECT_EQ(chosen(files_named({"1_Pooling/config.json", "README.md", "a/tokenizer.model",
                                "chat_template.jinja", "chat_template.json", "config.json",
                                "consolidated.00.safetensors", "generation_config.json", "m.gguf",
                                "model-00001-of-00002.safetensors", "model.safetensors.index.json",
                                "modules.json", "onnx/model.onnx", "pytorch_model.bin",
                                "special_tokens_map.json", "tokenizer.json", "tokenizer.model",
                                "tokenizer_config.json"})),
            "config.json,tokenizer.json,tokenizer_config.json,tokenizer.model,"
            "generation_config.json,chat_template.jinja,chat_template.json,"
            "special_tokens_map.json,modules.json,1_Pooling/config.json,"
            "model.safetensors.index.json and shards");
  // One file counts before shards.
  EXPECT_EQ(chosen(files_named({"config.json", "tokenizer.json", "model.safetensors",
                                "model.safetensors.index.json"})),
            "config.json,tokenizer.json");
  auto files = files_named({"config.json", "tokenizer.json", "model.safetensors", "modules.json"});
  files.back().bytes = 0;
  EXPECT_EQ(chosen(files), "config.json,tokenizer.json");
}

TEST(Repository, SaysWhatThereIsInstead) {
  const auto says = [](const std::vector<std::string>& names, std::string_view part) {
    const std::string message = chosen(files_named(names));
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  says({}, "hf:o/r@v1 has no weights in safetensors");
  says({"x.gguf", "pytorch_model.bin"}, "sluice run hf:o/r@v1 uses one at once");
  says({"config.json", "pytorch_model.bin", "tokenizer.json"}, "only in pytorch_model.bin");
  says({"a", "b", "c", "d", "e", "f", "g", "h", "i"}, "there are a, b, c, d, e, f, g, h, ...;");
  says({"model.safetensors", "tokenizer.json"}, "has no config.json");
  says({"model.safetensors", "config.json", "vocab.json", "merges.txt"},
       "has no tokenizer.json, which tells its tokens; it has vocab.json, merges.txt; look");
  // Only files of the repository's own folder count.
  says({"x/model.safetensors", "config.json", "tokenizer.json"}, "has no weights in safetensors");
}

TEST(Repository, ReadsAnIndexThatNamesItsOwnShards) {
  const std::vector<std::string> names = {"a.safetensors", "b.safetensors", "x/c.safetensors",
                                          "d.bin"};
  EXPECT_EQ(index_of(R"({"weight_map":{"z":"a.safetensors","y":"b.safetensors",)"
                     R"("x":"a.safetensors"}})",
                     names),
            "a.safetensors,b.safetensors");
  for (const char* json : {"", "[]", "{", "{}", R"({"weight_map":[]})", R"({"weight_map":{}})",
                           R"({"weight_map":{"t":7}})", R"({"weight_map":{"t":null}})"}) {
    EXPECT_TRUE(index_of(json, names).starts_with("model.safetensors.index.json ")) << json;
  }
  EXPECT_NE(index_of(R"({"weight_map":)" + std::string(100'000, '['), names)
                .find("it has values in more than 64 others"),
            std::string::npos);
  std::string wide = R"({"weight_map":{"t":[0)";
  for (int i = 0; i < 1'000'000; ++i) wide += ",0";
  EXPECT_NE(index_of(wide, names).find("its JSON has more than 1000000 parts"), std::string::npos);
  for (const char* name :
       {"x/c.safetensors", "../a.safetensors", "/a.safetensors", "..", "", "d.bin",
        "a.safetensors\\u0000", "x\\\\a.safetensors", "C:a.safetensors"}) {
    const std::string message = index_of(concat(R"({"weight_map":{"t":")", name, R"("}})"), names);
    EXPECT_NE(message.find("expected NAME.safetensors"), std::string::npos) << message;
  }
  EXPECT_NE(index_of(R"({"weight_map":{"t":"e.safetensors"}})", names).find("doesn't have"),
            std::string::npos);
}

TEST(Repository, HasNamesThatNoModelHas) {
  const Address plain = repository("hf:o/r"), tag = repository("hf:o/r@refs/pr/1");
  EXPECT_NE(source_name(kHub, plain), hub_name(kHub, plain));
  EXPECT_EQ(source_page(kHub, tag), "https://huggingface.co/o/r/tree/refs%2Fpr%2F1");
  EXPECT_EQ(source_page(kHub, repository("hf:resolve/tree@v1")),
            "https://huggingface.co/resolve/tree/tree/v1");
  const std::string page = source_page(kHub, repository("hf:o/r@" + std::string(40, 'a')));
  EXPECT_EQ(shown_source(page, source_name(kHub, plain)), "hf:o/r");
  EXPECT_EQ(shown_source(page, source_name(kHub, tag)), "hf:o/r@refs/pr/1");
  for (const char* name : {"", ":/", "https://huggingface.co/o/r@main:", "https://e.org/o/r@main:/",
                           "https://huggingface.co/o/other@main:/"}) {
    EXPECT_EQ(shown_source(page, name), "") << name;
  }
  EXPECT_EQ(shown_source("", source_name(kHub, plain)), "");
}

TEST(Repository, KnowsTheBeginningOfItsFiles) {
  const auto fits = [](const char* name, std::string_view bytes) {
    FirstBytes first(concat("https://e.org/", name), true);
    const Status taken = first.take(0, bytes_of(bytes));
    return taken.has_value() && first.end().has_value();
  };
  EXPECT_TRUE(fits("config.json", "{}"));
  EXPECT_TRUE(fits("modules.json", "\xef\xbb\xbf \n["));
  EXPECT_TRUE(fits("config.json", std::string(100, ' ')));
  EXPECT_TRUE(fits("tokenizer.model", "\x0a\x0d\x0a\x05<unk>"));
  EXPECT_TRUE(fits("chat_template.jinja", "<|user|>"));
  using std::string_view_literals::operator""sv;
  EXPECT_TRUE(fits("model.safetensors", "\x10\0\0\0\0\0\0\0{\"a\":"sv));
  EXPECT_TRUE(fits("model.safetensors", "\x10\0\0\0\0\0\0\0  {"sv));
  EXPECT_FALSE(fits("model.safetensors", "\x10\0\0\0\0\0\0\0x{"sv));
  EXPECT_FALSE(fits("model.safetensors", "{}"));
  EXPECT_FALSE(fits("config.json", "Not Found"));
  EXPECT_FALSE(fits("chat_template.jinja", "\n<!DOCTYPE html><title>Log in"));
  EXPECT_FALSE(fits("chat_template.jinja", "<HTML>"));
  EXPECT_FALSE(fits("tokenizer.model", "version https://git-lfs.github.com/spec/v1\noid "));
}

TEST(Repository, MovesAFileToTheAddressOfAnotherCommit) {
  const fs::path directory = fs::temp_directory_path() / concat("sluice-repository-", ::getpid());
  fs::create_directory(directory);
  const std::string was = "https://e.org/o/r/resolve/a/f", is = "https://e.org/o/r/resolve/b/f";
  {
    auto file = BlockFile::open_to_write(directory, was);
    ASSERT_TRUE(file);
    Meta meta = file->meta();
    meta.source = true;
    meta.set = "https://e.org/o/r/tree/a";
    const auto bytes = bytes_of("{}");
    ASSERT_TRUE(file->begin(meta, bytes.size()));
    ASSERT_TRUE(file->write(0, bytes));
    ASSERT_TRUE(file->add_block(0, hash_of(bytes)));
    ASSERT_TRUE(file->finish());
    meta.address = is;
    meta.set = "https://e.org/o/r/tree/b";
    ASSERT_TRUE(file->move_to(meta));
  }
  const auto entries = list_cache(directory);
  ASSERT_TRUE(entries);
  ASSERT_EQ(entries->size(), 1u);
  const Cached& entry = entries->front();
  EXPECT_EQ(entry.unreadable, "");
  EXPECT_EQ(entry.key, key_of(is));
  EXPECT_TRUE(entry.complete);
  EXPECT_TRUE(entry.meta.source);
  EXPECT_EQ(entry.meta.set, "https://e.org/o/r/tree/b");
  auto file = BlockFile::open_to_read(directory, is);
  ASSERT_TRUE(file && *file);
  std::vector<uint8_t> bytes;
  EXPECT_TRUE(*(*file)->read(0, bytes));
  fs::remove_all(directory);
}

}  // namespace
}  // namespace sluice::pull
