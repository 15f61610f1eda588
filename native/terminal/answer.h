// Answers a conversation with a model.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/model.h"
#include "engine.h"
#include "reply/reply_prompt.h"
#include "terminal/conversation.h"
#include "terminal/options.h"
#include "terminal/screen.h"

namespace sluice::terminal {

struct Reply {
  Message message;  // the assistant's
  Finish finish = Finish::eos;
  Stats stats;
  size_t dropped = 0;  // messages that didn't fit into the prompt
  bool empty() const { return message.content.empty() && message.reasoning.empty(); }
};

class Answerer {
 public:
  // All references must outlive it. `opened.line` shows the loading until the first answer begins.
  // `chat_template`: "": the model's own.
  Answerer(cli::Opened& opened, const cli::ModelSource& model, Session& session,
           const ChatOptions& options, std::string chat_template, Screen& screen);

  // The prompt of the next answer. Shows each warning once. `fits`: it must leave room for an
  // answer, and the oldest turns are left out if the options say so. Ctrl-C
  // or a signal ends it with Code::aborted. Fails as apply_chat_template
  // does.
  Result<ReplyPrompt> prompt_of(const Conversation& conversation, bool fits);
  // Answers, and shows the answer or its events. Ctrl-C or a signal ends the answer. Fails as the
  // prompt, Session::start_reply() or step() do.
  Result<Reply> answer(const Conversation& conversation, const AnswerOptions& options,
                       std::optional<uint64_t> seed);
  // After this error no more answers are possible.
  static bool is_fatal(const Error& error);
  std::string copy_news() const { return opened_.copy_news(); }
  const Engine& engine() const { return *opened_.engine; }
  const Session& session() const { return session_; }

 private:
  Reply stopped_early();
  Error with_advice(Error error, const Conversation& conversation);
  Result<bool> wait_until_ready();
  Result<Finish> run(Reply& reply);

  cli::Opened& opened_;
  const cli::ModelSource& model_;
  Session& session_;
  const ChatOptions& options_;
  AnswerOptions current_;
  std::string chat_template_;
  TemplateCache learned_;
  Screen& screen_;
  std::set<std::string> warned_;
};

// "[12 tokens, 30.1 tokens/s; prompt of 40 tokens, 12 computed at 200 tokens/s]"
std::string reply_figures(const Reply& reply);
// All figures, for /stats.
std::string reply_stats(const Reply& reply, const std::string& copy_news);

}  // namespace sluice::terminal
