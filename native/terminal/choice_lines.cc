#include "terminal/choice_lines.h"

#include <algorithm>
#include <cmath>

#include "app/text.h"
#include "base/format.h"
#include "terminal/columns.h"

namespace sluice::terminal {
namespace {

using cli::format;

constexpr size_t kTokenColumns = 20;  // of a token, where there is room
constexpr size_t kLeastToken = 6;
constexpr size_t kMarkColumns = 2;
constexpr size_t kNumberColumns = 8;  // of each of two probabilities
constexpr size_t kStepColumns = 11;
constexpr size_t kLeastBar = 10;

// A bar of `width` columns for 1: solid for the probability when the token is drawn, and shaded on
// for the one before all, as far as that is larger.
std::string bar(double before, double after, size_t width) {
  const auto columns = [width](double p) {
    return static_cast<size_t>(std::lround(std::clamp(p, 0.0, 1.0) * static_cast<double>(width)));
  };
  std::string out;
  for (size_t i = 0; i < columns(after); ++i) out += "\u2588";
  for (size_t i = columns(after); i < columns(before); ++i) out += "\u2591";
  return out;
}

// Of a token in lines of so many columns.
size_t token_columns(size_t columns) {
  constexpr size_t kOthers = kMarkColumns + 2 * kNumberColumns + 1;
  if (columns >= kOthers + kTokenColumns) return kTokenColumns;
  return std::max(kLeastToken, columns - std::min(columns, kOthers));
}

std::string styled_as(const char* code, const std::string& text, bool styled) {
  return styled ? concat("\033[", code, "m", text, "\033[0m") : text;
}

std::string quoted(const ShownChoice& choice, TokenId id) {
  const std::string_view piece = choice.piece(id);
  return piece.empty() ? concat("(token ", id, ")") : cli::text_in_quotes(piece);
}

// One candidate, with its columns as far as there is room.
std::string candidate_line(const ShownChoice& choice, const ChoiceView::Token& token,
                           size_t columns) {
  const ChoiceView& view = choice.view;
  const double before = std::exp(static_cast<double>(token.logprob));
  const auto after = static_cast<double>(token.p);
  const char* mark = token.id == choice.id ? "> " : token.id == view.taken ? "* " : "  ";
  std::string line = concat(mark, padded_to(quoted(choice, token.id), token_columns(columns)),
                            format(" %7.4f", before));
  if (view.enough) line += after > 0 ? format(" %7.4f", after) : "       -";
  line += ' ';
  std::string step;
  if (token.cut >= 0) step = choice_step_name(view.steps[static_cast<size_t>(token.cut)].step);
  const size_t used = columns_of(line);
  if (used + kStepColumns < columns) line += padded_to(step, kStepColumns) + " ";
  if (used + kStepColumns + 1 + kLeastBar < columns)
    line += bar(before, after, columns - used - kStepColumns - 1);
  return cut_to(line, columns);
}

// The candidates before any step, where nothing more is known.
std::vector<ChoiceView::Token> raw_candidates(const RawLogits& raw) {
  std::vector<ChoiceView::Token> tokens;
  for (const auto& [id, logit] : raw.best)
    tokens.push_back({id, static_cast<float>(static_cast<double>(logit) - raw.log_sum), 0, -1, 0});
  return tokens;
}

}  // namespace

double raw_probability(const RawLogits& raw, TokenId id) {
  for (const auto& [other, logit] : raw.best)
    if (other == id) return std::exp(static_cast<double>(logit) - raw.log_sum);
  return 0;
}

std::string steps_text(const ChoiceView& view) {
  std::string out;
  uint64_t left = UINT64_MAX;
  for (const ChoiceView::Step& step : view.steps) {
    if (step.left == left) continue;
    left = step.left;
    out += concat(out.empty() ? "" : ", ", choice_step_name(step.step), " ", left);
  }
  return out;
}

std::vector<std::string> choice_lines(const ShownChoice& choice, size_t columns, size_t most,
                                      bool styled) {
  const ChoiceView& view = choice.view;
  const size_t width = columns > 1 ? columns - 1 : 1;
  const double p = raw_probability(choice.raw, choice.id);
  std::vector<std::string> lines;
  std::string about =
      concat("token ", choice.number, ": ", quoted(choice, choice.id),
             p > 0 ? format(", probability %.4f, surprise %.2f", p, -std::log(p)) : "",
             format(", entropy %.2f", choice.raw.entropy));
  constexpr std::string_view kUnit = " nats";
  if (columns_of(about) + kUnit.size() <= width) about += kUnit;
  lines.push_back(styled_as("2", cut_to(about, width), styled));
  std::string steps = "more logits are needed than were kept to say what these options do";
  if (view.enough) {
    steps = steps_text(view);
    steps += concat(steps.empty() ? "" : "; ", "drawn among ", view.nucleus,
                    format(" (%.3f)", view.mass));
    if (view.taken != choice.id) steps += concat("; takes ", quoted(choice, view.taken));
  }
  lines.push_back(styled_as("2", cut_to(steps, width), styled));
  lines.push_back(styled_as("2",
                            cut_to(concat("  ", padded_to("token", token_columns(width)),
                                          "  before", view.enough ? "   after cut by" : ""),
                                   width),
                            styled));
  const std::vector<ChoiceView::Token> candidates =
      view.enough ? view.candidates : raw_candidates(choice.raw);
  for (const ChoiceView::Token& token : candidates) {
    if (lines.size() >= most) break;
    const std::string line = candidate_line(choice, token, width);
    const bool taken = token.id == choice.id || token.id == view.taken;
    const bool out = view.enough && token.p == 0;
    lines.push_back(taken ? styled_as("1", line, styled)
                    : out ? styled_as("2", line, styled)
                          : line);
  }
  return lines;
}

}  // namespace sluice::terminal
