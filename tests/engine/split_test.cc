// Split models: the same bits as the whole file, however their files come, and what is refused.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <random>
#include <thread>

#include "base/format.h"
#include "make/split_models.h"
#include "support/engine_fixture.h"
#include "weights/source_file.h"

namespace sluice {
namespace {

const std::vector<TokenId> kSplitPrompt = some_ids(20, 512);

const std::string& whole_hash() {
  static const std::string hash = hash_of(*tiny_engine(), kSplitPrompt);
  return hash;
}

// Brings the headers: fills each want with `piece` bytes of the file that it is of, or up to the
// end of that file.
Status bring_headers(Engine& engine, const std::vector<std::string>& files, size_t piece) {
  while (!engine.has_layout()) {
    const Want want = engine.wants(1).front();
    const size_t index = engine.files().size() - 1;
    const uint64_t at = want.offset - engine.files()[index].begin;
    EXPECT_LE(at, files[index].size());
    const size_t n = std::min({piece, want.place.size(), files[index].size() - at});
    if (n == 0) return engine.end_of_file(want.offset);
    std::memcpy(want.place.data(), files[index].data() + at, n);
    SLUICE_TRY(engine.filled(want.offset, n));
  }
  return {};
}

// Brings the weights that are wanted in pieces, in the files' order or shuffled.
Status bring_weights(Engine& engine, const std::vector<std::string>& files, bool shuffled) {
  const std::string bytes = joined(files);
  std::vector<Want> pieces;
  for (Want want : engine.wants(UINT64_MAX)) {
    while (!want.place.empty()) {
      const size_t n = std::min<size_t>(want.place.size(), 1000);
      pieces.push_back({want.offset, want.place.first(n), 1});
      want.offset += n;
      want.place = want.place.subspan(n);
    }
  }
  std::ranges::sort(pieces, {}, &Want::offset);
  if (shuffled) std::ranges::shuffle(pieces, std::mt19937(5));
  for (const Want& piece : pieces) {
    std::memcpy(piece.place.data(), bytes.data() + piece.offset, piece.place.size());
    SLUICE_TRY(engine.filled(piece.offset, piece.place.size()));
  }
  return {};
}

std::unique_ptr<Engine> engine_for(std::vector<uint64_t> sizes, Access access) {
  auto engine = Engine::create(small(), std::move(sizes), access);
  EXPECT_TRUE(engine.has_value());
  return std::move(*engine);
}

// The files in a new folder, with the names of a split model.
class Folder {
 public:
  explicit Folder(const std::vector<std::string>& files) {
    std::string pattern = testing::TempDir() + "sluice-split-XXXXXX";
    path_ = mkdtemp(pattern.data());
    for (size_t i = 0; i < files.size(); ++i)
      std::ofstream(path(i, files.size()), std::ios::binary) << files[i];
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string path(size_t index, size_t n_files) const {
    return path_ + "/" + split_name("m", index, n_files);
  }

 private:
  std::string path_;
};

// --- good ones -----------------------------------------------------------------------------------

class Split : public testing::TestWithParam<size_t> {};

TEST_P(Split, GivesTheBitsOfTheWhole) {
  const std::vector<std::string> files = split_model(tiny_bytes(), GetParam());
  for (const Access access : {Access::sequential, Access::rereadable}) {
    for (const size_t piece : {size_t{1}, size_t{700}, size_t{1} << 20}) {
      for (const bool sizes_known : {true, false}) {
        SCOPED_TRACE(concat("pieces of ", piece));
        const auto engine =
            engine_for(sizes_known ? sizes_of(files) : std::vector<uint64_t>(), access);
        ASSERT_TRUE(bring_headers(*engine, files, piece).has_value());
        ASSERT_TRUE(engine->build_tokenizer().has_value());
        ASSERT_EQ(engine->files().size(), files.size());
        ASSERT_TRUE(bring_weights(*engine, files, access == Access::rereadable).has_value());
        EXPECT_TRUE(engine->loaded());
        EXPECT_TRUE(engine->end_of_file(joined(files).size()).has_value());
        const LoadProgress progress = engine->progress();
        EXPECT_EQ(progress.loaded, progress.total);
        EXPECT_EQ(hash_of(*engine, kSplitPrompt), whole_hash());
      }
    }
  }
}

TEST_P(Split, OpensFromAnyOfItsFiles) {
  const std::vector<std::string> files = split_model(tiny_bytes(), GetParam());
  const Folder folder(files);
  uint64_t bytes = 0;
  for (const std::string& file : files) bytes += file.size();
  for (size_t i = 0; i < files.size(); ++i) {
    const auto engine = open_file(folder.path(i, files.size()), small());
    ASSERT_NE(engine, nullptr);
    EXPECT_EQ(hash_of(*engine, kSplitPrompt), whole_hash());
    EXPECT_EQ(engine->progress().total, bytes);
  }
  const auto header = read_header(folder.path(0, files.size()));
  ASSERT_TRUE(header.has_value());
  EXPECT_EQ(header->files.size(), files.size());
  EXPECT_EQ(header->file_bytes(), joined(files).size());
}

INSTANTIATE_TEST_SUITE_P(Into, Split, testing::Values(1, 2, 3, 5, 26));

TEST(SplitModels, MayHaveNoTensorsInTheFirstFile) {
  const std::vector<std::string> files = split_model(tiny_bytes(), 3, true);
  const auto engine = engine_for(sizes_of(files), Access::sequential);
  ASSERT_TRUE(bring_headers(*engine, files, 100000).has_value());
  ASSERT_TRUE(engine->build_tokenizer().has_value());
  ASSERT_TRUE(bring_weights(*engine, files, false).has_value());
  EXPECT_EQ(hash_of(*engine, kSplitPrompt), whole_hash());
}

TEST(SplitModels, LieEndToEnd) {
  const std::vector<std::string> files = split_model(tiny_bytes(), 3);
  const auto engine = engine_for(sizes_of(files), Access::rereadable);
  EXPECT_EQ(engine->files().size(), 1u);
  ASSERT_TRUE(bring_headers(*engine, files, 100).has_value());
  uint64_t begin = 0;
  for (size_t i = 0; i < 3; ++i) {
    const auto own = parse_gguf(as_bytes(files[i]), files[i].size());
    ASSERT_TRUE(own.has_value());
    EXPECT_EQ(engine->files()[i].begin, begin);
    EXPECT_EQ(engine->files()[i].bytes, own->file_bytes());
    begin += own->file_bytes();
  }
  EXPECT_EQ(engine->header().file_bytes(), begin);
  for (const TensorInfo& tensor : engine->header().tensors)
    EXPECT_EQ(engine->header().find_tensor(tensor.name), &tensor);
}

// What is behind a header came for nothing if it is not kept.
TEST(SplitModels, KeepWhatCameBehindTheHeaders) {
  const std::vector<std::string> files = split_model(tiny_bytes(), 3);
  const auto engine = engine_for(sizes_of(files), Access::sequential);
  ASSERT_TRUE(bring_headers(*engine, files, size_t{1} << 20).has_value());
  ASSERT_TRUE(engine->build_tokenizer().has_value());
  uint64_t headers = 0, left = 0;
  for (const std::string& file : files) headers += parse_gguf(as_bytes(file))->data_offset;
  for (const Want& want : engine->wants(UINT64_MAX)) left += want.place.size();
  EXPECT_LT(left, joined(files).size() - headers - 16384);
}

TEST(SplitModels, HaveTheMetadataOfTheFirstFile) {
  std::vector<GgufBuilder> builders = split_builders(tiny_bytes(), 2);
  builders[1].kv_string("general.architecture", "mamba").kv_u32("qwen2.block_count", 7);
  const std::vector<std::string> files = {builders[0].build(), builders[1].build()};
  const auto engine = engine_for(sizes_of(files), Access::rereadable);
  ASSERT_TRUE(bring_headers(*engine, files, 5000).has_value());
  EXPECT_EQ(engine->header().get_string("general.architecture"), "qwen2");
  ASSERT_TRUE(engine->build_tokenizer().has_value());
  ASSERT_TRUE(bring_weights(*engine, files, true).has_value());
  EXPECT_EQ(hash_of(*engine, kSplitPrompt), whole_hash());
}

// A header that is larger than what is wanted at once.
TEST(SplitModels, MayHaveLargeLaterHeaders) {
  std::vector<GgufBuilder> builders = split_builders(tiny_bytes(), 2);
  builders[1].kv_string("comment", std::string(600000, 'x'));
  const std::vector<std::string> files = {builders[0].build(), builders[1].build()};
  for (const size_t piece : {size_t{1000}, size_t{1} << 20}) {
    const auto engine = engine_for(sizes_of(files), Access::sequential);
    ASSERT_TRUE(bring_headers(*engine, files, piece).has_value());
    ASSERT_TRUE(engine->build_tokenizer().has_value());
    ASSERT_TRUE(bring_weights(*engine, files, false).has_value());
    EXPECT_TRUE(engine->loaded());
    EXPECT_EQ(hash_of(*engine, kSplitPrompt), whole_hash());
  }
}

// A file that gguf-split has merged.
TEST(SplitModels, ThatAreMergedAreWhole) {
  GgufBuilder file = tiny_model_file(tiny_model_named("qwen2-q8_0"));
  const uint16_t zero = 0;
  file.kv_raw("split.count", static_cast<uint32_t>(ValueType::u16), bytes_of(zero));
  file.kv_i32("split.tensors.count", 9999);
  const auto engine = load_bytes(file.build(), small());
  ASSERT_NE(engine, nullptr);
  EXPECT_EQ(hash_of(*engine, kSplitPrompt), whole_hash());
}

TEST(SplitModels, PathsOfAllTheirFiles) {
  const std::vector<std::string> three = {"a/b-00001-of-00003.gguf", "a/b-00002-of-00003.gguf",
                                          "a/b-00003-of-00003.gguf"};
  for (const std::string& path : three) EXPECT_EQ(model_paths(path), three);
  for (const char* path :
       {"m.gguf", "m-00004-of-00003.gguf", "m-00000-of-00003.gguf", "m-0001-of-0003.gguf",
        "m-00001-of-01000.gguf", "m-00001-of-00003.ggu", "m-0000x-of-00003.gguf",
        "m-00001-xx-00003.gguf", "-00001-of-0003.gguf", ""}) {
    EXPECT_EQ(model_paths(path), std::vector<std::string>{path});
  }
  EXPECT_EQ(model_paths("-00007-of-00999.gguf").size(), 999u);
}

// --- bad ones ------------------------------------------------------------------------------------

// Why an engine refuses the files; "" if it takes them.
std::string refusal(const std::vector<std::string>& files, const std::vector<uint64_t>& sizes) {
  const auto engine = engine_for(sizes, Access::rereadable);
  const Status status = bring_headers(*engine, files, 5000);
  if (status) return "";
  EXPECT_EQ(code_name(status.error().code), code_name(Code::bad_file));
  EXPECT_EQ(printable(status.error().message, 1000), status.error().message);
  return status.error().message;
}

std::vector<std::string> built(const std::vector<GgufBuilder>& files) {
  std::vector<std::string> bytes;
  for (const GgufBuilder& file : files) bytes.push_back(file.build());
  return bytes;
}

TEST(SplitHazards, AreNamed) {
  struct Case {
    const char* says;
    void (*change)(std::vector<GgufBuilder>& files);
  };
  const Case cases[] = {
      {"split into 65536 files (split.count); expected at most 999",
       [](auto& files) { files[0].kv_u32("split.count", 65536); }},
      {"split into 1000 files", [](auto& files) { files[0].kv_u32("split.count", 1000); }},
      {"'split.count' is i32 -1", [](auto& files) { files[0].kv_i32("split.count", -1); }},
      {"'split.count' is a value of type string",
       [](auto& files) { files[0].kv_string("split.count", "3"); }},
      {"3 files were given, but the first is a whole model",
       [](auto& files) { files[0].kv_u32("split.count", 0); }},
      {"3 files were given, but the first is a whole model",
       [](auto& files) { files[0].remove("split.count"); }},
      {"split into 4 files, but 3 were given",
       [](auto& files) { files[0].kv_u32("split.count", 4); }},
      {"split into 2 files, but 3 were given",
       [](auto& files) { files[0].kv_u32("split.count", 2); }},
      {"file 2 of 3: it is of a model of 5 files (split.count), the first file of one of 3",
       [](auto& files) { files[1].kv_u32("split.count", 5); }},
      {"file 3 of 3: it is of a model of 0 files",
       [](auto& files) { files[2].kv_u32("split.count", 0); }},
      {"file 2 of 3: the file is part of a split model, but has no split.count",
       [](auto& files) { files[1].remove("split.count"); }},
      {"has no split.no", [](auto& files) { files[0].remove("split.no"); }},
      {"has no split.no", [](auto& files) { files[2].remove("split.no"); }},
      {"has no split.tensors.count", [](auto& files) { files[0].remove("split.tensors.count"); }},
      {"has no split.tensors.count", [](auto& files) { files[1].remove("split.tensors.count"); }},
      {"split.no is 3; expected 1", [](auto& files) { files[1].kv_u32("split.no", 3); }},
      {"expected file 1 of 3 of the split model, found file 2: give the files in their order",
       [](auto& files) { std::swap(files[0], files[1]); }},
      {"expected file 2 of 3 of the split model, found file 3",
       [](auto& files) { std::swap(files[1], files[2]); }},
      {"expected file 2 of 3 of the split model, found file 1",
       [](auto& files) { files[1] = files[0]; }},
      {"expected file 3 of 3 of the split model, found file 2",
       [](auto& files) { files[2] = files[1]; }},
      {"file 2 of 3: it is of a model of 7 tensors (split.tensors.count)",
       [](auto& files) { files[1].kv_i32("split.tensors.count", 7); }},
      {"tensors together (split.tensors.count); expected at most 65536",
       [](auto& files) { files[0].kv_u32("split.tensors.count", 65537); }},
      {"the first 3 of the model's 3 files have",
       [](auto& files) {
         for (GgufBuilder& file : files) file.kv_u32("split.tensors.count", 27);
       }},
      // Refused before the others are read.
      {"the first 1 of the model's 3 files have",
       [](auto& files) {
         for (GgufBuilder& file : files) file.kv_u32("split.tensors.count", 1);
       }},
      {"' stands in two of the model's files",
       [](auto& files) { files[2].tensors.back().name = files[0].tensors.front().name; }},
      {"file 3 of 3: its alignment is 64, that of the first file 32",
       [](auto& files) {
         files[2].alignment = 64;
         files[2].kv_u32("general.alignment", 64);
       }},
      {"would end past 2^53 bytes",
       [](auto& files) {
         for (GgufBuilder& file : files) file.tensors.back().offset = 1ull << 52;
       }},
      {"file 2 of 3: this is not a GGUF file", [](auto& files) { files[1].magic = "<htm"; }},
      {"file 3 of 3: metadata entry ", [](auto& files) { files[2].n_kv = 9; }},
      {"file 2 of 3: the tensors '", [](auto& files) { files[1].tensors.back().offset = 0; }},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.says);
    std::vector<GgufBuilder> files = split_builders(tiny_bytes(), 3);
    ASSERT_EQ(files.size(), 3u);
    each.change(files);
    const std::vector<std::string> bytes = built(files);
    EXPECT_NE(refusal(bytes, {0, 0, 0}).find(each.says), std::string::npos)
        << refusal(bytes, {0, 0, 0});
  }
}

TEST(SplitHazards, OneFileAlone) {
  const std::vector<std::string> files = split_model(tiny_bytes(), 3);
  for (size_t i = 0; i < 3; ++i) {
    const std::string says = concat("this is file ", i + 1,
                                    " of 3 of a split model: give all of them, or the address of "
                                    "the first (its name ends with -00001-of-00003.gguf)");
    EXPECT_EQ(refusal({files[i]}, {files[i].size()}), says);
    EXPECT_EQ(refusal({files[i]}, {0}), says);
    const TemporaryFile renamed(files[i]);
    const auto engine = Engine::open(renamed.path(), small());
    ASSERT_FALSE(engine.has_value());
    EXPECT_EQ(engine.error().message, says);
  }
  EXPECT_NE(refusal({files[0], files[1]}, {0, 0}).find("3 files, but 2 were given"),
            std::string::npos);
}

TEST(SplitHazards, FilesThatAreCutShort) {
  const std::vector<std::string> files = split_model(tiny_bytes(), 3);
  for (size_t i = 0; i < 3; ++i) {
    const uint64_t header = parse_gguf(as_bytes(files[i]))->data_offset;
    for (const uint64_t size : {uint64_t{0}, uint64_t{3}, header - 1, header + 10}) {
      SCOPED_TRACE(concat(size, " bytes of file ", i + 1));
      std::vector<std::string> cut = files;
      cut[i].resize(size);
      const std::string place = concat("file ", i + 1, " of 3: ");
      const auto says_place = [&](const std::string& message) {
        EXPECT_NE(message, "");
        EXPECT_NE(message.find(place), std::string::npos) << message;
      };
      if (size > 0) says_place(refusal(cut, sizes_of(cut)));
      // The size of the first is unknown, and so is the number of files.
      if (size < header && i > 0) says_place(refusal(cut, {}));
      if (size < header) says_place(refusal(cut, {0, 0, 0}));
      const Folder folder(cut);
      const auto engine = open_ready(folder.path(0, 3), small());
      ASSERT_FALSE(engine.has_value());
      EXPECT_EQ(code_name(engine.error().code), code_name(Code::bad_file));
    }
  }
  const auto engine = engine_for({}, Access::rereadable);
  ASSERT_TRUE(bring_headers(*engine, files, 100).has_value());
  const Status end = engine->end_of_file(engine->files()[1].begin + 100);
  ASSERT_FALSE(end.has_value());
  EXPECT_NE(end.error().message.find("the model's files end after"), std::string::npos)
      << end.error().message;
}

TEST(SplitHazards, AFileThatIsMissing) {
  const std::vector<std::string> files = split_model(tiny_bytes(), 3);
  const Folder folder(files);
  std::filesystem::remove(folder.path(1, 3));
  for (const size_t i : {0, 2}) {
    const auto engine = Engine::open(folder.path(i, 3), small());
    ASSERT_FALSE(engine.has_value());
    EXPECT_NE(engine.error().message.find("m-00002-of-00003.gguf: No such file"), std::string::npos)
        << engine.error().message;
    EXPECT_NE(engine.error().message.find("split into 3 files"), std::string::npos);
  }
}

// --- places before the vocabulary ----------------------------------------------------------------

TEST(EarlyPlaces, TakeWeightsWhileTheVocabularyIsBuilt) {
  for (const size_t n_files : {1, 3}) {
    const std::vector<std::string> files = split_model(tiny_bytes(), n_files);
    const auto engine = engine_for(sizes_of(files), Access::rereadable);
    EXPECT_FALSE(engine->build_tokenizer().has_value());
    ASSERT_TRUE(bring_headers(*engine, files, 100).has_value());
    EXPECT_FALSE(engine->has_tokenizer());
    std::thread source([&] {
      const Status status = bring_weights(*engine, files, true);
      EXPECT_TRUE(status.has_value()) << status.error().message;
    });
    EXPECT_TRUE(engine->build_tokenizer().has_value());
    EXPECT_TRUE(engine->has_tokenizer());
    source.join();
    EXPECT_TRUE(engine->loaded());
    EXPECT_GT(engine->stats().load_ms, 0);
    EXPECT_FALSE(engine->build_tokenizer().has_value());
    EXPECT_EQ(hash_of(*engine, kSplitPrompt), whole_hash());
  }
}

TEST(EarlyPlaces, AllWeightsMayComeFirst) {
  const std::vector<std::string> files = {tiny_bytes()};
  const auto engine = engine_for(sizes_of(files), Access::sequential);
  ASSERT_TRUE(bring_headers(*engine, files, 100).has_value());
  ASSERT_TRUE(bring_weights(*engine, files, false).has_value());
  EXPECT_FALSE(engine->loaded());
  EXPECT_EQ(engine->progress().layers_ready, 2);
  EXPECT_EQ(engine->stats().load_ms, 0);
  ASSERT_TRUE(engine->build_tokenizer().has_value());
  EXPECT_TRUE(engine->loaded());
  EXPECT_GT(engine->stats().load_ms, 0);
  EXPECT_EQ(hash_of(*engine, kSplitPrompt), whole_hash());
}

TEST(EarlyPlaces, ABadVocabularyIsRefused) {
  GgufBuilder file = tiny_model();
  std::vector<std::string> tokens = tiny_tokens();
  tokens.pop_back();
  file.kv_strings("tokenizer.ggml.tokens", tokens);
  const std::vector<std::string> files = {file.build()};
  const auto engine = engine_for(sizes_of(files), Access::sequential);
  ASSERT_TRUE(bring_headers(*engine, files, 100).has_value());
  const Status status = engine->build_tokenizer();
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(code_name(status.error().code), code_name(Code::bad_file));
  EXPECT_FALSE(engine->has_tokenizer());
}

}  // namespace
}  // namespace sluice
