// A status line with the progress of an engine's loading and its prompt.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "engine.h"

namespace sluice::cli {

// Whether nothing is read any more that a line would show: all weights that come whole are here,
// and stay. (Single rows of tables that never come whole are small.)
inline bool all_is_read(const Engine& engine) {
  return engine.ready() && engine.memory_plan().reread == 0;
}

class LoadLine {
 public:
  // Shows the file's name and size at once. The destructor erases the line. `sparing`: shows
  // nothing at first, nor while the weights are loaded and the prompt is short.
  LoadLine(const std::string& file, uint64_t bytes, bool sparing = false);
  ~LoadLine();
  LoadLine(const LoadLine&) = delete;
  LoadLine& operator=(const LoadLine&) = delete;

  // From now on the line shows the engine's progress. The engine must outlive this object.
  void follow(const Engine& engine);
  // Sets the prompt's progress. The line shows it after 0.2 s, until all of it is computed.
  void set_prompt(const PromptProgress& progress);

 private:
  std::string prompt_text();
  void show(const Engine& engine, double bytes_per_second);

  const std::string name_;
  const bool sparing_;
  std::mutex mutex_;  // for the two below
  PromptProgress prompt_;
  std::optional<std::chrono::steady_clock::time_point> prompt_since_;
  std::jthread thread_;
};

}  // namespace sluice::cli
