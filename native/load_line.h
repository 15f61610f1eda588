// A line on stderr that shows how far an engine's weights are.
#pragma once

#include <cstdint>
#include <string>
#include <thread>

#include "engine.h"

namespace sluice::cli {

class LoadLine {
 public:
  // Shows the file's name and size at once. It goes when this object does.
  LoadLine(const std::string& file, uint64_t bytes);
  ~LoadLine();
  LoadLine(const LoadLine&) = delete;
  LoadLine& operator=(const LoadLine&) = delete;

  // From now on the line shows the engine's progress. The engine must outlive this object.
  void follow(const Engine& engine);

 private:
  void show(const Engine& engine, double bytes_per_second) const;

  const std::string name_;
  std::jthread thread_;
};

}  // namespace sluice::cli
