// Weights may arrive in any order, into fewer places than there are layers, and the hashes stay the
// same. They are wanted in the order of execution.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <random>
#include <thread>

#include "support/engine_fixture.h"
#include "support/planned_engine.h"

namespace sluice {
namespace {

constexpr uint32_t kLayers = 6;

// A model of kLayers layers with its tensors in reverse order in the file.
std::string reversed_file(std::string_view name) {
  TinyModel model = tiny_model_named(name);
  model.n_layers = kLayers;
  model.n_shared = std::min(model.n_shared, 2u);
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
// read than for one. (Of a mixture of experts each goes its own way; no slot is read more often
// than for both alone.)
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
  // Six passes each. Alone they would read the shared slots twelve times. How often one slot is
  // read depends on the threads' timing, but all of them together are below that; unless they
  // have experts, of which the two choose different ones.
  double fills = 0, shared = 0;
  for (const SlotView& slot : (*engine)->slots()) {
    EXPECT_LE(slot.fills, 12);
    if (slot.fills <= 1) continue;
    fills += slot.fills;
    ++shared;
  }
  if (!std::string_view(GetParam()).starts_with("qwen3moe")) {
    EXPECT_LE(fills, 11 * shared);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Orders,
                         testing::Values("llama-q8_0", "qwen2-q4_0", "qwen3-bf16", "llama-q4_k_m",
                                         "llama-freqs-f32", "qwen2-odd-q8_0", "gpt2-f32",
                                         "gemma3-q8_0", "gemma4-q8_0", "gemma4-odd-f32",
                                         "lfm2-q8_0", "qwen35-odd-f32", "qwen3moe-q8_0",
                                         "qwen3moe-odd-bf16"),
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

}  // namespace
}  // namespace sluice
