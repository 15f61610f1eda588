// Malformed files, each wrong in one place, and the error that each must give.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace sluice {

struct Hazard {
  enum class Level {
    header,  // the GGUF header shows it
    data,    // the header is good, but bytes after it are missing
    model,   // good GGUF, but not a model that can run
  };
  Level level;
  std::string name;  // snake_case
  std::string bytes;
  Code code;
  std::string says;      // part of the message, when the file's size is known
  bool telling = false;  // one of the dozen that the wasm module and the page are tested with, too
};

std::vector<Hazard> all_hazards();

// Unusual files that must load.
struct Oddity {
  std::string name;
  std::string bytes;
};
std::vector<Oddity> harmless_oddities();

}  // namespace sluice
