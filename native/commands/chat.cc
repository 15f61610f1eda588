// sluice chat: a conversation with a model.
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <new>
#include <utility>

#include "app/arguments.h"
#include "app/diagnostics.h"
#include "app/exit_status.h"
#include "app/help.h"
#include "app/model.h"
#include "app/model_use.h"
#include "app/option_flags.h"
#include "app/output.h"
#include "app/prompt.h"
#include "app/session_lock.h"
#include "app/session_path.h"
#include "app/signals.h"
#include "app/template_input.h"
#include "base/format.h"
#include "commands/commands.h"
#include "engine.h"
#include "kernels/choose.h"
#include "terminal/answer.h"
#include "terminal/conversation.h"
#include "terminal/history.h"
#include "terminal/line_reader.h"
#include "terminal/options.h"
#include "terminal/screen.h"
#include "terminal/signals.h"
#include "terminal/talk.h"

namespace sluice::cli {
namespace {

using terminal::Answerer;
using terminal::ChatOptions;
using terminal::Conversation;
using terminal::Screen;

constexpr char kChatFooter[] =
    R"(At a terminal messages are typed and answered in turn, with the model's own chat
template; a line that ends in \ goes on, and """ begins and ends a text of
several lines. Lines that begin with / are commands: /help lists them. Ctrl-C
stops an answer, Ctrl-D ends the program. Arrows and Ctrl-R find what was typed
before, which chat_history in $XDG_STATE_HOME/sluice (~/.local/state/sluice)
keeps unless --no-history is given.

With PROMPT, -p, -f, or a standard input that is a pipe or a file, that is one
message, and only its answer is printed. Each turn computes only what is new.
The same options and seed give the same text on every machine.

Markdown is rendered where standard output is a terminal, unless NO_COLOR is
set. Thinking, of models that do, is shown dimmed on a terminal and else left
out.

With --session FILE the conversation goes on where the one in FILE ended; FILE
has the model's state and FILE.chat.json the messages. Both are written at the
end, if they don't exist as well, also when a signal, a closed terminal or the
reader of the output ends it. FILE belongs to the model and the KV type, and one
program at a time can use it.

With --json each token is a line {"event":"token","id","text","logprob","top"},
with "reasoning":true if it is thinking; an answer ends with
{"event":"done","finish","stats"} or {"event":"error","code","message"}.
{"event":"dropped","messages"} says that the context had no room for so many. At
a terminal each line typed is then still a message or a command.

Examples:
  sluice chat model.gguf
  sluice chat model.gguf -p "Why is the sky blue?" --temp 0
  sluice chat model.gguf --system "Answer briefly." --session talk.sluice
  git diff | sluice chat model.gguf --system "Review this change.")";

bool input_is_terminal() { return isatty(STDIN_FILENO) == 1; }

bool exists(const std::string& path) {
  struct stat found = {};
  return ::stat(path.c_str(), &found) == 0;
}

// A chat's session: the state in --session FILE, and the messages beside it.
struct ChatSession {
  SessionLock lock;
  std::unique_ptr<Session> restored;
  Conversation conversation;
  // Freed when memory has run out, so that they can be saved.
  std::unique_ptr<char[]> reserve = std::make_unique_for_overwrite<char[]>(size_t{4} << 20);
};

Result<ChatSession> restore_chat(Engine& engine, const ChatOptions& options) {
  ChatSession session;
  if (options.session.empty()) return session;
  SLUICE_ASSIGN(session.lock, lock_session(options.session));
  const std::string messages = terminal::messages_path(options.session);
  const bool has_messages = exists(messages);
  if (has_messages) {
    SLUICE_ASSIGN(session.conversation, terminal::load_conversation(messages));
  }
  const std::string name = printable(options.session, kMaxShownPath);
  const std::string beside = printable(messages, kMaxShownPath);
  if (!has_messages && exists(options.session)) {
    return fail(Code::invalid_argument, "the session in ", name, " has no messages beside it (",
                beside,
                "): sluice run has made it, or they were moved. Name another file, which becomes a "
                "new conversation, or put the messages back");
  }
  SLUICE_ASSIGN(session.restored, restore_session(engine, options.session));
  if (!session.restored && has_messages) {
    warn(concat("there are messages in ", beside, " but no session in ", name,
                ": they are computed anew"));
  }
  return session;
}

// Saves the state and the messages. Returns the exit status.
int save_chat(Engine& engine, const Session& session, const Conversation& conversation,
              const ChatOptions& options, Screen& screen) {
  // From now on Ctrl-C ends the wait for weights.
  install_signal_handlers();
  std::signal(SIGHUP, SIG_IGN);
  defer_signals();
  const auto failed = [&](const Error& error) {
    screen.report(error);
    return unsaved_status(error);
  };
  const auto messages =
      terminal::save_conversation(conversation, terminal::messages_path(options.session));
  if (!messages) return failed(messages.error());
  // Memory ran out in the middle of an answer: the file keeps the state from before.
  if (session.running()) return kNoMemory;
  const auto saved = save_session(engine, session, options.session);
  if (!saved) return failed(saved.error());
  if (screen.json()) return kDone;
  screen.say_dimmed(*saved == 0 ? "[session not saved, because the weights weren't all here yet]"
                                : concat("[session of ", counted(session.tokens().size(), "token"),
                                         " saved, ", human_bytes(*saved), "]"));
  return kDone;
}

// Answers one message. Returns the exit status.
int answer_once(Conversation& conversation, std::string text, Answerer& answerer,
                const ChatOptions& options, Screen& screen) {
  conversation.add({"user", std::move(text), ""});
  auto reply = answerer.answer(conversation, options.answer, options.answer.generate.seed);
  if (!reply || reply->empty()) conversation.cut(conversation.messages().size() - 1);
  if (!reply) return screen.report(reply.error());
  if (!screen.json() && screen.terminal() && !screen.quiet()) screen.write("\n");
  if (!screen.json()) screen.say_dimmed(terminal::reply_figures(*reply));
  if (!reply->empty()) conversation.add(std::move(reply->message));
  if (terminal::ending() != 0) return 128 + terminal::ending();
  return terminal::interrupted() ? 128 + SIGINT : screen.gone_status();
}

// Talks at the terminal until the user ends it. Returns the exit status.
int talk(Conversation& conversation, Answerer& answerer, const ModelSource& model,
         const ChatOptions& options, Screen& screen) {
  const terminal::HistoryFile history(options.no_history ? "" : terminal::history_path());
  // The terminal for typed lines: not standard output if answers or events are written elsewhere.
  const int descriptor = screen.terminal()            ? STDOUT_FILENO
                         : isatty(STDERR_FILENO) == 1 ? STDERR_FILENO
                                                      : -1;
  std::unique_ptr<terminal::LineReader> reader;
  if (descriptor >= 0 && !terminal_is_dumb())
    reader = terminal::edited_lines(descriptor, history.load());
  if (reader == nullptr) reader = terminal::plain_lines(descriptor);
  screen.say_dimmed(
      concat(printable(model.file), "; /help lists the commands",
             conversation.user_messages() == 0
                 ? ""
                 : concat("; ", counted(conversation.messages().size(), "message"), " so far")));
  const auto changed = [&] {
    if (options.session.empty()) return;
    const auto saved =
        terminal::save_conversation(conversation, terminal::messages_path(options.session));
    if (!saved) screen.report(saved.error());
  };
  return terminal::Talk(conversation, answerer, *reader, history, options, screen, changed).run();
}

Result<std::optional<std::string>> message_text(const ChatOptions& options, bool at_terminal) {
  if (at_terminal) return std::nullopt;
  SLUICE_ASSIGN(std::optional<std::string> text, prompt_text(options.prompt));
  while (text && (text->ends_with('\n') || text->ends_with('\r'))) text->pop_back();
  if (text && !text->empty()) return text;
  return fail(Code::invalid_argument,
              text || !options.prompt.source.empty()
                  ? "the message is empty; give some text"
                  : "there is no message; give one with -p, or on standard input");
}

Status check_chat(const ChatOptions& options) {
  if (options.answer.generate.top_logprobs > 0 && !options.json) {
    return fail(Code::invalid_argument,
                "--top-logprobs shows nothing without --json; add --json, or leave it out");
  }
  return check_kernels();
}

int chat_command(const CLI::App& app, ChatOptions& options) {
  if (options.quiet) be_quiet();
  Screen screen(options.json, options.quiet);
  const auto fail_with = [&](const Error& error) { return screen.report(error); };
  if (const auto usable = check_chat(options); !usable) return fail_with(usable.error());
  if (!options.session.empty()) {
    if (const int refused = check_session_path(options.session, options.json); refused != kDone)
      return refused;
  }
  const bool at_terminal = options.prompt.source.empty() && input_is_terminal();
  auto model = find_model(options.model, options.download, options.prompt.source.empty());
  if (!model) return fail_with(model.error());
  auto text = message_text(options, at_terminal);
  if (!text) return fail_with(text.error());
  const auto chat_template = read_template(options.chat_template);
  if (!chat_template) return fail_with(chat_template.error());
  auto opened = open_for_text(*model, options.load);
  if (!opened) return fail_with(with_file_name(*model, opened.error()));
  Engine& engine = *opened->engine;
  warn(engine.notes());
  take_model_sampling(app, engine.header(), options.answer.generate);
  defer_signals();
  auto own = restore_chat(engine, options);
  if (interrupted_by() != 0) return 128 + interrupted_by();
  if (!own) {
    opened->line.reset();
    return fail_with(own.error());
  }
  Session& session = own->restored ? *own->restored : engine.session();
  if (options.system) own->conversation.set_system(*options.system);
  // A terminal shows either typed lines or the status line.
  if (at_terminal) opened->line.reset();
  terminal::note_signals();
  if (interrupted_by() != 0) return 128 + interrupted_by();
  Answerer answerer(*opened, *model, session, options, *chat_template, screen);
  const size_t before = own->conversation.messages().size();
  int status = kDone;
  try {
    status = at_terminal
                 ? talk(own->conversation, answerer, *model, options, screen)
                 : answer_once(own->conversation, std::move(**text), answerer, options, screen);
  } catch (const std::bad_alloc&) {
    own->reserve.reset();
    opened->line.reset();
    status = fail_with({Code::out_of_memory, "out of memory"});
    // At a terminal the message is kept, and /retry answers it later.
    if (!at_terminal) own->conversation.cut(before);
  }
  if (options.session.empty() || status == kBadFile) return status;
  const int saved = save_chat(engine, session, own->conversation, options, screen);
  return status != kDone ? status : saved;
}

}  // namespace

void add_chat(CLI::App& program, int& status) {
  auto options = std::make_shared<ChatOptions>();
  CLI::App* app = add_command(program, "chat", "talk with a model", kChatFooter);
  add_model_and_prompt(*app, options->model, options->prompt);
  add_prompt_file(*app, options->prompt);
  add_value(*app, "--system", "TEXT", "what the system says, before all messages",
            [options](const std::string& text) { options->system = text; })
      ->group("Input");
  add_text(*app, "--chat-template", "FILE", options->chat_template,
           "use this Jinja template and not the model's own")
      ->group("Input");
  add_text(*app, "--kwargs", "JSON", options->kwargs,
           "what the template knows besides, as a JSON object")
      ->group("Input");
  add_value(*app, "--session", "FILE",
            "go on with the conversation in this file, if it exists, and save it there at the end",
            [options](const std::string& text) {
              if (text.empty()) throw CLI::ValidationError("--session: expected a path");
              options->session = text;
            })
      ->group("Input");
  add_flag(*app, "--no-history", options->no_history,
           "neither read nor write the file of what was typed")
      ->group("Input");
  terminal::add_answer_options(*app, options->answer);
  add_json(*app, options->json, "one JSON object a line instead of text");
  add_flag(*app, "-q,--quiet", options->quiet, "only the answers: no figures, no notes")
      ->group("Output");
  add_options(*app, options->load);
  add_download_options(*app, options->download);
  app->callback([app, options, &status] { status = chat_command(*app, *options); });
}

}  // namespace sluice::cli
