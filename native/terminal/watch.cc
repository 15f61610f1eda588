#include "terminal/watch.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "api/choice.h"
#include "app/trace_writer.h"
#include "base/format.h"
#include "terminal/choice_lines.h"
#include "terminal/columns.h"
#include "terminal/screen.h"
#include "text/tokenizer.h"

namespace sluice::terminal {
namespace {

constexpr size_t kCandidates = 9;
constexpr size_t kLines = kCandidates + 3;
constexpr size_t kMostLine = 64 << 10;  // bytes of the text's last line that are remembered

// A job in the background would be stopped if it changed the terminal.
bool is_in_front() { return ::tcgetpgrp(STDOUT_FILENO) == ::getpgrp(); }

}  // namespace

KeptOutput::KeptOutput() {
  if (!is_in_front() || ::tcgetattr(STDOUT_FILENO, &before_) != 0) return;
  termios kept = before_;
  kept.c_lflag |= NOFLSH;
  changed_ = ::tcsetattr(STDOUT_FILENO, TCSANOW, &kept) == 0;
}

KeptOutput::~KeptOutput() {
  if (changed_ && is_in_front()) ::tcsetattr(STDOUT_FILENO, TCSANOW, &before_);
}

Watch::Watch(cli::Output& output, const Engine& engine, const GenerateOptions& options)
    : output_(output), engine_(engine), options_(options), styled_(obeys_escapes(STDOUT_FILENO)) {}

// What takes away the candidates, so that the text goes on where it ended.
std::string Watch::erased() {
  if (rows_ == 0) return "";
  const std::string up = concat("\033[", std::exchange(rows_, 0), "A\r\033[J");
  return concat(up, last_row(line_, cli::terminal_columns(STDOUT_FILENO)));
}

void Watch::write(std::string_view text) {
  output_.write(concat(erased(), text));
  line_ += text;
  if (const size_t end = line_.rfind('\n'); end != std::string::npos) line_.erase(0, end + 1);
  if (line_.size() > kMostLine) {
    line_.erase(0, line_.size() - kMostLine / 2);
    while (!line_.empty() && (line_.front() & 0xc0) == 0x80) line_.erase(0, 1);
  }
}

std::vector<std::string> Watch::lines(const Session& session, const Event& event) {
  const Tokenizer& tokenizer = engine_.tokenizer();
  const size_t columns = cli::terminal_columns(STDOUT_FILENO);
  const size_t most = std::max<size_t>(4, std::min(kLines, cli::terminal_rows(STDOUT_FILENO) / 2));
  GenerateOptions used = options_;
  used.seed = session.stats().seed;
  const auto view = view_choice(choice_vocabulary(&tokenizer, tokenizer.vocab_size()), *event.raw,
                                {before_, session.answer_begin(), event.raw->draws}, used,
                                static_cast<int>(kCandidates));
  if (!view) return {cut_to(printable(view.error().message), columns - 1)};
  std::string piece;
  const auto piece_of = [&](TokenId id) -> std::string_view {
    piece = cli::piece_text(tokenizer, id);
    return piece;
  };
  return choice_lines({concat(n_tokens_), event.id, *event.raw, *view, piece_of}, columns, most,
                      styled_);
}

void Watch::add(const Session& session, const Event& event) {
  if (n_tokens_++ == 0) {
    const std::span<const TokenId> all = session.tokens();
    const auto n = static_cast<size_t>(session.stats().prompt_tokens);
    before_.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(n, all.size())));
  }
  std::string below;
  if (event.raw) {
    const std::vector<std::string> shown = lines(session, event);
    for (const std::string& line : shown) below += concat("\n", line);
    write(safe_text(event.text));
    rows_ = shown.size();
    output_.write(below);
  }
  before_.push_back(event.id);
}

void Watch::finish() { output_.write(erased()); }

}  // namespace sluice::terminal
