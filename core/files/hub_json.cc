#include "files/hub_json.h"

#include "base/format.h"

namespace sluice {
namespace {

constexpr size_t kMaxHubBytes = 64u << 20;  // real ones have some hundred KB
constexpr int kMaxHubDepth = 32;

Result<HubJson> read_json(std::string_view name, std::string_view text) {
  if (text.size() > kMaxHubBytes)
    return fail(Code::bad_file, name, " has ", human_bytes(text.size()), "; at most ",
                human_bytes(kMaxHubBytes), " are expected");
  bool deep = false;
  const auto each = [&deep](int depth, HubJson::parse_event_t, HubJson&) {
    deep = deep || depth > kMaxHubDepth;
    return depth <= kMaxHubDepth;
  };
  HubJson json = HubJson::parse(text.begin(), text.end(), each, false);
  if (deep)
    return fail(Code::bad_file, name, " is nested more than ", kMaxHubDepth, " levels deep");
  if (json.is_discarded())
    return fail(Code::bad_file, name, " is no valid JSON. Download it again");
  return json;
}

}  // namespace

Result<HubJson> read_hub_json(std::string_view name, std::string_view text) {
  SLUICE_ASSIGN(HubJson json, read_json(name, text));
  if (!json.is_object())
    return fail(Code::bad_file, name, " is no object of JSON. Download it again");
  return json;
}

Result<HubJson> read_hub_list(std::string_view name, std::string_view text) {
  SLUICE_ASSIGN(HubJson json, read_json(name, text));
  if (!json.is_array()) return fail(Code::bad_file, name, " is no list of JSON. Download it again");
  return json;
}

}  // namespace sluice
