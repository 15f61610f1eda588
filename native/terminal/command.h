// What is typed in a chat: messages, which may have several lines, and commands.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sluice::terminal {

// Joins lines to messages. A line that ends in \ continues on the next one; """ begins and ends a
// text of several lines.
class MessageLines {
 public:
  struct Whole {
    std::string text;
    bool verbatim = false;  // it stood in """ or was pasted, so it is no command
  };
  // Adds a line without its newline. Returns the whole text if this is its last line. `pasted`: it
  // begins with a pasted text.
  std::optional<Whole> add(std::string_view line, bool pasted = false);
  // A text has begun and isn't complete.
  bool begun() const { return begun_; }
  void clear();

 private:
  std::string text_;
  bool begun_ = false;
  bool quoted_ = false;
  bool pasted_ = false;
};

struct Command {
  enum class Name : uint8_t {
    system,
    reset,
    retry,
    edit,
    save,
    load,
    show,
    stats,
    set,
    tokens,
    help,
    quit
  };
  Name name = Name::help;
  std::string argument;  // without spaces around it; "": none
};

// `exit` or `quit` alone: meant for the program, though it has no /.
bool is_farewell(std::string_view text);
// A text that begins with / and not with //.
bool is_command(std::string_view text);
// Fails with invalid_argument if there is no such command, or it takes no argument.
Result<Command> read_command(std::string_view text);
// The message that a text means: //x is /x.
std::string message_of(std::string_view text);
// What is typed for a message so that it means the same: the other way round.
std::string typed_of(std::string_view message);
// The list that /help shows.
std::string commands_help();

}  // namespace sluice::terminal
