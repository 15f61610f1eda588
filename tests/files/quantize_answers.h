// What llama-quantize made of some models: ../shared/models/quantize.json, if that is there.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "make/gguf_builder.h"

namespace sluice {

// Null if there is no such file.
inline const nlohmann::json& quantize_answers() {
  static const nlohmann::json all = [] {
    const std::string text = read_file(SLUICE_ROOT "/../shared/models/quantize.json");
    return text.empty() ? nlohmann::json() : nlohmann::json::parse(text, nullptr, false);
  }();
  return all;
}

}  // namespace sluice
