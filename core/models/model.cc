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

int Binder::again(Phase phase, int matrix) {
  model_.uses_.push_back({phase, matrix});
  return matrix;
}

int Binder::matrix(Phase phase, std::string_view name, int64_t rows, int64_t cols) {
  return again(phase, table(name, rows, cols));
}

int Binder::rows(Phase phase, std::string_view name, int64_t all_rows, int64_t cols, int64_t first,
                 int64_t rows) {
  if (!status_.has_value()) return -1;
  return again(phase, keep(model_.needs_.add_rows(gguf_, concat(prefix_, name), slot_, all_rows,
                                                  cols, first, rows)));
}

int Binder::table(std::string_view name, int64_t rows, int64_t cols) {
  if (!status_.has_value()) return -1;
  return keep(model_.needs_.add_matrix(gguf_, concat(prefix_, name), slot_, rows, cols));
}

int Binder::vector(std::string_view name, int64_t length) {
  if (!status_.has_value()) return -1;
  return keep(model_.needs_.add_vector(gguf_, concat(prefix_, name), slot_, length));
}

int Binder::vector_part(std::string_view name, int64_t all, int64_t first, int64_t length) {
  if (!status_.has_value()) return -1;
  return keep(
      model_.needs_.add_vector_part(gguf_, concat(prefix_, name), slot_, all, first, length));
}

int Binder::optional_vector(std::string_view name, int64_t length) {
  return has(name) ? vector(name, length) : -1;
}

Status Binder::finish() {
  SLUICE_TRY(status_);
  return model_.needs_.refuse_others(gguf_, model_.config_.architecture);
}

}  // namespace sluice
