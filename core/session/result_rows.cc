#include "session/result_rows.h"

#include <string_view>
#include <utility>
#include <vector>

#include "base/format.h"
#include "ops/matmul.h"

namespace sluice {
namespace {

Status check_positions(const Positions& positions, size_t n_tokens) {
  if (positions.all && !positions.chosen.empty()) {
    return fail(Code::invalid_argument,
                "results are asked of all positions and of chosen ones; ask for one of both");
  }
  return check_ascending({positions.chosen.begin(), positions.chosen.end()},
                         static_cast<int64_t>(n_tokens), "position");
}

}  // namespace

Status check_ascending(const std::vector<int64_t>& all, int64_t end, std::string_view what) {
  int64_t before = -1;
  for (const int64_t each : all) {
    if (each <= before || each >= end) {
      return fail(Code::invalid_argument, "results are asked of ", what, " ", each,
                  "; there are those from 0 to ", end - 1, ": name each once, in ascending order");
    }
    before = each;
  }
  return {};
}

Status check_writes_text(const Model& model) {
  if (model.head() == Head::logits) return {};
  const bool masks = model.head() == Head::masks;
  return fail(Code::unsupported_model,
              masks ? "the head of the model is for masked words (" : "the model has no head (",
              model.config().architecture, "): it ",
              masks ? "fills in words that are masked" : "makes vectors of texts",
              " and can't write any; take a model that writes text");
}

Status check_results(const Model& model, const Results& results, size_t n_tokens) {
  SLUICE_TRY(check_positions(results.logits, n_tokens));
  SLUICE_TRY(check_positions(results.hidden, n_tokens));
  SLUICE_TRY(check_ascending(results.hidden_layers, model.config().n_layers + 1, "layer"));
  if (results.attention) {
    SLUICE_TRY(check_ascending({static_cast<int64_t>(*results.attention)},
                               static_cast<int64_t>(n_tokens), "position"));
    SLUICE_TRY(check_writes_text(model));
  }
  const bool heads = model.head() == Head::masks || results.logits.count(n_tokens) == 0;
  return heads ? Status() : check_writes_text(model);
}

Status check_layers(const std::vector<int64_t>& layers, int64_t end) {
  return check_ascending(layers, end, "layer");
}

ResultBytes result_bytes(const Model& model, const Results& results, size_t n_tokens) {
  const uint64_t width = 4 * static_cast<uint64_t>(model.config().n_embd);
  const auto row = static_cast<uint64_t>(padded_rows(model.config().n_vocab));
  uint64_t attention = 0;
  for (const LayerShape& layer : model.layers())
    if (results.attention)
      attention += 4 * static_cast<uint64_t>(layer.n_heads) * (*results.attention + 1);
  return {.logits = 4 * row * results.logits.count(n_tokens),
          .hidden = width * results.hidden.count(n_tokens) * results.hidden_layers.size(),
          .pooled = results.pooling == Pooling::none ? 0 : width,
          .vectors = 0,
          .states = 0,
          .attention = attention};
}

void ResultRows::keep_only(const ResultBytes& bytes) {
  if (logits.size() != bytes.logits) logits = AlignedBuffer();
  if (hidden.size() != bytes.hidden) hidden = AlignedBuffer();
  if (pooled.size() != bytes.pooled) pooled = AlignedBuffer();
  if (vectors.size() != bytes.vectors) vectors = AlignedBuffer();
  if (states.size() != bytes.states) states = AlignedBuffer();
  if (attention.size() != bytes.attention) attention = AlignedBuffer();
}

Status ResultRows::make_room(const ResultBytes& bytes) {
  keep_only(bytes);
  const std::pair<AlignedBuffer*, uint64_t> all[] = {
      {&logits, bytes.logits},   {&hidden, bytes.hidden}, {&pooled, bytes.pooled},
      {&vectors, bytes.vectors}, {&states, bytes.states}, {&attention, bytes.attention}};
  for (const auto& [buffer, size] : all) {
    if (buffer->size() == size) continue;
    SLUICE_ASSIGN(*buffer,
                  AlignedBuffer::allocate(size, buffer == &logits ? "the logits" : "the results"));
  }
  return {};
}

}  // namespace sluice
