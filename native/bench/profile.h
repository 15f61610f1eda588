// sluice bench --profile: where the time goes, by phase.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "pass/profile.h"

namespace sluice::cli {

// A run of a prompt of `tokens` tokens, or of `tokens` decoded ones.
struct ProfiledRun {
  double seconds = 0;
  int64_t tokens = 0;
  std::vector<PhaseTime> phases;
};

// The phases of a run: for a prompt with multiply-adds per second, for decoding with milliseconds
// per token and weights read per second. "rest" is the time between phases: sampling, text,
// starting.
nlohmann::ordered_json profile_json(const ProfiledRun& run, int threads, bool decode);
std::string profile_text(const ProfiledRun& run, int threads, bool decode);

}  // namespace sluice::cli
