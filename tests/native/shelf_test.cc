// The shelf offers only what the core runs.
#include "app/shelf.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "app/device.h"
#include "make/gguf_builder.h"
#include "models/registry.h"
#include "pull/text.h"
#include "quant/quant.h"

namespace sluice::cli {
namespace {

TEST(Shelf, EveryFamilyIsInTheRegistry) {
  ASSERT_GE(shelf().size(), 5U);
  for (const ShelfModel& model : shelf()) {
    GgufBuilder builder;
    builder.kv_string("general.architecture", model.family);
    GgufParser parser;
    ASSERT_TRUE(parser.push(as_bytes(builder.build())));
    const auto made = make_model(parser.take());
    ASSERT_FALSE(made);  // the header has no more
    EXPECT_NE(made.error().code, Code::unsupported_model) << model.id << made.error().message;
  }
}

// Q4_K_M names files whose matrices are mostly Q4_K.
TEST(Shelf, EveryTypeIsComputed) {
  std::set<std::string> known;
  for (uint32_t number = 0; number < 64; ++number) {
    if (find_traits(number) != nullptr) known.insert(file_type(number).name);
  }
  for (const ShelfModel& model : shelf()) {
    ASSERT_FALSE(model.files.empty()) << model.id;
    for (const ShelfFile& file : model.files) {
      std::string type = file.type;
      const size_t last = type.rfind('_');
      if (type.ends_with("_S") || type.ends_with("_M") || type.ends_with("_L")) type.resize(last);
      EXPECT_TRUE(known.contains(type)) << model.id << " " << file.type;
      EXPECT_TRUE(file.address.starts_with("hf:")) << file.address;
    }
  }
}

TEST(Shelf, NamesAreFoundWithTheirTypes) {
  for (const ShelfModel& model : shelf()) {
    const auto found = find_on_shelf(model.id);
    ASSERT_TRUE(found && *found);
    EXPECT_EQ((*found)->file, &model.files.front());
    for (const ShelfFile& file : model.files) {
      const auto of_type = find_on_shelf(model.id + ":" + pull::lower(file.type));
      ASSERT_TRUE(of_type && *of_type);
      EXPECT_EQ((*of_type)->file->type, file.type);
    }
  }
  const auto none = find_on_shelf("no-such-model:Q8_0");
  EXPECT_TRUE(none && !*none);
  const auto wrong = find_on_shelf(shelf().front().id + ":Q9_9");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, Code::invalid_argument);
}

TEST(Device, LearnsFromLargeModelsAndDownloads) {
  const auto folder = std::filesystem::path(testing::TempDir()) /
                      ("sluice_device_test-" + std::to_string(getpid()));
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const std::string path = folder.string();
  EXPECT_EQ(read_device(path).decode, 0);
  learn_download(path, 1000, 2);       // too short
  learn_download(path, 100 << 20, 0);  // too quick to measure
  Stats stats;
  stats.tokens = 100;
  stats.tps = 10;
  stats.bytes_per_token = 1 << 20;  // in a cache
  learn_decode(path, stats);
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  learn_download(path, 100'000'000, 4);
  stats.bytes_per_token = 400'000'000;
  learn_decode(path, stats);
  EXPECT_EQ(read_device(path).download, 25e6);
  EXPECT_EQ(read_device(path).decode, 4e9);
  stats.reread_bytes = 1;  // the disk decides then
  stats.tps = 1;
  learn_decode(path, stats);
  EXPECT_EQ(read_device(path).decode, 4e9);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace sluice::cli
