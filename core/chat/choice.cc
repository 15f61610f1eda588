#include "chat/choice.h"

#include <algorithm>

#include "base/format.h"
#include "chat/built_in.h"

namespace sluice {
namespace {

constexpr std::string_view kDefaultKey = "tokenizer.chat_template";
constexpr uint64_t kMostNames = 100;  // that are looked at; files have three or four

std::optional<std::string_view> text_at(const Gguf& header, std::string_view key) {
  const MetadataValue* value = header.find(key);
  if (value == nullptr || value->type != ValueType::string) return std::nullopt;
  return value->text();
}

// The names of templates besides the default one.
std::vector<std::string_view> names_in(const Gguf& header) {
  std::vector<std::string_view> names;
  const MetadataValue* list = header.find("tokenizer.chat_templates");
  if (list == nullptr || !list->is_array() || list->element != ValueType::string) return names;
  for (uint64_t i = 0; i < std::min(list->count, kMostNames); ++i) {
    const std::string_view name = list->text(i);
    if (text_at(header, concat(kDefaultKey, ".", name))) names.push_back(name);
  }
  return names;
}

bool has_name(const Gguf& header, std::string_view name) {
  for (const std::string_view each : names_in(header))
    if (each == name) return true;
  return false;
}

ChosenTemplate named(const Gguf& header, std::string_view name) {
  const std::string key = concat(kDefaultKey, ".", name);
  return {std::string(*text_at(header, key)), key, {}};
}

}  // namespace

Result<ChosenTemplate> choose_template(const ChatModel& model,
                                       std::optional<std::string_view> given, bool has_tools) {
  if (given) {
    if (model.header != nullptr && has_name(*model.header, *given))
      return named(*model.header, *given);
    return ChosenTemplate{std::string(*given), "given", {}};
  }
  if (model.header == nullptr) {
    return fail(Code::invalid_argument,
                "there is neither a model nor a chat template; give one of them");
  }
  const Gguf& header = *model.header;
  if (has_tools && has_name(header, "tool_use")) return named(header, "tool_use");
  if (const auto text = text_at(header, kDefaultKey)) {
    return ChosenTemplate{std::string(*text), std::string(kDefaultKey), {}};
  }
  if (has_name(header, "default")) return named(header, "default");

  const auto [built_in, reason] = guess_family(header, model.tokenizer);
  ChosenTemplate chosen = {
      std::string(built_in.text), concat("built in: ", built_in.family), {}, built_in.stop};
  std::string others;
  for (const std::string_view name : names_in(header))
    others += concat(others.empty() ? " (only ones by name: " : ", ", printable(name));
  chosen.warnings.push_back(
      {NoteCode::no_chat_template,
       concat("the file has no chat template", others, others.empty() ? "" : ")", "; the one of ",
              built_in.family, " is used, because ", reason),
       {{"family", std::string(built_in.family)}}});
  if (has_tools) {
    chosen.warnings.push_back(
        {NoteCode::tools_left_out,
         concat("the built-in template of ", built_in.family, " knows no tools: they are left out"),
         {{"family", std::string(built_in.family)}}});
  }
  return chosen;
}

}  // namespace sluice
