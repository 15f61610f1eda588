// Weights that are kept packed and brought so when they are wanted again: the same bits, whatever
// the copy lacks.
#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <thread>

#include "base/format.h"
#include "support/engine_fixture.h"
#include "weights/file_reader.h"

namespace sluice {
namespace {

using Bytes = std::vector<uint8_t>;

// A copy in memory. `lacks` chunks in a hundred are neither kept nor given.
class CopyInMemory final : public PackedCopy {
 public:
  explicit CopyInMemory(uint64_t lacks) : lacks_(lacks) {}

  bool read(uint64_t offset, std::span<uint8_t> place) override {
    const std::lock_guard lock(mutex_);
    const auto chunk = chunks_.find(offset);
    if (chunk == chunks_.end() || chunk->second.size() != place.size()) return false;
    std::ranges::copy(chunk->second, place.begin());
    ++reads_;
    return true;
  }
  void keep(uint64_t offset, std::span<const uint8_t> bytes) override {
    const std::lock_guard lock(mutex_);
    if (offset / 64 % 100 < lacks_) return;
    const auto [chunk, is_new] = chunks_.try_emplace(offset, bytes.begin(), bytes.end());
    EXPECT_TRUE(is_new || std::ranges::equal(chunk->second, bytes)) << offset;
  }

  int reads() const { return reads_; }
  std::map<uint64_t, Bytes>& chunks() { return chunks_; }

 private:
  const uint64_t lacks_;
  std::mutex mutex_;
  std::map<uint64_t, Bytes> chunks_;
  std::atomic<int> reads_ = 0;
};

// More layers than places, and matrices of several chunks.
std::string large_layers(std::string_view name) {
  TinyModel model = tiny_model_named(name);
  model.n_layers = 6;
  return build_tiny_model(model);
}

LoadOptions least_budget(const std::string& bytes) {
  LoadOptions options;
  options.threads = 2;
  const auto plan = plan_memory(*parse_gguf(as_bytes(bytes), bytes.size()), options);
  EXPECT_TRUE(plan.has_value());
  options.memory_budget = plan->least;
  return options;
}

std::string hash_with(const std::string& path, const std::shared_ptr<PackedCopy>& copy,
                      const LoadOptions& options, const std::vector<TokenId>& ids) {
  auto files = ModelFiles::open(path);
  EXPECT_TRUE(files.has_value());
  files->set_copy_maker([&](size_t, uint64_t) { return copy; });
  const auto engine = Engine::open(std::move(*files), options);
  EXPECT_TRUE(engine.has_value()) << engine.error().message;
  EXPECT_TRUE((*engine)->session().start_logits(ids, 0).has_value());
  const auto done = drive_opened(**engine, (*engine)->session());
  EXPECT_TRUE(done.has_value()) << done.error().message;
  return logits_hash((*engine)->session().logits());
}

class PackedCopies : public testing::TestWithParam<const char*> {};

TEST_P(PackedCopies, GiveTheSameBits) {
  const std::string bytes = large_layers(GetParam());
  const TemporaryFile file(bytes);
  const auto whole = load_bytes(bytes, small());
  const std::vector<TokenId> ids = some_ids(20, whole->tokenizer().vocab_size());
  const std::string expected = hash_of(*whole, ids);
  const LoadOptions options = least_budget(bytes);
  for (const uint64_t lacks : {0, 50}) {
    SCOPED_TRACE(lacks);
    const auto copy = std::make_shared<CopyInMemory>(lacks);
    EXPECT_EQ(hash_with(file.path(), copy, options, ids), expected);
    const int before = copy->reads();
    EXPECT_GT(copy->chunks().size(), 6u);
    EXPECT_EQ(hash_with(file.path(), copy, options, ids), expected);
    EXPECT_GE(copy->reads() - before, static_cast<int>(copy->chunks().size()));
  }
  // Resident weights keep nothing, and are the same when they come from a copy.
  const auto unused = std::make_shared<CopyInMemory>(0);
  EXPECT_EQ(hash_with(file.path(), unused, small(), ids), expected);
  EXPECT_TRUE(unused->chunks().empty());
}

// A saved session names the model by bytes of the file, which are found in packed ones, too.
TEST_P(PackedCopies, GiveTheSameIdentity) {
  const std::string bytes = large_layers(GetParam());
  const TemporaryFile file(bytes);
  const auto whole = load_bytes(bytes, small());
  ASSERT_TRUE(*whole->identify());
  const Session empty(*whole);
  const auto first = empty.save();
  ASSERT_TRUE(first.has_value());
  Bytes expected(static_cast<size_t>((*first)->bytes()));
  (*first)->next(expected);
  const LoadOptions options = least_budget(bytes);
  const auto copy = std::make_shared<CopyInMemory>(0);
  const std::vector<TokenId> ids = some_ids(9, whole->tokenizer().vocab_size());
  hash_with(file.path(), copy, options, ids);
  auto files = ModelFiles::open(file.path());
  ASSERT_TRUE(files.has_value());
  files->set_copy_maker([&](size_t, uint64_t) { return copy; });
  const auto engine = Engine::open(std::move(*files), options);
  ASSERT_TRUE(engine.has_value());
  const int before = copy->reads();
  for (;;) {
    const auto known = (*engine)->identify();
    ASSERT_TRUE(known.has_value()) << known.error().message;
    if (*known) break;
    ASSERT_TRUE((*engine)->wait().has_value());
  }
  EXPECT_GT(copy->reads(), before);
  const auto writer = (*engine)->session().save();
  ASSERT_TRUE(writer.has_value());
  Bytes found(expected.size());
  (*writer)->next(found);
  EXPECT_EQ(found, expected);
}

INSTANTIATE_TEST_SUITE_P(Of, PackedCopies,
                         testing::Values("llama-q8_0", "qwen2-q8_0", "qwen3-f32", "llama-q4_k",
                                         "qwen3moe-q8_0"),
                         [](const auto& each) { return test_name(each.param); });

// A model whose weights are brought by hand: a matrix of more rows than a chunk has.
struct KeptByHand final : PackedKeeper {
  std::unique_ptr<Weights> weights;
  std::vector<std::pair<uint64_t, Bytes>> kept;

  explicit KeptByHand(bool shared) {
    constexpr int64_t kRows = 16 * 20 + 5, kCols = 1024;
    bytes.resize(2 * kRows * kCols * 4);
    for (size_t i = 0; i < bytes.size(); i += 4) bytes[i + 3] = static_cast<uint8_t>(i / 4 % 60);
    Gguf header;
    header.data_offset = 0;
    for (const char* name : {"a", "b"}) {
      TensorInfo tensor;
      tensor.name = name;
      tensor.type = 0;  // F32
      tensor.n_dims = 2;
      tensor.dims[0] = kCols;
      tensor.dims[1] = kRows;
      tensor.offset = header.tensors.size() * bytes.size() / 2;
      tensor.bytes = bytes.size() / 2;
      header.tensors.push_back(tensor);
    }
    header.index_tensors();
    TensorManifest manifest(2);
    EXPECT_TRUE(manifest.add_matrix(header, "a", 0, kRows, kCols).has_value());
    EXPECT_TRUE(manifest.add_matrix(header, "b", 1, kRows, kCols).has_value());
    const SharedPlaces places{{0, 1}, shared ? 1 : 0};
    weights = std::make_unique<Weights>(manifest, places);
    EXPECT_TRUE(weights->allocate().has_value());
    weights->keep_packed(this);
  }
  void keep(uint64_t offset, std::span<const uint8_t> packed) override {
    kept.emplace_back(offset, Bytes(packed.begin(), packed.end()));
  }
  Bytes bytes;
};

constexpr uint64_t kChunk = 16 * 1024 * 4 * 4;  // four strips

TEST(Chunks, AreKeptThatCameWhole) {
  KeptByHand by_hand(true);
  const std::vector<Want> wants = by_hand.weights->wants(UINT64_MAX);
  ASSERT_EQ(wants.size(), 1u);
  const uint64_t size = wants[0].place.size();
  std::ranges::copy(std::span(by_hand.bytes).first(size), wants[0].place.begin());
  const auto fill = [&](uint64_t from, uint64_t to) {
    EXPECT_TRUE(by_hand.weights->filled(from, to - from).has_value());
    std::vector<uint64_t> offsets;
    for (const auto& [offset, bytes] : std::exchange(by_hand.kept, {})) offsets.push_back(offset);
    return offsets;
  };
  using Offsets = std::vector<uint64_t>;
  EXPECT_EQ(fill(0, kChunk - 4), Offsets());
  EXPECT_EQ(fill(kChunk - 4, 3 * kChunk + 8), (Offsets{kChunk, 2 * kChunk}));
  EXPECT_EQ(fill(3 * kChunk + 8, 4 * kChunk), Offsets());
  EXPECT_EQ(fill(4 * kChunk, size), (Offsets{4 * kChunk, 5 * kChunk}));
}

TEST(Chunks, OfPlacesOfTheirOwnAreNotKept) {
  KeptByHand by_hand(false);
  for (const Want& want : by_hand.weights->wants(UINT64_MAX)) {
    std::ranges::copy(std::span(by_hand.bytes).subspan(want.offset, want.place.size()),
                      want.place.begin());
    EXPECT_TRUE(by_hand.weights->filled(want.offset, want.place.size()).has_value());
  }
  EXPECT_TRUE(by_hand.weights->all_resident());
  EXPECT_TRUE(by_hand.kept.empty());
}

TEST(Chunks, ComePackedInWholeStrips) {
  KeptByHand by_hand(true);
  const std::vector<Want> wants = by_hand.weights->wants(UINT64_MAX);
  const auto packed = [&](uint64_t from, uint64_t to) {
    const Status status = by_hand.weights->filled(from, to - from, Form::packed);
    return status.has_value() ? "filled" : std::string(code_name(status.error().code));
  };
  for (const auto& [from, to] :
       {std::pair{uint64_t{4}, kChunk}, {uint64_t{0}, kChunk - 4}, {kChunk / 4 + 4, kChunk / 2}})
    EXPECT_EQ(packed(from, to), "invalid_argument") << from << " " << to;
  EXPECT_EQ(packed(0, kChunk / 4), "filled");
  EXPECT_EQ(packed(kChunk / 4, kChunk), "filled");
  EXPECT_EQ(packed(0, kChunk), "invalid_argument");  // again
  EXPECT_EQ(packed(kChunk, wants[0].place.size()), "filled");
  EXPECT_EQ(by_hand.weights->state(0), SlotState::resident);
  EXPECT_TRUE(by_hand.kept.empty());
}

TEST(Chunks, AreWantedWhole) {
  KeptByHand by_hand(true);
  for (uint64_t at = 0; at < 3 * kChunk; at += 2 * kChunk) {
    const std::vector<Want> wants = by_hand.weights->wants(3 * kChunk - 1);
    ASSERT_EQ(wants.size(), 1u);
    EXPECT_EQ(wants[0].offset, at);
    EXPECT_EQ(wants[0].place.size(), 2 * kChunk);
    EXPECT_EQ(wants[0].unit, kChunk);
  }
}

}  // namespace
}  // namespace sluice
