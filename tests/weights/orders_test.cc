// Weights may arrive in any order, into fewer places than there are layers, and the hashes stay the
// same. They are wanted in the order of execution.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <optional>
#include <random>
#include <thread>

#include "support/engine_fixture.h"
#include "support/planned_engine.h"
#include "weights/weights.h"

namespace sluice {
namespace {

constexpr uint32_t kLayers = 6;

// A model of kLayers layers with its tensors in reverse order in the file.
std::string reversed_file(std::string_view name) {
  TinyModel model = tiny_model_named(name);
  model.n_layers = kLayers;
  model.reversed = true;
  return build_tiny_model(model);
}

constexpr PlanOverride kTwoLayers = {.layer_places = 2};
// As little memory as possible: a third of the head, and fewer rows of the embedding than a prompt
// has.
constexpr PlanOverride kInPieces = {.layer_places = 2, .head_parts = 3, .embedding_rows = 6};

LoadOptions two_threads() {
  LoadOptions options;
  options.threads = 2;
  return options;
}

// Brings the header piece by piece.
void bring_header(Engine& engine, std::string_view file, size_t piece) {
  while (!engine.has_layout()) {
    const Want want = engine.wants(1).front();
    const size_t n = std::min({piece, want.place.size(), file.size() - want.offset});
    std::memcpy(want.place.data(), file.data() + want.offset, n);
    ASSERT_TRUE(engine.filled(want.offset, n).has_value());
  }
  ASSERT_TRUE(engine.build_tokenizer().has_value());
}

// While it lives, serves wants from several threads, in pieces of random sizes and in random order.
class RandomSource {
 public:
  RandomSource(Engine& engine, std::string_view file, int n_threads, unsigned seed) {
    for (int i = 0; i < n_threads; ++i) {
      threads_.emplace_back([this, &engine, file, random = std::mt19937(seed + i)]() mutable {
        while (!over_) serve(engine, file, random);
      });
    }
  }
  ~RandomSource() {
    over_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  static void serve(Engine& engine, std::string_view file, std::mt19937& random) {
    EXPECT_EQ(engine.files().size(), 1u);
    EXPECT_GE(engine.memory_plan().total(), engine.memory_plan().before_first_token());
    EXPECT_LE(engine.progress().layers_ready, engine.progress().layers_total);
    for (const Want& row : engine.row_wants()) {
      std::memcpy(row.place.data(), file.data() + row.offset, row.place.size());
      const Status status = engine.rows_filled(row.offset, row.place.size());
      EXPECT_TRUE(status.has_value()) << status.error().message;
    }
    std::vector<Want> pieces;
    for (Want want : engine.wants(1 + random() % 40000)) {
      while (!want.place.empty()) {
        const size_t n = std::min<size_t>(want.place.size(), 1 + random() % 3000);
        pieces.push_back({want.offset, want.place.first(n), 1});
        want.offset += n;
        want.place = want.place.subspan(n);
      }
    }
    if (pieces.empty()) std::this_thread::yield();
    std::ranges::shuffle(pieces, random);
    for (const Want& piece : pieces) {
      std::memcpy(piece.place.data(), file.data() + piece.offset, piece.place.size());
      const Status status = engine.filled(piece.offset, piece.place.size());
      EXPECT_TRUE(status.has_value()) << status.error().message;
    }
  }

  std::atomic<bool> over_{false};
  std::vector<std::thread> threads_;
};

// Steps until done, waiting for weights when needed. Returns the ids.
std::vector<TokenId> run(Engine& engine) {
  std::vector<TokenId> ids;
  const auto finish = drive(engine.session(), [&](const Event& event) {
    if (event.kind == Event::Kind::token) ids.push_back(event.id);
    if (event.kind == Event::Kind::waiting) std::this_thread::yield();
    return !testing::Test::HasFailure();  // the source may have failed to bring weights
  });
  EXPECT_TRUE(finish.has_value()) << finish.error().message;
  return ids;
}

class Orders : public testing::TestWithParam<const char*> {};

std::string all_logits_hash(Engine& engine, const std::vector<TokenId>& ids) {
  EXPECT_TRUE(engine.session().start_logits(ids, 9, true).has_value());
  run(engine);
  EXPECT_EQ(engine.session().logits().size(),
            ids.size() * static_cast<size_t>(engine.tokenizer().vocab_size()));
  return logits_hash(engine.session().logits());
}

// Expects an engine with these options and random arrival to give the same bits as `whole`, which
// has all of the file in memory.
void expect_same_bits(const std::string& file, Engine& whole, const LoadOptions& options,
                      const PlanOverride& plan = {}) {
  const std::vector<TokenId> ids = some_ids(20, whole.tokenizer().vocab_size());
  const std::string expected = hash_of(whole, ids), expected_all = all_logits_hash(whole, ids);
  const std::vector<TokenId> expected_ids = generate(whole, ids, greedy(4)).ids();
  for (unsigned seed = 1; seed <= 3; ++seed) {
    auto engine = PlannedEngine::create(options, {file.size()}, plan);
    ASSERT_TRUE(engine.has_value());
    bring_header(**engine, file, 700 * seed);
    EXPECT_LT((*engine)->memory_plan().weights, whole.memory_plan().weights);
    const RandomSource source(**engine, file, 3, seed);
    for (const int64_t batch : {0, 7}) {
      ASSERT_TRUE((*engine)->session().start_logits(ids, batch).has_value());
      run(**engine);
      EXPECT_EQ(logits_hash((*engine)->session().logits()), expected) << "seed " << seed;
    }
    EXPECT_EQ(all_logits_hash(**engine, ids), expected_all) << "seed " << seed;
    (*engine)->session().reset();
    ASSERT_TRUE((*engine)->session().start(ids, greedy(4)).has_value());
    EXPECT_EQ(run(**engine), expected_ids);
    EXPECT_FALSE((*engine)->loaded());
  }
}

TEST_P(Orders, OfArrivalChangeNoBit) {
  const std::string file = reversed_file(GetParam());
  const auto whole = load_bytes(file, small());
  ASSERT_NE(whole, nullptr);
  expect_same_bits(file, *whole, two_threads(), kTwoLayers);
}

// If the head is also the embedding, parts and single rows of it are wanted at the same time.
TEST_P(Orders, OfSingleRowsAndPartsOfTheHeadChangeNoBit) {
  const std::string file = reversed_file(GetParam());
  const auto whole = load_bytes(file, small());
  ASSERT_NE(whole, nullptr);
  expect_same_bits(file, *whole, two_threads(), kInPieces);
}

// The least budget, and budgets between it and what all weights need.
TEST_P(Orders, OfABudgetChangeNoBit) {
  const std::string file = reversed_file(GetParam());
  const auto whole = load_bytes(file, small());
  ASSERT_NE(whole, nullptr);
  const auto header = parse_gguf(as_bytes(file), file.size());
  ASSERT_TRUE(header.has_value());
  LoadOptions options = small();
  options.threads = 2;
  const auto plan = plan_memory(*header, options);
  ASSERT_TRUE(plan.has_value());
  ASSERT_LT(plan->least, plan->all);
  for (const uint64_t budget : {plan->least, (plan->least + plan->all) / 2}) {
    options.memory_budget = budget;
    const auto planned = plan_memory(*header, options);
    ASSERT_TRUE(planned.has_value());
    EXPECT_LE(planned->total(), budget);
    EXPECT_GT(planned->reread, 0u);
    expect_same_bits(file, *whole, options);
  }
  options.memory_budget = plan->least - 1;
  const auto engine = Engine::create(options, {file.size()}, Access::rereadable);
  ASSERT_TRUE(engine.has_value());
  Status status;
  while (status.has_value() && !(*engine)->has_layout()) {
    const Want want = (*engine)->wants(1).front();
    const size_t n = std::min(want.place.size(), file.size() - want.offset);
    std::memcpy(want.place.data(), file.data() + want.offset, n);
    status = (*engine)->filled(want.offset, n);
  }
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(code_name(status.error().code), code_name(Code::budget_too_small));
  EXPECT_NE(status.error().message.find(std::to_string(plan->least)), std::string::npos)
      << status.error().message;
  std::map<std::string_view, uint64_t> facts;
  for (const auto& [name, value] : status.error().facts) facts[name] = std::get<uint64_t>(value);
  EXPECT_EQ(facts["leastBytes"], plan->least);
  EXPECT_EQ(facts["availableBytes"], options.memory_budget);
  EXPECT_GT(facts["neededBytes"], plan->least);
  EXPECT_EQ(facts.size(), 4u);
  // A smaller context would do, and the next larger one wouldn't.
  options.context_size = static_cast<uint32_t>(facts["contextSize"]);
  EXPECT_LE(plan_memory(*header, options)->least, options.memory_budget);
  options.context_size += kKvChunk;
  EXPECT_GT(plan_memory(*header, options)->least, options.memory_budget);
}

// Two sessions side by side under the least budget: the hashes of each alone, and little more is
// read than for one.
TEST_P(Orders, OfTwoSessionsShareOneReading) {
  const std::string file = reversed_file(GetParam());
  const auto whole = load_bytes(file, small());
  ASSERT_NE(whole, nullptr);
  const auto header = parse_gguf(as_bytes(file), file.size());
  ASSERT_TRUE(header.has_value());
  LoadOptions options = small();
  options.memory_budget = plan_memory(*header, options)->least;
  auto engine = Engine::create(options, {file.size()}, Access::rereadable);
  ASSERT_TRUE(engine.has_value());
  bring_header(**engine, file, 700);
  const RandomSource source(**engine, file, 2, 7);
  const std::vector<TokenId> one = some_ids(20, whole->tokenizer().vocab_size());
  const std::vector<TokenId> other(one.rbegin(), one.rend());
  Session first(**engine), second(**engine);
  ASSERT_TRUE(first.start(one, greedy(6)).has_value());
  ASSERT_TRUE(second.start(other, greedy(6)).has_value());
  std::vector<TokenId> ids[2];
  while (first.running() || second.running()) {
    for (const int i : {0, 1}) {
      const auto event = (i == 0 ? first : second).step();
      ASSERT_TRUE(event.has_value()) << event.error().message;
      if (event->kind == Event::Kind::token) ids[i].push_back(event->id);
      if (event->kind == Event::Kind::waiting) std::this_thread::yield();
    }
  }
  EXPECT_EQ(ids[0], generate(*whole, one, greedy(6)).ids());
  whole->session().reset();
  EXPECT_EQ(ids[1], generate(*whole, other, greedy(6)).ids());
  // Six passes each. Alone they would read the shared slots twelve times.
  for (const SlotView& slot : (*engine)->slots()) EXPECT_LE(slot.fills, 9u);
}

INSTANTIATE_TEST_SUITE_P(Models, Orders,
                         testing::Values("llama-q8_0", "qwen2-q4_0", "qwen3-bf16", "llama-q4_k_m",
                                         "llama-freqs-f32", "qwen2-odd-q8_0", "gpt2-f32",
                                         "gemma3-q8_0"),
                         [](const auto& each) { return test_name(each.param); });

// The slot of a tensor by its name. Slots are in the order of execution; the table comes last.
int slot_of(std::string_view tensor) {
  if (tensor == "token_embd.weight") return 2 + static_cast<int>(kLayers);
  if (tensor.starts_with("blk.")) return 1 + (tensor[4] - '0');
  return 1 + static_cast<int>(kLayers);
}

TEST(OrdersOfWants, AreThatOfExecution) {
  const std::string file = reversed_file("qwen3-q8_0");
  const auto header = parse_gguf(as_bytes(file), file.size());
  ASSERT_TRUE(header.has_value());
  for (const uint64_t bytes : {uint64_t{1}, uint64_t{5000}, UINT64_MAX}) {
    auto engine = Engine::create(small(), {file.size()}, Access::rereadable);
    ASSERT_TRUE(engine.has_value());
    bring_header(**engine, file, 1);
    int slot = 0;
    uint64_t wanted = 0;
    for (;;) {
      const std::vector<Want> wants = (*engine)->wants(bytes);
      if (wants.empty()) break;
      for (const Want& want : wants) {
        const auto tensor = std::ranges::find_if(header->tensors, [&](const TensorInfo& t) {
          const uint64_t begin = header->data_offset + t.offset;
          return begin <= want.offset && want.offset + want.place.size() <= begin + t.bytes;
        });
        ASSERT_NE(tensor, header->tensors.end()) << want.offset;
        EXPECT_GE(slot_of(tensor->name), slot) << tensor->name;
        slot = slot_of(tensor->name);
        wanted += want.place.size();
      }
    }
    uint64_t all = 0;
    for (const TensorInfo& tensor : header->tensors) all += tensor.bytes;
    EXPECT_EQ(wanted, all) << "asked for " << bytes << " bytes at a time";
  }
}

TEST(OrdersOfWants, OfAStreamNeedAPlaceForEachLayer) {
  const std::string file = reversed_file("llama-q8_0");
  LoadOptions options = small();
  options.memory_budget = load_bytes(file, options)->memory_plan().total() - 1;
  auto engine = Engine::create(options, {file.size()});
  ASSERT_TRUE(engine.has_value());
  const Status status = Stream(**engine).push(as_bytes(file));
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(code_name(status.error().code), code_name(Code::budget_too_small));
  EXPECT_NE(status.error().message.find("come only once"), std::string::npos)
      << status.error().message;
  // No least budget would do, but a smaller context.
  ASSERT_EQ(status.error().facts.size(), 3u);
  EXPECT_EQ(status.error().facts[2].name, "contextSize");
}

TEST(OrdersOfWants, AWholeFileIsWholeThoughItsLayersTakeTurns) {
  const std::string file = reversed_file("llama-q8_0");
  auto engine = PlannedEngine::create(two_threads(), {file.size()}, kTwoLayers);
  ASSERT_TRUE(engine.has_value());
  bring_header(**engine, file, 4000);
  EXPECT_TRUE((*engine)->end_of_file(file.size()).has_value());
  const Status cut = (*engine)->end_of_file(file.size() / 2);
  ASSERT_FALSE(cut.has_value());
  EXPECT_EQ(code_name(cut.error().code), code_name(Code::bad_file));
}

TEST(OrdersOfWants, BytesThatNobodyAskedForAreRefused) {
  const std::string file = reversed_file("llama-q8_0");
  auto engine = Engine::create(small(), {file.size()}, Access::rereadable);
  ASSERT_TRUE(engine.has_value());
  EXPECT_EQ((*engine)->filled(5, 1).error().code, Code::invalid_argument);
  bring_header(**engine, file, 1);
  const std::vector<Want> wants = (*engine)->wants(4000);
  const Want& first = wants.front();
  const uint64_t size = first.place.size();
  const auto refused = [&](uint64_t offset, uint64_t n) {
    const Status status = (*engine)->filled(offset, n);
    EXPECT_FALSE(status.has_value()) << offset << " " << n;
    return !status.has_value() && status.error().code == Code::invalid_argument;
  };
  EXPECT_TRUE(refused(first.offset + size, 1));  // not asked for
  std::memcpy(first.place.data(), file.data() + first.offset, size);
  ASSERT_TRUE((*engine)->filled(first.offset + 10, 20).has_value());
  ASSERT_TRUE((*engine)->filled(first.offset + 40, 20).has_value());
  for (const uint64_t at : {5, 10, 15, 20, 29, 35, 40, 59})
    EXPECT_TRUE(refused(first.offset + at, 10)) << at;
  EXPECT_TRUE(refused(first.offset, UINT64_MAX));
  ASSERT_TRUE((*engine)->filled(first.offset + 30, 10).has_value());
  ASSERT_TRUE((*engine)->filled(first.offset, 10).has_value());
}

// --- weights by themselves -----------------------------------------------------------------------

// A file with a fused matrix [32, 48], experts [32, 16, 3] and a fused vector [48], all F32. The
// numbers in each tensor are 0, 1, 2 and so on.
struct Fused {
  std::string bytes;
  Gguf header;

  Fused() {
    GgufBuilder file;
    file.kv_string("general.architecture", "none");
    const auto counting = [](size_t n) {
      std::vector<float> numbers(n);
      for (size_t i = 0; i < n; ++i) numbers[i] = static_cast<float>(i);
      return bytes_of(numbers);
    };
    file.tensor("qkv", Type::F32, {32, 48}, counting(32 * 48));
    file.tensor("experts", Type::F32, {32, 16, 3}, counting(32 * 16 * 3));
    file.tensor("bias", Type::F32, {48}, counting(48));
    bytes = file.build();
    auto parsed = parse_gguf(as_bytes(bytes), bytes.size());
    EXPECT_TRUE(parsed.has_value());
    if (parsed.has_value()) header = std::move(*parsed);
  }

  void serve(Weights& weights) const {
    for (const Want& want : weights.wants(UINT64_MAX)) {
      std::memcpy(want.place.data(), bytes.data() + want.offset, want.place.size());
      ASSERT_TRUE(weights.filled(want.offset, want.place.size()).has_value());
    }
  }
};

std::vector<float> row_of(const Matrix& matrix, int64_t row) {
  std::vector<float> values(static_cast<size_t>(matrix.cols));
  read_row(matrix, row, values.data());
  return values;
}

TEST(Pieces, AreRowsOfFusedTensorsAndExperts) {
  const Fused file;
  TensorManifest manifest(2);
  const auto k = manifest.add_rows(file.header, "qkv", 0, 48, 32, 16, 20);
  const auto bias = manifest.add_vector_part(file.header, "bias", 0, 48, 16, 20);
  const auto expert = manifest.add_expert(file.header, "experts", 1, 3, 16, 32, 2);
  ASSERT_TRUE(k.has_value() && bias.has_value() && expert.has_value());
  EXPECT_TRUE(manifest.check_no_others(file.header, "none").has_value());
  Weights weights(manifest);
  ASSERT_TRUE(weights.allocate().has_value());
  file.serve(weights);
  ASSERT_TRUE(weights.all_resident());
  for (const int64_t row : {0, 15, 16, 19})
    EXPECT_EQ(row_of(weights.matrix(*k), row)[3], static_cast<float>((16 + row) * 32 + 3));
  EXPECT_EQ(weights.vector(*bias)[19], 35.0f);
  EXPECT_EQ(row_of(weights.matrix(*expert), 5)[31], static_cast<float>((2 * 16 + 5) * 32 + 31));
}

TEST(Pieces, OfOtherShapesAreRefused) {
  const Fused file;
  TensorManifest manifest(1);
  const auto code = [](const Result<int>& result) {
    return result.has_value() ? "" : code_name(result.error().code);
  };
  EXPECT_EQ(code(manifest.add_rows(file.header, "qkv", 0, 47, 32, 0, 16)), "bad_file");
  EXPECT_EQ(code(manifest.add_matrix(file.header, "experts", 0, 16, 32)), "bad_file");
  EXPECT_EQ(code(manifest.add_expert(file.header, "experts", 0, 2, 16, 32, 0)), "bad_file");
  EXPECT_EQ(code(manifest.add_vector_part(file.header, "bias", 0, 49, 0, 16)), "bad_file");
  EXPECT_EQ(code(manifest.add_vector(file.header, "nothing", 0, 48)), "bad_file");
  EXPECT_EQ(manifest.pieces().size(), 0u);
  EXPECT_EQ(code_name(manifest.check_no_others(file.header, "none").error().code),
            "unsupported_model");
}

// The error names the tensor of which there is none.
TEST(Pieces, AreOfEveryTensor) {
  const Fused file;
  TensorManifest manifest(1);
  ASSERT_TRUE(manifest.add_vector(file.header, "bias", 0, 48).has_value());
  ASSERT_TRUE(manifest.add_expert(file.header, "experts", 0, 3, 16, 32, 1).has_value());
  const Status missing = manifest.check_no_others(file.header, "none");
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(std::get<std::string>(missing.error().facts.back().value), "qkv");
  ASSERT_TRUE(manifest.add_rows(file.header, "qkv", 0, 48, 32, 16, 20).has_value());
  EXPECT_TRUE(manifest.check_no_others(file.header, "none").has_value());
  for (const Piece& piece : manifest.pieces())
    EXPECT_EQ(file.header.tensors[piece.tensor_index].name, piece.tensor);
}

// Four slots of one tensor each; the two in the middle share one place.
struct FourSlots {
  Fused file;
  TensorManifest manifest{4};
  int handles[3] = {};
  std::optional<Weights> weights;

  FourSlots() {
    for (int slot = 0; slot < 3; ++slot)
      handles[slot] =
          manifest.add_expert(file.header, "experts", slot, 3, 16, 32, slot).value_or(-1);
    EXPECT_TRUE(manifest.add_vector(file.header, "bias", 3, 48).has_value());
    weights.emplace(manifest, SharedPlaces{.slots = {1, 2}, .places = 1});
    EXPECT_TRUE(weights->allocate().has_value());
  }
  void serve() { file.serve(*weights); }
  SlotState state(int slot) const { return weights->state(slot); }
  float first_number(int slot) const { return row_of(weights->matrix(handles[slot]), 0)[0]; }
};

TEST(Slots, TakeTurnsInTheirPlaces) {
  FourSlots four;
  Weights& weights = *four.weights;
  EXPECT_EQ(weights.bytes(), 2u * 16 * 32 * 4 + 48 * 4);
  Weights::Cursor cursor(weights);
  EXPECT_FALSE(cursor.move_to(1));
  EXPECT_FALSE(weights.ready());
  four.serve();
  EXPECT_TRUE(weights.ready());
  EXPECT_EQ(four.state(1), SlotState::resident);
  EXPECT_EQ(four.state(2), SlotState::absent);  // no place is free
  EXPECT_EQ(weights.refilled_bytes(), 0u);
  for (const int slot : {1, 2, 1, 2}) {
    if (!cursor.move_to(slot)) four.serve();
    ASSERT_TRUE(cursor.move_to(slot));
    // While a cursor holds it, no other slot gets its place.
    EXPECT_TRUE(weights.wants(UINT64_MAX).empty());
    EXPECT_EQ(four.first_number(slot), static_cast<float>(slot * 16 * 32));
  }
  EXPECT_EQ(weights.view(1).fills, 2u);
  EXPECT_EQ(weights.refilled_bytes(), 2u * 16 * 32 * 4);
  // The slot that a cursor has left gives its place to the next one at once.
  EXPECT_TRUE(cursor.move_to(3));
  const std::vector<Want> next = weights.wants(UINT64_MAX);
  ASSERT_EQ(next.size(), 1u);
  EXPECT_EQ(next[0].offset, four.manifest.piece(four.handles[1]).begin);
  EXPECT_EQ(four.state(0), SlotState::resident);  // it has a place of its own
}

TEST(Slots, StayUntilAllCursorsHavePassed) {
  FourSlots four;
  Weights& weights = *four.weights;
  std::optional<Weights::Cursor> first(weights), second(weights);
  first->move_to(1);
  four.serve();
  ASSERT_TRUE(first->move_to(1) && second->move_to(1));
  EXPECT_FALSE(first->move_to(2));
  EXPECT_TRUE(weights.wants(UINT64_MAX).empty());  // the second hasn't run it yet
  EXPECT_EQ(four.state(1), SlotState::resident);
  EXPECT_FALSE(second->move_to(2));
  four.serve();
  EXPECT_TRUE(first->move_to(2) && second->move_to(2));
  // One that begins while others are under way waits until they come round.
  std::optional<Weights::Cursor> third(weights);
  EXPECT_FALSE(third->move_to(1));
  EXPECT_TRUE(weights.wants(UINT64_MAX).empty());
  EXPECT_TRUE(first->move_to(3) && second->move_to(3));
  four.serve();
  EXPECT_TRUE(third->move_to(1));
  // One that ends doesn't hold the others up.
  EXPECT_FALSE(first->move_to(2));
  third.reset();
  second.reset();
  four.serve();
  EXPECT_TRUE(first->move_to(2));
}

// What an idle reading has brought in advance gives its place to what is needed.
TEST(Slots, ThatNobodyIsAtMakeRoom) {
  FourSlots four;
  Weights& weights = *four.weights;
  four.serve();
  EXPECT_EQ(four.state(1), SlotState::resident);
  Weights::Cursor cursor(weights);
  EXPECT_FALSE(cursor.move_to(2));
  four.serve();
  EXPECT_TRUE(cursor.move_to(2));
  EXPECT_EQ(four.state(1), SlotState::absent);
}

// A table of which two rows are held, and its last rows once more as a piece: a part of a tied
// head.
struct RowsAndPart {
  Fused file;
  TensorManifest manifest{1};
  int table = -1, part = -1;
  std::optional<Weights> weights;

  explicit RowsAndPart(int64_t first) {
    table = manifest.add_rows(file.header, "qkv", 0, 48, 32, 0, 48).value_or(-1);
    part = manifest.add_rows(file.header, "qkv", 0, 48, 32, first, 48 - first).value_or(-1);
    weights.emplace(manifest, SharedPlaces{}, SingleRows{.table = table, .places = 2});
    EXPECT_TRUE(weights->allocate().has_value());
  }
  uint64_t offset(uint64_t row) const { return manifest.piece(table).begin + row * 32 * 4; }
  Status bring(const Want& want) {
    std::memcpy(want.place.data(), file.bytes.data() + want.offset, want.place.size());
    return weights->rows_filled(want.offset, want.place.size());
  }
  float last_of(int64_t row) const {
    std::vector<float> values(32);
    weights->read_row(table, row, values.data());
    return values[31];
  }
};

TEST(SingleRows, AreWantedByThemselvesAndTakeThePlaceOfThoseThatNobodyNeeds) {
  RowsAndPart one(40);
  Weights& weights = *one.weights;
  EXPECT_EQ(weights.bytes(), (8u + 2) * 32 * 4);
  Weights::Cursor cursor(weights);
  const int32_t first[] = {7, 41, 7};
  EXPECT_FALSE(cursor.reach_rows(first));
  const std::vector<Want> rows = weights.row_wants();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].offset, one.offset(7));
  EXPECT_EQ(rows[1].offset, one.offset(41));
  EXPECT_TRUE(weights.row_wants().empty());  // each once
  // The piece that has row 41, too, is wanted all the same.
  EXPECT_EQ(weights.wants(UINT64_MAX).size(), 1u);
  ASSERT_TRUE(one.bring(rows[0]).has_value() && one.bring(rows[1]).has_value());
  EXPECT_TRUE(one.bring(rows[1]).has_value());  // nobody waits for it any more
  EXPECT_TRUE(cursor.reach_rows(first));
  EXPECT_EQ(one.last_of(7), 7.0f * 32 + 31);
  EXPECT_EQ(one.last_of(41), 41.0f * 32 + 31);

  // Another cursor waits until these rows are used.
  Weights::Cursor other(weights);
  const int32_t second[] = {3};
  EXPECT_FALSE(other.reach_rows(second));
  EXPECT_TRUE(weights.row_wants().empty());
  cursor.rows_used();
  EXPECT_FALSE(other.reach_rows(second));
  const std::vector<Want> third = weights.row_wants();
  ASSERT_EQ(third.size(), 1u);
  EXPECT_EQ(third[0].offset, one.offset(3));
  ASSERT_TRUE(one.bring(third[0]).has_value());
  EXPECT_TRUE(other.reach_rows(second));
  EXPECT_EQ(one.last_of(3), 3.0f * 32 + 31);
  EXPECT_FALSE(weights.all_resident());  // rows before 40 are in no piece
}

TEST(SingleRows, AreReadInThePieceOnceItIsThere) {
  RowsAndPart one(0);
  Weights& weights = *one.weights;
  Weights::Cursor cursor(weights);
  const int32_t rows[] = {5, 17};
  EXPECT_FALSE(cursor.reach_rows(rows));
  EXPECT_EQ(weights.row_wants().size(), 2u);
  one.file.serve(weights);
  EXPECT_TRUE(weights.all_resident());
  EXPECT_TRUE(cursor.reach_rows(rows));
  EXPECT_EQ(one.last_of(5), 5.0f * 32 + 31);
  EXPECT_EQ(one.last_of(17), 17.0f * 32 + 31);
}

}  // namespace
}  // namespace sluice
