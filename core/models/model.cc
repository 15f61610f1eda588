#include "models/model.h"

namespace sluice {

uint64_t Model::weight_bytes_per_token() const {
  uint64_t total = 0;
  for (const Use& use : uses_) total += needs_.piece(use.matrix).bytes;
  return total;
}

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

Product Binder::product(Phase phase, std::string_view name, int64_t rows, int64_t cols, Buffer out,
                        bool bias) {
  return part(phase, name, rows, cols, 0, rows, out, bias);
}

Product Binder::part(Phase phase, std::string_view name, int64_t all_rows, int64_t cols,
                     int64_t first, int64_t rows, Buffer out, bool bias) {
  Product product{-1, -1, out};
  if (!status_.has_value()) return product;
  Needs& needs = model_.needs_;
  product.matrix = used(phase, keep(needs.add_rows(gguf_, concat(prefix_, name, ".weight"), slot_,
                                                   all_rows, cols, first, rows)));
  if (bias) {
    product.bias = keep(
        needs.add_vector_part(gguf_, concat(prefix_, name, ".bias"), slot_, all_rows, first, rows));
  }
  return product;
}

int Binder::logits(int embedding) {
  if (!has("output.weight")) return used(Phase::head, embedding);
  const Config& config = model_.config_;
  return product(Phase::head, "output", config.n_vocab, config.n_embd).matrix;
}

int Binder::table(std::string_view name, int64_t rows, int64_t cols) {
  if (!status_.has_value()) return -1;
  return keep(model_.needs_.add_matrix(gguf_, concat(prefix_, name), slot_, rows, cols));
}

int Binder::vector(std::string_view name, int64_t length) {
  if (!status_.has_value()) return -1;
  return keep(model_.needs_.add_vector(gguf_, concat(prefix_, name), slot_, length));
}

int Binder::optional_vector(std::string_view name, int64_t length) {
  return has(name) ? vector(name, length) : -1;
}

Status Binder::finish() {
  SLUICE_TRY(status_);
  return model_.needs_.refuse_others(gguf_, model_.config_.architecture);
}

}  // namespace sluice
