// Parses JSON for whoever builds something of it.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace sluice {

using JsonReceiver = nlohmann::json_sax<nlohmann::ordered_json>;

// Calls `receiver` for all that the text holds. False if the text is not valid JSON or the receiver
// ends it. All receivers go by this: nlohmann-json would compile a parser for each type of them.
inline bool parse_json(std::string_view text, JsonReceiver& receiver) {
  return nlohmann::ordered_json::sax_parse(text.begin(), text.end(), &receiver);
}

}  // namespace sluice
