// What is typed in a chat: messages, which may have several lines, and commands.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sluice::terminal {

// Puts lines together. A line that ends in \ goes on in the next one; """ begins and ends a text of
// several lines.
class MessageLines {
 public:
  struct Whole {
    std::string text;
    bool verbatim = false;  // it stood in """ or was pasted, so it is no command
  };
  // Takes a line without its end. Returns the whole text if this line ends it. `pasted`: it begins
  // with a pasted text.
  std::optional<Whole> add(std::string_view line, bool pasted = false);
  // A text has begun and goes on.
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

// A line that is meant for the program, though it has no /: exit or quit alone.
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
