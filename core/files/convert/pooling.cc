#include "files/convert/pooling.h"

#include <string>
#include <string_view>

#include "base/format.h"
#include "files/hub_json.h"

namespace sluice {
namespace {

constexpr uint64_t kMaxModuleBytes = 1 << 20;

// The config has a flag for each way; since 2026 it may have one name instead.
struct Way {
  std::string_view flag, name;
  std::optional<Pooling> pooling;
};
constexpr Way kWays[] = {
    {"pooling_mode_mean_tokens", "mean", Pooling::mean},
    {"pooling_mode_cls_token", "cls", Pooling::first},
    {"pooling_mode_lasttoken", "lasttoken", Pooling::last},
    {"pooling_mode_max_tokens", "max", std::nullopt},
    {"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens", std::nullopt},
    {"pooling_mode_weightedmean_tokens", "weightedmean", std::nullopt},
};

std::unexpected<Error> refuse(std::string_view name) {
  return fail(Code::unsupported_model, "the folder pools by ", printable(name),
              "; a GGUF file can say mean, cls or lasttoken");
}

Result<Pooling> pooling_of(const HubJson& config) {
  std::optional<Pooling> found;
  const std::string* const named = text_of_member(config, "pooling_mode");
  bool known = named == nullptr;
  for (const Way& way : kWays) {
    const bool* const flag = bool_of_member(config, way.flag);
    const bool meant = named != nullptr ? *named == way.name : flag != nullptr && *flag;
    if (!meant) continue;
    known = true;
    if (!way.pooling) return refuse(way.name);
    if (found) return refuse("several ways at once");
    found = way.pooling;
  }
  if (!known) return refuse(*named);
  if (!found)
    return fail(Code::bad_file, "the config of the folder's Pooling names no way of pooling");
  return *found;
}

}  // namespace

Result<std::optional<Pooling>> read_pooling(Folder& folder) {
  SLUICE_ASSIGN(const auto text, read_if_there(folder, "modules.json", kMaxModuleBytes));
  std::optional<Pooling> pooling;
  if (!text) return pooling;
  SLUICE_ASSIGN(const HubJson modules, read_hub_list("modules.json", *text));
  for (const HubJson& module : modules) {
    const std::string* const type = text_of_member(module, "type");
    const std::string* const path = text_of_member(module, "path");
    if (type == nullptr || path == nullptr)
      return fail(Code::bad_file,
                  "modules.json has a module without a type and a path. Download it again");
    const std::string name = type->substr(type->rfind('.') + 1);
    // The model itself, and vectors divided by their length, which is the reader's choice.
    if (name == "Transformer" || name == "Normalize") continue;
    if (name != "Pooling")
      return fail(Code::unsupported_model, "modules.json has a ", printable(name),
                  "; Sluice converts Transformer, Pooling and Normalize");
    SLUICE_ASSIGN(const std::string config,
                  read_whole(folder, *path + "/config.json", kMaxModuleBytes));
    SLUICE_ASSIGN(const HubJson json, read_hub_json(printable(*path) + "/config.json", config));
    SLUICE_ASSIGN(pooling, pooling_of(json));
  }
  return pooling;
}

Result<std::optional<uint64_t>> read_text_limit(Folder& folder) {
  constexpr std::string_view kFile = "sentence_bert_config.json";
  SLUICE_ASSIGN(const auto text, read_if_there(folder, std::string(kFile), kMaxModuleBytes));
  std::optional<uint64_t> limit;
  if (!text) return limit;
  SLUICE_ASSIGN(const HubJson config, read_hub_json(kFile, *text));
  if (const uint64_t* const most = count_of_member(config, "max_seq_length")) limit = *most;
  return limit;
}

}  // namespace sluice
