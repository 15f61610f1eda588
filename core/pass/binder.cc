#include "pass/binder.h"

#include <algorithm>
#include <utility>

namespace sluice {

void Binder::in(int slot, std::string prefix) {
  slot_ = slot;
  prefix_ = std::move(prefix);
}

int Binder::keep(Result<int> handle) {
  if (handle.has_value()) return *handle;
  if (status_.has_value()) status_ = std::unexpected(std::move(handle).error());
  return -1;
}

int Binder::used(Phase phase, int matrix) {
  model_.uses_.push_back({phase, matrix});
  return matrix;
}

Norm Binder::rms_norm(std::string_view name, int64_t n, float eps) {
  return {Norm::rms, vector(concat(name, ".weight"), n), -1, eps};
}

Norm Binder::layer_norm(std::string_view name, int64_t n, float eps) {
  const int weight = vector(concat(name, ".weight"), n);
  return {Norm::layer, weight, vector(concat(name, ".bias"), n), eps};
}

Linear Binder::linear(Phase phase, std::string_view name, int64_t rows, int64_t cols, Buffer out,
                      bool bias) {
  return linear_rows(phase, name, rows, cols, 0, rows, out, bias);
}

Linear Binder::linear_rows(Phase phase, std::string_view name, int64_t all_rows, int64_t cols,
                           int64_t first, int64_t rows, Buffer out, bool bias) {
  Linear made{-1, -1, out};
  if (!status_.has_value()) return made;
  TensorManifest& manifest = model_.manifest_;
  made.matrix = used(phase, keep(manifest.add_rows(gguf_, concat(prefix_, name, ".weight"), slot_,
                                                   all_rows, cols, first, rows)));
  if (bias) {
    made.bias = keep(manifest.add_vector_part(gguf_, concat(prefix_, name, ".bias"), slot_,
                                              all_rows, first, rows));
  }
  return made;
}

void Binder::token_table() {
  const Config& config = model_.config_;
  model_.token_table_ = table("token_embd.weight", config.n_vocab, config.n_embd);
}

// The table's slot is the last one, because the others are numbered already.
void Binder::late_table() {
  if (!model_.cut_.late_table || !status_.has_value()) return;
  const Config& config = model_.config_;
  slot_ = model_.table_slot_ = model_.manifest_.add_slot();
  table("token_embd.weight", config.n_vocab, config.n_embd);
}

std::vector<int> Binder::logits() {
  const bool own = has("output.weight");
  if (own) late_table();
  if (!own && !model_.single_rows()) {
    if (model_.n_head_parts() == 1) return {used(Phase::head, model_.token_table())};
    keep(fail(
        Code::invalid_argument,
        "the head can't come in parts: it is the embedding's table, which is held whole; ask for "
        "embedding_rows, too, or for one part"));
    return {};
  }
  const Config& config = model_.config_;
  std::vector<int> parts;
  for (int part = 0; part < model_.n_head_parts(); ++part) {
    slot_ = model_.head_part_slot(part);
    const int64_t first = part * model_.head_part_rows();
    const int64_t rows = std::min(model_.head_part_rows(), config.n_vocab - first);
    parts.push_back(this->linear_rows(Phase::head, own ? "output" : "token_embd", config.n_vocab,
                                      config.n_embd, first, rows, Buffer::logits)
                        .matrix);
  }
  slot_ = model_.head_slot();
  return parts;
}

int Binder::table(std::string_view name, int64_t rows, int64_t cols) {
  if (!status_.has_value()) return -1;
  return keep(model_.manifest_.add_matrix(gguf_, concat(prefix_, name), slot_, rows, cols));
}

int Binder::vector(std::string_view name, int64_t length) {
  if (!status_.has_value()) return -1;
  return keep(model_.manifest_.add_vector(gguf_, concat(prefix_, name), slot_, length));
}

int Binder::optional_vector(std::string_view name, int64_t length) {
  return has(name) ? vector(name, length) : -1;
}

Status Binder::finish() {
  SLUICE_TRY(status_);
  return model_.manifest_.check_no_others(gguf_, model_.config_.architecture);
}

}  // namespace sluice
