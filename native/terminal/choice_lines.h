// What a token was chosen from, as lines of a terminal: its likeliest candidates with bars.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sample/choice_view.h"
#include "sample/raw_logits.h"

namespace sluice::terminal {

struct ShownChoice {
  std::string number;  // of the token, as "17" or "17 of 60"
  TokenId id;          // that was written
  const RawLogits& raw;
  const ChoiceView& view;                          // perhaps under other options than the run's
  std::function<std::string_view(TokenId)> piece;  // the texts of tokens, perhaps hostile
};

// At most `most` lines, at least 4, each of less than `columns` columns. `styled`: with escapes
// that make them bold or faint.
std::vector<std::string> choice_lines(const ShownChoice& choice, size_t columns, size_t most,
                                      bool styled);
// "topK 40, topP 3": what each step that left out some has left.
std::string steps_text(const ChoiceView& view);
// The probability of a token before anything changed it; 0 of one that wasn't kept.
double raw_probability(const RawLogits& raw, TokenId id);

}  // namespace sluice::terminal
