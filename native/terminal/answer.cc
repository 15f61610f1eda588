#include "terminal/answer.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "api/json.h"
#include "app/diagnostics.h"
#include "app/load_line.h"
#include "app/overflow.h"
#include "app/template_input.h"
#include "app/text.h"
#include "base/format.h"
#include "chat/reuse.h"
#include "engine.h"
#include "terminal/signals.h"

namespace sluice::terminal {
namespace {

// The most tokens that a prompt may have so that there is room for an answer.
uint32_t prompt_room(uint32_t context, int64_t max_tokens) {
  const uint32_t half = context / 2;
  const int64_t wanted = max_tokens >= 0 ? max_tokens : context / 4;
  return std::max(context - static_cast<uint32_t>(std::min<int64_t>(wanted, half)), 1u);
}

bool must_stop(const Screen& screen) { return interrupted() || ending() != 0 || screen.gone(); }

}  // namespace

Answerer::Answerer(cli::Opened& opened, const cli::ModelSource& model, Session& session,
                   const ChatOptions& options, std::string chat_template, Screen& screen)
    : opened_(opened),
      model_(model),
      session_(session),
      options_(options),
      current_(options.answer),
      chat_template_(std::move(chat_template)),
      screen_(screen) {}

bool Answerer::is_fatal(const Error& error) {
  return error.code != Code::invalid_argument && error.code != Code::context_full &&
         error.code != Code::out_of_memory;
}

Result<ReplyPrompt> Answerer::prompt_of(const Conversation& conversation, bool fits) {
  const Engine& engine = *opened_.engine;
  const std::string messages = conversation_json(conversation);
  ChatRequest request;
  request.messages = messages;
  request.kwargs = options_.kwargs;
  if (!options_.chat_template.empty()) request.chat_template = chat_template_;
  request.adapt_contents = true;
  request.thinking = current_.thinking();
  if (fits) {
    request.context = engine.context_size() - 1;
    if (current_.drop)
      request.most_tokens = prompt_room(engine.context_size(), current_.generate.max_tokens);
  }
  SLUICE_ASSIGN(request.time, cli::template_time());
  request.time.stopped = [this] { return must_stop(screen_); };
  auto made = make_reply_prompt({&engine.header(), &engine.tokenizer(), &learned_}, request);
  if (!made) return std::unexpected(cli::with_template_name(options_.chat_template, made.error()));
  Notes warnings;
  for (const Note& warning : made->prompt.warnings)
    if (warned_.insert(warning.message).second) warnings.push_back(warning);
  cli::warn(cli::with_template_advice(std::move(warnings)));
  return made;
}

// Waits until all weights that stay in memory are loaded: a damaged file gives no text. False:
// interrupted.
Result<bool> Answerer::wait_until_ready() {
  Engine& engine = *opened_.engine;
  while (!engine.ready()) {
    if (must_stop(screen_)) return false;
    SLUICE_TRY(engine.wait());
  }
  return true;
}

Result<Finish> Answerer::run(Reply& reply) {
  Engine& engine = *opened_.engine;
  ShownReply text(screen_);
  bool cancelled = false, begun = false;
  const auto ended = [&](Result<Finish> result) {
    opened_.line.reset();
    text.finish();
    return result;
  };
  while (true) {
    if (must_stop(screen_) && !std::exchange(cancelled, true)) session_.cancel();
    auto event = session_.step();
    if (!event) return ended(std::unexpected(event.error()));
    const bool done = event->kind == Event::Kind::done;
    if (opened_.line != nullptr) opened_.line->set_prompt(session_.prompt_progress());
    if (event->kind == Event::Kind::waiting) {
      if (const auto waited = engine.wait(); !waited) return ended(std::unexpected(waited.error()));
    }
    if (!done && event->kind != Event::Kind::token) continue;
    if (!cancelled && !begun) {
      const auto ready = wait_until_ready();
      if (!ready) return ended(std::unexpected(ready.error()));
      if (!*ready) continue;
    }
    // The text and the status line can't share a terminal.
    if (!std::exchange(begun, true) && (screen_.terminal() || cli::all_is_read(engine)))
      opened_.line.reset();
    (event->reasoning ? reply.message.reasoning : reply.message.content) += event->text;
    if (screen_.json()) {
      screen_.write_json(event_json(*event, session_.stats()) + "\n");
    } else {
      text.add(event->text, event->reasoning);
    }
    if (done) return ended(event->finish);
  }
}

// Adds advice to the error if the conversation is longer than the context.
Error Answerer::with_advice(Error error, const Conversation& conversation) {
  if (error.code != Code::context_full) return error;
  bool can_drop = false;
  if (!current_.drop && conversation.user_messages() > 1) {
    // Either older turns fill the context, or the last message alone is too long.
    current_.drop = true;
    const auto shorter = prompt_of(conversation, true);
    can_drop = shorter.has_value();
    if (!can_drop && shorter.error().code == Code::context_full) error = shorter.error();
  }
  return cli::with_context_advice(
      *opened_.engine,
      can_drop ? "/set context-full drop (or --context-full drop) leaves out the oldest turns, "
                 "/reset begins anew"
               : "shorten the message",
      std::move(error));
}

// The reply that was stopped before its prompt was made.
Reply Answerer::stopped_early() {
  opened_.line.reset();
  Event done;
  done.kind = Event::Kind::done;
  done.finish = Finish::aborted;
  Reply reply;
  reply.finish = done.finish;
  reply.stats = opened_.engine->stats();
  if (screen_.json()) screen_.write_json(event_json(done, reply.stats) + "\n");
  return reply;
}

Result<Reply> Answerer::answer(const Conversation& conversation, const AnswerOptions& options,
                               std::optional<uint64_t> seed) {
  current_ = options;
  const auto asked = std::chrono::steady_clock::now();
  // The status line ends before a message.
  const auto refused = [&](const Error& error) {
    opened_.line.reset();
    return std::unexpected(with_advice(error, conversation));
  };
  auto made = prompt_of(conversation, true);
  if (!made && made.error().code == Code::aborted) return stopped_early();
  if (!made) return refused(made.error());
  ChatPrompt& prompt = made->prompt;
  GenerateOptions generate = options.generate;
  generate.seed = seed;
  Reply reply;
  reply.message.role = "assistant";
  reply.dropped = prompt.dropped_messages;
  if (reply.dropped > 0 && screen_.json())
    screen_.write(concat("{\"event\":\"dropped\",\"messages\":", reply.dropped, "}\n"));
  const auto tokens =
      reuse_tokens(opened_.engine->tokenizer(), session_.written(), std::move(prompt.tokens));
  const int64_t think_tokens = options.no_think ? 0 : options.think_tokens;
  const auto started = session_.start_reply(tokens, generate, made->format, think_tokens, asked);
  if (!started) return refused(started.error());
  if (opened_.line == nullptr && cli::can_show_status()) {
    opened_.line =
        std::make_unique<cli::LoadLine>(model_.file, opened_.engine->progress().total, true);
    opened_.line->follow(*opened_.engine);
  }
  const auto finish = run(reply);
  if (!finish) return std::unexpected(cli::with_file_name(model_, finish.error()));
  reply.finish = *finish;
  reply.stats = session_.stats();
  cli::learn_from(reply.stats);
  return reply;
}

namespace {

std::string rate(double tps) { return tps > 0 ? cli::format(" at %.1f tokens/s", tps) : ""; }

// Why an answer ended, if not by its own end.
std::string ending_text(Finish finish) {
  switch (finish) {
    case Finish::length:
      return "; ended by its limit of tokens";
    case Finish::context:
      return "; ended because the context is full";
    case Finish::aborted:
      return "; stopped";
    case Finish::eos:
    case Finish::stop:
      break;
  }
  return "";
}

}  // namespace

std::string reply_figures(const Reply& reply) {
  const Stats& s = reply.stats;
  const auto count = [](int64_t n) { return counted(static_cast<uint64_t>(n), "token"); };
  return concat("[", count(s.tokens), rate(s.tps),
                s.reasoning_tokens > 0 ? concat(", ", s.reasoning_tokens, " of them thinking") : "",
                "; prompt of ", count(s.prompt_tokens), ", ", s.reused_tokens, " reused, ",
                s.prompt_tokens - s.reused_tokens, " computed", rate(s.prompt_tps),
                reply.dropped > 0 ? concat("; the ", counted(reply.dropped, "oldest message"),
                                           " left out, because the context is full")
                                  : "",
                ending_text(reply.finish), "]");
}

std::string reply_stats(const Reply& reply, const std::string& copy_news) {
  const Stats& s = reply.stats;
  return concat(reply_figures(reply), cli::format("\nfirst token after %.1f ms, ", s.ttft_ms),
                "finish: ", finish_name(reply.finish), ", seed ", s.seed, "\n", s.kernels,
                " kernels, ", counted(static_cast<uint64_t>(s.threads), "thread"), " (",
                s.decode_threads, " for decoding), context ", s.context_size, ", ",
                human_bytes(s.resident_bytes), " of weights and state held, ",
                cli::format("loaded in %.1f ms", s.load_ms),
                s.reread_bytes == 0
                    ? ""
                    : concat("\n", human_bytes(s.reread_bytes), " of weights read again, ",
                             cli::format("waited %.1f ms for weights", s.waited_ms), copy_news));
}

}  // namespace sluice::terminal
