#include "app/load_line.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>

#include "app/diagnostics.h"
#include "base/format.h"

namespace sluice::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kInterval(100);
constexpr std::chrono::milliseconds kPromptPatience(200);
constexpr size_t kSamples = 10;  // intervals over which the rate is measured

// The rate over the last second.
class Rate {
 public:
  double add(uint64_t bytes) {
    samples_.push_back({Clock::now(), bytes});
    if (samples_.size() > kSamples + 1) samples_.pop_front();
    const Sample& first = samples_.front();
    const double seconds = std::chrono::duration<double>(samples_.back().at - first.at).count();
    return seconds > 0 ? static_cast<double>(bytes - first.bytes) / seconds : 0;
  }

 private:
  struct Sample {
    Clock::time_point at;
    uint64_t bytes;
  };
  std::deque<Sample> samples_;
};

}  // namespace

LoadLine::LoadLine(const std::string& file, uint64_t bytes, bool sparing)
    : name_(concat(printable(file, 40), " (", human_bytes(bytes), ")")), sparing_(sparing) {
  if (!sparing) show_status(concat("loading ", name_, " 0%"));
}

LoadLine::~LoadLine() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
  erase_status();
}

void LoadLine::follow(const Engine& engine) {
  try {
    thread_ = std::jthread([this, &engine](const std::stop_token& stop) {
      std::mutex mutex;
      std::unique_lock lock(mutex);
      std::condition_variable_any stopped;
      Rate rate;
      do {
        show(engine, rate.add(engine.progress().brought));
      } while (!stopped.wait_for(lock, stop, kInterval, [&] { return stop.stop_requested(); }));
    });
  } catch (const std::system_error&) {  // without a thread it stays at 0%
  }
}

void LoadLine::set_prompt(const PromptProgress& progress) {
  const std::lock_guard lock(mutex_);
  prompt_ = progress;
  if (!prompt_since_) prompt_since_ = Clock::now();
}

// "prompt 512 of 4000 tokens, 3 s left"; "" if there is nothing to show.
std::string LoadLine::prompt_text() {
  const std::lock_guard lock(mutex_);
  const PromptProgress& p = prompt_;
  if (p.computed == p.total || Clock::now() - *prompt_since_ < kPromptPatience) return "";
  return concat("prompt ", p.computed, " of ", counted(static_cast<uint64_t>(p.total), "token"),
                p.waiting        ? ", waiting for layers"
                : p.seconds_left ? concat(", ", human_duration(*p.seconds_left), " left")
                                 : "");
}

void LoadLine::show(const Engine& engine, double bytes_per_second) {
  const LoadProgress progress = engine.progress();
  const std::string rate =
      bytes_per_second >= 1
          ? concat(", ", human_bytes(static_cast<uint64_t>(bytes_per_second)), "/s")
          : "";
  const std::string layers =
      concat(progress.layers_ready, " of ", progress.layers_total, " layers");
  const std::string prompt = prompt_text();
  const bool again = engine.ready() && engine.memory_plan().reread > 0;
  if (again && prompt.empty()) {
    show_status(concat("reading ", name_, " again", rate, ", ", layers));
    return;
  }
  if (sparing_ && engine.ready() && prompt.empty()) {
    erase_status();
    return;
  }
  if (engine.ready() && !prompt.empty()) {
    show_status(again ? concat(prompt, "; reading ", name_, " again", rate) : prompt);
    return;
  }
  const uint64_t percent =
      std::min<uint64_t>(99, 100 * progress.loaded / std::max<uint64_t>(1, progress.total));
  show_status(concat(prompt, prompt.empty() ? "" : "; ", "loading ", name_, " ", percent, "%, ",
                     layers, rate));
}

}  // namespace sluice::cli
