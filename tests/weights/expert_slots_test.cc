// Experts as slots: only those that are chosen are read, under every budget, and the bits stay the
// same whatever a source does.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <tuple>

#include "base/format.h"
#include "engine/plan.h"
#include "support/engine_fixture.h"

namespace sluice {
namespace {

// More experts than layers, which are most of the model.
TinyModel model_of(uint32_t n_used = 3) {
  TinyModel model = tiny_model_named("qwen3moe-q8_0");
  model.n_layers = 5;
  model.n_experts = 24;
  model.n_used = n_used;
  model.n_ff = 64;
  return model;
}

LoadOptions with_budget(uint64_t budget, int32_t threads = 2) {
  LoadOptions options = small(64);
  options.threads = threads;
  options.memory_budget = budget;
  return options;
}

MemoryPlan plan_of(const Gguf& header) { return *plan_memory(header, with_budget(0)); }

// A budget with which the weights take at most a third of what all of them take.
uint64_t third(const MemoryPlan& plan) {
  const uint64_t beside = plan.all - plan.weights;
  return beside + plan.weights / 3;
}

// An expert's bytes in a tensor: which one has the byte at `offset` of the file.
struct ExpertAt {
  std::string tensor;
  uint64_t expert;
  bool operator<(const ExpertAt& other) const {
    return std::tie(tensor, expert) < std::tie(other.tensor, other.expert);
  }
};
std::optional<ExpertAt> expert_at(const Gguf& header, uint64_t offset) {
  for (const TensorInfo& tensor : header.tensors) {
    const uint64_t begin = header.data_offset + tensor.offset;
    if (offset < begin || offset >= begin + tensor.bytes || tensor.n_dims < 3) continue;
    return ExpertAt{tensor.name, (offset - begin) / (tensor.bytes / tensor.dims[2])};
  }
  return std::nullopt;
}

// A file that is brought by hand: as little or as much of what is wanted as a test likes, in its
// order or not.
class WeightsByHand {
 public:
  WeightsByHand(std::string file, const LoadOptions& options) : file_(std::move(file)) {
    engine = std::move(*Engine::create(options, {file_.size()}, Access::rereadable));
    while (!engine->has_layout()) {
      const Want want = engine->wants(1).front();
      const size_t n = std::min(want.place.size(), file_.size() - want.offset);
      std::memcpy(want.place.data(), file_.data() + want.offset, n);
      const Status status = engine->filled(want.offset, n);
      EXPECT_TRUE(status.has_value()) << status.error().message;
      if (!status.has_value()) return;
    }
    EXPECT_TRUE(engine->build_tokenizer().has_value());
  }

  // Asks for `bytes` and brings all of it, in random pieces and order.
  bool bring(uint64_t bytes = UINT64_MAX) {
    std::vector<Want> pieces = engine->row_wants();
    for (const Want& row : pieces) {
      copy(row);
      EXPECT_TRUE(engine->rows_filled(row.offset, row.place.size()).has_value());
    }
    const bool rows = !pieces.empty();
    pieces.clear();
    for (Want want : engine->wants(bytes)) {
      if (on_want) on_want(want);
      while (!want.place.empty()) {
        const size_t n = std::min<size_t>(want.place.size(), 1 + random_() % 3000);
        pieces.push_back({want.offset, want.place.first(n), 1});
        want.offset += n;
        want.place = want.place.subspan(n);
      }
    }
    std::ranges::shuffle(pieces, random_);
    for (const Want& piece : pieces) {
      copy(piece);
      EXPECT_TRUE(engine->filled(piece.offset, piece.place.size()).has_value());
    }
    return rows || !pieces.empty();
  }
  void bring_all() {
    while (bring()) {
    }
  }

  // Runs to the end or for so many steps, and brings what is wanted when it has to wait.
  std::vector<TokenId> run(Session& session, int steps = 1 << 20, uint64_t bytes = UINT64_MAX) {
    std::vector<TokenId> ids;
    for (int i = 0, idle = 0; i < steps && session.running(); ++i) {
      const auto event = session.step();
      EXPECT_TRUE(event.has_value()) << event.error().message;
      if (!event.has_value()) break;
      if (event->kind == Event::Kind::token) ids.push_back(event->id);
      idle = event->kind == Event::Kind::waiting && !bring(bytes) ? idle + 1 : 0;
      if (idle < 100) continue;
      ADD_FAILURE() << "it waits for what isn't wanted";
      break;
    }
    return ids;
  }

  std::unique_ptr<Engine> engine;
  std::function<void(const Want&)> on_want;

 private:
  void copy(const Want& want) const {
    std::memcpy(want.place.data(), file_.data() + want.offset, want.place.size());
  }
  std::string file_;
  std::mt19937 random_{5};
};

struct ModelFile {
  std::string bytes;
  Gguf header;
  explicit ModelFile(const TinyModel& model) : bytes(build_tiny_model(model)) {
    header = std::move(*parse_gguf(as_bytes(bytes), bytes.size()));
  }
};

// Of a pass each layer's chosen experts are read, and no byte of another. With places for all that
// a layer's token chooses they are wanted together: a run waits once for them.
TEST(ExpertSlots, AreReadOnlyIfTheyAreChosen) {
  const TinyModel model = model_of();
  const ModelFile file(model);
  const MemoryPlan plan = plan_of(file.header);
  for (const uint64_t budget : {plan.least, third(plan)}) {
    WeightsByHand source(file.bytes, with_budget(budget));
    source.bring_all();
    ASSERT_TRUE(source.engine->ready());
    Session& session = source.engine->session();
    ASSERT_TRUE(session.start(some_ids(1, model.n_vocab), greedy(12)).has_value());
    while (session.running()) {
      // One token's pass, up to the token that it gives.
      std::map<std::string, std::set<uint64_t>> read;
      source.on_want = [&](const Want& want) {
        for (const uint64_t at : {want.offset, want.offset + want.place.size() - 1}) {
          const auto expert = expert_at(file.header, at);
          if (expert) read[expert->tensor].insert(expert->expert);
        }
      };
      uint32_t waits = 0;  // for experts
      for (bool token = false; !token && session.running();) {
        const auto event = session.step();
        ASSERT_TRUE(event.has_value());
        token = event->kind == Event::Kind::token;
        if (event->kind != Event::Kind::waiting) continue;
        const auto before = read;
        source.bring();
        waits += read != before;
      }
      if (budget > plan.least) {
        EXPECT_LE(waits, model.n_layers);
      }
      for (const auto& [tensor, experts] : read) EXPECT_LE(experts.size(), model.n_used) << tensor;
      // The three matrices of an expert come together.
      for (uint32_t l = 0; l < model.n_layers; ++l) {
        const auto of = [&](const char* name) {
          return read[concat("blk.", l, ".", name, ".weight")];
        };
        EXPECT_EQ(of("ffn_gate_exps"), of("ffn_up_exps"));
        EXPECT_EQ(of("ffn_gate_exps"), of("ffn_down_exps"));
      }
    }
  }
}

// If all tokens choose the first ones, no others are ever read.
TEST(ExpertSlots, ThatNoTokenChoosesAreNeverRead) {
  const TinyModel model = model_of(2);
  GgufBuilder builder = tiny_model_file(model);
  for (uint32_t l = 0; l < model.n_layers; ++l) {
    std::string& router = builder.find_tensor(concat("blk.", l, ".ffn_gate_inp.weight")).data;
    router.assign(router.size(), '\0');
  }
  const std::string bytes = builder.build();
  const Gguf header = std::move(*parse_gguf(as_bytes(bytes), bytes.size()));
  const auto whole = load_bytes(bytes, with_budget(0));
  const std::vector<TokenId> prompt = some_ids(40, model.n_vocab);
  const std::vector<TokenId> expected = generate(*whole, prompt, greedy(8)).ids();
  WeightsByHand source(bytes, with_budget(third(plan_of(header))));
  std::set<ExpertAt> read;
  source.on_want = [&](const Want& want) {
    if (const auto expert = expert_at(header, want.offset)) read.insert(*expert);
  };
  ASSERT_TRUE(source.engine->session().start(prompt, greedy(8)).has_value());
  EXPECT_EQ(source.run(source.engine->session()), expected);
  EXPECT_EQ(read.size(), 3u * model.n_layers * model.n_used);
  for (const ExpertAt& each : read) EXPECT_LT(each.expert, model.n_used) << each.tensor;
  // What was read once has stayed: there are places for more.
  read.clear();
  ASSERT_TRUE(source.engine->session().start(some_ids(9, model.n_vocab, 3), greedy(3)).has_value());
  source.run(source.engine->session());
  EXPECT_TRUE(read.empty());
}

// A layer's view has its experts. What was read again can be told by the views.
TEST(ExpertSlots, AreInTheViewsOfTheirLayers) {
  const TinyModel model = model_of();
  const ModelFile file(model);
  WeightsByHand source(file.bytes, with_budget(plan_of(file.header).least));
  ASSERT_TRUE(source.engine->session().start(some_ids(30, 512), greedy(6)).has_value());
  source.run(source.engine->session());
  double again = 0;
  uint32_t layers = 0;
  for (const SlotView& slot : source.engine->slots()) {
    if (slot.fills > 0) again += (slot.fills - 1) * static_cast<double>(slot.bytes);
    if (slot.kind != SlotView::Kind::layer) continue;
    uint64_t bytes = 0;
    for (const TensorInfo& tensor : file.header.tensors)
      if (tensor.name.starts_with(concat("blk.", layers, "."))) bytes += tensor.bytes;
    EXPECT_EQ(slot.bytes, bytes);
    EXPECT_LT(slot.arrived, bytes);
    EXPECT_TRUE(slot.reread);
    EXPECT_EQ(slot.state, SlotView::State::resident);
    ++layers;
  }
  EXPECT_EQ(layers, model.n_layers);
  EXPECT_EQ(source.engine->progress().layers_ready, static_cast<int32_t>(layers));
  // Single rows of the embedding are in no slot.
  const auto reread = static_cast<double>(source.engine->session().stats().reread_bytes);
  EXPECT_GT(again, reread / 2);
  EXPECT_LE(again, reread + 1);
}

// Cancelled after any number of steps, with parts of an expert on their way, and started anew.
TEST(ExpertSlots, OfACancelledRunHoldUpNobody) {
  const TinyModel model = model_of();
  const ModelFile file(model);
  const auto whole = load_bytes(file.bytes, with_budget(0));
  const std::vector<TokenId> one = some_ids(7, model.n_vocab),
                             other = some_ids(5, model.n_vocab, 9);
  const std::vector<TokenId> expected = generate(*whole, one, greedy(3)).ids();
  const MemoryPlan plan = plan_of(file.header);
  for (const uint64_t budget : {plan.least, third(plan)}) {
    WeightsByHand source(file.bytes, with_budget(budget));
    Session& session = source.engine->session();
    for (int steps = 1; steps < 400; steps += 7) {
      SCOPED_TRACE(steps);
      ASSERT_TRUE(session.start(other, greedy(3)).has_value());
      source.run(session, steps, 1 + static_cast<uint64_t>(steps) * 37);
      session.truncate(0);
      ASSERT_TRUE(session.start(one, greedy(3)).has_value());
      ASSERT_EQ(source.run(session), expected);
    }
  }
}

// Two sessions slice by slice, each where it likes; one of them pauses for long.
TEST(ExpertSlots, ServeTwoSessionsInTurn) {
  const TinyModel model = model_of();
  const ModelFile file(model);
  const auto whole = load_bytes(file.bytes, with_budget(0));
  const std::vector<TokenId> one = some_ids(40, model.n_vocab),
                             other = some_ids(3, model.n_vocab, 9);
  const std::vector<TokenId> expected_one = generate(*whole, one, greedy(5)).ids();
  whole->session().reset();
  const std::vector<TokenId> expected_other = generate(*whole, other, greedy(9)).ids();
  LoadOptions options = with_budget(0);
  options.sessions = 2;
  const MemoryPlan plan = *plan_memory(file.header, options);
  for (const uint64_t budget : {plan.least, third(plan)}) {
    options.memory_budget = budget;
    WeightsByHand source(file.bytes, options);
    Session first(*source.engine), second(*source.engine);
    ASSERT_TRUE(first.start(one, greedy(5)).has_value());
    ASSERT_TRUE(second.start(other, greedy(9)).has_value());
    std::vector<TokenId> of_first, of_second;
    for (int turn = 0; first.running() || second.running(); ++turn) {
      const auto a = source.run(first, turn % 50 < 25 ? 1 : 0);
      const auto b = source.run(second, 1 + turn % 3);
      of_first.insert(of_first.end(), a.begin(), a.end());
      of_second.insert(of_second.end(), b.begin(), b.end());
      ASSERT_LT(turn, 100000);
    }
    EXPECT_EQ(of_first, expected_one);
    EXPECT_EQ(of_second, expected_other);
  }
}

// A file that becomes shorter: who needs what is missing fails, the same each time.
TEST(ExpertSlots, ThatCannotBeReadAreAnError) {
  const TinyModel model = model_of();
  const ModelFile file(model);
  const TemporaryFile on_disk(file.bytes);
  auto engine = open_ready(on_disk.path(), with_budget(plan_of(file.header).least));
  ASSERT_TRUE(engine.has_value()) << engine.error().message;
  const TensorInfo& last = *file.header.find_tensor("blk.4.ffn_up_exps.weight");
  std::filesystem::resize_file(on_disk.path(), file.header.data_offset + last.offset);
  std::string message;
  for (int i = 0; i < 3; ++i) {
    if (i > 0 && !(*engine)->session().running()) (*engine)->session().truncate(0);
    const Status started = (*engine)->session().start(some_ids(6, model.n_vocab), greedy(3));
    ASSERT_TRUE(started.has_value()) << started.error().message;
    const auto ids = drive_opened(**engine, (*engine)->session());
    ASSERT_FALSE(ids.has_value());
    EXPECT_EQ(code_name(ids.error().code), code_name(Code::bad_file));
    EXPECT_TRUE(i == 0 || ids.error().message == message) << ids.error().message;
    message = ids.error().message;
  }
}

// The hash of a model is known without reading all experts.
TEST(ExpertSlots, AreNotAllReadForTheModelsHash) {
  const ModelFile file(model_of());
  const auto whole = load_bytes(file.bytes, with_budget(0));
  ASSERT_TRUE(*whole->identify());
  WeightsByHand source(file.bytes, with_budget(plan_of(file.header).least));
  std::set<ExpertAt> read;
  source.on_want = [&](const Want& want) {
    if (const auto expert = expert_at(file.header, want.offset)) read.insert(*expert);
  };
  for (int i = 0; i < 1000; ++i) {
    const auto known = source.engine->identify();
    ASSERT_TRUE(known.has_value());
    if (*known) break;
    source.bring();
  }
  for (const ExpertAt& each : read) EXPECT_TRUE(each.expert <= 2 || each.expert >= 21);
  const Session ours(*source.engine), theirs(*whole);
  const auto bytes_of_file = [](const Session& session) {
    auto writer = std::move(*session.save());
    std::vector<uint8_t> bytes(static_cast<size_t>(writer->bytes()));
    writer->next(bytes);
    return bytes;
  };
  EXPECT_EQ(bytes_of_file(ours), bytes_of_file(theirs));
}

// --- plans ---------------------------------------------------------------------------------------

TEST(ExpertSlots, ShareAsManyPlacesAsThereIsRoomFor) {
  const ModelFile file(model_of());
  const MemoryPlan free = plan_of(file.header);
  uint64_t last = 0;
  int last_places = 0;
  for (int step = 0; step < 40; ++step) {
    const uint64_t budget = free.least + (free.all - free.least) * step / 40;
    const auto plan = plan_engine(file.header, with_budget(budget), Access::rereadable);
    ASSERT_TRUE(plan.has_value()) << plan.error().message;
    const Model& model = *plan->model;
    EXPECT_LE(plan->memory.total(), budget);
    EXPECT_EQ(plan->memory.least, free.least);
    EXPECT_EQ(plan_memory(file.header, with_budget(budget))->weights, plan->memory.weights);
    const Weights weights(model.manifest(), plan->shared, plan->rows);
    EXPECT_EQ(weights.bytes(), plan->memory.weights);
    if (!plan->shared.enabled()) continue;
    // As many experts as a token uses are read again, with the head's parts that don't stay.
    uint64_t reread = 0;
    for (const int slot : plan->shared.slots) {
      const bool used = !model.manifest().is_optional(slot) ||
                        (slot - 2) % (1 + model.experts().n) < model.experts().n_used;
      reread += used ? weights.view(slot).bytes : 0;
    }
    EXPECT_EQ(plan->memory.reread, reread);
    EXPECT_GE(plan->shared.places, 2);
    EXPECT_GE(plan->shared.places, last_places);
    EXPECT_GE(plan->memory.weights, last);
    last_places = plan->shared.places;
    last = plan->memory.weights;
    uint64_t largest = 0;
    for (int64_t l = 0; l < model.config().n_layers; ++l) {
      EXPECT_TRUE(weights.stays(model.layer_slot(l)));
      for (int64_t e = 0; e < model.experts().n; ++e) {
        EXPECT_FALSE(weights.stays(model.expert_slot(l, e)));
        largest = std::max(largest, weights.view(model.expert_slot(l, e)).bytes);
      }
    }
    // No other place would fit. (A part of the head is about as large.)
    EXPECT_GT(plan->memory.total() + 2 * largest, budget);
  }
  EXPECT_GT(last_places, 10);
}

// --- weights by hand -----------------------------------------------------------------------------

// Slots of zeros, 64 rows each: one for each layer, each followed by those of its experts, which
// share places; then the head's.
struct Slots {
  int n_experts;
  std::string bytes;
  Gguf header;
  std::optional<Weights> weights;

  Slots(int n_layers, int experts, int places) : n_experts(experts) {
    const int n_slots = layer(n_layers) + 1;
    GgufBuilder builder;
    builder.kv_string("general.architecture", "none");
    builder.tensor("all", Type::F16, {16, 64, static_cast<uint64_t>(n_slots)},
                   std::string(2048 * static_cast<size_t>(n_slots), '\0'));
    bytes = builder.build();
    header = std::move(*parse_gguf(as_bytes(bytes), bytes.size()));
    TensorManifest manifest(n_slots);
    SharedPlaces shared;
    shared.places = places;
    for (int slot = 0; slot < n_slots; ++slot)
      EXPECT_TRUE(
          manifest.add_expert(header, "all", slot, n_slots, 64, 16, slot, 0, 64).has_value());
    for (int l = 0; l < n_layers; ++l) {
      manifest.make_optional(layer(l) + 1, layer(l + 1));
      for (int slot = layer(l) + 1; slot < layer(l + 1); ++slot) shared.slots.push_back(slot);
    }
    weights.emplace(manifest, shared);
    EXPECT_TRUE(weights->allocate().has_value());
  }

  int layer(int l) const { return 1 + l * (1 + n_experts); }
  // Brings so many bytes of what is wanted. Returns the number of wants.
  size_t bring(uint64_t most = UINT64_MAX) {
    const std::vector<Want> wants = weights->wants(most);
    for (const Want& want : wants) {
      std::memset(want.place.data(), 0, want.place.size());
      EXPECT_TRUE(weights->filled(want.offset, want.place.size()).has_value());
    }
    return wants.size();
  }
};

// Both places have parts of experts whose runs have ended. The next run gets one all the same.
TEST(ExpertSlots, ThatCameInPartGiveUpTheirPlaces) {
  Slots slots(2, 8, 2);
  while (slots.bring() > 0) {
  }
  for (const int expert : {3, 5}) {
    Weights::Cursor cursor(*slots.weights);
    ASSERT_TRUE(cursor.move_to(slots.layer(0)));
    cursor.choose({slots.layer(0) + expert});
    EXPECT_EQ(slots.bring(600), 1u);
    EXPECT_EQ(slots.weights->state(slots.layer(0) + expert), SlotState::arriving);
  }
  Weights::Cursor cursor(*slots.weights);
  ASSERT_TRUE(cursor.move_to(slots.layer(1)));
  const int wanted = slots.layer(1) + 8;
  cursor.choose({wanted});
  int calls = 0;
  for (; !cursor.move_to(wanted) && calls < 50; ++calls) slots.bring(600);
  EXPECT_LT(calls, 50);
}

// 48 layers of 128 experts: each of a token's calls looks at few of the 6,194 slots.
TEST(ExpertSlots, ThatAreManyCostLittle) {
  constexpr int kLayers = 48, kExperts = 128, kUsed = 8;
  Slots slots(kLayers, kExperts, 1000);
  const Weights& weights = *slots.weights;
  slots.bring();
  EXPECT_TRUE(weights.ready());
  Weights::Cursor one(*slots.weights), other(*slots.weights);
  std::mt19937 random(1);
  const uint64_t before = weights.looks();
  uint64_t calls = 0, brought = 0;
  const auto reach = [&](Weights::Cursor& cursor, int slot) {
    for (int i = 0; i < 3; ++i) {
      const bool here = cursor.move_to(slot);
      ++calls;
      brought += slots.bring();
      if (here) return;
    }
    FAIL() << slot;
  };
  for (int token = 0; token < 4; ++token) {
    for (Weights::Cursor* cursor : {&one, &other}) reach(*cursor, 0);
    for (int layer = 0; layer < kLayers; ++layer) {
      for (Weights::Cursor* cursor : {&one, &other}) {
        reach(*cursor, slots.layer(layer));
        std::set<int> chosen;
        while (chosen.size() < kUsed)
          chosen.insert(slots.layer(layer) + 1 + static_cast<int>(random() % kExperts));
        cursor->choose({chosen.begin(), chosen.end()});
        for (const int slot : chosen) reach(*cursor, slot);
      }
    }
  }
  EXPECT_GT(brought, 2000u);
  EXPECT_GT(calls, 3000u);
  EXPECT_LT((weights.looks() - before) / calls, 250u);
}

}  // namespace
}  // namespace sluice
