// Tests of weights that are not finite or that overflow, and of files that change or are not
// regular files.
#include "weights/weights.h"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <limits>
#include <set>
#include <thread>

#include "base/format.h"
#include "make/blocks.h"
#include "support/engine_fixture.h"
#include "support/planned_engine.h"
#include "weights/source_file.h"

namespace sluice {
namespace {

std::vector<std::string> supported_tables() {
  std::vector<std::string> names;
  for (const Kernels* kernels : all_kernels()) {
    if (kernels->supported()) names.emplace_back(kernels->name);
  }
  return names;
}

// A way to load a file.
using Load = Status (*)(const std::string& bytes, const LoadOptions& options);

Status by_file(const std::string& bytes, const LoadOptions& options) {
  const TemporaryFile file(bytes);
  SLUICE_TRY(open_ready(file.path(), options));
  return {};
}
template <size_t kPiece>
Status by_pieces(const std::string& bytes, const LoadOptions& options) {
  SLUICE_ASSIGN(const auto engine, Engine::create(options, {bytes.size()}));
  Stream stream(*engine);
  for (size_t at = 0; at < bytes.size(); at += kPiece) {
    SLUICE_TRY(stream.push(as_bytes(std::string_view(bytes).substr(at, kPiece))));
  }
  return stream.end();
}
// All of the weights are at their places before the engine is told of any, as the library's loader
// may do.
Status by_places(const std::string& bytes, const LoadOptions& options) {
  SLUICE_ASSIGN(const auto engine, Engine::create(options, {bytes.size()}));
  Stream stream(*engine);
  while (!engine->has_tokenizer()) {
    SLUICE_TRY(stream.push(as_bytes(std::string_view(bytes).substr(stream.at(), 1))));
  }
  for (const Want& want : engine->wants(UINT64_MAX))
    std::memcpy(want.place.data(), bytes.data() + want.offset, want.place.size());
  SLUICE_TRY(engine->filled(stream.at(), bytes.size() - stream.at()));
  return engine->end_of_file(bytes.size());
}
constexpr Load kWays[] = {by_file, by_pieces<size_t{1} << 30>, by_pieces<1000>, by_places};

// Why `load` refuses the file; "" if it loads.
std::string refusal(Load load, const std::string& bytes, const LoadOptions& options = small()) {
  const Status status = load(bytes, options);
  if (status.has_value()) return "";
  EXPECT_EQ(code_name(status.error().code), code_name(Code::bad_file)) << status.error().message;
  return status.error().message;
}

// A model's bytes, and where its tensors are.
struct Model {
  std::string bytes;
  Gguf header;

  explicit Model(std::string file) : bytes(std::move(file)) {
    auto parsed = parse_gguf(as_bytes(bytes), bytes.size());
    EXPECT_TRUE(parsed.has_value());
    if (parsed.has_value()) header = std::move(*parsed);
  }
  static Model named(std::string_view name) {
    return Model(build_tiny_model(tiny_model_named(name)));
  }

  char* row(const TensorInfo& tensor, uint64_t row) {
    const uint64_t row_bytes = tensor.bytes / (tensor.bytes == 0 ? 1 : rows(tensor));
    return bytes.data() + header.data_offset + tensor.offset + row * row_bytes;
  }
  static uint64_t rows(const TensorInfo& tensor) { return tensor.dims[1] * tensor.dims[2]; }
  // Sets all elements of an F32 tensor to `value`.
  void fill(std::string_view name, float value) {
    const TensorInfo* tensor = header.find_tensor(name);
    ASSERT_TRUE(tensor != nullptr && tensor->type == static_cast<uint32_t>(Type::F32)) << name;
    for (uint64_t i = 0; i < tensor->bytes; i += 4) std::memcpy(row(*tensor, 0) + i, &value, 4);
  }
};

// The offsets of the numbers in a row that may not be finite, in its first and in its last block.
std::vector<size_t> places_of_numbers(const TypeTraits& type, size_t row_bytes) {
  std::vector<size_t> places = places_of_floats(type);
  for (const size_t place : places_of_floats(type)) {
    places.push_back(row_bytes - type.block_bytes + place);
  }
  return places;
}

// The bits of a NaN or an infinity in a type; `turn` chooses which.
uint32_t not_finite(const TypeTraits& type, size_t turn) {
  const uint32_t infinity = infinity_bits(type);
  const uint32_t sign = float_bytes(type) == 4 ? 0x80000000u : 0x8000u;
  const uint32_t bits[] = {infinity, sign | infinity, sign - 1, sign | (infinity + 1)};
  return bits[turn % 4];
}

// --- numbers that aren't finite ------------------------------------------------------------------

class NotFinite : public testing::TestWithParam<const char*> {};

TEST_P(NotFinite, IsRefusedByTensorAndRow) {
  Model model = Model::named(GetParam());
  size_t turn = 0;
  for (const TensorInfo& tensor : model.header.tensors) {
    const TypeTraits& type = *find_traits(tensor.type);
    const uint64_t rows = Model::rows(tensor);
    const bool vocabulary = rows > 500;
    std::set<uint64_t> chosen = {0, rows - 1};
    if (vocabulary) chosen.insert({15, 16});
    for (const uint64_t row : chosen) {
      const size_t row_bytes = static_cast<size_t>(tensor.bytes / rows);
      const std::vector<size_t> places = places_of_numbers(type, row_bytes);
      char* number = model.row(tensor, row) + places[turn % places.size()];
      const uint32_t bits = not_finite(type, ++turn / places.size());
      const size_t size = float_bytes(type);
      char good[4];
      std::memcpy(good, number, size);
      std::memcpy(number, &bits, size);
      const std::string message = refusal(kWays[1], model.bytes);
      EXPECT_NE(message.find(concat("tensor ", tensor.name, " has a ")), std::string::npos)
          << tensor.name << " " << row << ": " << message;
      EXPECT_NE(message.find(concat(" in row ", row, " (of ", rows, ",")), std::string::npos)
          << message;
      if (vocabulary || rows == 1) {
        for (const Load way : kWays) EXPECT_EQ(refusal(way, model.bytes), message);
      }
      std::memcpy(number, good, size);
    }
  }
  for (const Load way : kWays) EXPECT_EQ(refusal(way, model.bytes), "");
}

INSTANTIATE_TEST_SUITE_P(Types, NotFinite,
                         testing::Values("llama-f32", "qwen2-f16", "qwen3-bf16", "llama-q4_0",
                                         "llama-q4_1", "llama-q5_0", "llama-q5_1", "qwen2-q8_0",
                                         "llama-q4_k", "llama-q5_k", "qwen3-q6_k", "llama-q4_k_m",
                                         // rows after the last whole strip
                                         "llama-odd-f32", "llama-odd-q4_0", "qwen2-odd-q8_0",
                                         "qwen3-odd-bf16", "llama-freqs-f32", "qwen3moe-q8_0",
                                         "qwen3moe-odd-bf16"),
                         [](const auto& each) { return test_name(each.param); });

TEST(NotFiniteWeights, OfSeveralTheFirstInTheFileIsNamed) {
  Model model = Model::named("llama-q8_0");
  const uint16_t nan = 0x7e00;
  for (const TensorInfo& tensor : model.header.tensors) {
    if (tensor.n_dims > 1) std::memcpy(model.row(tensor, tensor.dims[1] - 1), &nan, 2);
  }
  for (const char* name : {"blk.1.attn_k.weight", "blk.1.attn_v.weight"})
    std::memcpy(model.row(*model.header.find_tensor(name), 3), &nan, 2);
  const std::string message = refusal(by_places, model.bytes);
  EXPECT_NE(message.find("tensor output.weight has a scale"), std::string::npos) << message;
  LoadOptions options = small();
  for (const int32_t threads : {1, 2, 3, 8}) {
    options.threads = threads;
    for (const Load way : kWays) EXPECT_EQ(refusal(way, model.bytes, options), message);
  }
}

TEST(NotFiniteWeights, AreRefusedTheSameByEveryTable) {
  Model model = Model::named("qwen2-q4_0");
  const uint16_t nan = 0x7e00;
  std::memcpy(model.row(*model.header.find_tensor("blk.0.ffn_up.weight"), 20), &nan, 2);
  LoadOptions options = small();
  for (const std::string& table : supported_tables()) {
    options.kernels = table;
    EXPECT_NE(refusal(by_file, model.bytes, options).find("blk.0.ffn_up.weight has a scale"),
              std::string::npos)
        << table;
  }
}

// --- finite numbers that overflow ----------------------------------------------------------------

// Steps a run to its end. Returns its error, or "" if it has none. No token may come.
std::string end_of(Engine& engine) {
  const auto finish = drive(engine.session(),
                            [](const Event& event) { EXPECT_NE(event.kind, Event::Kind::token); });
  if (finish.has_value()) return "";
  EXPECT_EQ(code_name(finish.error().code), code_name(Code::bad_file));
  EXPECT_FALSE(engine.session().running());
  return finish.error().message;
}

// Expects the error with every table and every cache, for one token and for many, and for logits.
void expect_overflow(const Model& model, std::string_view where) {
  LoadOptions options = small();
  for (const std::string& table : supported_tables()) {
    for (const char* kv_type : {"f32", "f16", "q8_0"}) {
      options.kernels = table;
      options.kv_type = kv_type;
      const auto engine = load_bytes(model.bytes, options);
      ASSERT_NE(engine, nullptr);
      for (const size_t n : {size_t{1}, size_t{20}}) {
        const std::vector<TokenId> ids = some_ids(n, 500);
        for (int again = 0; again < 2; ++again) {
          ASSERT_TRUE(engine->session().start(ids, greedy(4)).has_value());
          const std::string message = end_of(*engine);
          EXPECT_NE(message.find(where), std::string::npos)
              << table << ", " << n << " tokens: " << message;
        }
        for (const int64_t batch : {0, 1}) {
          ASSERT_TRUE(engine->session().start_logits(ids, batch, true).has_value());
          EXPECT_NE(end_of(*engine).find(where), std::string::npos) << table;
        }
      }
    }
  }
}

TEST(Overflow, OfOneTensorsFiniteNumbersEndsTheRun) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  const struct {
    const char *model, *tensor, *where;
  } cases[] = {
      {"llama-f32", "token_embd.weight", "overflow in layer 0"},
      {"llama-f32", "blk.0.attn_norm.weight", "overflow in layer 0"},
      {"qwen2-f32", "blk.1.attn_q.bias", "overflow in layer 1"},
      {"qwen2-f32", "blk.1.attn_v.bias", "overflow in layer 1"},
      {"llama-f32", "blk.1.attn_k.weight", "overflow in layer 1"},
      {"qwen3-f32", "blk.0.attn_v.weight", "overflow in layer 0"},
      {"qwen3-f32", "blk.1.attn_k_norm.weight", "overflow in layer 1"},
      {"llama-f32", "blk.0.attn_output.weight", "overflow in layer 0"},
      {"llama-q8_0", "blk.1.ffn_norm.weight", "overflow in layer 1"},
      {"llama-f32", "blk.0.ffn_up.weight", "overflow in layer 0"},
      {"llama-f32", "blk.1.ffn_down.weight", "overflow in layer 1"},
      {"llama-q8_0", "output_norm.weight", "overflow in the head"},
      {"llama-f32", "output.weight", "overflow in the head"},
      {"qwen3moe-q8_0", "blk.0.ffn_gate_inp.weight", "overflow in layer 0"},
      {"qwen3moe-f32", "blk.1.ffn_gate_exps.weight", "overflow in layer 1"},
      {"qwen3moe-f32", "blk.0.ffn_down_exps.weight", "overflow in layer 0"},
  };
  for (const auto& [name, tensor, where] : cases) {
    SCOPED_TRACE(concat(name, " ", tensor));
    Model model = Model::named(name);
    model.fill(tensor, kLargest);
    expect_overflow(model, where);
  }
}

// The head of tokens with a 1 in the first dimension overflows, whatever comes after them. The
// others have a 0 there.
TEST(Overflow, OfAnyPositionsLogitsEndsTheRun) {
  Model model = Model::named("llama-f32");
  for (const char* name : {"blk.0.attn_output.weight", "blk.0.ffn_down.weight",
                           "blk.1.attn_output.weight", "blk.1.ffn_down.weight"})
    model.fill(name, 0);
  model.fill("token_embd.weight", 1);
  const TensorInfo& embedding = *model.header.find_tensor("token_embd.weight");
  const TokenId bad = 7, good = 9;
  const float zero = 0, huge = std::numeric_limits<float>::max();
  for (uint64_t id = 0; id < Model::rows(embedding); ++id)
    if (id != bad) std::memcpy(model.row(embedding, id), &zero, sizeof zero);
  std::memcpy(model.row(*model.header.find_tensor("output_norm.weight"), 0), &huge, sizeof huge);
  const TemporaryFile file(model.bytes);
  for (const PlanOverride& plan :
       {PlanOverride{}, PlanOverride{.head_parts = 3, .embedding_rows = 8}}) {
    const auto engine = PlannedEngine::open(file.path(), small(), plan);
    ASSERT_TRUE(engine.has_value());
    const auto end_with = [&](std::vector<TokenId> ids, int64_t batch) {
      EXPECT_TRUE((*engine)->session().start_logits(ids, batch, true).has_value());
      return end_of(**engine);
    };
    for (const int64_t batch : {0, 1, 2}) {
      EXPECT_EQ(end_with({good, good, good}, batch), "");
      for (const size_t at : {0, 1, 2}) {
        std::vector<TokenId> ids(3, good);
        ids[at] = bad;
        EXPECT_NE(end_with(ids, batch).find("overflow in the head"), std::string::npos)
            << "position " << at << ", batch " << batch;
      }
    }
  }
}

// The largest scales that a file can hold, in each layer: the numbers grow from layer to layer.
TEST(Overflow, OfScalesThatAreHalvesEndsTheRun) {
  Model model = Model::named("llama-q8_0");
  const uint16_t largest = 0x7bff;
  for (const TensorInfo& tensor : model.header.tensors) {
    const TypeTraits& type = *find_traits(tensor.type);
    if (type.group == 0 || tensor.name.find("ffn") == std::string::npos) continue;
    for (uint64_t at = 0; at < tensor.bytes; at += type.block_bytes)
      std::memcpy(model.row(tensor, 0) + at, &largest, 2);
  }
  expect_overflow(model, "overflow in layer");
}

TEST(Overflow, OfAnglesIsRefused) {
  for (const float factor : {0.0f, 1e-30f}) {
    Model model = Model::named("llama-freqs-f32");
    model.fill("rope_freqs.weight", factor);
    LoadOptions options = small();
    for (const std::string& table : supported_tables()) {
      options.kernels = table;
      const auto engine = load_bytes(model.bytes, options);
      ASSERT_NE(engine, nullptr);
      ASSERT_TRUE(engine->session().start(some_ids(3, 500), greedy(4)).has_value());
      EXPECT_NE(end_of(*engine).find("rope_freqs.weight"), std::string::npos) << table;
    }
  }
}

// An engine still works after a run that overflowed, and keeps nothing of it.
TEST(Overflow, OfOneTokenLeavesTheEngineGood) {
  Model model = Model::named("llama-f32");
  const TensorInfo& embedding = *model.header.find_tensor("token_embd.weight");
  const float large = 1e30f;
  std::memcpy(model.row(embedding, 7), &large, 4);
  const auto engine = load_bytes(model.bytes, small());
  ASSERT_NE(engine, nullptr);
  const std::vector<TokenId> fine = {5, 80, 17};
  const std::vector<TokenId> expected = generate(*engine, fine, greedy(3)).ids();
  const std::vector<TokenId> bad = {5, 80, 7, 17};
  ASSERT_TRUE(engine->session().start(bad, greedy(3)).has_value());
  EXPECT_NE(end_of(*engine).find("overflow in layer 0"), std::string::npos);
  EXPECT_EQ(generate(*engine, fine, greedy(3)).ids(), expected);
}

// --- the file ------------------------------------------------------------------------------------

void expect_bad_file(const Status& status, std::string_view says) {
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(code_name(status.error().code), code_name(Code::bad_file));
  EXPECT_NE(status.error().message.find(says), std::string::npos) << status.error().message;
}
template <typename T>
Status status_of(const Result<T>& result) {
  if (result.has_value()) return {};
  return std::unexpected(result.error());
}

TEST(Files, ThatAreNoneAreRefusedWithoutWaiting) {
  const TemporaryFile place("");
  const std::string pipe = place.path() + "-pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {pipe, std::string("/dev/zero"), std::string("/")}) {
    expect_bad_file(status_of(Engine::open(path, small())), "no regular file");
    expect_bad_file(status_of(read_header(path)), "no regular file");
  }
  unlink(pipe.c_str());
  expect_bad_file(status_of(File::open(place.path())), "empty");
  expect_bad_file(status_of(File::open("/nowhere/model.gguf")), "No such file");
}

TEST(Files, AreReadAtAnyPlace) {
  const std::string bytes = tiny_bytes();
  const TemporaryFile temporary(bytes);
  const auto file = File::open(temporary.path());
  ASSERT_TRUE(file.has_value());
  EXPECT_EQ(file->size(), bytes.size());
  std::string got(1000, '\0');
  const std::span<uint8_t> out(reinterpret_cast<uint8_t*>(got.data()), got.size());
  for (const size_t at : {size_t{0}, size_t{777}, bytes.size() - 1000}) {
    ASSERT_TRUE(file->read(at, out).has_value());
    EXPECT_EQ(got, bytes.substr(at, 1000));
  }
  expect_bad_file(file->read(bytes.size() - 999, out), "cut short");
}

// The file gets shorter after it was opened: before the header is read, or before the weights are.
TEST(Files, ThatAreCutShortWhileTheyAreReadAreRefused) {
  const std::string& bytes = tiny_bytes();
  const Model model(bytes);
  const uint64_t header = model.header.data_offset;
  for (const uint64_t left : {uint64_t{0}, uint64_t{10}, header - 1, header, header + 1,
                              header + 5000, bytes.size() - 1}) {
    SCOPED_TRACE(left);
    for (const int32_t threads : {1, 3}) {
      const TemporaryFile temporary(bytes);
      auto files = ModelFiles::open(temporary.path());
      ASSERT_TRUE(files.has_value());
      ASSERT_EQ(truncate(temporary.path().c_str(), static_cast<off_t>(left)), 0);
      LoadOptions options = small();
      options.threads = threads;
      const std::string says = concat(" has ", left, " bytes; expected ", bytes.size());
      // The last piece that is read of the header may go past its end.
      if (left < header) expect_bad_file(status_of(read_header(*files)), says);
      const auto engine = Engine::open(std::move(*files), options);
      expect_bad_file(engine.has_value() ? (*engine)->wait_ready() : status_of(engine), says);
    }
  }
}

// At any other moment the file is refused or loaded, without a signal.
TEST(Files, ThatAreCutShortAtAnyMomentEndNothing) {
  const std::string& bytes = tiny_bytes();
  const TemporaryFile temporary(bytes);
  const char* path = temporary.path().c_str();
  LoadOptions options = small();
  options.threads = 2;
  int refused = 0;
  for (int round = 0; round < 60; ++round) {
    std::ofstream(path, std::ios::binary) << bytes;
    std::atomic<int> begun{0};
    std::thread cutter([&] {
      while (begun.load() == 0) {
      }
      for (int i = 0; i < round * 2000; ++i) begun.fetch_add(1);  // later each time
      EXPECT_EQ(truncate(path, round % 2 == 0 ? 0 : 5000), 0);
    });
    begun.store(1);
    const Status status = status_of(open_ready(temporary.path(), options));
    cutter.join();
    if (status.has_value()) continue;
    EXPECT_EQ(code_name(status.error().code), code_name(Code::bad_file));
    ++refused;
  }
  // A file that was too short from the beginning is refused in any case.
  expect_bad_file(status_of(open_ready(temporary.path(), options)), "5000 bytes");
  RecordProperty("refused", refused);
}

// --- pieces --------------------------------------------------------------------------------------

// Bytes that come for one of two pieces would count for the other, too, or be missed.
TEST(Pieces, OfSlotsHaveNoByteTwice) {
  const Model model = Model::named("llama-f32");
  const TensorInfo& up = *model.header.find_tensor("blk.0.ffn_up.weight");
  const auto cols = static_cast<int64_t>(up.dims[0]), rows = static_cast<int64_t>(up.dims[1]);
  const auto needs_of = [&](std::vector<std::pair<int64_t, int64_t>> parts) {
    TensorManifest manifest(2);
    for (size_t i = 0; i < parts.size(); ++i) {
      const auto [first, n] = parts[i];
      EXPECT_TRUE(
          manifest.add_rows(model.header, up.name, static_cast<int>(i % 2), rows, cols, first, n)
              .has_value());
    }
    return manifest;
  };
  // In any order, and with nothing between.
  EXPECT_TRUE(Weights(needs_of({{32, rows - 32}, {0, 16}, {16, 16}})).allocate().has_value());
  for (const auto& parts : std::vector<std::vector<std::pair<int64_t, int64_t>>>{
           {{0, rows}, {0, 16}}, {{0, 16}, {0, 16}}, {{16, 32}, {0, 17}}, {{0, rows}, {32, 16}}}) {
    Weights weights(needs_of(parts));
    const Status status = weights.allocate();
    ASSERT_FALSE(status.has_value());
    EXPECT_EQ(code_name(status.error().code), code_name(Code::invalid_argument));
    EXPECT_NE(status.error().message.find(up.name), std::string::npos) << status.error().message;
  }
}

}  // namespace
}  // namespace sluice
