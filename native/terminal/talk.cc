#include "terminal/talk.h"

#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <span>
#include <utility>

#include "app/exit_status.h"
#include "app/private_file.h"
#include "base/format.h"
#include "terminal/conversation.h"
#include "terminal/options.h"
#include "terminal/screen.h"
#include "terminal/signals.h"

namespace sluice::terminal {
namespace {

// What is shown of a conversation that was restored.
constexpr size_t kShownTurns = 2;
constexpr size_t kShownLines = 5;  // of each message

// While it exists the terminal doesn't show what is typed; the next line has it.
class NoEcho {
 public:
  NoEcho() {
    if (::tcgetattr(STDIN_FILENO, &before_) != 0) return;
    termios silent = before_;
    silent.c_lflag &= ~static_cast<tcflag_t>(ECHO | ICANON);
    set_ = ::tcsetattr(STDIN_FILENO, TCSADRAIN, &silent) == 0;
  }
  ~NoEcho() {
    if (set_) ::tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
  }
  NoEcho(const NoEcho&) = delete;
  NoEcho& operator=(const NoEcho&) = delete;

 private:
  termios before_ = {};
  bool set_ = false;
};

// ~/x is in the user's home, as a shell has it.
std::string expanded(const std::string& path) {
  const char* home = std::getenv("HOME");
  return path.starts_with("~/") && home != nullptr ? home + path.substr(1) : path;
}

}  // namespace

std::string messages_path(const std::string& session) {
  return cli::target_of(session) + ".chat.json";
}

Talk::Talk(Conversation& conversation, Answerer& answerer, LineReader& reader,
           const HistoryFile& history, const ChatOptions& options, Screen& screen,
           std::function<void()> changed)
    : conversation_(conversation),
      answerer_(answerer),
      reader_(reader),
      history_(history),
      screen_(screen),
      changed_(std::move(changed)),
      settings_(options.answer),
      first_settings_(options.answer) {}

int Talk::run() {
  show_last();
  bool warned = false;  // the last Ctrl-C, in an empty line, said what the next one does
  while (!status_ && ending() == 0 && !screen_.gone()) {
    LineRead read = reader_.read(lines_.begun() ? ". " : "> ", std::exchange(prefilled_, ""));
    if (read.kind == LineRead::Kind::end) {
      if (!lines_.begun() || ending() != 0) break;
      lines_.clear();
      screen_.say_dimmed("(the text is left out; Ctrl-D again ends the program)");
      continue;
    }
    if (read.kind == LineRead::Kind::interrupted) {
      const bool empty = read.text.empty() && !lines_.begun() && !edited_;
      if (empty && warned) break;
      if (empty) screen_.say_dimmed("(Ctrl-C again, or Ctrl-D, ends the program)");
      warned = empty;
      lines_.clear();
      edited_.reset();
      continue;
    }
    warned = false;
    take_line(read);
  }
  if (ending() != 0) return 128 + ending();
  return status_.value_or(screen_.gone_status());
}

void Talk::take_line(const LineRead& line) {
  const auto whole = lines_.add(line.text, line.pasted);
  if (!whole) return;
  if (whole->text.find_first_not_of(" \t\n") == std::string::npos) {
    edited_.reset();
    return;
  }
  if (!whole->verbatim && !edited_ && is_farewell(whole->text)) {
    status_ = cli::kDone;
    return;
  }
  const std::string typed = whole->verbatim ? typed_of(whole->text) : whole->text;
  reader_.remember(typed);
  history_.add(typed);
  if (!is_command(typed)) return take_message(message_of(typed));
  edited_.reset();
  const auto command = read_command(typed);
  if (!command) {
    screen_.report(command.error());
    return;
  }
  take_command(*command);
}

void Talk::take_command(const Command& command) {
  switch (command.name) {
    case Command::Name::system:
      return set_system(command.argument);
    case Command::Name::reset:
      conversation_.reset();
      changed_();
      return screen_.say("The messages are forgotten.");
    case Command::Name::retry:
      return retry();
    case Command::Name::edit:
      return edit(command.argument);
    case Command::Name::save:
      return save(expanded(command.argument));
    case Command::Name::load:
      return load(expanded(command.argument));
    case Command::Name::show:
      if (conversation_.empty()) return screen_.say("There are no messages.");
      return screen_.say_messages(conversation_.messages(), 0);
    case Command::Name::stats:
      return screen_.say(last_ ? reply_stats(*last_, answerer_.copy_news())
                               : "There is no answer yet.");
    case Command::Name::set:
      return set(command.argument);
    case Command::Name::tokens:
      return show_tokens();
    case Command::Name::help:
      return screen_.say(commands_help());
    case Command::Name::quit:
      status_ = cli::kDone;
  }
}

void Talk::take_message(std::string text) {
  Conversation before = conversation_;
  if (edited_) conversation_.cut(*std::exchange(edited_, std::nullopt));
  // An earlier message without an answer, loaded or failed, is answered together with this one.
  conversation_.add({"user", std::move(text), ""});
  retries_ = 0;
  answer_or_restore(std::move(before));
}

std::optional<uint64_t> Talk::next_seed() const {
  const auto& seed = settings_.generate.seed;
  return seed ? std::optional(*seed + retries_) : std::nullopt;
}

// Answers the last message. Without an answer the conversation becomes `before` again.
void Talk::answer_or_restore(Conversation before) {
  auto reply = [&] {
    const NoEcho silent;
    return answerer_.answer(conversation_, settings_, next_seed());
  }();
  const bool stopped = take_interrupt();
  if (!reply) {
    conversation_ = std::move(before);
    const int status = screen_.report(reply.error());
    if (Answerer::is_fatal(reply.error())) {
      status_ = status;
    } else {
      screen_.say_dimmed("(the message is taken back; the up key brings it again)");
    }
    return;
  }
  last_ = *reply;
  if (reply->empty()) {
    conversation_ = std::move(before);
    screen_.say_dimmed(stopped ? "(stopped before a word was written; the message is taken back)"
                               : "(the model wrote nothing; the message is taken back)");
  } else {
    conversation_.add(std::move(reply->message));
    changed_();
  }
  if (screen_.json()) return;
  screen_.end_line();
  screen_.say_dimmed(reply_figures(*last_));
}

void Talk::retry() {
  Conversation before = conversation_;
  if (conversation_.answered()) conversation_.cut(conversation_.messages().size() - 1);
  if (conversation_.empty() || conversation_.messages().back().role != "user") {
    conversation_ = std::move(before);
    return screen_.say("There is no message to answer.");
  }
  ++retries_;
  answer_or_restore(std::move(before));
}

void Talk::edit(const std::string& number) {
  size_t n = conversation_.user_messages();
  if (n == 0) return screen_.say("There is no message of yours to edit.");
  if (!number.empty()) {
    const size_t all = n;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), n);
    if (error != std::errc() || *end != '\0' || n < 1 || n > all) {
      screen_.report({Code::invalid_argument,
                      concat("/edit ", printable(number), ": expected a number from 1 to ", all,
                             ", counting your messages")});
      return;
    }
  }
  edited_ = conversation_.user_message(n);
  prefilled_ = typed_of(conversation_.messages()[*edited_].content);
}

void Talk::set_system(const std::string& text) {
  if (text.empty()) {
    const auto& messages = conversation_.messages();
    const bool there = !messages.empty() && messages.front().role != "user" &&
                       messages.front().role != "assistant";
    return screen_.say(there ? messages.front().content
                             : "The system says nothing; /system TEXT sets it.");
  }
  conversation_.set_system(text == "none" ? "" : text);
  changed_();
  screen_.say(text == "none" ? "The system says nothing from now on."
                             : "This is what the system says from now on.");
}

void Talk::save(const std::string& file) {
  // A mistyped name must not replace another file.
  struct stat found = {};
  if (file != file_ && ::stat(file.c_str(), &found) == 0 && found.st_size > 0) {
    screen_.report({Code::invalid_argument, concat(printable(file, kMaxShownPath),
                                                   " is there already; choose another name")});
    return;
  }
  if (const Status saved = save_conversation(conversation_, file); !saved) {
    screen_.report(saved.error());
    return;
  }
  file_ = file;
  screen_.say(concat(counted(conversation_.messages().size(), "message"), " saved in ",
                     printable(file, kMaxShownPath)));
}

void Talk::load(const std::string& file) {
  auto loaded = load_conversation(file);
  if (!loaded) {
    screen_.report(loaded.error());
    return;
  }
  conversation_ = std::move(*loaded);
  file_ = file;
  retries_ = 0;
  changed_();
  const bool asks = !conversation_.empty() && conversation_.messages().back().role == "user";
  screen_.say(concat(counted(conversation_.messages().size(), "message"), " loaded",
                     asks ? "; the last one has no answer, /retry gives one" : ""));
  show_last();
}

// Shows the last turns.
void Talk::show_last() {
  if (conversation_.user_messages() == 0 || screen_.quiet()) return;
  const size_t first = conversation_.last_turns(kShownTurns);
  if (first > 0) {
    screen_.say_dimmed(concat("(", counted(first, "earlier message"), "; /show shows all)"));
  }
  screen_.say_messages(std::span(conversation_.messages()).subspan(first), kShownLines);
}

void Talk::set(const std::string& words) {
  if (words.empty()) return screen_.say(settings_text(settings_));
  const size_t space = std::min(words.find_first_of(" \t\n="), words.size());
  const std::string name = words.substr(0, space);
  const size_t at = words.find_first_not_of(" \t\n", std::min(space + 1, words.size()));
  const std::string value = at == std::string::npos ? "" : words.substr(at);
  if (value.empty()) {
    if (const std::string line = setting_text(settings_, name); !line.empty())
      return screen_.say(line);
  }
  if (const Status done = set_option(settings_, first_settings_, name, value); !done)
    screen_.report(done.error());
}

void Talk::show_tokens() {
  const uint32_t context = answerer_.engine().context_size();
  size_t tokens = 0;
  if (!conversation_.empty()) {
    const auto made = answerer_.prompt_of(conversation_, false);
    take_interrupt();
    if (!made && made.error().code == Code::aborted) return screen_.say_dimmed("(stopped)");
    if (!made) {
      screen_.report(made.error());
      return;
    }
    tokens = made->prompt.tokens.size();
  }
  screen_.say(concat(counted(conversation_.messages().size(), "message"), ", ", tokens, " of ",
                     counted(context, "token"), " of the context; ",
                     answerer_.session().tokens().size(), " are computed"));
}

}  // namespace sluice::terminal
