// The texts of an experiment, from a file.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"

namespace sluice::cli {

struct Stimulus {
  std::string name;               // for messages: "line 4", "stimulus 3 (counted from 0)"
  std::string text;               // in UTF-8
  nlohmann::ordered_json fields;  // an object: what the file has besides the text, in its order
};

// Reads the stimuli of a file, which may be hostile; "-" is standard input. A file whose name ends
// with .json has a list of texts, or of objects with `text` and any other fields but `tokens`.
// Others have a text on each line, as sluice embed reads them. Fails with bad_file, which names the
// place, if the file can't be read, is something else or has no stimulus.
Result<std::vector<Stimulus>> read_stimuli(const std::string& path);

}  // namespace sluice::cli
