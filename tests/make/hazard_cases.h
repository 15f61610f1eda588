// How the lists of malformed files are made.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "gguf_builder.h"
#include "hazards.h"

namespace sluice {

// Collects cases of one level and code at a time. The functions below add to it.
class Cases {
 public:
  explicit Cases(std::vector<Hazard>& out) : out_(out) {}

  Cases& level(Hazard::Level level, Code code = Code::bad_file) {
    level_ = level;
    code_ = code;
    return *this;
  }
  void add(std::string name, std::string bytes, std::string says) {
    out_.push_back({level_, std::move(name), std::move(bytes), code_, std::move(says)});
  }
  // The tiny model, changed by `change`.
  template <typename Change>
  void model(std::string name, std::string says, Change&& change) {
    GgufBuilder file = tiny_model();
    change(file);
    add(std::move(name), file.build(), std::move(says));
  }

 private:
  std::vector<Hazard>& out_;
  Hazard::Level level_ = Hazard::Level::header;
  Code code_ = Code::bad_file;
};

// Adds the files that are good GGUF, but not models that can run.
void add_model_hazards(Cases& cases);
void add_family_hazards(Cases& cases);
void add_fold_hazards(Cases& cases);

}  // namespace sluice
