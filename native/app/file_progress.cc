#include "app/file_progress.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>

#include "app/diagnostics.h"
#include "app/signals.h"
#include "base/format.h"
#include "base/threads.h"

namespace sluice::cli {

OnFileProgress shown_progress(const std::string& verb) {
  const bool shown = can_show_status();
  const auto last = std::make_shared<std::string>();
  using Clock = std::chrono::steady_clock;
  const auto shown_at = std::make_shared<Clock::time_point>(Clock::now());
  return [=](const FileProgress& progress) {
    if (interrupted_by() != 0) return false;
    constexpr std::chrono::milliseconds kBetween(100);  // what takes less has no line
    const auto now = Clock::now();
    if (!shown || progress.total == 0 || now - *shown_at < kBetween) return true;
    *shown_at = now;
    const double part = static_cast<double>(progress.done) / static_cast<double>(progress.total);
    const std::string line =
        concat(verb, " ", static_cast<int>(100 * std::min(part, 1.0)), "%",
               progress.tensor.empty() ? "" : concat(", ", printable(progress.tensor)));
    if (line != *last) show_status(line);
    *last = line;
    return true;
  };
}

int report_work(const Error& error, bool json) {
  erase_status();
  if (error.code == Code::aborted && interrupted_by() != 0) return 128 + interrupted_by();
  return report(error, json);
}

int default_file_threads() {
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, Pool::kMaxThreads);
}

}  // namespace sluice::cli
