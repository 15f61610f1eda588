#include "terminal/replay_view.h"

#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "api/choice.h"
#include "app/exit_status.h"
#include "app/output.h"
#include "app/text.h"
#include "base/format.h"
#include "base/utf8.h"
#include "terminal/choice_lines.h"
#include "terminal/columns.h"
#include "terminal/line_reader.h"
#include "terminal/screen.h"
#include "terminal/signals.h"

namespace sluice::terminal {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kTextRows = 8;
constexpr double kLeastSpeed = 0.25;  // tokens a second
constexpr double kMostSpeed = 1000;
constexpr double kUsualSpeed = 5;

// Keys come at once and are not shown. Ctrl-C stays a signal.
class KeyInput {
 public:
  KeyInput() : known_(::tcgetattr(STDIN_FILENO, &before_) == 0) { take(); }
  ~KeyInput() {
    if (known_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }
  KeyInput(const KeyInput&) = delete;
  KeyInput& operator=(const KeyInput&) = delete;
  void take() const {
    if (!known_) return;
    termios keys = before_;
    keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    keys.c_lflag |= NOFLSH;  // Ctrl-C must not drop a part of what is drawn
    keys.c_cc[VMIN] = 1;
    keys.c_cc[VTIME] = 0;
    ::tcsetattr(STDIN_FILENO, TCSANOW, &keys);
  }

 private:
  termios before_ = {};
  bool known_;
};

enum class Key : uint8_t { none, toggle, next, previous, first, last, faster, slower, quit };

// Takes a key from what was typed. `none`: what it took means nothing.
Key take_key(std::string& bytes) {
  constexpr std::pair<std::string_view, Key> kKeys[] = {
      {"\033[C", Key::next},     {"\033OC", Key::next},  {"\033[D", Key::previous},
      {"\033OD", Key::previous}, {"\033[H", Key::first}, {"\033OH", Key::first},
      {"\033[1~", Key::first},   {"\033[F", Key::last},  {"\033OF", Key::last},
      {"\033[4~", Key::last},    {" ", Key::toggle},     {"n", Key::next},
      {"p", Key::previous},      {"+", Key::faster},     {"=", Key::faster},
      {"-", Key::slower},        {"q", Key::quit},       {"\004", Key::quit}};
  for (const auto& [text, key] : kKeys) {
    if (!bytes.starts_with(text)) continue;
    bytes.erase(0, text.size());
    return key;
  }
  // Another escape sequence: none of its letters is a key.
  size_t n = 1;
  if (bytes.starts_with("\033[") || bytes.starts_with("\033O")) {
    n = 2;
    while (n < bytes.size() && (bytes[n] < '@' || bytes[n] > '~')) ++n;
    ++n;
  }
  bytes.erase(0, std::min(n, bytes.size()));
  return Key::none;
}

// The rows of a text as a terminal of so many columns wraps it.
std::vector<std::string> wrapped_rows(std::string_view text, size_t columns) {
  std::vector<std::string> rows = {""};
  size_t used = 0;
  while (!text.empty()) {
    const Utf8Char c = utf8_decode(text);
    const std::string_view bytes = text.substr(0, c.length);
    text.remove_prefix(c.length);
    if (bytes == "\n") {
      rows.emplace_back();
      used = 0;
      continue;
    }
    const std::string_view shown = bytes == "\t" ? " " : bytes;
    const size_t width = columns_of(shown);
    if (used + width > columns) {
      rows.emplace_back();
      used = 0;
    }
    rows.back() += shown;
    used += width;
  }
  return rows;
}

class Player {
 public:
  Player(cli::TraceReader& trace, const GenerateOptions& options, const PlayOptions& how)
      : trace_(trace),
        options_(options),
        top_(how.top),
        speed_(how.speed > 0 ? how.speed : kUsualSpeed),
        playing_(how.speed > 0),
        styled_(obeys_escapes(STDOUT_FILENO)) {}

  // Reads all of the trace, but for what is read again when it is shown.
  Status read();
  bool empty() const { return steps_.empty(); }
  Result<int> run();

 private:
  struct Step {
    uint64_t place;  // of its line
    size_t end;      // of its text
    TokenId id;
  };

  Status draw();
  void obey(Key key);
  void go_to(size_t at);
  std::string status_line(size_t columns) const;
  // Waits for keys, signals and the time of the next token. False: the input has ended.
  bool wait();

  cli::TraceReader& trace_;
  const GenerateOptions& options_;
  int top_;
  double speed_;
  bool playing_;
  bool styled_;
  bool quit_ = false;
  bool stale_ = true;  // what is shown
  std::string text_;   // prompt and answer
  std::vector<Step> steps_;
  size_t at_ = 0;
  size_t rows_ = 0;  // that are shown
  std::string typed_;
  Clock::time_point due_ = Clock::now();
  cli::Output output_;
};

Status Player::read() {
  text_ = safe_text(trace_.prompt());
  while (true) {
    const uint64_t place = trace_.place();
    SLUICE_ASSIGN(const auto token, trace_.next());
    if (!token) return {};
    text_ += safe_text(token->text);
    steps_.push_back({place, text_.size(), token->id});
  }
}

std::string Player::status_line(size_t columns) const {
  const std::string_view state = playing_                   ? "playing"
                                 : at_ + 1 == steps_.size() ? "ended"
                                                            : "stopped";
  return cut_to(concat(state, cli::format(", %.3g tokens/s", speed_),
                       "  space: play, n/p: step, Home, End, +/-: speed, q: quit"),
                columns);
}

// Draws all rows over those that are shown.
Status Player::draw() {
  const size_t columns = cli::terminal_columns(STDOUT_FILENO);
  const size_t width = columns > 1 ? columns - 1 : 1;
  const size_t room = std::max<size_t>(cli::terminal_rows(STDOUT_FILENO), 8) - 2;
  const size_t most = std::min(static_cast<size_t>(top_) + 3, room - 2);
  const size_t text_rows = std::clamp<size_t>(room - most, 1, kTextRows);

  const Step& step = steps_[at_];
  SLUICE_ASSIGN(const cli::TraceToken token, trace_.read_at(step.place, at_));
  std::vector<std::string> rows;
  // No more of the text than its rows could hold.
  size_t begin = step.end - std::min(step.end, 8 * width * text_rows);
  while (begin < step.end && (text_[begin] & 0xc0) == 0x80) ++begin;
  const std::string_view shown = std::string_view(text_).substr(begin, step.end - begin);
  std::vector<std::string> text = wrapped_rows(shown, width);
  if (text.size() > text_rows)
    text.erase(text.begin(), text.end() - static_cast<std::ptrdiff_t>(text_rows));
  rows = std::move(text);
  rows.emplace_back();
  const std::string number = concat(at_ + 1, " of ", steps_.size());
  if (token.raw) {
    SLUICE_ASSIGN(const ChoiceView view,
                  trace_view(trace_, token, trace_.prompt_tokens() + at_, options_, top_));
    const auto piece = [this](TokenId id) { return trace_.piece(id); };
    for (std::string& line :
         choice_lines({number, token.id, *token.raw, view, piece}, columns, most, styled_))
      rows.push_back(std::move(line));
  } else {
    rows.push_back(cut_to(
        concat("token ", number, ": the trace doesn't tell what it was chosen from"), width));
  }
  const std::string status = status_line(width);
  rows.push_back(styled_ ? concat("\033[2m", status, "\033[0m") : status);
  std::string out = rows_ > 1 ? concat("\r\033[", rows_ - 1, "A") : "\r";
  out += "\033[J";
  for (size_t i = 0; i < rows.size(); ++i) out += concat(i == 0 ? "" : "\n", rows[i]);
  output_.write(out);
  rows_ = rows.size();
  stale_ = false;
  return {};
}

void Player::go_to(size_t at) {
  if (at == at_) return;
  at_ = at;
  stale_ = true;
}

void Player::obey(Key key) {
  const size_t last = steps_.size() - 1;
  const bool stops =
      key == Key::next || key == Key::previous || key == Key::first || key == Key::last;
  if (stops) playing_ = false;
  if (key != Key::none) stale_ = true;
  switch (key) {
    case Key::toggle:
      playing_ = !playing_;
      if (playing_ && at_ == last) at_ = 0;
      break;
    case Key::next:
      go_to(std::min(at_ + 1, last));
      break;
    case Key::previous:
      go_to(at_ - std::min<size_t>(at_, 1));
      break;
    case Key::first:
      go_to(0);
      break;
    case Key::last:
      go_to(last);
      break;
    case Key::faster:
      speed_ = std::min(speed_ * 2, kMostSpeed);
      break;
    case Key::slower:
      speed_ = std::max(speed_ / 2, kLeastSpeed);
      break;
    case Key::quit:
      quit_ = true;
      break;
    case Key::none:
      break;
  }
  due_ = Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(1 / speed_));
}

bool Player::wait() {
  int timeout = -1;
  if (playing_) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(due_ - Clock::now()).count();
    timeout = static_cast<int>(std::clamp<int64_t>(left, 0, 60'000));
  }
  if (!wait_for_input(typed_, timeout)) return false;
  while (!typed_.empty() && !quit_) obey(take_key(typed_));
  if (playing_ && Clock::now() >= due_) {
    go_to(std::min(at_ + 1, steps_.size() - 1));
    if (at_ + 1 == steps_.size()) playing_ = false;
    due_ = Clock::now() +
           std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(1 / speed_));
  }
  return true;
}

Result<int> Player::run() {
  note_signals();
  const KeyInput keys;
  obey(Key::none);
  Status drawn;
  bool stopped = false;
  while (!quit_ && !stopped && ending() == 0 && !output_.gone()) {
    if (take_continue()) {  // the shell has set the terminal as it likes it
      keys.take();
      rows_ = 0;
      stale_ = true;
    }
    if (take_resize()) stale_ = true;
    if (stale_) drawn = draw();
    if (!drawn) break;
    if (!wait()) break;
    stopped = take_interrupt();
  }
  output_.write("\n");
  if (!drawn) return std::unexpected(drawn.error());
  if (ending() != 0) return 128 + ending();
  return stopped ? 130 : output_.status();
}

}  // namespace

Result<ChoiceView> trace_view(const cli::TraceReader& trace, const cli::TraceToken& token,
                              size_t before, const GenerateOptions& options, int most) {
  ChoiceView none;
  none.enough = false;
  if (!token.raw) return none;
  ChoiceVocabulary vocabulary;
  vocabulary.size = trace.n_vocab();
  vocabulary.suppressed = trace.suppressed();
  // A part of a character is no text here: a breaker that has such parts can't be found.
  const auto is_ascii = [](const std::string& text) {
    return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  };
  if (std::ranges::all_of(options.dry_sequence_breakers, is_ascii))
    vocabulary.piece = [&trace](TokenId id) { return trace.piece(id); };
  const ChoicePlace place = {trace.tokens().first(before), trace.answer_begin(), token.raw->draws};
  return view_choice(vocabulary, *token.raw, place, options, most);
}

Result<int> play(cli::TraceReader& trace, const GenerateOptions& options, const PlayOptions& how) {
  Player player(trace, options, how);
  SLUICE_TRY(player.read());
  if (player.empty()) {
    cli::write_err("sluice: the trace has no tokens\n");
    return cli::kDone;
  }
  return player.run();
}

}  // namespace sluice::terminal
