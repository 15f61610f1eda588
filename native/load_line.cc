#include "load_line.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>

#include "base/format.h"
#include "common.h"

namespace sluice::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kInterval(100);
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

LoadLine::LoadLine(const std::string& file, uint64_t bytes)
    : name_(concat(printable(file, 40), " (", human_bytes(bytes), ")")) {
  show_status(concat("loading ", name_, " 0%"));
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

void LoadLine::show(const Engine& engine, double bytes_per_second) const {
  const LoadProgress progress = engine.progress();
  const std::string rate =
      bytes_per_second >= 1
          ? concat(", ", human_bytes(static_cast<uint64_t>(bytes_per_second)), "/s")
          : "";
  const std::string layers =
      concat(progress.layers_ready, " of ", progress.layers_total, " layers");
  if (engine.ready() && engine.memory_plan().reread > 0) {
    show_status(concat("reading ", name_, " again", rate, ", ", layers));
    return;
  }
  const uint64_t percent =
      std::min<uint64_t>(99, 100 * progress.loaded / std::max<uint64_t>(1, progress.total));
  show_status(concat("loading ", name_, " ", percent, "%, ", layers, rate));
}

}  // namespace sluice::cli
