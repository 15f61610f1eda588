#include "measure/importance.h"

#include <cfloat>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/format.h"
#include "gguf/gguf.h"
#include "measure/text_chunks.h"
#include "pass/observer.h"
#include "session/observe.h"
#include "session/results.h"

namespace sluice {
namespace {

constexpr std::string_view kHead = "output.weight";
constexpr std::string_view kLayers = "blk.";

// Sums are of f64, so that those of a long text lose nothing. The rows of a matrix come in the
// order of the text, and are added one after the other: so the sums don't depend on how the pass
// divides its work.
class Collector final : public Observer {
 public:
  Collector(const Gguf& header, bool output_tensor)
      : header_(header), output_tensor_(output_tensor) {}

  Points points(int64_t) const override { return {.linear_input = true}; }
  void read(const PointRows<const float>& rows, const ObservedMatrix& matrix) override;
  void visit(const PointRows<float>&) override {}

  Result<std::vector<Importance::Matrix>> take() const;

 private:
  struct Sums {
    uint64_t columns = 0;
    std::vector<double> in_sum2;   // [n_experts][columns]
    std::vector<uint64_t> counts;  // [n_experts]
  };
  // Where the rows of a matrix are added; null: nowhere.
  struct Target {
    bool known = false;
    double* in_sum2 = nullptr;
    uint64_t* count = nullptr;
  };
  Target find(const ObservedMatrix& matrix);

  const Gguf& header_;
  const bool output_tensor_;
  std::map<std::string, Sums, std::less<>> sums_;  // by tensor
  std::vector<Target> targets_;                    // by handle
};

// Of the parts of a fused tensor, which have the same rows, the first one counts.
Collector::Target Collector::find(const ObservedMatrix& matrix) {
  const std::string_view name = matrix.tensor;
  const bool counts = name.starts_with(kLayers) || (output_tensor_ && name == kHead);
  const TensorInfo* tensor = counts ? header_.find_tensor(name) : nullptr;
  if (tensor == nullptr) return {.known = true};
  const auto row = static_cast<uint64_t>(matrix.first_row);
  const uint64_t expert = row / tensor->dims[1];
  if (row % tensor->dims[1] != 0) return {.known = true};
  Sums& sums = sums_[std::string(name)];
  if (sums.counts.empty()) {
    sums.columns = tensor->dims[0];
    sums.counts.resize(tensor->dims[2]);
    sums.in_sum2.resize(sums.columns * sums.counts.size());
  }
  return {true, sums.in_sum2.data() + expert * sums.columns, &sums.counts[expert]};
}

void Collector::read(const PointRows<const float>& rows, const ObservedMatrix& matrix) {
  const auto handle = static_cast<size_t>(matrix.handle);
  if (handle >= targets_.size()) targets_.resize(handle + 1);
  Target& target = targets_[handle];
  if (!target.known) target = find(matrix);
  if (target.count == nullptr) return;
  const int64_t n = rows.width;
  for (int64_t t = 0; t < rows.n_tokens; ++t) {
    const float* x = rows.row(t).data();
    double* sums = target.in_sum2;
    for (int64_t i = 0; i < n; ++i) {
      const auto value = static_cast<double>(x[i]);
      sums[i] = sums[i] + value * value;
    }
  }
  *target.count += static_cast<uint64_t>(rows.n_tokens);
}

Result<std::vector<Importance::Matrix>> Collector::take() const {
  std::vector<Importance::Matrix> out;
  for (const auto& [name, sums] : sums_) {
    Importance::Matrix matrix{name, sums.columns, sums.counts.size(), {}, {}};
    for (const double sum : sums.in_sum2) {
      if (!(sum <= static_cast<double>(FLT_MAX)))
        return fail(Code::bad_file, "the inputs of ", printable(name),
                    " are too large to be added up; the model is damaged, or no language model");
      matrix.in_sum2.push_back(static_cast<float>(sum));
    }
    for (const uint64_t count : sums.counts) matrix.counts.push_back(static_cast<float>(count));
    out.push_back(std::move(matrix));
  }
  return out;
}

// Computes one chunk. `on_step` is called between slices of the work with the tokens that are done;
// false ends it.
Status compute(Engine& engine, Session& session, const std::vector<TokenId>& ids,
               const Results& wanted, const std::function<bool(uint64_t)>& on_step) {
  session.reset();
  SLUICE_TRY(session.start_results(ids, 0, wanted));
  while (true) {
    SLUICE_ASSIGN(const Event event, session.step());
    if (event.kind == Event::Kind::done) return {};
    if (event.kind == Event::Kind::waiting) SLUICE_TRY(engine.wait());
    const auto computed = static_cast<uint64_t>(session.prompt_progress().computed);
    if (!on_step(computed))
      return fail(Code::aborted, "interrupted before the importance matrix was measured");
  }
}

}  // namespace

Status check_importance(const Gguf& header, const ImportanceOptions& options) {
  if (options.chunk_size == 0)
    return fail(Code::invalid_argument, "chunks have at least one token; found 0");
  if (!options.output_tensor || header.find_tensor(kHead) != nullptr) return {};
  return fail(Code::invalid_argument, "the model has no tensor ", kHead,
              ": its head is the embedding, which isn't measured. Leave that out");
}

void plan_importance(const ImportanceOptions& options, LoadOptions& load) {
  load.context_size = options.chunk_size;
  load.kv_type = "f32";
  if (options.output_tensor) load.logit_positions = options.chunk_size;
}

Result<Importance> measure_importance(Engine& engine, std::string_view text,
                                      const ImportanceOptions& options,
                                      const OnImportanceProgress& on_progress) {
  SLUICE_TRY(check_importance(engine.header(), options));
  SLUICE_ASSIGN(const TextChunks chunks,
                TextChunks::make(engine.tokenizer(), text, options.chunk_size, options.n_chunks,
                                 [&] { return on_progress({}); }));
  // Without the head a run gives the final norm of the last position: it must give something, and
  // models without a head have that.
  Results wanted;
  if (options.output_tensor) {
    wanted.logits.all = true;
  } else {
    wanted.pooling = Pooling::last;
  }
  Collector collector(engine.header(), options.output_tensor);
  Session session(engine);  // ends before the collector
  SLUICE_TRY(set_observer(session, &collector));
  ImportanceProgress progress;
  progress.chunks = chunks.count();
  progress.total = progress.chunks * options.chunk_size;
  for (; progress.chunk < progress.chunks; ++progress.chunk) {
    const uint64_t before = progress.chunk * options.chunk_size;
    SLUICE_TRY(compute(engine, session, chunks.chunk(progress.chunk), wanted, [&](uint64_t done) {
      progress.done = before + done;
      return on_progress(progress);
    }));
  }
  Importance out;
  SLUICE_ASSIGN(out.matrices, collector.take());
  out.chunk_count = static_cast<uint32_t>(progress.chunks);
  out.chunk_size = options.chunk_size;
  return out;
}

}  // namespace sluice
