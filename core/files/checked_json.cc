#include "files/checked_json.h"

#include "base/format.h"

namespace sluice {

Result<nlohmann::json> parse_checked(std::string_view text, std::string_view file) {
  constexpr int kMaxDepth = 32;
  bool deep = false;
  const auto each = [&deep](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
    deep = deep || depth > kMaxDepth;
    return depth <= kMaxDepth;
  };
  nlohmann::json json = nlohmann::json::parse(text.begin(), text.end(), each, false);
  if (deep) return fail(Code::bad_file, file, " is nested more than ", kMaxDepth, " levels deep");
  if (json.is_discarded() || !json.is_object())
    return fail(Code::bad_file, file, " is no object of JSON; the file is damaged");
  return json;
}

}  // namespace sluice
