#include "files/hub_json.h"

#include "base/format.h"
#include "base/parse_json.h"

namespace sluice {
namespace {

constexpr size_t kMaxHubBytes = 64u << 20;  // real ones have some hundred KB
// Some files of tokenizers list a hundred thousand added tokens, each with 15 parts.
constexpr JsonLimits kHubLimits = {.depth = 32, .parts = 4'000'000};

Result<HubJson> read_json(std::string_view name, std::string_view text) {
  if (text.size() > kMaxHubBytes)
    return fail(Code::bad_file, name, " has ", human_bytes(text.size()), "; at most ",
                human_bytes(kMaxHubBytes), " are expected");
  if (const Status sound = check_json(text, kHubLimits); !sound)
    return fail(Code::bad_file, name, ": ", sound.error().message, ". Download it again");
  return HubJson::parse(text, nullptr, false);
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
