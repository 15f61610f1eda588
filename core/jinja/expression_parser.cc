#include "jinja/expression_parser.h"

#include <algorithm>

namespace sluice::jinja {

using enum LexemeType;

namespace {
constexpr size_t kMostNamed = 1000;  // arguments of one call
}

const Expr* ExpressionParser::parse_target(bool with_spaces, std::string_view stop) {
  const Expr* target = parse_tuple(true, stop, true, with_spaces);
  if (!can_assign(target)) fail("this can't be assigned to");
  return target;
}

bool ExpressionParser::can_assign(const Expr* target) {
  if (target->type == Expr::Type::tuple) {
    return std::all_of(target->operands.begin(), target->operands.end(), can_assign);
  }
  return target->type == Expr::Type::name || target->type == Expr::Type::space_attribute;
}

bool ExpressionParser::at_tuple_end(std::string_view stop) const {
  return is(variable_end) || is(block_end) || is(rparen) || is(end) ||
         (!stop.empty() && is_word(stop));
}

// One expression, or several with commas between them. `simple`: only names and literals.
const Expr* ExpressionParser::parse_tuple(bool with_condition, std::string_view stop, bool simple,
                                          bool with_spaces, bool in_brackets) {
  const uint32_t line = current().line;
  std::vector<const Expr*> parts;
  bool is_tuple = false;
  while (!failed_) {
    if (!parts.empty()) expect(comma, "','");
    if (at_tuple_end(stop)) break;
    parts.push_back(simple           ? parse_primary(with_spaces, true)
                    : with_condition ? parse_expression()
                                     : parse_or());
    if (!is(comma)) break;
    is_tuple = true;
  }
  if (!is_tuple && !parts.empty()) return parts[0];
  if (!is_tuple && !in_brackets) fail(concat("expected an expression, found ", found()));
  return make(Expr::Type::tuple, line, parts);
}

const Expr* ExpressionParser::parse_expression() {
  const Level level(*this);
  const Expr* expr = parse_or();
  while (is_word("if") && !failed_) {
    const uint32_t line = current().line;
    next();
    const Expr* test = parse_or();
    const Expr* other = skip_word("else") ? parse_expression() : nullptr;
    expr = make(Expr::Type::condition, line, {test, expr, other});
  }
  return expr;
}

const Expr* ExpressionParser::parse_or() {
  const Expr* first = parse_and();
  if (!is_word("or")) return first;
  Expr* expr = make(Expr::Type::either, current().line, {first});
  while (skip_word("or")) add_operand(expr, parse_and());
  return expr;
}

const Expr* ExpressionParser::parse_and() {
  const Expr* first = parse_not();
  if (!is_word("and")) return first;
  Expr* expr = make(Expr::Type::both, current().line, {first});
  while (skip_word("and")) add_operand(expr, parse_not());
  return expr;
}

const Expr* ExpressionParser::parse_not() {
  const Level level(*this);
  const uint32_t line = current().line;
  if (skip_word("not")) return make(Expr::Type::negation, line, {parse_not()});
  return parse_compare();
}

const Expr* ExpressionParser::parse_compare() {
  const Expr* first = parse_chain(0);
  Expr* expr = nullptr;
  while (!failed_) {
    LexemeType type = current().type;
    if (is_word("in")) {
      type = pipe;
    } else if (is_word("not") && is_word(look(), "in")) {
      next();
      type = tilde;
    } else if (type < eq || type > ge) {
      break;
    }
    if (expr == nullptr) expr = make(Expr::Type::compare, current().line, {first});
    next();
    expr->operators.push_back(type);
    add_operand(expr, parse_chain(0));
  }
  return expr != nullptr ? expr : first;
}

// The operators that go from left to right, the weakest first: + -, ~, * / // %, **.
bool ExpressionParser::in_class(LexemeType type, int strength) {
  switch (strength) {
    case 0:
      return type == add || type == sub;
    case 1:
      return type == tilde;
    case 2:
      return type == mul || type == div || type == floordiv || type == mod;
    default:
      return type == pow;
  }
}

const Expr* ExpressionParser::parse_chain(int strength) {
  if (strength == 4) return parse_unary(true);
  const Expr* first = parse_chain(strength + 1);
  if (!in_class(current().type, strength)) return first;
  Expr* expr = make(Expr::Type::chain, current().line, {first});
  while (in_class(current().type, strength)) {
    expr->operators.push_back(current().type);
    next();
    add_operand(expr, parse_chain(strength + 1));
  }
  return expr;
}

const Expr* ExpressionParser::parse_unary(bool with_filters) {
  const Level level(*this);
  const uint32_t line = current().line;
  const Expr* expr = nullptr;
  if (is(sub) || is(add)) {
    const LexemeType sign = current().type;
    next();
    Expr* made = make(Expr::Type::sign, line, {parse_unary(false)});
    made->operators.push_back(sign);
    expr = made;
  } else {
    expr = parse_primary(false);
  }
  expr = parse_postfix(expr);
  while (with_filters && !failed_) {
    if (is(pipe)) {
      expr = parse_filters(expr);
    } else if (is_word("is")) {
      expr = parse_test(expr);
    } else if (is(lparen)) {
      expr = parse_call(expr);
    } else {
      break;
    }
  }
  return expr;
}

const Expr* ExpressionParser::parse_primary(bool with_spaces, bool as_target) {
  const Lexeme& token = current();
  const uint32_t line = token.line;
  switch (token.type) {
    case name: {
      next();
      if (token.text == "true" || token.text == "True") return constant(Value::boolean(true), line);
      if (token.text == "false" || token.text == "False") {
        return constant(Value::boolean(false), line);
      }
      if (token.text == "none" || token.text == "None") return constant(Value::none(), line);
      Expr* expr = make(Expr::Type::name, line);
      expr->symbol = symbol(token.text);
      if (with_spaces && is(dot)) {
        next();
        expr->type = Expr::Type::space_attribute;
        expr->value = program_->names[expect_name()];
      } else if (!as_target) {
        note_use(expr->symbol);
      }
      return expr;
    }
    case text: {  // texts side by side are one
      std::string joined;
      for (; is(text); next()) joined += current().text;
      return constant(Value::text(std::move(joined)), line);
    }
    case integer:
      next();
      return constant(Value::integer(token.integer), line);
    case number:
      next();
      return constant(Value::number(token.number), line);
    case lparen: {
      next();
      const Level level(*this);
      const Expr* inside = parse_tuple(true, {}, false, false, true);
      expect(rparen, "')'");
      return inside;
    }
    case lbracket:
    case lbrace:
      return parse_display(token.type == lbrace);
    default:
      fail(concat("expected an expression, found ", found()));
      return constant(Value::none(), line);
  }
}

// [...] or {...}
const Expr* ExpressionParser::parse_display(bool dict) {
  const Level level(*this);
  Expr* expr = make(dict ? Expr::Type::dict : Expr::Type::list, current().line);
  const LexemeType close = dict ? rbrace : rbracket;
  next();
  while (!is(close) && !failed_) {
    if (!expr->operands.empty()) expect(comma, "','");
    if (is(close)) break;
    add_operand(expr, parse_expression());
    if (!dict) continue;
    expect(colon, "':'");
    add_operand(expr, parse_expression());
  }
  expect(close, dict ? "'}'" : "']'");
  return expr;
}

const Expr* ExpressionParser::parse_postfix(const Expr* expr) {
  while (!failed_) {
    if (is(dot)) {
      const uint32_t line = current().line;
      next();
      if (is(integer)) {
        const Expr* index = constant(Value::integer(current().integer), line);
        next();
        expr = make(Expr::Type::item, line, {expr, index});
      } else {
        Expr* made = make(Expr::Type::attribute, line, {expr});
        made->symbol = expect_name();
        expr = made;
      }
    } else if (is(lbracket)) {
      expr = parse_subscript(expr);
    } else if (is(lparen)) {
      expr = parse_call(expr);
    } else {
      break;
    }
  }
  return expr;
}

const Expr* ExpressionParser::parse_subscript(const Expr* expr) {
  const uint32_t line = current().line;
  next();
  const Expr* begin = is(colon) ? nullptr : parse_expression();
  if (is(colon)) {
    const Expr* parts[3] = {begin, nullptr, nullptr};
    for (size_t i = 1; i < 3 && skip_if(colon); ++i) {
      if (!is(colon) && !is(rbracket)) parts[i] = parse_expression();
    }
    expect(rbracket, "']'");
    return make(Expr::Type::slice, line, {expr, parts[0], parts[1], parts[2]});
  }
  if (is(comma)) {
    Expr* tuple = make(Expr::Type::tuple, line, {begin});
    while (skip_if(comma)) add_operand(tuple, parse_expression());
    begin = tuple;
  }
  expect(rbracket, "']'");
  return make(Expr::Type::item, line, {expr, begin});
}

// (arguments) of a call, a filter or a test.
void ExpressionParser::parse_arguments(Expr* expr) {
  const Level level(*this);
  const auto ensure = [this](bool good) {
    if (!good) fail("the order of the arguments is not valid");
  };
  next();
  bool first = true;
  while (!is(rparen) && !failed_) {
    if (!first) expect(comma, "','");
    if (is(rparen) && !first) break;
    first = false;
    if (skip_if(mul)) {
      ensure(expr->star == nullptr && expr->stars == nullptr);
      note_depth(expr, expr->star = parse_expression());
    } else if (skip_if(pow)) {
      ensure(expr->stars == nullptr);
      note_depth(expr, expr->stars = parse_expression());
    } else if (is(name) && look().type == assign) {
      ensure(expr->stars == nullptr);
      const Symbol key = expect_name();
      next();
      const Expr* value = parse_expression();
      if (expr->named.size() == kMostNamed) fail("a call has too many named arguments");
      for (const auto& other : expr->named) {
        if (other.first == key) fail("a named argument is given twice");
      }
      expr->named.emplace_back(key, value);
      note_depth(expr, value);
    } else {
      ensure(expr->star == nullptr && expr->stars == nullptr && expr->named.empty());
      add_operand(expr, parse_expression());
    }
  }
  expect(rparen, "')'");
}

const Expr* ExpressionParser::parse_call(const Expr* callee) {
  Expr* expr = make(Expr::Type::call, current().line, {callee});
  parse_arguments(expr);
  return expr;
}

Symbol ExpressionParser::parse_dotted_name() {
  Symbol made = expect_name();
  while (skip_if(dot)) {
    const std::string left(name_of(made));
    made = symbol(concat(left, ".", name_of(expect_name())));
  }
  return made;
}

// | name(...) | name(...). `inline_start`: the first has no "|".
const Expr* ExpressionParser::parse_filters(const Expr* expr, bool inline_start) {
  while ((inline_start || skip_if(pipe)) && !failed_) {
    inline_start = false;
    Expr* made = make(Expr::Type::filter, current().line, {expr});
    made->symbol = parse_dotted_name();
    if (is(lparen)) parse_arguments(made);
    expr = made;
  }
  return expr;
}

const Expr* ExpressionParser::parse_test(const Expr* expr) {
  const uint32_t line = current().line;
  next();
  const bool negated = skip_word("not");
  Expr* made = make(Expr::Type::test, line, {expr});
  made->symbol = parse_dotted_name();
  const LexemeType type = current().type;
  if (is(lparen)) {
    parse_arguments(made);
  } else if ((type == name || type == text || type == integer || type == number ||
              type == lbracket || type == lbrace) &&
             !is_word("else") && !is_word("or") && !is_word("and")) {
    if (is_word("is")) fail("tests can't be chained with 'is'");
    add_operand(made, parse_postfix(parse_primary(false)));
  }
  return negated ? make(Expr::Type::negation, line, {made}) : made;
}

void ExpressionParser::note_use(Symbol used) {
  for (Stmt* macro : macros_) {
    macro->takes_caller |= used == program_->caller;
    macro->takes_kwargs |= used == program_->kwargs;
    macro->takes_varargs |= used == program_->varargs;
  }
}
}  // namespace sluice::jinja
