// Sessions of models with experts: whatever came before, a run computes the same numbers as a new
// session does (histories.h), also if the experts are read again for each pass.
#include "histories.h"

namespace sluice {
namespace {

std::string model_with_experts(bool fused) {
  TinyModel tiny = tiny_model_named("qwen3moe-q8_0");
  tiny.fused_experts = fused;
  return build_tiny_model(tiny);
}

TEST(SessionExperts, NumbersAreThoseOfANewSession) {
  play(model_with_experts(false), {"f16", 2, 0, kDefaultMarks, false, false}, 61, 40);
  play(model_with_experts(true), {"q8_0", 1, 0, kDefaultMarks, false, false}, 62, 40);
}

TEST(SessionExperts, NumbersAreTheSameUnderTheLeastBudget) {
  play(model_with_experts(false), {"f32", 2, 0, kDefaultMarks, true, false}, 63, 30);
  play(model_with_experts(true), {"f16", 1, 0, kDefaultMarks, true, false}, 64, 30);
}

}  // namespace
}  // namespace sluice
