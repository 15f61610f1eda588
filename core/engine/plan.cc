#include "engine/plan.h"

#include <algorithm>
#include <thread>

#include "base/format.h"
#include "base/makes.h"
#include "engine/memory_plan.h"
#include "kernels/choose.h"
#include "kernels/kernels.h"
#include "models/registry.h"
#include "options/rows.h"
#include "pass/pass.h"
#include "state/timeline.h"

namespace sluice {
namespace {

// Unless another context is asked for. Of a model that writes no text memory is planned for so many
// tokens.
constexpr int64_t kDefaultContext = 4096;
constexpr int64_t kMostContext = 1 << 20;  // as the row contextSize of options.json
constexpr int32_t kDefaultThreads = 8;
constexpr int32_t kMaxHeadParts = 1024;
constexpr int64_t kMaxLogitPositions = 1 << 20;
// Rows of the embedding that are held by themselves: a block of a prompt, and more.
constexpr int64_t kRowPlaces = 512;
// What is kept of an expert's slot beside its weights.
constexpr uint64_t kExpertBytes = 2048;
// Shared places, at least: one is computed while the others are read.
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

namespace {

uint32_t context_of(const Model& model, const LoadOptions& options) {
  if (options.context_size > 0) return options.context_size;
  const int64_t most = model.makes().text ? kDefaultContext : kMostContext;
  return static_cast<uint32_t>(std::min(model.config().context_length, most));
}

// The tokens of a text that there is sure to be memory for.
uint32_t planned_tokens(const Model& model, const LoadOptions& options) {
  if (options.context_size > 0) return options.context_size;
  return static_cast<uint32_t>(std::min(model.config().context_length, kDefaultContext));
}

Status check_context(const Model& model, const LoadOptions& options) {
  const int64_t context = context_of(model, options);
  if (model.max_positions() == 0 || context <= model.max_positions()) return {};
  return fail(Code::invalid_argument, "the context size is ", context,
              ", but the model knows only ", model.max_positions(), " positions; ask for no more");
}

// The most tokens of a pass. A model that writes no text makes vectors of several texts at a time.
int64_t pass_tokens(const Model& model, int64_t context) {
  return model.makes().text ? context : std::max(context, kBatchTokens);
}

// What a model needs beside its weights.
MemoryPlan beside_weights(const Gguf& header, const LoadOptions& options, const Model& model,
                          int64_t context) {
  MemoryPlan memory;
  const Timeline timeline =
      options.vectors_only
          ? Timeline(model.layers())
          : make_timeline(model, kv_type_named(options.kv_type), options.snapshot_memory);
  const int64_t tokens = pass_tokens(model, context);
  const uint64_t kv = timeline.bytes_for(tokens);
  const uint64_t own = Pass::session_bytes(model, tokens, 1);
  const auto sessions = static_cast<uint64_t>(options.sessions);
  const int64_t rows = std::min(options.logit_positions, context);
  memory.session = kv + own;
  memory.kv = sessions * kv;
  memory.kv_chunk = sessions * timeline.bytes_per_chunk();
  memory.activations = Pass::shared_bytes(model, tokens) + (sessions - 1) * own +
                       Pass::session_bytes(model, tokens, rows);
  // The header is kept. The tokenizer that is made from it is about as large again.
  memory.constant =
      Pass::scratch_bytes(model, thread_count(options)) + 2 * header.data_offset + kConstantBytes;
  const auto experts = static_cast<uint64_t>(model.experts().n * model.config().n_layers);
  memory.constant += kExpertBytes * experts;
  return memory;
}

// The tables with a row for each token.
std::vector<int> row_tables_of(const Model& model) {
  std::vector<int> tables{model.token_table()};
  if (model.layer_inputs().width > 0) tables.push_back(model.layer_inputs().table);
  return tables;
}

SingleRows single_rows_of(const Model& model, int64_t places) {
  return model.single_rows() ? SingleRows{row_tables_of(model), places} : SingleRows();
}

// Bytes of the file in slots that share places: a token reads all of them again, or of each layer
// as many experts as it chooses.
uint64_t reread_bytes(const Model& model, const WeightSizes& sizes, const SharedPlaces& shared) {
  uint64_t total = 0;
  int first = 0;  // the first expert of its layer
  if (!shared.enabled()) return 0;
  for (const int slot : shared.slots) {
    const bool expert = model.manifest().is_optional(slot);
    if (expert && !model.manifest().is_optional(slot - 1)) first = slot;
    if (!expert || slot - first < model.experts().n_used) total += sizes.slot_bytes(slot);
  }
  return total;
}

// A model's memory, and what of it stays.
Plan plan_with(const Gguf& header, const LoadOptions& options, std::unique_ptr<Model> model,
               SharedPlaces shared, int64_t row_places) {
  Plan plan;
  plan.shared = std::move(shared);
  plan.rows = single_rows_of(*model, row_places);
  const WeightSizes sizes(model->manifest(), plan.rows);
  const int64_t context = planned_tokens(*model, options);
  MemoryPlan& memory = plan.memory;
  memory = beside_weights(header, options, *model, context);
  memory.weights = sizes.memory(plan.shared);
  memory.reread = reread_bytes(*model, sizes, plan.shared);
  memory.budget = options.memory_budget;
  memory.per_token = model->weight_bytes_per_token();
  memory.left_out = model->bytes_left_out();
  memory.least = memory.total();
  memory.context_size = context_of(*model, options);
  memory.planned_tokens = static_cast<uint32_t>(context);
  const int64_t tokens = pass_tokens(*model, context);
  plan.fixed = memory.weights + memory.constant + Pass::shared_bytes(*model, tokens);
  plan.ropes = Pass::rope_bytes(*model, tokens);
  plan.model = std::move(model);
  return plan;
}

// The slots that can share places: the layers or, if it has some, their experts; and the parts of
// the head.
std::vector<int> slots_of(const Model& model, const HeadParts& parts) {
  std::vector<int> slots;
  const bool mixture = model.experts().n > 0;
  for (int slot = model.layer_slot(0); slot < model.head_slot(); ++slot)
    if (model.manifest().is_optional(slot) == mixture) slots.push_back(slot);
  for (int part = 0; part < parts.n; ++part) slots.push_back(parts.slot(model.head_slot(), part));
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

// The same of a mixture of experts: all but n_kept of the head's parts. What is kept beyond these
// are more shared places.
SharedPlaces all_but_parts(const std::vector<int>& slots, size_t n_parts, size_t n_kept) {
  const size_t parts = std::min(n_kept, n_parts);
  return {{slots.begin(), slots.end() - static_cast<std::ptrdiff_t>(parts)},
          kSharedPlaces + static_cast<int>(n_kept - parts)};
}

// The most parts of the head that are useful: a part isn't larger than the largest slot that shares
// a place with it. `sizes`: with the head in one part.
int useful_head_parts(const Model& model, const WeightSizes& sizes) {
  uint64_t layer = 1;
  for (const int slot : slots_of(model, {0, 0})) layer = std::max(layer, sizes.slot_memory(slot));
  const uint64_t head = sizes.slot_memory(model.head_slot());
  return static_cast<int>(std::clamp<uint64_t>((head - 1) / layer + 1, 1, kMaxHeadParts));
}

// Finds what can stay of a model, and which context fits. Each trial is a sum over the sizes of
// slots; those of a divided head are computed from the whole one's. So no model is made for a
// trial.
class Planner {
 public:
  // `whole`: with its head in one part. It may share places only if it has single rows. The
  // arguments must outlive the planner.
  Planner(const Gguf& header, const LoadOptions& options, const Model& whole)
      : header_(header),
        options_(options),
        whole_(whole),
        context_(planned_tokens(whole, options)),
        sizes_(whole.manifest(), single_rows_of(whole, kRowPlaces)),
        divided_(sizes_) {
    if (whole.single_rows()) divide();
  }

  // The total if as little stays as can be. For a model with single rows, as share() is.
  uint64_t least() const { return beside(context_) + shared_weights(0); }
  // Shares places so that as much as the limit allows stays in memory. The limit must be at least
  // least(). Makes the model that is divided so; fails as make_model() does.
  Result<Plan> share(uint64_t limit) const;
  // The largest smaller context, in whole chunks of the KV cache, with which the model fits into
  // the limit; 0: none.
  uint32_t fitting_context(bool reread, uint64_t limit) const;

 private:
  void divide();
  uint64_t beside(int64_t context) const {
    return beside_weights(header_, options_, whole_, context).total();
  }
  SharedPlaces shared(size_t n_kept) const {
    if (whole_.experts().n == 0) return all_but(slots_, n_kept);
    const auto after = std::ranges::upper_bound(slots_, whole_.head_slot() - 1);
    return all_but_parts(slots_, static_cast<size_t>(slots_.end() - after), n_kept);
  }
  uint64_t shared_weights(size_t n_kept) const { return divided_.memory(shared(n_kept)); }

  const Gguf& header_;
  const LoadOptions& options_;
  const Model& whole_;
  int64_t context_;
  WeightSizes sizes_;  // of the whole model
  // Of the model with its head divided and without the table:
  Cut cut_{1, true, false, false};
  std::vector<int> slots_;  // that can share places
  WeightSizes divided_;
};

void Planner::divide() {
  if (whole_.n_head_parts() == 0) {
    slots_ = slots_of(whole_, whole_.head_parts());
    divided_.remove_slots_after(whole_.head_slot());
    return;
  }
  const int64_t n_vocab = whole_.config().n_vocab;
  cut_.head_parts = useful_head_parts(whole_, sizes_);
  const HeadParts parts = HeadParts::of(n_vocab, cut_.head_parts);
  slots_ = slots_of(whole_, parts);
  divided_.remove_slots_after(whole_.head_slot());  // the tables', if there are some
  const auto head = std::ranges::find(whole_.uses(), Phase::head, &WeightUse::phase);
  const Piece& matrix = whole_.manifest().piece(head->matrix);
  divided_.remove(matrix);
  for (int part = 0; part < parts.n; ++part) {
    const int64_t first = part * parts.rows;
    Piece rows = rows_of(matrix, first, std::min(parts.rows, n_vocab - first));
    rows.slot = parts.slot(whole_.head_slot(), part);
    divided_.add(rows);
  }
}

Result<Plan> Planner::share(uint64_t limit) const {
  const uint64_t other = beside(context_);
  // The more slots stay, the more memory, or nearly so: search by halving.
  size_t low = 0, high = slots_.size() - 1;
  while (low < high) {
    const size_t middle = (low + high + 1) / 2;
    if (other + shared_weights(middle) <= limit) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  SLUICE_ASSIGN(auto model, make_model(header_, cut_));
  Plan plan = plan_with(header_, options_, std::move(model), shared(low), kRowPlaces);
  plan.memory.least = other + shared_weights(0);
  return plan;
}

uint32_t Planner::fitting_context(bool reread, uint64_t limit) const {
  uint64_t weights = reread ? shared_weights(0) : sizes_.memory();
  // A context that fits does so in whatever order the bytes come: with single rows as well.
  if (!whole_.single_rows()) {
    for (const int table : row_tables_of(whole_))
      weights += memory_of_rows(whole_.manifest().piece(table), kRowPlaces);
  }
  uint32_t low = 0, high = static_cast<uint32_t>((context_ - 1) / kKvChunk);
  while (low < high) {
    const uint32_t middle = (low + high + 1) / 2;
    if (weights + beside(int64_t{middle} * kKvChunk) <= limit) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low * kKvChunk;
}

std::string parts_of(const MemoryPlan& plan) {
  return concat(human_bytes(plan.total(), true), " (weights ", human_bytes(plan.weights),
                ", KV cache ", human_bytes(plan.kv), ", activations ",
                human_bytes(plan.activations), ", constant ", human_bytes(plan.constant), ")");
}

// `least`: with shared places; 0 if the bytes can't be read again. `smaller`: a context that fits;
// 0: none does.
std::unexpected<Error> too_small(const MemoryPlan& all, const LoadOptions& options, uint64_t least,
                                 uint64_t limit, uint32_t smaller) {
  const std::string needs = concat("the model needs ", parts_of(all));
  const std::string shared =
      least == 0 ? ". All of it must be in memory, because its bytes come only once: a file, or a "
                   "model that is kept on the device, can be read again"
                 : concat("; with weights that take turns in memory it needs ", least, " bytes (",
                          human_bytes(least, true), ") at least");
  const bool budgeted = options.memory_budget > 0 && options.memory_budget <= limit;
  Facts facts = {{"neededBytes", all.total()},
                 {"availableBytes", budgeted ? options.memory_budget : limit}};
  if (least > 0) facts.push_back({"leastBytes", least});
  if (smaller > 0) facts.push_back({"contextSize", smaller});
  const std::string todo = smaller > 0 ? concat("a context of ", smaller, " (it is ",
                                                all.context_size, ") or a smaller model")
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

// A stream brings tables when they come. Otherwise single rows come first and the table last; that
// of layers' inputs, which is as large as the layers, only if its rows can't come again.
Cut cut_for(Access access) {
  const bool any_order = access != Access::sequential;
  return {1, any_order, any_order, any_order && access != Access::rereadable};
}

Result<Plan> plan_as_told(const Gguf& header, const LoadOptions& options,
                          const PlanOverride& told) {
  const Cut cut{std::max(told.head_parts, 1), told.embedding_rows > 0, false, false};
  SLUICE_ASSIGN(auto model, make_model(header, cut));
  SharedPlaces shared{{}, told.layer_places};
  if (told.layer_places > 0) shared.slots = slots_of(*model, model->head_parts());
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
  const bool reread = access == Access::rereadable;
  SLUICE_ASSIGN(auto model, make_model(header, cut_for(access)));
  SLUICE_TRY(check_context(*model, options));
  const Planner planner(header, options, *model);
  const uint64_t least = reread ? planner.least() : 0;
  Plan all = plan_with(header, options, std::move(model), {}, kRowPlaces);
  const uint64_t total = all.memory.all = all.memory.total();
  if (total <= limit) {
    if (reread) all.memory.least = std::min(total, least);
    all.limit = limit;
    return all;
  }
  if (!reread || least > limit) {
    return too_small(all.memory, options, least, machine, planner.fitting_context(reread, limit));
  }
  SLUICE_ASSIGN(Plan shared, planner.share(limit));
  shared.memory.all = total;
  shared.limit = limit;
  return shared;
}

Status check_memory(const Gguf& header, const LoadOptions& options, Access access) {
  SLUICE_TRY(plan_engine(header, options, access));
  return {};
}

Result<MemoryPlan> plan_memory(const Gguf& header, const LoadOptions& options, Access access) {
  SLUICE_TRY(check_load_options(options));
  SLUICE_ASSIGN(auto model, make_model(header, cut_for(Access::rereadable)));
  SLUICE_TRY(check_context(*model, options));
  const Planner planner(header, options, *model);
  const Plan whole = plan_with(header, options, std::move(model), {}, kRowPlaces);
  MemoryPlan all = whole.memory;
  all.all = all.total();
  all.least = std::min(all.total(), planner.least());
  if (access != Access::rereadable) {
    SLUICE_ASSIGN(auto once, make_model(header, cut_for(access)));
    MemoryPlan memory = plan_with(header, options, std::move(once), {}, kRowPlaces).memory;
    memory.all = memory.total();
    memory.least = all.least;
    return memory;
  }
  const uint64_t limit = options.memory_budget > 0 ? options.memory_budget : machine_memory();
  if (all.total() <= limit || all.least > limit) return all;
  SLUICE_ASSIGN(const Plan chosen, planner.share(limit));
  MemoryPlan memory = chosen.memory;
  memory.all = all.all;
  return memory;
}

}  // namespace sluice
