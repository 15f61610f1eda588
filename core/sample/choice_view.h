// What the sampler did with the logits of one token, step by step, for people to see.
#pragma once  // face

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/token.h"

namespace sluice {

// In the sampler's order.
enum class ChoiceStep : uint8_t {
  penalties,  // suppressed tokens, logit bias, repeat, presence and frequency penalties, DRY
  top_n_sigma,
  top_k,
  typical_p,
  top_p,
  min_p,
  xtc,
  temperature,
};
// As the options are called: "penalties", "topNSigma", ..
std::string_view choice_step_name(ChoiceStep step);

struct ChoiceView {
  // A step that is on.
  struct Step {
    ChoiceStep step;
    uint64_t left;  // candidates after it
    double mass;    // their share of the probability after penalties, without temperature
  };
  struct Token {
    TokenId id;
    float logprob;  // of the raw logits
    float changed;  // after penalties; -infinity: banned
    int32_t cut;    // the index in `steps` of the step that left it out; -1: none
    float p;        // its probability when it is drawn; 0 if it was left out
  };
  // False: the logits that were kept may not say what the sampler would do. All else is empty then.
  bool enough = true;
  std::vector<Step> steps;
  std::vector<Token>
      candidates;               // the best raw logits, best first; the one taken last if it is none
  uint64_t nucleus = 0;         // tokens that could be drawn
  double mass = 0;              // their share of the raw probability
  std::optional<double> place;  // the random number in [0, 1) that drew; none: the likeliest
  TokenId taken = kNoToken;
};

}  // namespace sluice
