#include "pass/model.h"

#include <algorithm>

namespace sluice {
namespace {

int64_t whole_strips(int64_t rows) { return (rows + kStripRows - 1) / kStripRows * kStripRows; }

}  // namespace

HeadParts HeadParts::of(int64_t n_vocab, int most) {
  const int64_t rows = whole_strips((n_vocab - 1) / most + 1);
  return {rows, static_cast<int>((n_vocab + rows - 1) / rows)};
}

Model::Model(const Config& config, const Cut& cut, Head head)
    : config_(config),
      cut_(cut),
      head_(head),
      head_parts_(head == Head::none ? HeadParts{0, 0}
                                     : HeadParts::of(config.n_vocab, cut.head_parts)) {
  add_experts({});
}

void Model::add_experts(const ExpertCounts& counts) {
  experts_ = counts;
  manifest_.set_slots(head_slot() + 1 + (head_parts_.n > 1 ? head_parts_.n : 0));
  for (int64_t layer = 0; layer < config_.n_layers; ++layer)
    manifest_.make_optional(layer_slot(layer) + 1, layer_slot(layer + 1));
}

int64_t Model::vector_width() const {
  return dense_.empty() ? config_.n_embd : manifest_.piece(dense_.back().matrix).rows;
}

uint64_t Model::bytes_left_out() const {
  const bool left_out = all_inputs() > 0 && cut_.single_rows && !cut_.late_input_table;
  return left_out ? manifest_.piece(layer_inputs_.table).bytes : 0;
}

Pooling Model::pooling() const {
  if (config_.pooling != Pooling::none) return config_.pooling;
  return sees_both_ways() ? Pooling::mean : Pooling::last;
}

bool Model::sees_both_ways() const { return std::ranges::any_of(layers_, &LayerShape::both_ways); }

bool Model::recurrent() const {
  return std::ranges::any_of(layers_, [](const LayerShape& layer) { return layer.state > 0; });
}

uint64_t Model::weight_bytes_per_token() const {
  uint64_t total = 0;
  for (const WeightUse& use : uses_) total += manifest_.piece(use.matrix).bytes;
  return total;
}

}  // namespace sluice
