// What a run over given tokens is to give (Session::start_results).
#pragma once  // face

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/makes.h"
#include "base/result.h"

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

// A layer that attends, and its query heads.
struct AttentionLayer {
  int64_t layer;
  int64_t heads;
};

// Fails with invalid_argument unless the numbers ascend, each once, from 0 to below `end`. `what`
// has these numbers: "position".
Status check_ascending(const std::vector<int64_t>& all, int64_t end, std::string_view what);

struct Results {
  Positions logits = {};  // rows of n_vocab numbers
  // Rows of n_embd numbers, of each of hidden_layers: the residual stream after that layer. The
  // layers ascend, each once, from 0. n_layers stands for the final norm, whose rows come last.
  Positions hidden = {};
  std::vector<int64_t> hidden_layers = {};
  Pooling pooling = Pooling::none;  // n_embd numbers
  // Of one position: how much each head of each layer attends to each position up to it, after the
  // softmax, [attention layers][heads][position + 1]. 0 where a window hides it. Its pass has no
  // other token.
  std::optional<size_t> attention = {};
  // Tokens that the session has already, before the first position of which a result is asked for,
  // aren't computed again (Session::reusable). Each result has the same bits.
  bool reuse = false;

  // The first position of which a result is asked for in a run of n_tokens; the last if none is.
  size_t first_position(size_t n_tokens) const {
    size_t first = pooling == Pooling::none ? attention.value_or(n_tokens - 1) : 0;
    for (const Positions* rows : {&logits, &hidden})
      if (rows->count(n_tokens) > 0) first = std::min(first, rows->at(0));
    return first;
  }
  // Whether any of them is of the final norm of a model of n_layers layers.
  bool use_output(int64_t n_layers) const {
    return pooling != Pooling::none || (!hidden_layers.empty() && hidden_layers.back() == n_layers);
  }
};

}  // namespace sluice
