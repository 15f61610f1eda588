#include "pass/model.h"

namespace sluice {
namespace {

int64_t whole_strips(int64_t rows) { return (rows + kStripRows - 1) / kStripRows * kStripRows; }

}  // namespace

// The parts of the head have slots of their own if there are several.
Model::Model(const Config& config, const Cut& cut)
    : config_(config),
      cut_(cut),
      head_part_rows_(whole_strips((config.n_vocab - 1) / cut.head_parts + 1)),
      n_head_parts_(static_cast<int>((config.n_vocab + head_part_rows_ - 1) / head_part_rows_)),
      manifest_(static_cast<int>(config.n_layers) + 2 + (n_head_parts_ > 1 ? n_head_parts_ : 0)) {}

uint64_t Model::weight_bytes_per_token() const {
  uint64_t total = 0;
  for (const WeightUse& use : uses_) total += manifest_.piece(use.matrix).bytes;
  return total;
}

}  // namespace sluice
