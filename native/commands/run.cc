// sluice run: continues a text from a prompt.
#include <algorithm>
#include <cstdlib>
#include <span>
#include <utility>

#include "api/json.h"
#include "app/arguments.h"
#include "app/diagnostics.h"
#include "app/exit_status.h"
#include "app/help.h"
#include "app/model.h"
#include "app/model_use.h"
#include "app/option_flags.h"
#include "app/output.h"
#include "app/output_files.h"
#include "app/overflow.h"
#include "app/prompt.h"
#include "app/session_lock.h"
#include "app/session_path.h"
#include "app/signals.h"
#include "app/text.h"
#include "app/trace_writer.h"
#include "base/format.h"
#include "commands/commands.h"
#include "engine.h"
#include "kernels/choose.h"
#include "terminal/watch.h"
#include "text/tokenizer.h"

namespace sluice::cli {
namespace {

struct RunOptions {
  std::string model;
  DownloadOptions download;
  Prompt prompt;
  LoadOptions load;
  GenerateOptions generate;
  std::string session;  // its file; "": none
  std::string trace;    // likewise
  bool watch = false;
  bool json = false;
  bool quiet = false;
};

constexpr char kRunFooter[] =
    R"(The prompt is PROMPT, -p, -f or --tokens, or else the standard input if that is
a pipe or a file. Without a prompt the text begins with the model's
beginning-of-text token (the bundled model then tells a story of its own). Only
new text is printed; a terminal shows the prompt before it, dimmed. The same
options and seed give the same text on every machine. Ctrl-C ends the text (exit
status 130).

The prompt is computed while the file is read. A model may be larger than the
memory: of what --memory-budget (like 300M, 2G or 1.5GiB; by default most of
what is free) has no room for, the weights are read again for each token, which
is as slow as the disk. The text is the same.

With --session FILE the text goes on where the session in FILE has ended, with
its seed; a prompt, which is the whole text, reuses what the session has of it.
FILE is written at the end, if it doesn't exist as well, also when a signal or
the reader of the output ends the text; it belongs to the model and the KV type.
One program at a time can use it. -n 0 prepares a prompt without an answer.

--watch shows the likeliest candidates of the newest token with their
probabilities before and after the samplers, and what left each out. --trace
FILE writes of each token the 256 best logits as JSON lines, as they come; an
older trace of that name is replaced. sluice replay FILE shows them, also under
other samplers.

With --json each token is a line {"event":"token","id","text","logprob","top"};
the last line is {"event":"done","finish","stats"} or
{"event":"error","code","message"}. finish is eos, length, stop, context or
aborted.

Examples:
  sluice run -p "The little dog" -n 60 --temp 0
  sluice run model.gguf "Once upon a time" -q
  sluice run model.gguf -f question.txt --stop "User:" --seed 7
  sluice run large.gguf "Once upon a time" --memory-budget 4G
  sluice run -p "Once upon a time" -n 50 --session story.sluice
  sluice run -n 50 --session story.sluice
  sluice run -p "Once" --watch --trace story.jsonl
  echo -n "Once" | sluice run --json)";

constexpr size_t kShownPrompt = 2000;  // bytes, the last ones, that a terminal shows

// "2 threads", and how many of them decode if not all do.
std::string threads_text(const Stats& s) {
  std::string text = counted(static_cast<uint64_t>(s.threads), "thread");
  if (s.decode_threads < s.threads) {
    text += concat(" (", s.decode_threads, " of them ",
                   s.decode_threads == 1 ? "decodes" : "decode", ": measured to be faster)");
  }
  return text;
}

std::string figures(const Stats& s, Finish finish, const std::string& copy_news) {
  const auto rate = [](double tps) { return tps > 0 ? format(" at %.1f tokens/s", tps) : ""; };
  return concat(
      "sluice: prompt of ", counted(static_cast<uint64_t>(s.prompt_tokens), "token"),
      rate(s.prompt_tps), s.tokens > 0 ? format(", first token after %.1f ms; ", s.ttft_ms) : "; ",
      counted(static_cast<uint64_t>(s.tokens), "token"), rate(s.tps),
      "; finish: ", finish_name(finish), "\nsluice: ", s.kernels, " kernels, ", threads_text(s),
      ", context ", s.context_size, ", seed ", s.seed, ", ", human_bytes(s.resident_bytes),
      " of weights and state held, ", format("loaded in %.1f ms\n", s.load_ms),
      s.reread_bytes == 0
          ? ""
          : concat("sluice: ", human_bytes(s.reread_bytes), " of weights read again, ",
                   format("waited %.1f ms for weights", s.waited_ms), copy_news, "\n"));
}

// A session that is restored from a file and saved to it, or the engine's own; and what is written
// of its choices.
struct RunSession {
  std::unique_ptr<Session> restored;
  size_t n_restored = 0;  // tokens
  std::optional<TraceWriter> trace;
};

// Starts with the prompt, at the end of a restored session, or with the tokenizer's prefix (BOS)
// alone.
Status start(const Engine& engine, Session& session, const RunOptions& options,
             const std::optional<std::string>& text) {
  if (options.prompt.tokens) return session.start(*options.prompt.tokens, options.generate);
  if (text) return session.start(*text, options.generate);
  if (!session.tokens().empty()) return session.resume(options.generate);
  const auto prefix = engine.tokenizer().prefix();
  if (prefix.empty()) {
    return fail(
        Code::invalid_argument,
        "this model has no beginning-of-text token to begin from; give a prompt with -p, -f "
        "or --tokens, or on standard input");
  }
  return session.start(prefix, options.generate);
}

std::string session_figures(const RunSession& own, const Session& session, uint64_t saved_bytes) {
  const std::string restored = concat("sluice: session: ", counted(own.n_restored, "token"),
                                      " restored, ", session.stats().reused_tokens, " reused; ");
  if (saved_bytes == 0) return restored + "not saved, because the weights weren't all here yet\n";
  return concat(restored, counted(session.tokens().size(), "token"), " saved (",
                human_bytes(saved_bytes), ")\n");
}

// Prints a note if the prompt doesn't continue all of the session's text, so that tokens are
// dropped.
void tell_dropped(const Tokenizer& tokenizer, std::span<const TokenId> had,
                  std::span<const TokenId> prompt) {
  // The same text may be divided into other tokens.
  if (tokenizer.decode(prompt).starts_with(tokenizer.decode(had))) return;
  const auto same = static_cast<size_t>(std::ranges::mismatch(had, prompt).in1 - had.begin());
  if (same == had.size()) return;
  note(concat("the prompt doesn't go on from the session's text: ",
              same == 0 ? "all" : concat("the last ", had.size() - same), " of its ",
              counted(had.size(), "token"),
              " are dropped. To go on, leave the prompt out, or give the whole text"));
}

// Writes an event to the trace. Its first line comes when the prompt is computed.
Status trace(TraceWriter& writer, const Engine& engine, const Session& session,
             const ModelSource& model, const RunOptions& options, const Event& event) {
  if (!writer.begun()) SLUICE_TRY(writer.begin(engine, session, model.file, options.generate));
  return writer.add(engine.tokenizer(), event, session.stats());
}

// The end of the prompt as a terminal shows it before the text; dimmed where it obeys that.
std::string shown_end(const std::string& text, bool dim) {
  std::string_view rest = text;
  const bool cut = rest.size() > kShownPrompt;
  if (cut) {
    rest.remove_prefix(rest.size() - kShownPrompt);
    while (!rest.empty() && (rest.front() & 0xc0) == 0x80) rest.remove_prefix(1);
  }
  const std::string shown = concat(cut ? "..." : "", safe_text(rest));
  const char* no_color = std::getenv("NO_COLOR");
  const bool dimmed = dim && (no_color == nullptr || *no_color == '\0') && !terminal_is_dumb();
  return dimmed ? concat("\033[2m", shown, "\033[0m") : shown;
}

// Runs to the end and prints the text or the events. The prompt is computed while the weights are
// read. But the first token waits until all weights that stay in memory are loaded: a damaged file
// gives no text. A signal or a closed pipe ends the text, and the session is saved.
int generate(Opened& opened, RunSession& own, const ModelSource& model, const RunOptions& options,
             const std::string& prompt) {
  Engine& engine = *opened.engine;
  Session& session = own.restored ? *own.restored : engine.session();
  const bool terminal = stdout_is_terminal() && !options.json;
  Output output;
  std::optional<terminal::Watch> watch;
  if (options.watch) watch.emplace(output, engine, options.generate);
  Status traced;
  bool cancelled = false;
  bool ready = false;
  bool begun = false;
  bool ends_line = true;
  // The text and the status line can't share a terminal. So the prompt is shown when it is
  // computed; without a status line at once.
  const auto begin = [&] {
    if (std::exchange(begun, true)) return;
    if (stdout_is_terminal() || all_is_read(engine)) opened.line.reset();
    if (!terminal || options.quiet || prompt.empty()) return;
    watch ? watch->write(shown_end(prompt, false)) : output.write(shown_end(prompt, true));
    ends_line = prompt.back() == '\n';
  };
  // Text on stderr begins a new line.
  const auto end_line = [&] {
    if (std::exchange(ends_line, true)) return;
    if (terminal) {
      output.write("\n");
    } else if (outputs_meet()) {
      write_err("\n");
    }
  };
  const auto report_last = [&](const Error& error) {
    opened.line.reset();
    begin();
    if (watch) watch->finish();
    end_line();
    // Without the event: writing it would end the program with status 0 if the pipe is closed.
    const int status = report(error, false);
    if (options.json) output.write(safe_json(error_json(error) + "\n"));
    return status;
  };
  const auto fail_with = [&](const Error& error) {
    return report_last(
        with_context_advice(engine, "shorten the prompt", with_file_name(model, error)));
  };
  if (opened.line == nullptr) begin();
  while (true) {
    const bool must_stop = interrupted_by() != 0 || output.gone() || !traced;
    if (must_stop && !std::exchange(cancelled, true)) session.cancel();
    auto event = session.step();
    if (!event) return fail_with(event.error());
    if (opened.line != nullptr) opened.line->set_prompt(session.prompt_progress());
    const bool done = event->kind == Event::Kind::done;
    if ((done || event->kind == Event::Kind::token) && !cancelled && !std::exchange(ready, true)) {
      if (const auto waited = engine.wait_ready(); !waited) return fail_with(waited.error());
    }
    if (event->kind == Event::Kind::waiting) {
      if (const auto waited = engine.wait(); !waited) return fail_with(waited.error());
    }
    if (done || event->kind == Event::Kind::token) begin();
    if (done) {
      opened.line.reset();
      if (watch) watch->finish();
    }
    if (own.trace && traced && (done || event->kind == Event::Kind::token))
      traced = trace(*own.trace, engine, session, model, options, *event);
    uint64_t saved_bytes = 0;
    if (done && !options.session.empty()) {
      const auto saved = save_session(engine, session, options.session);
      if (!saved) {
        report_last(saved.error());
        return unsaved_status(saved.error());
      }
      saved_bytes = *saved;
    }
    if (done && !traced) return report_last(traced.error());
    if (watch && event->kind == Event::Kind::token) {
      watch->add(session, *event);
      if (!event->text.empty()) ends_line = event->text.back() == '\n';
      continue;
    }
    event->raw.reset();  // of --trace: events stay as they are
    if (options.json) {
      if (done || event->kind == Event::Kind::token)
        output.write(safe_json(event_json(*event, session.stats()) + "\n"));
    } else if (!event->text.empty()) {
      output.write(terminal ? safe_text(event->text) : event->text);
      ends_line = event->text.back() == '\n';
    }
    if (!done) continue;
    learn_from(session.stats());
    const bool tells = !options.json && !options.quiet;
    if (terminal || tells) end_line();
    if (tells) {
      if (terminal) output.write("\n");
      if (!output.gone()) write_err(figures(session.stats(), event->finish, opened.copy_news()));
      if (!options.session.empty()) write_err(session_figures(own, session, saved_bytes));
    }
    return interrupted_by() != 0 ? 128 + interrupted_by() : output.status();
  }
}

// The prompt as text, also if it was given as ids.
std::string shown_prompt(const Engine& engine, const RunOptions& options,
                         const std::optional<std::string>& text) {
  if (options.prompt.tokens) return engine.tokenizer().decode(*options.prompt.tokens);
  return text.value_or("");
}

std::vector<TokenId> prompt_tokens(const Tokenizer& tokenizer, const RunOptions& options,
                                   const std::optional<std::string>& text) {
  if (options.prompt.tokens) return *options.prompt.tokens;
  return tokenizer.with_prefix(tokenizer.encode(text.value_or(""), options.generate.special));
}

// The text and its candidates need a screen of their own.
Status check_watch(const RunOptions& options) {
  if (options.json)
    return fail(Code::invalid_argument,
                "--watch shows text at a terminal; leave out --json, or take --trace FILE");
  if (stdout_is_terminal() && !terminal_is_dumb()) return {};
  return fail(
      Code::invalid_argument, "--watch needs a terminal to show candidates on; ",
      stdout_is_terminal() ? "TERM says that this one obeys no escapes" : "standard output is none",
      ". Without one, --trace FILE writes them, and sluice replay FILE shows them");
}

// The trace must not replace what is read.
Result<TraceWriter> open_trace(const RunOptions& options, const ModelSource& model) {
  std::vector<std::string> read = model.paths;
  if (options.prompt.file) read.push_back(*options.prompt.file);
  if (!options.session.empty()) read.push_back(options.session);
  if (options.trace == options.session)
    return fail(Code::invalid_argument,
                "--trace and --session name the same file; name another for the trace");
  SLUICE_TRY(check_other_files({options.trace}, read));
  return TraceWriter::create(options.trace);
}

int run(const CLI::App& app, RunOptions& options) {
  const auto fail_with = [&](const Error& error) { return report(error, options.json); };
  if (options.quiet) be_quiet();
  if (options.generate.top_logprobs > 0 && !options.json) {
    return fail_with({Code::invalid_argument,
                      "--top-logprobs shows nothing without --json; add --json, or leave it out"});
  }
  if (!options.session.empty()) {
    if (const int refused = check_session_path(options.session, options.json); refused != kDone)
      return refused;
  }
  if (options.watch) {
    if (const Status seen = check_watch(options); !seen) return fail_with(seen.error());
  }
  if (options.watch || !options.trace.empty()) options.generate.trace = kMostRawLogits;
  if (const auto kernels = check_kernels(); !kernels) return fail_with(kernels.error());
  auto model = find_model(options.model, options.download, options.prompt.source.empty());
  if (!model) return fail_with(model.error());
  const auto text = prompt_text(options.prompt);
  if (!text) return fail_with(text.error());
  if (*text && (*text)->empty()) {
    return fail_with(
        {Code::invalid_argument,
         concat("the prompt is empty (", options.prompt.source, "); give some text, or leave ",
                options.prompt.source, " out to begin with the model's beginning-of-text token")});
  }
  auto opened = open_for_text(*model, options.load);
  if (!opened) return fail_with(with_file_name(*model, opened.error()));
  Engine& engine = *opened->engine;
  warn(engine.notes());
  take_model_sampling(app, engine.header(), options.generate);
  defer_signals();
  SessionLock lock;
  RunSession own;
  if (!options.session.empty()) {
    auto locked = lock_session(options.session);
    if (!locked) {
      opened->line.reset();
      return fail_with(locked.error());
    }
    lock = std::move(*locked);
    auto restored = restore_session(engine, options.session);
    if (!restored) {
      opened->line.reset();
      if (interrupted_by() != 0) return 128 + interrupted_by();
      return fail_with(restored.error());
    }
    own.restored = std::move(*restored);
    if (own.restored) own.n_restored = own.restored->tokens().size();
  }
  if (!options.trace.empty()) {
    auto file = open_trace(options, *model);
    if (!file) {
      opened->line.reset();
      return fail_with(file.error());
    }
    own.trace.emplace(std::move(*file));
  }
  Session& session = own.restored ? *own.restored : engine.session();
  const std::vector<TokenId> had = session.written();
  if (const auto started = start(engine, session, options, *text); !started) {
    opened->line.reset();
    return fail_with(with_context_advice(engine, "shorten the prompt", started.error()));
  }
  if (own.restored && (options.prompt.tokens || *text))
    tell_dropped(engine.tokenizer(), had, prompt_tokens(engine.tokenizer(), options, *text));
  const std::string prompt = shown_prompt(engine, options, *text);
  return generate(*opened, own, *model, options, prompt);
}

}  // namespace

void add_run(CLI::App& program, int& status) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* app = add_command(program, "run", "continue a text from a prompt", kRunFooter);
  add_model_and_prompt(*app, options->model, options->prompt);
  add_prompt_file(*app, options->prompt);
  add_prompt_tokens(*app, options->prompt);
  add_value(*app, "--session", "FILE",
            "go on from the session in this file, if it exists, and save it there at the end",
            [options](const std::string& text) {
              if (text.empty()) throw CLI::ValidationError("--session: expected a path");
              options->session = text;
            })
      ->group("Input");
  add_options(*app, options->generate);
  add_json(*app, options->json, "one JSON object a line instead of text");
  add_value(*app, "--trace", "FILE",
            "write to this file what each token was chosen from; sluice replay shows it",
            [options](const std::string& text) {
              if (text.empty()) throw CLI::ValidationError("--trace: expected a path");
              options->trace = text;
            })
      ->group("Output");
  add_flag(*app, "--watch", options->watch,
           "show below the text what the newest token was chosen from")
      ->group("Output");
  add_flag(*app, "-q,--quiet", options->quiet, "only the text: no figures, no notes")
      ->group("Output");
  add_options(*app, options->load);
  add_download_options(*app, options->download);
  app->callback([app, options, &status] { status = run(*app, *options); });
}

}  // namespace sluice::cli
