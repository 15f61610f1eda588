// sluice bench --profile: where the time goes, by phase.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine_inside.h"

namespace sluice::cli {

// One run of a prompt of `tokens` tokens, or of `tokens` single ones.
struct ProfiledRun {
  double seconds = 0;
  int64_t tokens = 0;
  std::vector<PhaseTime> phases;
};

// A prompt's phases with their multiply-adds a second, decoding's with the weights read a second
// and milliseconds a token; "rest" is what lies between the phases: sampling, text, starting.
nlohmann::ordered_json profile_json(const ProfiledRun& run, int threads, bool decode);
std::string profile_text(const ProfiledRun& run, int threads, bool decode);

}  // namespace sluice::cli
