// Which hidden states a run over several texts is to give (Session::start_states).
#pragma once  // face

#include <cstdint>
#include <vector>

namespace sluice {

// Where in a layer: the residual stream after it, or what its attention (or what the layer has in
// its place) or its feed-forward part adds to that, after a norm of its own if it has one. A scale
// of the whole layer comes after them.
enum class StatesAt : uint8_t { residual, attention, ffn };
// Which positions of each text. The mean is the sum of the rows in their order, divided by their
// number.
enum class StatesOf : uint8_t { last, mean, all };

struct StatesWanted {
  StatesAt at = StatesAt::residual;
  StatesOf of = StatesOf::last;
  std::vector<int64_t> layers = {};  // at least one; they ascend, each once, from 0
};

}  // namespace sluice
