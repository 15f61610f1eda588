#include "files/quantize/name_pattern.h"

#include <optional>
#include <utility>

#include "base/format.h"

namespace sluice {
namespace {

using Bytes = std::array<uint64_t, 4>;  // a bit for each value of a byte

void put(Bytes& set, uint8_t byte) { set[byte / 64] |= uint64_t{1} << byte % 64; }
void put_range(Bytes& set, uint8_t first, uint8_t last) {
  for (uint32_t byte = first; byte <= last; ++byte) put(set, static_cast<uint8_t>(byte));
}
bool has(const Bytes& set, char c) {
  const auto byte = static_cast<uint8_t>(c);
  return (set[byte / 64] >> byte % 64 & 1) != 0;
}
Bytes opposite(Bytes set) {
  for (uint64_t& word : set) word = ~word;
  return set;
}

bool is_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_border(std::string_view name, size_t at) {
  const bool before = at > 0 && is_word(name[at - 1]);
  const bool after = at < name.size() && is_word(name[at]);
  return before != after;
}

// The set of \d, \w, \s and their opposites; nothing for other letters.
std::optional<Bytes> set_of(char letter) {
  Bytes set = {};
  switch (letter) {
    case 'd':
    case 'D':
      put_range(set, '0', '9');
      break;
    case 'w':
    case 'W':
      for (int c = 0; c < 128; ++c)
        if (is_word(static_cast<char>(c))) put(set, static_cast<uint8_t>(c));
      break;
    case 's':
    case 'S':
      put_range(set, '\t', '\r');
      put(set, ' ');
      break;
    default:
      return std::nullopt;
  }
  return letter < 'a' ? opposite(set) : set;
}

}  // namespace

// Writes the steps of a pattern while it is read. What is repeated is copied for each time.
class PatternCompiler {
 public:
  explicit PatternCompiler(std::string_view text) : text_(text) {}

  Result<NamePattern> compile() {
    SLUICE_TRY(alternatives(0));
    if (at_ != text_.size()) return wrong("this ) closes nothing");
    emit({.op = Op::done});
    NamePattern out;
    out.steps_ = std::move(steps_);
    return out;
  }

 private:
  using Op = NamePattern::Op;
  using Step = NamePattern::Step;
  static constexpr int kMaxDepth = 50;
  static constexpr uint32_t kEndless = UINT32_MAX;

  std::unexpected<Error> wrong(std::string_view what) const {
    return fail(Code::invalid_argument, "the pattern '", printable(text_), "' is wrong at byte ",
                at_ + 1, ": ", what);
  }
  static bool repeats(char c) { return c == '*' || c == '+' || c == '?' || c == '{'; }
  bool more() const { return at_ < text_.size(); }
  bool take(char c) {
    if (!more() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  uint32_t here() const { return static_cast<uint32_t>(steps_.size()); }
  // The step goes on with the one behind it.
  uint32_t emit(Step step) {
    const uint32_t at = here();
    step.next = at + 1;
    steps_.push_back(step);
    return at;
  }

  Status alternatives(int depth) {
    if (depth > kMaxDepth) return wrong("groups are nested too deeply");
    std::vector<uint32_t> ends;
    while (true) {
      const uint32_t choice = emit({.op = Op::both});
      while (more() && text_[at_] != '|' && text_[at_] != ')') SLUICE_TRY(repeated(depth));
      if (!take('|')) {
        steps_[choice].op = Op::go;  // the last one has no other
        break;
      }
      ends.push_back(emit({.op = Op::go}));
      steps_[choice].other = here();
    }
    for (const uint32_t end : ends) steps_[end].next = here();
    return {};
  }

  // An atom with what follows it: * + ? {m,n}, each perhaps with a ?, which changes nothing here.
  Status repeated(int depth) {
    const uint32_t start = here();
    SLUICE_TRY(atom(depth));
    uint32_t least = 1;
    uint32_t most = 1;
    if (take('*')) {
      least = 0;
      most = kEndless;
    } else if (take('+')) {
      most = kEndless;
    } else if (take('?')) {
      least = 0;
    } else if (take('{')) {
      SLUICE_TRY(counts(least, most));
    } else {
      return {};
    }
    take('?');
    if (more() && repeats(text_[at_])) return wrong("there is nothing to repeat");
    const std::vector<Step> once(steps_.begin() + start, steps_.end());
    steps_.resize(start);
    // Writes the atom's steps once more.
    const auto again = [&]() -> Status {
      const uint32_t shift = here() - start;
      for (Step step : once) {
        step.next += shift;
        step.other += shift;
        steps_.push_back(step);
      }
      if (steps_.size() > NamePattern::kMaxSteps) return wrong("it repeats too much");
      return {};
    };
    for (uint32_t i = 0; i < least; ++i) SLUICE_TRY(again());
    if (most == kEndless) {
      const uint32_t choice = emit({.op = Op::both});
      SLUICE_TRY(again());
      const uint32_t back = emit({.op = Op::go});
      steps_[back].next = choice;
      steps_[choice].other = here();
      return {};
    }
    std::vector<uint32_t> choices;
    for (uint32_t i = least; i < most; ++i) {
      choices.push_back(emit({.op = Op::both}));
      SLUICE_TRY(again());
    }
    for (const uint32_t choice : choices) steps_[choice].other = here();
    return {};
  }

  Status counts(uint32_t& least, uint32_t& most) {
    const auto number = [&]() -> std::optional<uint32_t> {
      uint32_t value = 0;
      size_t digits = 0;
      for (; more() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_, ++digits)
        value = value * 10 + static_cast<uint32_t>(text_[at_] - '0');
      if (digits == 0 || digits > 4) return std::nullopt;
      return value;
    };
    const auto first = number();
    if (!first) return wrong("expected {m}, {m,} or {m,n}");
    least = most = *first;
    if (take(',')) {
      most = kEndless;
      if (more() && text_[at_] != '}') {
        const auto second = number();
        if (!second || *second < least) return wrong("expected {m}, {m,} or {m,n}");
        most = *second;
      }
    }
    if (!take('}')) return wrong("expected }");
    return {};
  }

  Status atom(int depth) {
    const char c = text_[at_];
    if (c == '(') {
      ++at_;
      if (take('?') && !take(':')) return wrong("of groups with (? only (?: is known");
      SLUICE_TRY(alternatives(depth + 1));
      if (!take(')')) return wrong("a ) is missing");
      return {};
    }
    if (repeats(c)) return wrong("there is nothing to repeat");
    ++at_;
    if (c == '^') return emit({.op = Op::begin}), Status();
    if (c == '$') return emit({.op = Op::end}), Status();
    if (c == '[') return bracket();
    Bytes set = {};
    if (c == '.') {
      put(set, '\n');
      put(set, '\r');
      set = opposite(set);
    } else if (c == '\\') {
      if (more() && (text_[at_] == 'b' || text_[at_] == 'B'))
        return emit({.op = text_[at_++] == 'b' ? Op::border : Op::no_border}), Status();
      SLUICE_TRY(escape(set));
    } else {
      put(set, static_cast<uint8_t>(c));
    }
    emit({.op = Op::set, .bytes = set});
    return {};
  }

  // What stands behind a backslash. Returns the character if it is a single one.
  Result<std::optional<char>> escape(Bytes& set) {
    if (!more()) return wrong("there is nothing behind the last \\");
    const char c = text_[at_++];
    if (const auto known = set_of(c)) {
      for (size_t i = 0; i < set.size(); ++i) set[i] |= (*known)[i];
      return std::nullopt;
    }
    constexpr std::string_view kLetters = "tnvfr";
    char meant = c;
    if (const size_t i = kLetters.find(c); i != std::string_view::npos)
      meant = "\t\n\v\f\r"[i];
    else if (is_word(c) && c != '_')
      return wrong(concat("\\", std::string_view(&c, 1), " isn't known"));
    put(set, static_cast<uint8_t>(meant));
    return meant;
  }

  // [abc], [^a-z\d]
  Status bracket() {
    const bool others = take('^');
    Bytes set = {};
    while (!take(']')) {
      if (!more()) return wrong("a ] is missing");
      std::optional<char> first = text_[at_++];
      if (*first == '[' && more() && (text_[at_] == ':' || text_[at_] == '.' || text_[at_] == '='))
        return wrong("classes with names aren't known");
      if (*first == '\\') {
        SLUICE_ASSIGN(first, escape(set));
      } else {
        put(set, static_cast<uint8_t>(*first));
      }
      if (!first || !more() || text_[at_] != '-' || at_ + 1 >= text_.size() ||
          text_[at_ + 1] == ']')
        continue;
      ++at_;
      Bytes last_set = {};
      std::optional<char> last = text_[at_++];
      if (*last == '\\') {
        SLUICE_ASSIGN(last, escape(last_set));
      }
      if (!last || static_cast<uint8_t>(*last) < static_cast<uint8_t>(*first))
        return wrong("this range has no end");
      put_range(set, static_cast<uint8_t>(*first), static_cast<uint8_t>(*last));
    }
    emit({.op = Op::set, .bytes = others ? opposite(set) : set});
    return {};
  }

  std::string_view text_;
  size_t at_ = 0;
  std::vector<Step> steps_;
};

Result<NamePattern> NamePattern::compile(std::string_view pattern) {
  if (pattern.size() > kMaxBytes)
    return fail(Code::invalid_argument, "the pattern has ", pattern.size(),
                " bytes; expected at most ", kMaxBytes);
  return PatternCompiler(pattern).compile();
}

// Adds the sets, and the end, that follow from a step without a character.
void NamePattern::add(std::vector<uint32_t>& steps, std::vector<uint32_t>& seen, uint32_t mark,
                      uint32_t step, std::string_view name, size_t at) const {
  std::vector<uint32_t> open = {step};
  while (!open.empty()) {
    const uint32_t i = open.back();
    open.pop_back();
    if (std::exchange(seen[i], mark) == mark) continue;
    const Step& found = steps_[i];
    switch (found.op) {
      case Op::set:
      case Op::done:
        steps.push_back(i);
        break;
      case Op::begin:
        if (at == 0) open.push_back(found.next);
        break;
      case Op::end:
        if (at == name.size()) open.push_back(found.next);
        break;
      case Op::border:
      case Op::no_border:
        if (is_border(name, at) == (found.op == Op::border)) open.push_back(found.next);
        break;
      case Op::both:
        open.push_back(found.other);
        open.push_back(found.next);
        break;
      case Op::go:
        open.push_back(found.next);
        break;
    }
  }
}

bool NamePattern::found_in(std::string_view name) const {
  std::vector<uint32_t> now, next, seen(steps_.size());
  for (size_t at = 0;; ++at) {
    // A match may begin anywhere.
    const auto mark = static_cast<uint32_t>(at + 1);
    now.clear();
    for (const uint32_t step : next) add(now, seen, mark, step, name, at);
    add(now, seen, mark, 0, name, at);
    next.clear();
    for (const uint32_t step : now) {
      if (steps_[step].op == Op::done) return true;
      if (at < name.size() && has(steps_[step].bytes, name[at])) next.push_back(steps_[step].next);
    }
    if (at == name.size()) return false;
  }
}

}  // namespace sluice
