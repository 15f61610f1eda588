// The messages of a chat, and their JSON.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sluice::terminal {

struct Message {
  std::string role;  // system, developer, user or assistant
  std::string content;
  std::string reasoning;  // of an assistant: what it thought before
  bool operator==(const Message&) const = default;
};

class Conversation {
 public:
  Conversation() = default;
  explicit Conversation(std::vector<Message> messages) : messages_(std::move(messages)) {}

  const std::vector<Message>& messages() const { return messages_; }
  bool empty() const { return messages_.empty(); }
  // True if the last message is an assistant's.
  bool answered() const;
  // Sets the system's message, which is the first one; "" takes it away.
  void set_system(std::string text);
  void add(Message message) { messages_.push_back(std::move(message)); }
  // Keeps the first n messages.
  void cut(size_t n);
  // Keeps what the system says before the first turn.
  void reset();
  // The number of the user's messages, and the index of the n-th of them, from 1 on.
  size_t user_messages() const;
  std::optional<size_t> user_message(size_t n) const;
  // The index at which the last n turns begin, each with a message of the user's; 0: there are no
  // more turns.
  size_t last_turns(size_t n) const;

 private:
  std::vector<Message> messages_;
};

// A list of messages as chat templates take it: [{"role":..,"content":..,"reasoning_content":..}].
// Invalid UTF-8 becomes U+FFFD.
std::string conversation_json(const Conversation& conversation);
// Reads such a list, or an object with `messages`. A content may be a list of texts. Fails with
// bad_file, which says what is wrong and where.
Result<Conversation> read_conversation(std::string_view json);

// The same in files. Fails as read_whole_file() and write_private_file() do, and names the file.
Result<Conversation> load_conversation(const std::string& path);
Status save_conversation(const Conversation& conversation, const std::string& path);

}  // namespace sluice::terminal
