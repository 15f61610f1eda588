#include "chat/contents.h"

#include <utility>

#include "base/format.h"

namespace sluice {
namespace {

using jinja::Entry;
using jinja::Kind;
using jinja::Value;

constexpr std::string_view kProbe = "Marco2718";

Value text(std::string_view content) { return Value::text(std::string(content)); }

Value text_part(Value content) {
  return Value::dict({{text("type"), text("text")}, {text("text"), std::move(content)}});
}

// Whether the template shows a user's message with this content, and not only how Python would
// write the list down.
bool shows(const jinja::Template& made, const jinja::RenderOptions& time, const ChatInput& input,
           Value content) {
  ChatInput trial = input;
  trial.set("messages", Value::list({Value::dict({{text("role"), text("user")},
                                                  {text("content"), std::move(content)}})}));
  trial.set("tools", Value::none());
  const auto shown = made.render(Value::dict(std::move(trial.context)), time);
  if (!shown) return false;
  const size_t at = shown->find(kProbe);
  if (at == std::string::npos) return false;
  const char before = at == 0 ? ' ' : (*shown)[at - 1];
  return before != '\'' && before != '"';
}

bool shows_text(const jinja::Template& made, const jinja::RenderOptions& time,
                const ChatInput& input) {
  return shows(made, time, input, text(kProbe));
}

bool shows_parts(const jinja::Template& made, const jinja::RenderOptions& time,
                 const ChatInput& input) {
  return shows(made, time, input, Value::list({text_part(text(kProbe))}));
}

bool any_content(const ChatInput& input, Kind kind) {
  for (const Value& message : input.messages()) {
    const Value* content = find(message.entries(), "content");
    if (content != nullptr && content->is(kind)) return true;
  }
  return false;
}

Result<std::string> joined(const Value& parts, size_t index) {
  std::string out;
  for (size_t i = 0; i < parts.items().size(); ++i) {
    const Value& part = parts.items()[i];
    const Value* shown = part.is_text() ? &part : find(part.entries(), "text");
    if (shown == nullptr || !shown->is_text()) {
      const Value* type = part.is_text() ? nullptr : find(part.entries(), "type");
      return fail(Code::invalid_argument, "messages[", index, "].content[", i, "] is ",
                  type != nullptr && type->is_text()
                      ? concat("a part of the type '", printable(type->as_text()), "'")
                      : "a part without a text",
                  ", but the model's template takes only text");
    }
    out += i == 0 ? "" : "\n";
    out += shown->as_text();
  }
  return out;
}

// Replaces the contents of this kind.
template <typename Change>
Status replace_contents(ChatInput& input, Kind kind, const Change& change) {
  std::vector<Value> messages = input.messages();
  for (size_t i = 0; i < messages.size(); ++i) {
    std::vector<Entry> entries = messages[i].entries();
    for (Entry& entry : entries) {
      if (entry.first.as_text() != "content" || !entry.second.is(kind)) continue;
      SLUICE_ASSIGN(entry.second, change(entry.second, i));
      messages[i] = Value::dict(std::move(entries));
      break;
    }
  }
  input.set("messages", Value::list(std::move(messages)));
  return {};
}

}  // namespace

Status adapt_contents(const jinja::Template& made, const jinja::RenderOptions& time,
                      ChatInput& input, Notes& warnings) {
  if (any_content(input, Kind::list) && !shows_parts(made, time, input)) {
    warnings.push_back({NoteCode::content_parts_joined,
                        "the template knows no content in parts: their texts are joined"});
    return replace_contents(input, Kind::list, [](const Value& parts, size_t i) -> Result<Value> {
      SLUICE_ASSIGN(std::string whole, joined(parts, i));
      return Value::text(std::move(whole));
    });
  }
  if (any_content(input, Kind::text) && !shows_text(made, time, input) &&
      shows_parts(made, time, input)) {
    return replace_contents(input, Kind::text, [](const Value& whole, size_t) -> Result<Value> {
      return Value::list({text_part(whole)});
    });
  }
  return {};
}

void check_contents(const jinja::Template& made, const jinja::RenderOptions& time,
                    const ChatInput& input, Notes& warnings) {
  if (any_content(input, Kind::list) && !shows_parts(made, time, input) &&
      shows_text(made, time, input)) {
    warnings.push_back(
        {NoteCode::content_parts_unknown,
         "the template knows no content in parts, only text: what it shows of them is not what the "
         "model was trained for"});
  }
}

}  // namespace sluice
