#include "terminal/conversation.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/private_file.h"
#include "base/format.h"
#include "base/parse_json.h"

namespace sluice::terminal {
namespace {

using nlohmann::json;

constexpr size_t kMaxConversationBytes = size_t{64} << 20;

bool is_system(const Message& message) {
  return message.role == "system" || message.role == "developer";
}

// The text of a content; of a list of texts they are joined by line ends. Nothing: it has another
// form.
std::optional<std::string> text_of(const json& content) {
  if (content.is_null()) return "";
  if (content.is_string()) return content.get<std::string>();
  if (!content.is_array()) return std::nullopt;
  std::string text;
  for (const json& part : content) {
    if (!part.is_object() || !part.contains("text") || !part["text"].is_string())
      return std::nullopt;
    if (&part != &content.front()) text += '\n';
    text += part["text"].get<std::string>();
  }
  return text;
}

Result<Message> read_message(const json& given, size_t number) {
  const std::string which = concat("message ", number);
  if (!given.is_object() || !given.contains("role") || !given["role"].is_string())
    return fail(Code::bad_file, which, " is no object with a role");
  Message message;
  message.role = given["role"].get<std::string>();
  const bool known = is_system(message) || message.role == "user" || message.role == "assistant";
  if (!known)
    return fail(Code::bad_file, which, " has the role '", printable(message.role),
                "'; chat knows system, developer, user and assistant");
  if (given.contains("tool_calls") && !given["tool_calls"].empty())
    return fail(Code::bad_file, which, " calls tools, which chat doesn't know");
  auto content = text_of(given.value("content", json()));
  if (!content) return fail(Code::bad_file, "the content of ", which, " is no text");
  message.content = std::move(*content);
  const json reasoning = given.value("reasoning_content", json());
  if (!reasoning.is_null() && !reasoning.is_string())
    return fail(Code::bad_file, "the reasoning_content of ", which, " is no text");
  if (reasoning.is_string()) message.reasoning = reasoning.get<std::string>();
  return message;
}

}  // namespace

bool Conversation::answered() const {
  return !messages_.empty() && messages_.back().role == "assistant";
}

void Conversation::set_system(std::string text) {
  const bool there = !messages_.empty() && is_system(messages_.front());
  if (text.empty()) {
    if (there) messages_.erase(messages_.begin());
  } else if (there) {
    messages_.front().content = std::move(text);
  } else {
    messages_.insert(messages_.begin(), {"system", std::move(text), ""});
  }
}

void Conversation::cut(size_t n) {
  if (n < messages_.size()) messages_.resize(n);
}

void Conversation::reset() {
  const auto first = std::ranges::find_if_not(messages_, is_system);
  messages_.erase(first, messages_.end());
}

size_t Conversation::user_messages() const {
  return static_cast<size_t>(
      std::ranges::count_if(messages_, [](const Message& each) { return each.role == "user"; }));
}

std::optional<size_t> Conversation::user_message(size_t n) const {
  for (size_t i = 0; i < messages_.size(); ++i) {
    if (messages_[i].role == "user" && n-- == 1) return i;
  }
  return std::nullopt;
}

size_t Conversation::last_turns(size_t n) const {
  const size_t turns = user_messages();
  return turns > n ? *user_message(turns - n + 1) : 0;
}

std::string conversation_json(const Conversation& conversation) {
  json list = json::array();
  for (const Message& message : conversation.messages()) {
    json each = {{"role", message.role}, {"content", message.content}};
    if (!message.reasoning.empty()) each["reasoning_content"] = message.reasoning;
    list.push_back(std::move(each));
  }
  return list.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

Result<Conversation> read_conversation(std::string_view text) {
  SLUICE_TRY(check_json(text));
  const json given = json::parse(text, nullptr, false);
  const bool object = given.is_object() && given.contains("messages");
  const json& list = object ? given["messages"] : given;
  if (!list.is_array())
    return fail(Code::bad_file, "it is neither a list of messages nor an object with messages");
  std::vector<Message> messages;
  for (const json& each : list) {
    SLUICE_ASSIGN(Message message, read_message(each, messages.size() + 1));
    if (is_system(message) && !messages.empty() && !is_system(messages.back()))
      return fail(Code::bad_file, "message ", messages.size() + 1,
                  " is the system's, which comes before all others");
    messages.push_back(std::move(message));
  }
  return Conversation(std::move(messages));
}

Result<Conversation> load_conversation(const std::string& path) {
  SLUICE_ASSIGN(const std::string text, cli::read_whole_file(path, kMaxConversationBytes));
  auto conversation = read_conversation(text);
  if (conversation) return conversation;
  return fail(Code::bad_file, printable(path, 300),
              " holds no conversation: ", conversation.error().message);
}

Status save_conversation(const Conversation& conversation, const std::string& path) {
  return cli::write_private_file(path, conversation_json(conversation));
}

}  // namespace sluice::terminal
