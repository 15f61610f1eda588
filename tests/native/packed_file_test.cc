// Tests of native/pull/packed_copy: the format, what isn't taken, and several threads at once.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "base/xxh64.h"
#include "pull/block_file.h"
#include "pull/cache.h"
#include "pull/lock.h"
#include "pull/packed_copy.h"
#include "quant/packed_layout.h"

namespace sluice::pull {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<uint8_t>;

constexpr uint64_t kTotal = 1 << 20;

Bytes contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_file(const std::string& path, const Bytes& bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(reinterpret_cast<const char*>(bytes.data()),
            static_cast<std::streamsize>(bytes.size()));
}

uint64_t number_at(const Bytes& bytes, size_t at, size_t n = 8) {
  uint64_t value = 0;
  std::memcpy(&value, bytes.data() + at, n);
  return value;
}

void append(Bytes& bytes, std::initializer_list<uint64_t> numbers) {
  for (const uint64_t number : numbers) {
    const auto* from = reinterpret_cast<const uint8_t*>(&number);
    bytes.insert(bytes.end(), from, from + 8);
  }
}

uint64_t hash_of(const Bytes& bytes) { return xxh64(bytes); }

Bytes pattern(uint64_t seed, size_t size) {
  Bytes bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>((seed + i) * 2654435761u >> 7);
  return bytes;
}

class PackedFileTest : public ::testing::Test {
 protected:
  PackedFileTest() : directory(made()), paths(directory, kKey) {}
  ~PackedFileTest() override { fs::remove_all(directory); }

  static std::string made() {
    std::string name = (fs::temp_directory_path() / "sluice-packed-XXXXXX").string();
    return ::mkdtemp(name.data());
  }
  PackedFile open(uint64_t expected = kTotal) {
    return PackedFile(directory, kKey, table, kTotal, expected);
  }
  // What the copy has there; empty: nothing.
  static Bytes read(PackedFile& file, uint64_t offset, size_t size) {
    Bytes place(size);
    return file.read(offset, place) ? place : Bytes();
  }
  // A copy with one chunk of 1000 bytes at 5000.
  void write_one() {
    PackedFile file = open();
    file.keep(5000, one);
  }

  static constexpr char kKey[] = "0123456789abcdef0123456789abcdef";
  const std::string directory;
  const EntryPaths paths;
  const std::vector<uint64_t> table = {11, 22, 33};
  const Bytes one = pattern(1, 1000);
};

TEST_F(PackedFileTest, HasItsFormat) {
  const Bytes two = pattern(2, 300);
  {
    PackedFile file = open();
    Bytes place(1000);
    EXPECT_FALSE(file.read(5000, place));
    EXPECT_TRUE(fs::is_empty(directory));
    file.keep(5000, one);
    file.keep(100, two);
    file.keep(100, two);  // it is there
    EXPECT_EQ(read(file, 5000, 1000), one);
  }
  const Bytes index = contents(paths.index);
  ASSERT_EQ(index.size(), 40u + 2 * 24);
  EXPECT_EQ(std::memcmp(index.data(), "SLUICEP\n", 8), 0);
  EXPECT_EQ(number_at(index, 8, 4), 1u);
  EXPECT_EQ(number_at(index, 12, 4), kPackedLayout);
  EXPECT_EQ(number_at(index, 16), kTotal);
  EXPECT_EQ(number_at(index, 24), xxh64({reinterpret_cast<const uint8_t*>(table.data()), 24}));
  EXPECT_EQ(number_at(index, 32), xxh64(std::span(index).first(32)));
  EXPECT_EQ(number_at(index, 40), 5000u);
  EXPECT_EQ(number_at(index, 48), 6000u);
  EXPECT_EQ(number_at(index, 56), hash_of(one));
  EXPECT_EQ(number_at(index, 64), 100u);
  EXPECT_EQ(number_at(index, 72), 400u);
  EXPECT_EQ(number_at(index, 80), hash_of(two));
  Bytes expected(6000);
  std::ranges::copy(one, expected.begin() + 5000);
  std::ranges::copy(two, expected.begin() + 100);
  EXPECT_EQ(contents(paths.packed), expected);
  for (const std::string& path : {paths.packed, paths.index}) {
    struct stat info;
    ASSERT_EQ(::stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600u);
  }

  PackedFile again = open();
  EXPECT_EQ(read(again, 5000, 1000), one);
  EXPECT_EQ(read(again, 100, 300), two);
  EXPECT_TRUE(read(again, 100, 299).empty());
  EXPECT_TRUE(read(again, 100, 301).empty());
  EXPECT_TRUE(read(again, 101, 299).empty());
  again.keep(5000, one);
  EXPECT_EQ(contents(paths.index), index);
}

TEST_F(PackedFileTest, RefusesChunksThatAreNotInTheFile) {
  PackedFile file = open();
  file.keep(kTotal - 999, one);
  file.keep(kTotal + 1, one);
  file.keep(UINT64_MAX - 10, one);
  file.keep(0, {});
  EXPECT_TRUE(fs::is_empty(directory));
  file.keep(kTotal - 1000, one);
  EXPECT_EQ(read(file, kTotal - 1000, 1000), one);
}

TEST_F(PackedFileTest, TakesNoRecordThatCantBeRight) {
  write_one();
  const Bytes good = contents(paths.index);
  const uint64_t hash = hash_of(one);
  Bytes index(good.begin(), good.begin() + 40);
  append(index, {5000, 5000, hash, 5000, 4999, hash, 5000, kTotal + 1, hash});
  append(index, {UINT64_MAX, 10, hash, 0, UINT64_MAX, hash, 5000, 6000, 0});
  write_file(paths.index, index);
  {
    PackedFile file = open();
    for (const uint64_t at : {uint64_t{0}, uint64_t{5000}, UINT64_MAX})
      EXPECT_TRUE(read(file, at, 1000).empty()) << at;
  }
  // The last record of a begin counts, and half of one is none; the next one takes its place.
  append(index, {5000, 6000, hash + 1, 5000, 6000, hash, 7000, 8000});
  write_file(paths.index, index);
  {
    PackedFile file = open();
    EXPECT_EQ(read(file, 5000, 1000), one);
    EXPECT_TRUE(read(file, 7000, 1000).empty());
    file.keep(9000, one);
  }
  index.resize(index.size() - 16);
  append(index, {9000, 10000, hash});
  EXPECT_EQ(contents(paths.index), index);
}

TEST_F(PackedFileTest, BeginsAnewIfItIsOfAnother) {
  write_one();
  const Bytes good = contents(paths.index);
  const auto is_begun_anew = [&](PackedFile& file) {
    EXPECT_TRUE(read(file, 5000, 1000).empty());
    file.keep(20, pattern(3, 50));
    EXPECT_EQ(read(file, 20, 50), pattern(3, 50));
    EXPECT_EQ(contents(paths.index).size(), 40u + 24);
    EXPECT_EQ(fs::file_size(paths.packed), 70u);
  };
  for (size_t at = 0; at < 40; ++at) {
    Bytes other = good;
    other[at] ^= 1;
    if (at < 32) {  // the hash fits
      const uint64_t hash = xxh64(std::span(other).first(32));
      std::memcpy(other.data() + 32, &hash, 8);
    }
    write_file(paths.index, other);
    SCOPED_TRACE(at);
    PackedFile file = open();
    is_begun_anew(file);
  }
  for (const size_t size : {0, 1, 39}) {
    write_file(paths.index, Bytes(good.begin(), good.begin() + static_cast<ptrdiff_t>(size)));
    PackedFile file = open();
    is_begun_anew(file);
  }
  for (const auto& [other_table, total] :
       {std::pair{std::vector<uint64_t>{11, 22, 34}, kTotal}, {table, kTotal - 1}}) {
    fs::remove(paths.index);
    fs::remove(paths.packed);
    write_one();
    PackedFile file(directory, kKey, other_table, total, kTotal);
    is_begun_anew(file);
  }
  // Without the data the index is worth nothing.
  fs::remove(paths.index);
  write_one();
  fs::remove(paths.packed);
  PackedFile file = open();
  is_begun_anew(file);
}

TEST_F(PackedFileTest, ForgetsADamagedChunkAndKeepsItAgain) {
  write_one();
  Bytes data = contents(paths.packed);
  data[5500] ^= 1;
  write_file(paths.packed, data);
  {
    PackedFile file = open();
    EXPECT_TRUE(read(file, 5000, 1000).empty());
    EXPECT_TRUE(read(file, 5000, 1000).empty());
    file.keep(5000, one);
    EXPECT_EQ(read(file, 5000, 1000), one);
  }
  EXPECT_EQ(contents(paths.index).size(), 40u + 2 * 24);
  fs::resize_file(paths.packed, 5999);
  PackedFile file = open();
  EXPECT_TRUE(read(file, 5000, 1000).empty());
}

TEST_F(PackedFileTest, CheckForgetsWhatIsDamaged) {
  EXPECT_FALSE(check_copy(directory, kKey, table, kTotal));
  write_one();
  open().keep(9000, pattern(2, 500));
  EXPECT_TRUE(is_copy_of(paths, table, kTotal));
  EXPECT_EQ(check_copy(directory, kKey, table, kTotal)->bytes, 1500u);
  Bytes data = contents(paths.packed);
  data[5500] ^= 1;
  write_file(paths.packed, data);
  auto found = check_copy(directory, kKey, table, kTotal);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->damaged, 1u);
  EXPECT_EQ(found->bytes, 500u);
  EXPECT_FALSE(found->removed);
  EXPECT_EQ(contents(paths.index).size(), 40u + 24);
  {
    PackedFile file = open();
    EXPECT_TRUE(read(file, 5000, 1000).empty());
    EXPECT_EQ(read(file, 9000, 500), pattern(2, 500));
    EXPECT_FALSE(check_copy(directory, kKey, table, kTotal));  // another has it
  }
  fs::resize_file(paths.packed, 9499);
  found = check_copy(directory, kKey, table, kTotal);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->damaged, 1u);
  EXPECT_TRUE(fs::is_empty(directory));
}

TEST_F(PackedFileTest, CheckRemovesWhatIsNoneOfTheFile) {
  const std::vector<uint64_t> other = {11, 22, 34}, missing = {11, 0, 33};
  const auto is_removed = [&](uint64_t total, const std::vector<uint64_t>& its_table) {
    EXPECT_FALSE(is_copy_of(paths, its_table, total));
    const auto found = check_copy(directory, kKey, its_table, total);
    EXPECT_TRUE(found && found->removed && found->bytes == 0);
    EXPECT_TRUE(fs::is_empty(directory));
  };
  write_one();
  is_removed(kTotal, other);
  write_one();
  is_removed(kTotal - 1, missing);
  write_one();
  fs::remove(paths.index);
  is_removed(kTotal, table);
  write_one();
  fs::remove(paths.packed);
  is_removed(kTotal, table);
  // Blocks that are missing may come again.
  write_one();
  EXPECT_TRUE(is_copy_of(paths, missing, kTotal));
  EXPECT_FALSE(check_copy(directory, kKey, missing, kTotal));
  PackedFile file = open();
  EXPECT_EQ(read(file, 5000, 1000), one);
}

TEST_F(PackedFileTest, TellsOnceThatItWasMade) {
  {
    PackedFile file = open();
    EXPECT_EQ(file.news(), CopyNews::none);
    file.keep(5000, one);
    EXPECT_EQ(file.news(), CopyNews::made);
  }
  PackedFile file = open();
  file.keep(7000, one);
  EXPECT_EQ(file.news(), CopyNews::none);
}

TEST_F(PackedFileTest, WhatIsWrittenOverIsForgotten) {
  PackedFile file = open();
  file.keep(5000, one);
  file.keep(5999, pattern(4, 10));
  EXPECT_TRUE(read(file, 5000, 1000).empty());
  EXPECT_EQ(read(file, 5999, 10), pattern(4, 10));
}

TEST_F(PackedFileTest, WhatWasWrittenOverIsNoDamage) {
  {
    PackedFile file = open();
    file.keep(100, pattern(2, 300));
    file.keep(5000, one);
    file.keep(7000, pattern(5, 2000));
    file.keep(5999, pattern(4, 1500));
    file.keep(399, pattern(6, 1));
  }
  const auto found = check_copy(directory, kKey, table, kTotal);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->damaged, 0u);
  EXPECT_EQ(found->bytes, 1501u);
}

TEST_F(PackedFileTest, OneProcessAtATimeUsesIt) {
  PackedFile first = open();
  PackedFile second = open();  // when there is no copy yet
  first.keep(5000, one);
  second.keep(7000, one);
  EXPECT_TRUE(read(second, 7000, 1000).empty());
  PackedFile third = open();
  EXPECT_TRUE(read(third, 5000, 1000).empty());
  third.keep(5000, one);
  EXPECT_EQ(contents(paths.index).size(), 40u + 24);
  remove_copies(directory);
  EXPECT_EQ(read(first, 5000, 1000), one);
  EXPECT_TRUE(fs::exists(paths.packed));
}

TEST_F(PackedFileTest, IsNotBegunWithoutRoom) {
  constexpr uint64_t kHuge = uint64_t{1} << 52;
  PackedFile file(directory, kKey, table, kHuge, kHuge);
  file.keep(5000, one);
  EXPECT_TRUE(fs::is_empty(directory));
  EXPECT_TRUE(read(file, 5000, 1000).empty());
  EXPECT_EQ(file.news(), CopyNews::no_room);
}

TEST_F(PackedFileTest, AWriteThatFailsEndsTheWriting) {
  write_one();
  rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old = std::signal(SIGXFSZ, SIG_IGN);
  PackedFile file = open();
  const rlimit small = {8000, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  file.keep(7500, one);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, old);
  EXPECT_EQ(file.news(), CopyNews::no_room);
  EXPECT_TRUE(read(file, 7500, 1000).empty());
  file.keep(100, one);
  EXPECT_TRUE(read(file, 100, 1000).empty());
  EXPECT_EQ(read(file, 5000, 1000), one);
  EXPECT_EQ(contents(paths.index).size(), 40u + 24);
}

TEST_F(PackedFileTest, DoesWithoutFilesThatAreNone) {
  fs::create_directory(paths.index);
  {
    PackedFile file = open();
    file.keep(5000, one);
    EXPECT_TRUE(read(file, 5000, 1000).empty());
  }
  fs::remove(paths.index);
  fs::create_directory(paths.packed);
  PackedFile file = open();
  file.keep(5000, one);
  EXPECT_TRUE(read(file, 5000, 1000).empty());
  PackedFile nowhere(directory + "/none", kKey, table, kTotal, kTotal);
  nowhere.keep(5000, one);
  EXPECT_TRUE(read(nowhere, 5000, 1000).empty());
}

TEST_F(PackedFileTest, GoesWhenAModelNeedsItsRoom) {
  write_one();
  constexpr char kAddress[] = "https://e.org/m.gguf";
  auto file = BlockFile::open_to_write(directory, kAddress);
  ASSERT_TRUE(file);
  EXPECT_TRUE(fs::exists(paths.packed));
  EXPECT_FALSE(file->begin(file->meta(), uint64_t{1} << 50));
  EXPECT_FALSE(fs::exists(paths.packed));
  EXPECT_FALSE(fs::exists(paths.index));
}

TEST_F(PackedFileTest, CountsAndGoesWithItsModel) {
  constexpr char kAddress[] = "https://e.org/m.gguf";
  const std::string key = key_of(kAddress);
  const EntryPaths entry(directory, key);
  {
    auto file = BlockFile::open_to_write(directory, kAddress);
    ASSERT_TRUE(file && file->begin(file->meta(), kTotal));
    const Bytes block(file->block_bytes());
    ASSERT_TRUE(file->write(0, block));
    ASSERT_TRUE(file->add_block(0, xxh64(block)));
    PackedFile copy(directory, key, file->table(), kTotal, kTotal);
    copy.keep(kTotal - 1000, one);
  }
  const auto list = list_cache(directory);
  ASSERT_TRUE(list);
  ASSERT_EQ(list->size(), 1u);
  EXPECT_GE((*list)[0].packed, 1000u);
  EXPECT_LT((*list)[0].packed, kTotal);  // it is sparse
  EXPECT_TRUE(*remove_entry(directory, key));
  EXPECT_TRUE(fs::is_empty(directory));
}

// Each thread keeps its chunks and reads those of all.
TEST_F(PackedFileTest, ThreadsKeepAndReadAtOnce) {
  constexpr uint64_t kSize = 4096, kChunks = kTotal / kSize;
  constexpr int kThreads = 4;
  const auto chunk_of = [](uint64_t i) { return pattern(i * 31, kSize - i % 7); };
  for (const bool first : {true, false}) {
    PackedFile file = open();
    std::vector<uint64_t> wrong(kThreads), missing(kThreads);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (uint64_t i = 0; i < kChunks; ++i) {
          const Bytes expected = chunk_of(i);
          Bytes place(expected.size());
          const bool there = file.read(i * kSize, place);
          if (there && place != expected) ++wrong[t];
          if (!there) ++missing[t];
          if (!there && i % kThreads == static_cast<uint64_t>(t)) file.keep(i * kSize, expected);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (int t = 0; t < kThreads; ++t) {
      EXPECT_EQ(wrong[t], 0u);
      // Nobody else keeps a thread's own.
      EXPECT_GE(missing[t], first ? kChunks / kThreads : 0);
      EXPECT_LE(missing[t], first ? kChunks : 0);
    }
  }
  EXPECT_EQ(contents(paths.index).size(), 40 + 24 * kChunks);
}

// Of a damaged chunk no thread gets the bytes.
TEST_F(PackedFileTest, ThreadsSeeNoDamage) {
  write_one();
  Bytes data = contents(paths.packed);
  data[5999] ^= 1;
  write_file(paths.packed, data);
  PackedFile file = open();
  std::vector<Bytes> got(4);
  std::vector<std::thread> threads;
  for (Bytes& each : got) threads.emplace_back([&] { each = read(file, 5000, 1000); });
  for (std::thread& thread : threads) thread.join();
  for (const Bytes& each : got) EXPECT_TRUE(each.empty());
  file.keep(5000, one);
  EXPECT_EQ(read(file, 5000, 1000), one);
}

}  // namespace
}  // namespace sluice::pull
