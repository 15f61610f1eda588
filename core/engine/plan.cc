#include "engine/plan.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <thread>

#include "base/format.h"
#include "engine/memory_plan.h"
#include "kernels/choose.h"
#include "kernels/kernels.h"
#include "models/registry.h"
#include "options/rows.h"
#include "pass/pass.h"
#include "state/timeline.h"

namespace sluice {
namespace {

constexpr uint32_t kDefaultContext = 4096;
constexpr int32_t kDefaultThreads = 8;
constexpr int32_t kMaxHeadParts = 1024;
constexpr int64_t kMaxLogitPositions = 1 << 20;
// Rows of the embedding that are held by themselves: a block of a prompt, and more.
constexpr int64_t kRowPlaces = 512;
// Shared places: one is computed while the others are read.
constexpr int kSharedPlaces = 2;
// The code, the stacks, and the tokenizer's tables beyond the size of the header. (A wasm module's
// code is not in its memory.)
#ifdef __EMSCRIPTEN__
constexpr uint64_t kConstantBytes = 4u << 20;
#else
constexpr uint64_t kConstantBytes = 8u << 20;
#endif

}  // namespace

Status check_load_options(const LoadOptions& options) {
  SLUICE_TRY(check_options(options));
  if (options.logit_positions < 1 || options.logit_positions > kMaxLogitPositions) {
    return fail(Code::invalid_argument, "logit_positions is ", options.logit_positions,
                "; expected 1 to ", kMaxLogitPositions);
  }
  return check_kernels(options.kernels);
}

int32_t thread_count(const LoadOptions& options) {
  if (options.threads > 0) return options.threads;
  const auto cores = static_cast<int32_t>(std::thread::hardware_concurrency());
  return std::clamp(cores, 1, kDefaultThreads);
}

uint32_t context_of(const Config& config, const LoadOptions& options) {
  if (options.context_size > 0) return options.context_size;
  return static_cast<uint32_t>(std::min<int64_t>(config.context_length, kDefaultContext));
}

namespace {

Status check_context(const Model& model, const LoadOptions& options) {
  const int64_t context = context_of(model.config(), options);
  if (model.max_positions() == 0 || context <= model.max_positions()) return {};
  return fail(Code::invalid_argument, "the context size is ", context,
              ", but the model knows only ", model.max_positions(), " positions; ask for no more");
}

// A model's memory, and what of it stays.
Plan plan_with(const Gguf& header, const LoadOptions& options, std::unique_ptr<Model> model,
               SharedPlaces shared, int64_t row_places) {
  Plan plan;
  plan.shared = std::move(shared);
  if (model->single_rows()) plan.rows = {model->token_table(), row_places};
  const int64_t context = context_of(model->config(), options);
  MemoryPlan& memory = plan.memory;
  const Weights weights(model->manifest(), plan.shared, plan.rows);
  memory.weights = weights.bytes();
  const uint64_t kv =
      Timeline(model->layers(), kv_type_named(options.kv_type), options.snapshot_memory)
          .bytes_for(context);
  const uint64_t own = Pass::session_bytes(*model, context, 1);
  const uint64_t shared_activations = Pass::shared_bytes(*model, context);
  const auto sessions = static_cast<uint64_t>(options.sessions);
  const int64_t rows = std::min(options.logit_positions, context);
  memory.session = kv + own;
  memory.kv = sessions * kv;
  memory.activations =
      shared_activations + (sessions - 1) * own + Pass::session_bytes(*model, context, rows);
  // The header is kept. The tokenizer that is made from it is about as large again.
  memory.constant =
      Pass::scratch_bytes(*model, thread_count(options)) + 2 * header.data_offset + kConstantBytes;
  memory.budget = options.memory_budget;
  memory.per_token = model->weight_bytes_per_token();
  memory.least = memory.total();
  plan.fixed = memory.weights + memory.constant + shared_activations;
  if (plan.shared.enabled()) {
    for (const int slot : plan.shared.slots) memory.reread += weights.view(slot).bytes;
  }
  plan.model = std::move(model);
  return plan;
}

// The slots that can share places: the layers and the parts of the head.
std::vector<int> slots_of(const Model& model) {
  std::vector<int> slots;
  for (int64_t l = 0; l < model.config().n_layers; ++l) slots.push_back(model.layer_slot(l));
  for (int part = 0; part < model.n_head_parts(); ++part)
    slots.push_back(model.head_part_slot(part));
  return slots;
}

// The slots that share places: all but n_kept, evenly spread.
SharedPlaces all_but(const std::vector<int>& slots, size_t n_kept) {
  SharedPlaces shared{{}, kSharedPlaces};
  const size_t n = slots.size();
  for (size_t i = 0; i < n; ++i)
    if ((i + 1) * n_kept / n == i * n_kept / n) shared.slots.push_back(slots[i]);
  return shared;
}

// The most parts of the head that are useful: a part isn't larger than the largest layer.
int head_parts_of(const Model& model) {
  const Weights whole(model.manifest(), {}, {model.token_table(), 1});
  uint64_t layer = 1;
  for (int64_t l = 0; l < model.config().n_layers; ++l)
    layer = std::max(layer, whole.slot_memory(model.layer_slot(l)));
  const uint64_t head = whole.slot_memory(model.head_slot());
  return static_cast<int>(std::clamp<uint64_t>((head - 1) / layer + 1, 1, kMaxHeadParts));
}

// Shares places so that as much as the limit allows stays in memory. If even the least is too much,
// it is the least, and `memory.least` is above the limit.
Result<Plan> plan_shared(const Gguf& header, const LoadOptions& options, uint64_t limit) {
  SLUICE_ASSIGN(auto undivided, make_model(header, {1, true, false}));
  const Cut cut{head_parts_of(*undivided), true, false};
  const auto with = [&](size_t n_kept) -> Result<Plan> {
    SLUICE_ASSIGN(auto model, make_model(header, cut));
    SharedPlaces shared = all_but(slots_of(*model), n_kept);
    return plan_with(header, options, std::move(model), std::move(shared), kRowPlaces);
  };
  SLUICE_ASSIGN(Plan best, with(0));
  const uint64_t least = best.memory.total();
  if (least > limit) return best;
  // The more slots stay, the more memory, or nearly so: search by halving.
  size_t low = 0, high = best.shared.slots.size() - 1;
  while (low < high) {
    const size_t middle = (low + high + 1) / 2;
    SLUICE_ASSIGN(Plan plan, with(middle));
    if (plan.memory.total() <= limit) {
      low = middle;
      best = std::move(plan);
    } else {
      high = middle - 1;
    }
  }
  best.memory.least = least;
  return best;
}

// Sets `least` in the plan of a model that is all in memory.
Status set_least(const Gguf& header, const LoadOptions& options, MemoryPlan& all) {
  SLUICE_ASSIGN(const Plan shared, plan_shared(header, options, 0));
  all.least = std::min(all.total(), shared.memory.least);
  return {};
}

std::string parts_of(const MemoryPlan& plan) {
  return concat(human_bytes(plan.total(), true), " (weights ", human_bytes(plan.weights),
                ", KV cache ", human_bytes(plan.kv), ", activations ",
                human_bytes(plan.activations), ", constant ", human_bytes(plan.constant), ")");
}

// The largest smaller context, in whole chunks of the KV cache, with which the model fits into the
// limit; 0: none.
uint32_t fitting_context(const Gguf& header, LoadOptions options, uint32_t context, bool reread,
                         uint64_t limit) {
  const auto fits = [&](uint32_t chunks) {
    options.context_size = chunks * kKvChunk;
    if (reread) {
      const auto plan = plan_shared(header, options, 0);
      return plan && plan->memory.least <= limit;
    }
    auto model = make_model(header, {1, true, true});
    return model &&
           plan_with(header, options, std::move(*model), {}, kRowPlaces).memory.total() <= limit;
  };
  uint32_t low = 0, high = (context - 1) / kKvChunk;
  while (low < high) {
    const uint32_t middle = (low + high + 1) / 2;
    if (fits(middle)) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low * kKvChunk;
}

// `least`: with shared places; 0 if the bytes can't be read again. `context`: what was asked for;
// `smaller`: one that fits, 0: none does.
std::unexpected<Error> too_small(const MemoryPlan& all, const LoadOptions& options, uint64_t least,
                                 uint64_t limit, uint32_t context, uint32_t smaller) {
  const std::string needs = concat("the model needs ", parts_of(all));
  const std::string shared =
      least == 0 ? ". All of it must be in memory, because its bytes come only once: a file, or a "
                   "model that is kept on the device, can be read again"
                 : concat("; with layers that take turns in memory it needs ", least, " bytes (",
                          human_bytes(least, true), ") at least");
  const bool budgeted = options.memory_budget > 0 && options.memory_budget <= limit;
  Facts facts = {{"neededBytes", all.total()},
                 {"availableBytes", budgeted ? options.memory_budget : limit}};
  if (least > 0) facts.push_back({"leastBytes", least});
  if (smaller > 0) facts.push_back({"contextSize", smaller});
  const std::string todo =
      smaller > 0 ? concat("a context of ", smaller, " (it is ", context, ") or a smaller model")
                  : "a smaller model: no smaller context would do";
  if (budgeted) {
    return with_facts(
        fail(Code::budget_too_small, needs, ", but the budget is ",
             human_bytes(options.memory_budget), shared, "; give it more, or use ", todo),
        std::move(facts));
  }
  return with_facts(fail(Code::out_of_memory, needs, ", but there are ", human_bytes(limit),
                         " at most", shared, "; use ", todo),
                    std::move(facts));
}

Result<Plan> plan_as_told(const Gguf& header, const LoadOptions& options,
                          const PlanOverride& told) {
  const Cut cut{std::max(told.head_parts, 1), told.embedding_rows > 0, false};
  SLUICE_ASSIGN(auto model, make_model(header, cut));
  SharedPlaces shared{{}, told.layer_places};
  if (told.layer_places > 0) shared.slots = slots_of(*model);
  return plan_with(header, options, std::move(model), std::move(shared), told.embedding_rows);
}

}  // namespace

Result<Plan> plan_engine(const Gguf& header, const LoadOptions& options, Access access,
                         const PlanOverride& told) {
  SLUICE_TRY(check_load_options(options));
  const uint64_t machine = machine_memory();
  const uint64_t limit =
      options.memory_budget > 0 ? std::min(options.memory_budget, machine) : machine;
  if (told.set() && access == Access::rereadable) {
    SLUICE_ASSIGN(Plan plan, plan_as_told(header, options, told));
    plan.limit = std::max(limit, plan.memory.total());
    return plan;
  }
  // A stream brings the table when it comes. Otherwise single rows come first and the table last.
  const bool any_order = access != Access::sequential;
  SLUICE_ASSIGN(auto model, make_model(header, {1, any_order, any_order}));
  SLUICE_TRY(check_context(*model, options));
  Plan all = plan_with(header, options, std::move(model), {}, kRowPlaces);
  all.memory.all = all.memory.total();
  all.limit = limit;
  if (all.memory.total() <= limit) {
    if (access == Access::rereadable) SLUICE_TRY(set_least(header, options, all.memory));
    return all;
  }
  const bool reread = access == Access::rereadable;
  const auto refused = [&](uint64_t least) {
    const uint32_t context = context_of(all.model->config(), options);
    return too_small(all.memory, options, least, machine, context,
                     fitting_context(header, options, context, reread, limit));
  };
  if (!reread) return refused(0);
  SLUICE_ASSIGN(Plan shared, plan_shared(header, options, limit));
  if (shared.memory.total() > limit) return refused(shared.memory.least);
  shared.memory.all = all.memory.total();
  shared.limit = limit;
  return shared;
}

Status check_memory(const Gguf& header, const LoadOptions& options, Access access) {
  SLUICE_TRY(plan_engine(header, options, access));
  return {};
}

Result<MemoryPlan> plan_memory(const Gguf& header, const LoadOptions& options) {
  SLUICE_TRY(check_load_options(options));
  SLUICE_ASSIGN(auto model, make_model(header, {1, true, true}));
  SLUICE_TRY(check_context(*model, options));
  MemoryPlan all = plan_with(header, options, std::move(model), {}, kRowPlaces).memory;
  all.all = all.total();
  SLUICE_TRY(set_least(header, options, all));
  const uint64_t limit = options.memory_budget > 0 ? options.memory_budget : machine_memory();
  if (all.total() <= limit || all.least > limit) return all;
  SLUICE_ASSIGN(const Plan chosen, plan_shared(header, options, limit));
  MemoryPlan memory = chosen.memory;
  memory.all = all.all;
  return memory;
}

}  // namespace sluice
