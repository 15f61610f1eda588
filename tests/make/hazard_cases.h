// How the lists of malformed files are made.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/format.h"
#include "gguf_builder.h"
#include "hazards.h"
#include "tiny_models.h"

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

// What only one family demands of its file.
class FamilyCases {
 public:
  FamilyCases(Cases& cases, std::string_view model)
      : cases_(cases), file_(tiny_model_file(tiny_model_named(model))) {}

  template <typename Change>
  void add(std::string_view name, std::string says, Change&& change) {
    GgufBuilder file = file_;
    change(file);
    cases_.add(concat(architecture(), "_", name), file.build(), std::move(says));
  }
  void f32(std::string_view name, std::string_view key, float value, std::string_view says) {
    const std::string whole = concat(architecture(), ".", key);
    add(name, concat(whole, says), [&](GgufBuilder& f) { f.kv_f32(whole, value); });
  }
  void without(std::string_view key) {
    const std::string whole = concat(architecture(), ".", key);
    add(concat("without_", key), whole, [&](GgufBuilder& f) { f.remove(whole); });
  }
  void without_tensor(std::string_view name) {
    add(concat("without_", name), concat("has no tensor ", name),
        [&](GgufBuilder& f) { f.remove_tensor(name); });
  }

 private:
  std::string architecture() const {
    return file_.entries[0].value.substr(8);  // general.architecture, after its length
  }
  Cases& cases_;
  const GgufBuilder file_;
};

// Adds the files that are good GGUF, but not models that can run.
void add_model_hazards(Cases& cases);
void add_family_hazards(Cases& cases);
void add_encoder_hazards(Cases& cases);
void add_fold_hazards(Cases& cases);

}  // namespace sluice
