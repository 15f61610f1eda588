// sluice replay: shows what the tokens of a trace were chosen from.
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>

#include "api/choice.h"
#include "app/arguments.h"
#include "app/diagnostics.h"
#include "app/exit_status.h"
#include "app/help.h"
#include "app/numbers.h"
#include "app/option_flags.h"
#include "app/output.h"
#include "app/text.h"
#include "app/trace_reader.h"
#include "base/format.h"
#include "commands/commands.h"
#include "terminal/choice_lines.h"
#include "terminal/columns.h"
#include "terminal/replay_view.h"

namespace sluice::cli {
namespace {

struct ReplayOptions {
  std::string file;
  int top = 10;
  double speed = 5;
  bool json = false;
  GenerateOptions generate;  // those that are given count
};

constexpr char kReplayFooter[] =
    R"(FILE is a trace, as sluice run --trace FILE and a page write it. On a terminal
it plays: the text, and below it what the newest token was chosen from, as with
--watch. Space stops and goes on, the arrows (or p and n) step, Home and End
jump, + and - change the speed, q ends it.

Into a pipe or a file it prints a line for each token: its number, its text, its
probability before and after the samplers, the entropy (in nats) of all tokens,
how many could be drawn, and how many each sampler left. With --json each token
is an object {"id","text","enough","steps":[{"step","left","mass"},..],
"candidates":[[id,logprob,changed,cut,p],..],"nucleus","mass","place","taken"}:
changed is the log-probability after penalties, cut the index of the step that
left the token out or -1, p its probability when it is drawn.

With samplers' options it shows what the same logits give under them, with the
trace's own for those that aren't given; the text stays that of the trace. Where
these options could take a token whose logit the trace doesn't have (--top-k 0,
or above 256), it says so: "enough" is false.

Examples:
  sluice run -p "Once upon a time" -n 60 --trace story.jsonl
  sluice replay story.jsonl
  sluice replay story.jsonl --temp 0.2 --top-p 0.5 | less
  sluice replay story.jsonl --json --top 3)";

// The options of the trace, and in their places those that were given.
GenerateOptions merged(const CLI::App& app, const GenerateOptions& given,
                       const GenerateOptions& traced) {
  GenerateOptions options = traced;
  for (const auto& [name, value] : option_values(app.get_name(), given))
    if (app.count("--" + name) > 0) copy_option(app.get_name(), name, given, options);
  return options;
}

std::string quoted(const TraceReader& trace, TokenId id) {
  const std::string_view piece = trace.piece(id);
  return piece.empty() ? concat("(token ", id, ")") : text_in_quotes(piece);
}

std::string probability(double p) { return p > 0 ? format("%7.4f", p) : "      -"; }

std::string table_head() {
  return "     # token                 before   after entropy/nats  drawn  samplers\n";
}

std::string table_row(const TraceReader& trace, size_t number, const TraceToken& token,
                      const ChoiceView& view) {
  std::string row =
      format("%6zu ", number) + terminal::padded_to(quoted(trace, token.id), 20) + " ";
  if (!token.raw) return row + "the trace doesn't tell what it was chosen from\n";
  double after = 0;
  for (const ChoiceView::Token& each : view.candidates)
    if (each.id == token.id) after = static_cast<double>(each.p);
  row += probability(terminal::raw_probability(*token.raw, token.id)) + " " + probability(after) +
         format(" %12.3f", token.raw->entropy);
  if (!view.enough) return row + "      -  needs logits that the trace doesn't have\n";
  row += format(" %6llu  ", static_cast<unsigned long long>(view.nucleus)) +
         terminal::steps_text(view);
  if (view.taken != token.id) row += "; takes " + quoted(trace, view.taken);
  return row + "\n";
}

std::string json_line(const TraceToken& token, const ChoiceView& view) {
  std::string text;
  append_json_text(text, token.text);
  return concat("{\"id\":", token.id, ",\"text\":", text, ",", choice_json(view).substr(1), "\n");
}

// All tokens, one after the other.
int print(TraceReader& trace, const GenerateOptions& options, const ReplayOptions& how) {
  if (!how.json) write_out(table_head());
  size_t number = 0;
  while (true) {
    const auto token = trace.next();
    if (!token) return report(token.error(), how.json);
    if (!*token) break;
    const auto view = terminal::trace_view(trace, **token, trace.prompt_tokens() + number, options,
                                           how.json ? how.top : kMostRawLogits);
    if (!view) return report(view.error(), how.json);
    ++number;
    how.json ? write_json(json_line(**token, *view))
             : write_shown(table_row(trace, number, **token, *view));
  }
  if (trace.is_cut()) note("the trace ends in the middle of a line, which is left out");
  return kDone;
}

// The options' help names the defaults of a run. Here those that aren't given are the trace's.
void name_defaults(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    const std::string group = option->get_group();
    if (group != "Sampling" && group != "More samplers") continue;
    const std::string help = option->get_description();
    option->description(help.substr(0, help.rfind(" (default ")) + " (default the trace's)");
  }
  app.get_option("--seed")->description(
      "the random numbers that take the tokens (default the trace's)");
}

int replay(const CLI::App& app, const ReplayOptions& how) {
  const auto fail_with = [&](const Error& error) { return report(error, how.json); };
  if (how.file.empty())
    return fail_with(
        {Code::invalid_argument, "no FILE; name a trace, as sluice run --trace FILE writes it"});
  auto trace = TraceReader::open(how.file);
  if (!trace) return fail_with(trace.error());
  const GenerateOptions options = merged(app, how.generate, trace->options());
  const bool plays =
      !how.json && stdout_is_terminal() && isatty(STDIN_FILENO) == 1 && !terminal_is_dumb();
  if (!plays) return print(*trace, options, how);
  auto status = terminal::play(*trace, options, {how.top, how.speed});
  return status ? *status : fail_with(status.error());
}

}  // namespace

void add_replay(CLI::App& program, int& status) {
  auto options = std::make_shared<ReplayOptions>();
  CLI::App* app = add_command(program, "replay", "show what the tokens of a trace were chosen from",
                              kReplayFooter, Environment::color);
  add_value(*app, "FILE", "FILE", "the trace that sluice run --trace wrote",
            [options](const std::string& text) {
              if (!options->file.empty())
                throw CLI::ValidationError(too_many_arguments(text, false));
              options->file = text;
            })
      ->group(kNeededArgument);
  add_integer(*app, "--top", options->top, 1, kMostRawLogits, "N",
              "candidates to show (default 10)")
      ->group("Output");
  add_value(*app, "--speed", "TOKENS", "tokens a second; 0: it stands at the first one (default 5)",
            [options](const std::string& text) {
              std::string_view rest = text;
              const auto number = take_number(rest);
              if (!number || !rest.empty() || *number < 0 || *number > 1000)
                refuse("--speed", "a number from 0 to 1000", text);
              options->speed = *number;
            })
      ->group("Output");
  add_json(*app, options->json, "one JSON object for each token");
  add_options(*app, options->generate);
  name_defaults(*app);
  app->callback([app, options, &status] { status = replay(*app, *options); });
}

}  // namespace sluice::cli
