// What stays in memory under a budget. The planner adds up sizes; here the same is found by making
// models and weights, and by adding up the bytes of every piece.
#include "engine/plan.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

#include "base/aligned.h"
#include "models/registry.h"
#include "support/engine_fixture.h"
#include "weights/weights.h"

namespace sluice {
namespace {

constexpr int kSteps = 40;

// A file of which the header is parsed.
struct File {
  std::string bytes;
  Gguf header;

  // `f16_vectors`: norms and biases have 16 bits, and are 0.
  File(std::string_view name, uint32_t n_layers, bool f16_vectors = false) {
    TinyModel model = tiny_model_named(name);
    model.n_layers = n_layers;
    GgufBuilder builder = tiny_model_file(model);
    for (GgufBuilder::Tensor& tensor : builder.tensors) {
      if (!f16_vectors || tensor.dims.size() > 1) continue;
      tensor.type = static_cast<uint32_t>(Type::F16);
      tensor.data.assign(2 * tensor.dims[0], '\0');
    }
    bytes = builder.build();
    auto parsed = parse_gguf(as_bytes(bytes), bytes.size());
    EXPECT_TRUE(parsed.has_value());
    if (parsed.has_value()) header = std::move(*parsed);
  }
};

LoadOptions with_budget(uint64_t budget, uint32_t context = 300) {
  LoadOptions options = small(context);
  options.memory_budget = budget;
  return options;
}

// Bytes of memory for a slot: f32 values of 16-bit vectors, and the file's bytes.
uint64_t plain_slot_memory(const TensorManifest& manifest, int slot, const SingleRows& rows) {
  uint64_t total = 0;
  for (int handle = 0; handle < static_cast<int>(manifest.pieces().size()); ++handle) {
    const Piece& piece = manifest.piece(handle);
    if (piece.slot != slot || std::ranges::count(rows.tables, handle) > 0) continue;
    total += round_up(piece.bytes, kAlignment);
    if (piece.is_vector && piece.type != Type::F32)
      total += round_up(4 * static_cast<uint64_t>(piece.cols), kAlignment);
  }
  return total;
}

uint64_t plain_memory(const TensorManifest& manifest, const SharedPlaces& shared,
                      const SingleRows& rows) {
  uint64_t total = 0;
  std::vector<uint64_t> sharing;
  for (int slot = 0; slot < manifest.n_slots(); ++slot) {
    const uint64_t memory = plain_slot_memory(manifest, slot, rows);
    if (std::ranges::count(shared.slots, slot) > 0)
      sharing.push_back(memory);
    else
      total += memory;
  }
  if (sharing.size() <= static_cast<size_t>(shared.places)) {
    for (const uint64_t memory : sharing) total += memory;
  } else if (!sharing.empty()) {
    total += static_cast<uint64_t>(shared.places) * std::ranges::max(sharing);
  }
  for (const int handle : rows.tables) {
    const Piece& table = manifest.piece(handle);
    const uint64_t row = table.bytes / static_cast<uint64_t>(table.rows);
    total += static_cast<uint64_t>(std::min(rows.places, table.rows)) * round_up(row, kAlignment);
  }
  return total;
}

// Those slots of layers and of the head's parts that share places if n_kept don't.
std::vector<int> sharing_slots(const Model& model, size_t n_kept) {
  std::vector<int> slots, sharing;
  for (int64_t l = 0; l < model.config().n_layers; ++l) slots.push_back(model.layer_slot(l));
  for (int p = 0; p < model.n_head_parts(); ++p) slots.push_back(model.head_part_slot(p));
  size_t taken = 0;
  for (size_t i = 0; i < slots.size(); ++i) {
    const size_t due = (i + 1) * n_kept / slots.size();
    if (due == taken) sharing.push_back(slots[i]);
    taken = due;
  }
  return sharing;
}

// Allocates the weights of a plan, brings what has a place, and expects them to hold what the plan
// promises.
void expect_weights_to_hold(const Plan& plan, const File& file) {
  const TensorManifest& manifest = plan.model->manifest();
  Weights weights(manifest, plan.shared, plan.rows);
  EXPECT_EQ(weights.bytes(), plan.memory.weights);
  ASSERT_TRUE(weights.allocate().has_value());
  for (std::vector<Want> wants; !(wants = weights.wants(UINT64_MAX)).empty();) {
    for (const Want& want : wants) {
      std::memcpy(want.place.data(), file.bytes.data() + want.offset, want.place.size());
      ASSERT_TRUE(weights.filled(want.offset, want.place.size()).has_value());
    }
  }
  EXPECT_TRUE(weights.ready());
  uint64_t held = 0, reread = 0;
  int n_sharing = 0;
  for (int slot = 0; slot < manifest.n_slots(); ++slot) {
    if (weights.state(slot) == SlotState::resident)
      held += plain_slot_memory(manifest, slot, plan.rows);
    if (weights.stays(slot)) continue;
    reread += weights.view(slot).bytes;
    if (weights.state(slot) == SlotState::resident) ++n_sharing;
  }
  EXPECT_EQ(weights.held_bytes(), held);
  EXPECT_LE(held, plan.memory.weights);
  EXPECT_EQ(plan.memory.reread, reread);
  EXPECT_EQ(n_sharing, plan.shared.enabled() ? plan.shared.places : 0);
}

struct Budget {
  const char* name;
  uint32_t n_layers;
  bool f16_vectors = false;
};
class Budgets : public testing::TestWithParam<Budget> {};

// From the least budget to one that all fits into.
TEST_P(Budgets, AreUsedUpAndKept) {
  const File file(GetParam().name, GetParam().n_layers, GetParam().f16_vectors);
  const auto free = plan_memory(file.header, small(300));
  ASSERT_TRUE(free.has_value());
  ASSERT_LE(free->least, free->all);
  uint64_t last_weights = 0;
  for (int step = 0; step <= kSteps; ++step) {
    const uint64_t budget = free->least + (free->all - free->least) * step / kSteps;
    SCOPED_TRACE(budget);
    const LoadOptions options = with_budget(budget);
    const auto plan = plan_engine(file.header, options, Access::rereadable);
    ASSERT_TRUE(plan.has_value()) << plan.error().message;
    EXPECT_LE(plan->memory.total(), budget);
    EXPECT_EQ(plan->memory.least, free->least);
    EXPECT_EQ(plan->memory.all, free->all);
    const TensorManifest& manifest = plan->model->manifest();
    EXPECT_EQ(plan->memory.weights, plain_memory(manifest, plan->shared, plan->rows));
    expect_weights_to_hold(*plan, file);

    // Inspecting promises what loading does.
    const auto shown = plan_memory(file.header, options);
    ASSERT_TRUE(shown.has_value());
    EXPECT_EQ(shown->weights, plan->memory.weights);
    EXPECT_EQ(shown->total(), plan->memory.total());
    EXPECT_EQ(shown->reread, plan->memory.reread);
    EXPECT_EQ(shown->per_token, plan->memory.per_token);

    // More slots would not fit.
    if (plan->shared.slots.empty()) continue;
    const size_t n_slots = sharing_slots(*plan->model, 0).size();
    const size_t n_kept = n_slots - plan->shared.slots.size();
    EXPECT_EQ(plan->shared.slots, sharing_slots(*plan->model, n_kept));
    const uint64_t beside = plan->memory.total() - plan->memory.weights;
    const SharedPlaces none{sharing_slots(*plan->model, 0), plan->shared.places};
    EXPECT_EQ(beside + plain_memory(manifest, none, plan->rows), plan->memory.least);
    if (n_kept + 1 < n_slots) {
      const SharedPlaces more{sharing_slots(*plan->model, n_kept + 1), plan->shared.places};
      EXPECT_GT(beside + plain_memory(manifest, more, plan->rows), budget);
    }
    EXPECT_GE(plan->memory.weights, last_weights);
    last_weights = plan->memory.weights;
  }
}

// The context that an error names is the largest that fits, and the least budget is the least.
TEST_P(Budgets, ThatAreTooSmallGetTheLargestContextNamed) {
  const File file(GetParam().name, GetParam().n_layers, GetParam().f16_vectors);
  constexpr uint32_t kContext = 3 * kKvChunk + 1;
  if (!plan_memory(file.header, small(kContext)).has_value()) return;  // too many positions
  const uint64_t most = plan_memory(file.header, small(kContext))->all;
  const uint64_t least = plan_memory(file.header, small(1))->least;
  for (const Access access : {Access::sequential, Access::any_order, Access::rereadable}) {
    for (int step = 0; step < kSteps; ++step) {
      const uint64_t budget = least - 1 + (most - least) * step / kSteps;
      SCOPED_TRACE(budget);
      const auto plan = plan_engine(file.header, with_budget(budget, kContext), access);
      if (plan.has_value()) continue;
      const auto needed = [&](uint32_t context) {
        const MemoryPlan memory = *plan_memory(file.header, small(context));
        return access == Access::rereadable ? memory.least : memory.all;
      };
      uint32_t context = kContext - 1;
      while (context > 0 && needed(context) > budget) context -= kKvChunk;
      std::map<std::string_view, uint64_t> facts;
      for (const auto& [name, value] : plan.error().facts) facts[name] = std::get<uint64_t>(value);
      EXPECT_EQ(facts["contextSize"], context) << plan.error().message;
      EXPECT_EQ(facts["leastBytes"], access == Access::rereadable ? needed(kContext) : 0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Budgets,
                         testing::Values(Budget{"llama-q8_0", 6}, Budget{"llama-q4_k_m", 7},
                                         Budget{"qwen2-odd-q8_0", 3}, Budget{"qwen3-bf16", 2},
                                         Budget{"llama-freqs-f32", 1}, Budget{"gpt2-f32", 5, true},
                                         Budget{"gemma3-q8_0", 12}),
                         [](const auto& each) { return test_name(each.param.name); });

// The sizes of a head in parts are those that the model gives its parts.
TEST(HeadParts, AreTheModelsOwn) {
  const File file("llama-q4_k_m", 2);
  for (int most = 1; most <= 64; ++most) {
    const auto model = make_model(file.header, {most, true, false});
    ASSERT_TRUE(model.has_value());
    const auto parts = HeadParts::of((*model)->config().n_vocab, most);
    ASSERT_EQ(parts.n, (*model)->n_head_parts());
    EXPECT_LE(parts.n, most);
    int64_t rows = 0;
    for (int part = 0; part < parts.n; ++part) {
      const int slot = parts.slot((*model)->head_slot(), part);
      EXPECT_EQ(slot, (*model)->head_part_slot(part));
      const auto piece = std::ranges::find_if((*model)->manifest().pieces(), [&](const Piece& p) {
        return p.slot == slot && !p.is_vector;
      });
      ASSERT_NE(piece, (*model)->manifest().pieces().end());
      EXPECT_EQ(piece->first_row, part * parts.rows);
      EXPECT_EQ(piece->rows, std::min(parts.rows, (*model)->config().n_vocab - rows));
      rows += piece->rows;
    }
    EXPECT_EQ(rows, (*model)->config().n_vocab);
  }
}

}  // namespace
}  // namespace sluice
