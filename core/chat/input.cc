#include "chat/input.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/format.h"
#include "chat/json.h"
#include "chat/roles.h"

namespace sluice {
namespace {

using jinja::Entry;
using jinja::Kind;
using jinja::Value;

constexpr size_t kMaxBytes = 64u << 20;  // of JSON
constexpr size_t kMaxMessages = 100'000;

// What a value is in JSON, for messages.
std::string kind_of(const Value& value) {
  switch (value.kind()) {
    case Kind::none:
      return "null";
    case Kind::boolean:
      return value.as_bool() ? "true" : "false";
    case Kind::text:
      return concat("the text '", printable(value.as_text(), 40), "'");
    case Kind::list:
      return "a list";
    case Kind::dict:
      return "an object";
    default:
      return "a number";
  }
}

std::unexpected<Error> wrong(std::string_view name, const Value* found, std::string_view expected) {
  return fail(Code::invalid_argument, name, " is ",
              found == nullptr ? std::string("missing") : kind_of(*found), "; expected ", expected);
}

// "messages[3].content"
std::string place(size_t index, std::string_view member) {
  return concat("messages[", index, "]", member);
}

Result<Value> read_json(std::string_view json, std::string_view name, uint32_t& fields) {
  if (json.size() > kMaxBytes) {
    return fail(Code::invalid_argument, name, " have ", human_bytes(json.size()),
                " of JSON; expected at most ", human_bytes(kMaxBytes));
  }
  auto value = value_from_json(json, fields);
  if (!value) return fail(value.error().code, name, ": ", value.error().message);
  return value;
}

Status check_content(const Value& content, size_t index) {
  // A tool's answer may be an object.
  if (content.is_text() || content.is(Kind::none) || content.is(Kind::dict)) return {};
  if (!content.is(Kind::list)) {
    return wrong(place(index, ".content"), &content,
                 "a text, null or a list of parts like {\"type\": \"text\", \"text\": \"..\"}");
  }
  for (const Value& part : content.items()) {
    if (part.is(Kind::dict) || part.is_text()) continue;
    return wrong(concat("a part of ", place(index, ".content")), &part,
                 "an object like {\"type\": \"text\", \"text\": \"..\"}");
  }
  return {};
}

Status check_messages(const Value* messages) {
  if (messages == nullptr || !messages->is(Kind::list)) {
    return wrong("the list of messages", messages,
                 "messages like {\"role\": \"user\", \"content\": \"..\"}, or an object that has "
                 "such a list as \"messages\"");
  }
  const jinja::List& list = messages->items();
  if (list.size() > kMaxMessages) {
    return fail(Code::invalid_argument, "there are ", list.size(), " messages; expected at most ",
                kMaxMessages);
  }
  for (size_t i = 0; i < list.size(); ++i) {
    if (!list[i].is(Kind::dict)) {
      return wrong(place(i, ""), &list[i],
                   "an object like {\"role\": \"user\", \"content\": \"..\"}");
    }
    const Value* role = find(list[i].entries(), "role");
    if (role == nullptr || !role->is_text()) {
      return wrong(place(i, ".role"), role,
                   "a text like \"system\", \"user\", \"assistant\" or \"tool\"");
    }
    const Value* content = find(list[i].entries(), "content");
    if (content != nullptr) SLUICE_TRY(check_content(*content, i));
  }
  return {};
}

// The object with this value of a member that it has.
Value with_member(const Value& object, std::string_view name, Value value) {
  jinja::Entries entries = object.entries();
  const auto at = std::ranges::find_if(
      entries, [name](const Entry& entry) { return entry.first.as_text() == name; });
  if (at != entries.end()) at->second = std::move(value);
  return Value::dict(std::move(entries));
}

// Takes continue_final_message out of the context.
Status read_continuation(ChatInput& input) {
  const Value* wish = find(input.context, "continue_final_message");
  if (wish == nullptr) return {};
  const Value given = *wish;
  input.context.erase(std::ranges::find_if(
      input.context, [wish](const Entry& entry) { return &entry.second == wish; }));
  if (!given.is(Kind::boolean)) {
    return wrong("continue_final_message", &given, "true or false");
  }
  input.continues = given.as_bool();
  if (!input.continues) return {};
  const auto& messages = input.messages();
  const Value* role = messages.empty() ? nullptr : find(messages.back().entries(), "role");
  if (role == nullptr || role->as_text() != "assistant") {
    return fail(Code::invalid_argument,
                "continue_final_message goes on with the assistant's last message, but the last "
                "message is ",
                role == nullptr ? "missing" : "of the role '" + printable(role->as_text()) + "'");
  }
  const Value* prompt = find(input.context, "add_generation_prompt");
  if (prompt != nullptr && is_true(*prompt)) {
    return fail(
        Code::invalid_argument,
        "add_generation_prompt begins a new message and continue_final_message goes on with "
        "the last one; give only one of them");
  }
  return {};
}

}  // namespace

const jinja::List& ChatInput::messages() const { return find(context, "messages")->items(); }

void ChatInput::set(std::string_view name, Value value) {
  for (Entry& entry : context) {
    if (entry.first.as_text() != name) continue;
    entry.second = std::move(value);
    return;
  }
  context.emplace_back(Value::text(std::string(name)), std::move(value));
}

void ChatInput::set_default(std::string_view name, Value value) {
  if (find(context, name) == nullptr) set(name, std::move(value));
}

Status ChatInput::change_messages(std::string_view member, const Change& change) {
  jinja::List changed = messages();
  for (size_t i = 0; i < changed.size(); ++i) {
    const Value* old = find(changed[i].entries(), member);
    if (old == nullptr) continue;
    SLUICE_ASSIGN(Value value, change(*old, i));
    if (!value.is_missing()) changed[i] = with_member(changed[i], member, std::move(value));
  }
  set("messages", Value::list(std::move(changed)));
  return {};
}

Result<ChatInput> read_chat_input(std::string_view messages, std::string_view kwargs) {
  ChatInput input;
  SLUICE_ASSIGN(Value given, read_json(messages, "the messages", input.fields));
  if (given.is(Kind::dict)) {
    input.context = given.entries();
  } else {
    input.set("messages", std::move(given));
  }
  if (!kwargs.empty()) {
    SLUICE_ASSIGN(const Value more, read_json(kwargs, "the kwargs", input.fields));
    if (!more.is(Kind::dict)) {
      return wrong("the kwargs' JSON", &more, "an object like {\"enable_thinking\": false}");
    }
    for (const Entry& entry : more.entries()) input.set(entry.first.as_text(), entry.second);
  }
  SLUICE_TRY(check_messages(find(input.context, "messages")));
  SLUICE_TRY(input.change_messages("role", [](const Value& role, size_t) -> Result<Value> {
    return is_known_role(role.as_text()) ? Value::text(std::string(role.as_text())) : Value();
  }));
  SLUICE_TRY(read_continuation(input));
  input.set_default("add_generation_prompt", Value::boolean(!input.continues));
  // transformers always gives these two.
  input.set_default("tools", Value::none());
  input.set_default("documents", Value::none());
  const Value& tools = *find(input.context, "tools");
  if (!tools.is(Kind::none) && !tools.is(Kind::list)) {
    return wrong("the list of tools", &tools, "a list, or null");
  }
  input.has_tools = tools.is(Kind::list);
  return input;
}

const Value& role_of(const Value& message) { return *find(message.entries(), "role"); }

uint32_t first_field(const Value& text) {
  const jinja::InputSpans& spans = text.as<jinja::Text>().input;
  return spans.empty() ? 0 : spans[0].field;
}

const Value* text_of_part(const Value& part) {
  const Value* text = part.is_text() ? &part : find(part.entries(), "text");
  return text != nullptr && text->is_text() ? text : nullptr;
}

Result<Value> final_text(const ChatInput& input) {
  const Value* content = find(input.messages().back().entries(), "content");
  if (content != nullptr && content->is_text()) return *content;
  if (content != nullptr && content->is(Kind::list)) {
    for (size_t i = content->items().size(); i-- > 0;) {
      const Value* text = text_of_part(content->items()[i]);
      if (text != nullptr) return *text;
    }
  }
  return fail(Code::invalid_argument,
              "continue_final_message goes on with the last message, but that has no text");
}

ChatInput with_final_text(const ChatInput& input, Value text) {
  ChatInput changed = input;
  const size_t last = input.messages().size() - 1;
  (void)changed.change_messages(
      "content", [&](const Value& content, size_t index) -> Result<Value> {
        if (index != last) return Value();
        if (content.is_text()) return text;
        jinja::List parts = content.items();
        for (size_t i = parts.size(); i-- > 0;) {
          if (text_of_part(parts[i]) == nullptr) continue;
          parts[i] = parts[i].is_text() ? text : with_member(parts[i], "text", text);
          break;
        }
        return Value::list(std::move(parts));
      });
  return changed;
}

Value list_of(std::initializer_list<Value> items) {
  return Value::list(jinja::List(items, nullptr));
}

Value dict_of(std::initializer_list<Entry> entries) {
  return Value::dict(jinja::Entries(entries, nullptr));
}

Value text_part(Value text) {
  return dict_of(
      {{Value::text("type"), Value::text("text")}, {Value::text("text"), std::move(text)}});
}

}  // namespace sluice
