// A conversation at a terminal: reads messages and commands, and has them answered.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "terminal/answer.h"
#include "terminal/command.h"
#include "terminal/conversation.h"
#include "terminal/history.h"
#include "terminal/line_reader.h"
#include "terminal/options.h"
#include "terminal/screen.h"

namespace sluice::terminal {

class Talk {
 public:
  // All must outlive it. `changed` is called when the conversation has changed.
  Talk(Conversation& conversation, Answerer& answerer, LineReader& reader,
       const HistoryFile& history, const ChatOptions& options, Screen& screen,
       std::function<void()> changed);
  // Runs until the user ends it, the terminal is closed, or no more answers are possible. Returns
  // the exit status.
  int run();

 private:
  void take_line(const LineRead& line);
  void take_command(const Command& command);
  void take_message(std::string text);
  void answer_or_restore(Conversation before);
  void retry();
  void edit(const std::string& number);
  void set_system(const std::string& text);
  void save(const std::string& file);
  void load(const std::string& file);
  void show_last();
  void set(const std::string& words);
  void show_tokens();
  std::optional<uint64_t> next_seed() const;

  Conversation& conversation_;
  Answerer& answerer_;
  LineReader& reader_;
  const HistoryFile& history_;
  Screen& screen_;
  std::function<void()> changed_;
  std::string file_;  // the last one that was saved or loaded
  AnswerOptions settings_;
  const AnswerOptions first_settings_;
  MessageLines lines_;
  std::string prefilled_;         // the text that the next line begins with
  std::optional<size_t> edited_;  // the message that the next line replaces
  std::optional<Reply> last_;     // the last answer
  uint64_t retries_ = 0;          // of the last message
  std::optional<int> status_;     // set: the program ends
};

// The file with the messages of a session: beside the session's file, or beside the target of that
// file if it is a link.
std::string messages_path(const std::string& session);

}  // namespace sluice::terminal
