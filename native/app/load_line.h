// A line on stderr that shows how far an engine's weights and its prompt are.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "engine.h"

namespace sluice::cli {

class LoadLine {
 public:
  // Shows the file's name and size at once. It goes when this object does. `sparing`: shows nothing
  // at first, nor while the weights are there and the prompt takes no time.
  LoadLine(const std::string& file, uint64_t bytes, bool sparing = false);
  ~LoadLine();
  LoadLine(const LoadLine&) = delete;
  LoadLine& operator=(const LoadLine&) = delete;

  // From now on the line shows the engine's progress. The engine must outlive this object.
  void follow(const Engine& engine);
  // The prompt is so far. The line shows it if it takes 0.2 s or more, until all of it is computed.
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
