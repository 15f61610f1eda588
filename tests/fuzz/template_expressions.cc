#include "template_expressions.h"

#include "chat_inputs.h"

namespace sluice {
namespace {

constexpr std::string_view kTame[] = {
    " ", "x", "\n", ",", "1", "w", "  ", "h", ":", "y", "k", "-", "s", "z", "v", "g", "#", "xx",
};
constexpr std::string_view kBold[] = {"<",  "|",  ">", "_",  "/",  "i", "a",
                                      "|>", "<|", "n", "</", "｜", "m"};
constexpr std::string_view kWritten[] = {"",  " ",     "\n", "x",    ", ",  "-",
                                         "t", "<|im_", "s>", "rt|>", "hey "};
constexpr std::string_view kSlices[] = {"1:",    ":-1", "::2", "::-1", "1:5",
                                        "2:9:3", "-4:", ":3",  "::-2"};
constexpr std::string_view kNumbers[] = {"2", "0", "1", "3", "-1", "4", "7", "12"};
constexpr std::string_view kWidths[] = {"9", "3", "12", "20", "40"};
constexpr std::string_view kForms1[] = {"%s",    "<|im_%s|>", "<%s>", "[%s]",
                                        "%5s|>", "%.2s",      "%r",   "%%%s"};
constexpr std::string_view kForms2[] = {"%s%s", "<%s|%s>", "%s_%.3s", "%9s%-9s|"};
constexpr std::string_view kForms3[] = {"{}",   "<|im_{}|>", "{:>9}", "{0}{0}",
                                        "{!s}", "{{{}}}",    "<{:.1}"};
constexpr std::string_view kForms4[] = {"{}{}", "{1}{0}", "<{}|{}>"};

std::string quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
    } else {
      if (c == '\'' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out + "'";
}

}  // namespace

Expressions::Expressions(Choices& choices, bool large) : choices_(choices) {
  for (const Rule& rule : template_rules()) {
    auto& rules = rules_[static_cast<size_t>(rule.made)];
    if ((rule.effect & kLarge) == 0 || large) rules.push_back(&rule);
  }
}

bool Expressions::declare(std::string name, Made made, size_t& number) {
  if (origins_.size() == kMaxVariables) return false;
  number = origins_.size();
  origins_.emplace_back();
  variables_.push_back({std::move(name), made, number});
  return true;
}

Origin Expressions::origin_of_variable(size_t number) {
  Origin from;
  from.variables.set(number);
  return from;
}

Origin Expressions::origin_of(std::string_view own) {
  Origin from;
  from.own = chars_of(own);
  return from;
}

void Expressions::write(const Origin& from) {
  if (!sinks_.empty()) origins_[sinks_.back()].add(from);
}

void Expressions::compare(const Origin& a, const Origin& b) { compared_.emplace_back(a, b); }

Chars Expressions::kept() {
  for (bool more = true; more;) {
    more = false;
    for (Origin& from : origins_) {
      const Origin before = from;
      resolve(from);
      more |= before.own != from.own || before.input != from.input ||
              before.variables != from.variables;
    }
  }
  Chars kept;
  const Chars html = html_ ? chars_of(made_characters("html")) : Chars();
  for (auto& [a, b] : compared_) {
    resolve(a);
    resolve(b);
    if (a.input) kept |= b.own | html;
    if (b.input) kept |= a.own | html;
  }
  for (auto& [from, chars] : needed_) {
    resolve(from);
    if (from.input) kept |= chars;
  }
  if (html_) kept |= chars_of("<>&\"'");
  return kept;
}

void Expressions::resolve(Origin& from) const {
  for (size_t i = 0; i < origins_.size(); ++i) {
    if (!from.variables[i]) continue;
    from.own |= origins_[i].own;
    from.variables |= origins_[i].variables;
    from.input |= origins_[i].input;
  }
}

Code Expressions::literal(std::string_view text) { return {quoted(text), origin_of(text)}; }

std::string_view Expressions::piece() {
  return choices_.below(3) == 0 ? choices_.pick(kWritten) : choices_.pick(token_pieces());
}

Code Expressions::written() { return literal(piece()); }

Code Expressions::message() {
  constexpr std::string_view kMessages[] = {"messages[0]", "messages[-1]", "(messages|last)"};
  const bool inside = in_message_ && choices_.below(4) != 3;
  return {inside ? std::string("m") : std::string(choices_.pick(kMessages)), {}};
}

Origin Expressions::input() {
  Origin from;
  from.input = true;
  return from;
}

Origin Expressions::content() const {
  Origin from = input();
  if (!parts_) return from;
  from.add(origin_of(kept_texts()));
  from.add(origin_of(made_characters("repr")));
  return from;
}

bool Expressions::variable(Made made, Code& code) {
  std::vector<const Variable*> fitting;
  for (const Variable& each : variables_)
    if (each.made == made) fitting.push_back(&each);
  if (fitting.empty()) return false;
  const Variable& chosen = *fitting[fitting.size() - 1 - choices_.below(fitting.size())];
  code = {chosen.name, origin_of_variable(chosen.number)};
  return true;
}

Code Expressions::text_end() {
  Code code;
  switch (choices_.below(12)) {
    case 0:
    case 1:
    case 2:
      return {message().text + ".content", content()};
    case 3:
    case 4:
      if (variable(Made::text, code)) return code;
      return written();
    case 5:
    case 6:
      return written();
    case 7:
      return {message().text + "['name']", input()};
    case 8:
      return {choices_.below(2) == 0 ? "note" : "tools[0].function.description", input()};
    case 9: {
      const Code from = message();
      Origin role = origin_of(kept_texts());
      role.input = true;
      return choices_.below(2) == 0 ? Code{from.text + ".role", role}
                                    : Code{from.text + ".tool_calls[0].function.name", input()};
    }
    case 10:
      return {message().text + ".tool_calls[0].function.arguments.k1", input()};
    default:
      if (macro_depth_ > 0) return {"caller()", origin_of_variable(caller_)};
      return {"tools[0].function.name", input()};
  }
}

Code Expressions::end_of(Made made) {
  Code code;
  switch (made) {
    case Made::text:
      return text_end();
    case Made::number:
      if (choices_.below(3) == 0 && variable(made, code)) return code;
      return {std::string(choices_.pick(kNumbers)), {}};
    case Made::truth:
      return {choices_.below(2) == 0 ? "true" : "false", {}};
    case Made::list: {
      if (choices_.below(2) == 0 && variable(made, code)) return code;
      const Code one = text_end();
      return {"[" + one.text + "]", one.from};
    }
    case Made::dict: {
      const Code one = text_end();
      return {"{'k': " + one.text + "}", one.from};
    }
  }
  return code;
}

Code Expressions::expression(Made made, size_t depth) {
  if (depth == 0 || choices_.ended() || size_ > kMaxSize) return end_of(made);
  if (choices_.below(4) == 0) return end_of(made);
  if (made == Made::text && choices_.sometimes(2) && !macros_.empty()) return call(depth);
  const auto& rules = rules_[static_cast<size_t>(made)];
  const Rule& rule = *rules[choices_.below(rules.size())];
  if ((rule.effect & kInLoop) != 0 && !in_loop_) return end_of(made);
  return apply(rule, depth - 1);
}

Code Expressions::text(size_t depth) { return expression(Made::text, depth); }

Code Expressions::any(size_t depth) {
  constexpr Made kAny[] = {Made::text, Made::text,   Made::text, Made::list,
                           Made::dict, Made::number, Made::truth};
  const Made made = choices_.pick(kAny);
  Code code = expression(made, depth);
  if (made != Made::text) code.from.add(origin_of(made_characters("repr")));
  return code;
}

Code Expressions::compared(size_t depth) {
  const size_t kind = choices_.below(12);
  if (kind < 8) return literal(choices_.pick(kTame));
  if (kind < 11) return literal(choices_.pick(kBold));
  return text(depth);
}

Code Expressions::operand(char kind, size_t depth) {
  switch (kind) {
    case 'T':
      return text(depth);
    case 'A':
      return any(depth);
    case 'N':
      return expression(Made::number, depth);
    case 'B':
      return expression(Made::truth, depth);
    case 'L':
      return expression(Made::list, depth);
    case 'D':
      return expression(Made::dict, depth);
    case 'C':
      return compared(depth);
    case 'O':
      return written();
    case 'I':
      return {std::string(choices_.pick(kNumbers)), {}};
    case 'W':
      return {std::string(choices_.pick(kWidths)), {}};
    case 'S':
      return {std::string(choices_.pick(kSlices)), {}};
    case 'M':
      return message();
    case '1':
      return literal(choices_.pick(kForms1));
    case '2':
      return literal(choices_.pick(kForms2));
    case '3':
      return literal(choices_.pick(kForms3));
    default:
      return literal(choices_.pick(kForms4));
  }
}

Code Expressions::apply(const Rule& rule, size_t depth) {
  ++size_;
  Code made;
  std::vector<Origin> operands;
  for (size_t i = 0; i < rule.pattern.size(); ++i) {
    const char c = rule.pattern[i];
    if (c != '$') {
      made.text += c;
      continue;
    }
    Code part = operand(rule.pattern[++i], depth);
    if (std::string_view("1234").find(rule.pattern[i]) != std::string_view::npos)
      part.from.add(origin_of(made_characters("repr")));
    made.text += part.text;
    made.from.add(part.from);
    operands.push_back(std::move(part.from));
  }
  if (rule.pattern.find("messages|") != std::string_view::npos) made.from.input = true;
  const bool looks_up = rule.pattern.find("$M") != std::string_view::npos ||
                        rule.pattern.find("tools[") != std::string_view::npos ||
                        rule.pattern.find("form") == 0 || rule.pattern.find("(form") == 0;
  if (looks_up) {
    made.from.add(origin_of(kept_texts()));
    made.from.input = true;
  }
  if (rule.pattern.find("groupby('n')") != std::string_view::npos)
    made.from.add(origin_of(kept_texts()));
  made.from.add(origin_of(made_characters(rule.adds)));
  if ((rule.effect & kItself) != 0) compare(made.from, made.from);
  if ((rule.effect & kCompare) != 0 && operands.size() > 1) compare(operands[0], operands[1]);
  if ((rule.effect & kCompareAll) != 0) {
    for (const Origin& a : operands)
      for (const Origin& b : operands) compare(a, b);
  }
  ordered_ |= (rule.effect & kOrder) != 0;
  html_ |= (rule.effect & kHtml) != 0;
  if (!rule.needs.empty()) {
    Chars needs = chars_of(rule.needs);
    if (rule.needs.ends_with('W')) needs |= replaced_wide();
    needed_.emplace_back(made.from, needs);
  }
  if (rule.made == Made::number) made.from = origin_of(made_characters("number"));
  if (rule.made == Made::truth) made.from = {};
  return made;
}

Code Expressions::call(size_t depth) {
  const Macro& chosen = macros_[choices_.below(macros_.size())];
  Code made{chosen.name + "(", origin_of_variable(chosen.result)};
  for (size_t i = 0; i < chosen.parameters.size(); ++i) {
    const Code argument = text(depth - 1);
    if (i > 0) made.text += ", ";
    made.text += argument.text;
    origins_[chosen.parameters[i]].add(argument.from);
  }
  made.text += ")";
  return made;
}

}  // namespace sluice
