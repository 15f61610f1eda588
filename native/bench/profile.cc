#include "bench/profile.h"

#include "app/text.h"
#include "base/format.h"

namespace sluice::cli {
namespace {

struct PhaseRow {
  std::string name;
  double ms;     // for the prompt, or for a token
  double share;  // of the whole time
  double busy;   // of the threads' time, 0 to 1
  double rate;   // 1e9 multiply-adds, or bytes of weights, per second; 0 without weights
};

std::vector<PhaseRow> rows_of(const ProfiledRun& run, int threads, bool decode) {
  const double total = run.seconds * 1e3;
  const auto tokens = static_cast<double>(run.tokens);
  const double unit = decode ? tokens : 1;
  std::vector<PhaseRow> rows;
  double counted = 0;
  for (const PhaseTime& phase : run.phases) {
    // Unpacking isn't a phase but a part of several, measured by each thread.
    const bool part = phase.wall_ms == 0;
    const double wall = part ? phase.busy_ms / threads : phase.wall_ms;
    if (wall == 0) continue;
    if (!part) counted += wall;
    // The head is computed only for the last token of a prompt.
    const bool head = phase.name == std::string_view(kPhaseNames[static_cast<size_t>(Phase::head)]);
    const double done = static_cast<double>(decode ? phase.weight_bytes : phase.weights) *
                        (head && !decode ? 1 : tokens);
    rows.push_back({phase.name, wall / unit, wall / total, phase.busy_ms / threads / wall,
                    done / (wall * 1e6)});
  }
  rows.push_back({"rest", (total - counted) / unit, (total - counted) / total, 0, 0});
  return rows;
}

}  // namespace

nlohmann::ordered_json profile_json(const ProfiledRun& run, int threads, bool decode) {
  auto out = nlohmann::ordered_json::array();
  for (const PhaseRow& row : rows_of(run, threads, decode)) {
    out.push_back({{"phase", row.name}, {"ms", row.ms}, {"share", row.share}, {"busy", row.busy}});
    if (row.rate > 0) out.back()[decode ? "gbps" : "gmacs"] = row.rate;
  }
  return out;
}

std::string profile_text(const ProfiledRun& run, int threads, bool decode) {
  const std::string with = counted(static_cast<uint64_t>(threads), "thread");
  const std::string tokens = counted(static_cast<uint64_t>(run.tokens), "token");
  std::string text = decode ? format("\ndecode, %s: %.3f ms a token\n", with.c_str(),
                                     1e3 * run.seconds / static_cast<double>(run.tokens))
                            : format("\nprompt of %s, %s: %.1f ms\n", tokens.c_str(), with.c_str(),
                                     1e3 * run.seconds);
  text += format("  %-16s %10s %7s %6s %9s\n", "phase", "ms", "share", "busy",
                 decode ? "GB/s" : "GMAC/s");
  for (const PhaseRow& row : rows_of(run, threads, decode)) {
    text += format("  %-16s %10.3f %6.1f%%", row.name.c_str(), row.ms, 100 * row.share);
    if (row.busy > 0) text += format(" %5.0f%%", 100 * row.busy);
    if (row.rate > 0) text += format(" %9.1f", row.rate);
    text += "\n";
  }
  return text;
}

}  // namespace sluice::cli
