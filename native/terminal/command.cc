#include "terminal/command.h"

#include <array>
#include <utility>

#include "base/format.h"
#include "pull/text.h"

namespace sluice::terminal {
namespace {

constexpr std::string_view kQuotes = "\"\"\"";
constexpr std::string_view kSpaces = " \t\r\n";
constexpr size_t kHelpColumn = 20;

struct CommandRow {
  std::string_view word;
  Command::Name name;
  std::string_view argument;  // "": it takes none; in brackets: it may be left out
  std::string_view help;
};

constexpr std::array kRows = {
    CommandRow{"/system", Command::Name::system, "[TEXT]",
               "set or show what the system says, before all messages"},
    CommandRow{"/reset", Command::Name::reset, "", "forget all messages but the system's"},
    CommandRow{"/retry", Command::Name::retry, "",
               "answer the last message again, with another seed"},
    CommandRow{"/edit", Command::Name::edit, "[N]",
               "change your last (N-th) message; what follows it is dropped"},
    CommandRow{"/save", Command::Name::save, "FILE", "write the messages to a file, as JSON"},
    CommandRow{"/load", Command::Name::load, "FILE", "go on with the messages in such a file"},
    CommandRow{"/show", Command::Name::show, "", "all messages so far"},
    CommandRow{"/stats", Command::Name::stats, "", "figures of the last answer"},
    CommandRow{"/set", Command::Name::set, "[NAME [VALUE]]",
               "set or list the options of answers, like temp 0.5"},
    CommandRow{"/tokens", Command::Name::tokens, "",
               "the size of the conversation and the context"},
    CommandRow{"/help", Command::Name::help, "", "this list"},
    CommandRow{"/quit", Command::Name::quit, "", "end the program, as Ctrl-D, exit and /bye do"},
};

// As other programs call it.
bool is_other_name(Command::Name name, std::string_view word) {
  if (name == Command::Name::quit) return word == "/exit" || word == "/bye";
  return name == Command::Name::reset && word == "/clear";
}

}  // namespace

void MessageLines::clear() {
  text_.clear();
  begun_ = false;
  quoted_ = false;
  pasted_ = false;
}

std::optional<MessageLines::Whole> MessageLines::add(std::string_view line, bool pasted) {
  const std::string_view bare = pull::trimmed(line);
  if (!begun_) pasted_ = pasted;
  if (!begun_ && bare.starts_with(kQuotes)) {
    begun_ = quoted_ = true;
    line = line.substr(line.find(kQuotes) + kQuotes.size());
    if (pull::trimmed(line).empty()) return std::nullopt;
  }
  if (quoted_) {
    const std::string_view end = pull::trimmed(line);
    const bool ends = end.ends_with(kQuotes);
    if (ends) line = line.substr(0, line.rfind(kQuotes));
    text_ += line;
    if (!ends) {
      text_ += '\n';
      return std::nullopt;
    }
    if (text_.ends_with('\n')) text_.pop_back();
  } else if (line.ends_with('\\')) {
    begun_ = true;
    text_ += line.substr(0, line.size() - 1);
    text_ += '\n';
    return std::nullopt;
  } else {
    text_ += line;
  }
  Whole whole{std::move(text_), quoted_ || pasted_};
  clear();
  return whole;
}

bool is_command(std::string_view text) { return text.starts_with('/') && !text.starts_with("//"); }

bool is_farewell(std::string_view text) {
  const std::string_view word = pull::trimmed(text);
  return word == "exit" || word == "quit";
}

Result<Command> read_command(std::string_view text) {
  const std::string_view word = text.substr(0, text.find_first_of(kSpaces));
  const std::string_view argument = pull::trimmed(text.substr(word.size()));
  for (const CommandRow& row : kRows) {
    if (word != row.word && !is_other_name(row.name, word)) continue;
    if (row.argument.empty() && !argument.empty())
      return fail(Code::invalid_argument, row.word, " takes no argument, found '",
                  printable(argument), "'");
    if (argument.empty() && !row.argument.empty() && !row.argument.starts_with('['))
      return fail(Code::invalid_argument, row.word, " needs a value: ", row.word, " ",
                  row.argument);
    return Command{row.name, std::string(argument)};
  }
  return fail(Code::invalid_argument, "there is no command ", printable(word),
              "; /help lists them (a message that begins with / is written with //)");
}

std::string message_of(std::string_view text) {
  return std::string(text.starts_with("//") ? text.substr(1) : text);
}

std::string typed_of(std::string_view message) {
  return concat(message.starts_with('/') ? "/" : "", message);
}

std::string commands_help() {
  std::string out;
  for (const CommandRow& row : kRows) {
    std::string name = concat("  ", row.word, row.argument.empty() ? "" : " ", row.argument);
    if (name.size() + 2 <= kHelpColumn) {
      name.resize(kHelpColumn, ' ');
    } else {
      name += "\n" + std::string(kHelpColumn, ' ');
    }
    out += concat(name, row.help, "\n");
  }
  return out + R"(A line that ends in \ goes on; """ begins and ends a text of several lines.
A message that begins with / is written with //, but a pasted text is always a
message. Ctrl-C stops an answer or clears the line; twice in an empty line it
ends the program, as Ctrl-D does.
)";
}

}  // namespace sluice::terminal
