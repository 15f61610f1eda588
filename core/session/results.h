// What a run over given tokens is to give (Session::start_results).
#pragma once  // face

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/makes.h"

namespace sluice {

// Some of the positions of a run, counted from its first token. Each gives a row of a result.
struct Positions {
  bool all = false;
  std::vector<size_t> chosen = {};  // ascending, each once; empty with `all`

  // Of a run of n_tokens.
  size_t count(size_t n_tokens) const { return all ? n_tokens : chosen.size(); }
  size_t at(size_t row) const { return all ? row : chosen[row]; }
  // The rows whose positions are before this one.
  size_t rows_before(size_t position) const {
    if (all) return position;
    return static_cast<size_t>(std::ranges::lower_bound(chosen, position) - chosen.begin());
  }
};

struct Results {
  Positions logits = {};  // rows of n_vocab numbers
  // Rows of n_embd numbers, of each of hidden_layers: the residual stream after that layer. The
  // layers ascend, each once, from 0. n_layers stands for the final norm, whose rows come last.
  Positions hidden = {};
  std::vector<int64_t> hidden_layers = {};
  Pooling pooling = Pooling::none;  // n_embd numbers

  // Whether any of them is of the final norm of a model of n_layers layers.
  bool use_output(int64_t n_layers) const {
    return pooling != Pooling::none || (!hidden_layers.empty() && hidden_layers.back() == n_layers);
  }
};

}  // namespace sluice
