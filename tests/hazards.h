// Malformed files, each wrong in one place, and what must be said about them.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace sluice {

struct Hazard {
  enum class Level {
    header,  // the GGUF header alone shows it
    data,    // the header is good, bytes after it are missing
    model,   // good GGUF, but no model that can run
  };
  Level level;
  std::string name;  // snake_case
  std::string bytes;
  Code code;
  std::string says;      // part of the message, when the file's size is known
  bool telling = false;  // one of the dozen that the wasm module and the page are shown, too
};

std::vector<Hazard> all_hazards();

// Unusual files that must load all the same.
struct Oddity {
  std::string name;
  std::string bytes;
};
std::vector<Oddity> harmless_oddities();

}  // namespace sluice
