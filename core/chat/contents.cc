#include "chat/contents.h"

#include <string>
#include <utility>

#include "base/format.h"

namespace sluice {
namespace {

using jinja::Kind;
using jinja::Value;

bool any_content(const ChatInput& input, Kind kind) {
  for (const Value& message : input.messages()) {
    const Value* content = find(message.entries(), "content");
    if (content != nullptr && content->is(kind)) return true;
  }
  return false;
}

// The texts of the parts with line ends between them, which are the core's own.
Result<Value> joined(const Value& parts, size_t index) {
  std::string out;
  jinja::InputSpans spans(nullptr);
  for (size_t i = 0; i < parts.items().size(); ++i) {
    const Value& part = parts.items()[i];
    const Value* shown = text_of_part(part);
    if (shown == nullptr) {
      const Value* type = find(part.entries(), "type");
      return fail(Code::invalid_argument, "messages[", index, "].content[", i, "] is ",
                  type != nullptr && type->is_text()
                      ? concat("a part of the type '", printable(type->as_text()), "'")
                      : "a part without a text",
                  ", but the model's template takes only text");
    }
    if (i > 0) out += '\n';
    const auto shift = static_cast<uint32_t>(out.size());
    for (const jinja::InputSpan& span : shown->as<jinja::Text>().input)
      spans.push_back({span.begin + shift, span.end + shift, span.field, span.offset});
    out += shown->as_text();
  }
  return Value::text_in_parts(std::move(out), std::move(spans));
}

}  // namespace

Status adapt_contents(TemplateUse& used, ChatInput& input, Notes& warnings) {
  if (any_content(input, Kind::list)) {
    SLUICE_ASSIGN(const bool knows_parts, used.shows_parts());
    if (!knows_parts) {
      warnings.push_back({NoteCode::content_parts_joined,
                          "the template knows no content in parts: their texts are joined"});
      return input.change_messages("content", [](const Value& content, size_t i) -> Result<Value> {
        return content.is(Kind::list) ? joined(content, i) : Value();
      });
    }
  }
  if (!any_content(input, Kind::text)) return {};
  SLUICE_ASSIGN(const bool knows_text, used.shows_text());
  if (knows_text) return {};
  SLUICE_ASSIGN(const bool knows_parts, used.shows_parts());
  if (!knows_parts) return {};
  return input.change_messages("content", [](const Value& content, size_t) -> Result<Value> {
    return content.is_text() ? list_of({text_part(content)}) : Value();
  });
}

Status check_contents(TemplateUse& used, const ChatInput& input, Notes& warnings) {
  if (!any_content(input, Kind::list)) return {};
  SLUICE_ASSIGN(const bool knows_parts, used.shows_parts());
  if (knows_parts) return {};
  SLUICE_ASSIGN(const bool knows_text, used.shows_text());
  if (knows_text) {
    warnings.push_back(
        {NoteCode::content_parts_unknown,
         "the template knows no content in parts, only text: what it shows of them is not what the "
         "model was trained for"});
  }
  return {};
}

}  // namespace sluice
