// The parser of expressions, which the one of statements (parser.cc) is made on.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/format.h"
#include "jinja/ast.h"
#include "jinja/template.h"

namespace sluice::jinja {

// The operators between two operands, the weakest first.
struct Strength {
  const char* word;
  LexemeType first, last;
  Expr::Type makes;
};
inline constexpr Strength kStrengths[] = {
    {"or", LexemeType::end, LexemeType::data, Expr::Type::either},
    {"and", LexemeType::end, LexemeType::data, Expr::Type::both},
    {"in", LexemeType::eq, LexemeType::ge, Expr::Type::compare},
    {"", LexemeType::add, LexemeType::sub, Expr::Type::chain},
    {"", LexemeType::tilde, LexemeType::tilde, Expr::Type::chain},
    {"", LexemeType::mul, LexemeType::mod, Expr::Type::chain},
    {"", LexemeType::pow, LexemeType::pow, Expr::Type::chain},
};

// One expression, or several with commas between them.
enum class Items : uint8_t {
  any,
  grouped,  // in brackets: there may be none
  plain,    // without `if`
  set_targets,
  with_targets,
  loop_targets,
};

// After an error the parser is at the end of the tokens, so that all loops end.
class ExpressionParser {
 public:
  ExpressionParser(const Vector<Lexeme>& tokens, const Limits& limits)
      : tokens_(tokens), limits_(limits), meter_(limits.max_work, limits.max_memory) {
    // A token makes one node at most.
    meter_.take(tokens.size() * (sizeof(Lexeme) + sizeof(Expr)));
    meter_.work(tokens.size() * 8);
  }

 protected:
  using enum LexemeType;

  // --- tokens ---

  const Lexeme& current() const { return tokens_[at_]; }
  const Lexeme& look() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  bool is(LexemeType type) const { return current().type == type; }
  bool is_word(std::string_view word) const { return is(name) && current().text == word; }
  void next() { at_ = std::min(at_ + 1, tokens_.size() - 1); }
  bool skip_if(LexemeType type) {
    if (!is(type)) return false;
    next();
    return true;
  }
  bool skip_word(std::string_view word) {
    if (!is_word(word)) return false;
    next();
    return true;
  }

  void fail(const char* message, std::string_view found = {}, const char* after = "") {
    if (failed_) return;
    failed_ = true;
    error_ = template_error(current().line, message, found, after);
    at_ = tokens_.size() - 1;
  }
  void expected(const char* what) {
    const std::string before = concat("expected ", what, ", found ");
    if (is(end)) return fail(before.c_str(), "the end of the template");
    if (is(block_end) || is(variable_end)) return fail(before.c_str(), "the end of the tag");
    fail((before + "'").c_str(), current().text, "'");
  }
  void expect(LexemeType type, const char* what) {
    if (!skip_if(type)) expected(what);
  }
  Symbol expect_name() {
    const Lexeme& token = current();
    expect(name, "a name");
    return failed_ ? 0 : symbol(token.text);
  }

  std::string_view name_of(Symbol symbol_of) const { return program_->names[symbol_of].as_text(); }
  Symbol symbol(std::string_view word) {
    const auto before = [this](Symbol s, std::string_view t) { return name_of(s) < t; };
    meter_.work(sorted_.size() / 64);
    const auto place = std::lower_bound(sorted_.begin(), sorted_.end(), word, before);
    if (place != sorted_.end() && name_of(*place) == word) return *place;
    meter_.take(sizeof(Text) + word.size());
    if (meter_.spent()) fail("the template takes too much memory or work to read");
    const auto made = static_cast<Symbol>(program_->names.size());
    program_->names.push_back(Value::text(std::string(word)));
    sorted_.insert(place, made);
    return made;
  }

  // --- nodes ---

  // Counts how deep the calls of the parser are: ++level_ by this, --level_ by who calls it.
  void enter() {
    if (++level_ > limits_.max_depth) fail("the template nests too deeply");
  }

  Stmt* make(Stmt::Type type, uint32_t line) {
    program_->stmts.push_back(std::make_unique<Stmt>(type));
    Stmt* const stmt = program_->stmts.back().get();
    stmt->line = line;
    return stmt;
  }
  Expr* make(Expr::Type type, uint32_t line, const Expr* first = nullptr,
             const Expr* second = nullptr) {
    program_->exprs.push_back(std::make_unique<Expr>(type));
    Expr* const expr = program_->exprs.back().get();
    expr->line = line;
    if (first != nullptr) add_operand(expr, first);
    if (second != nullptr) add_operand(expr, second);
    return expr;
  }
  void add_operand(Expr* expr, const Expr* operand) {
    expr->operands.push_back(operand);
    note_depth(expr, operand);
  }
  void note_depth(Expr* expr, const Expr* below) {
    if (below == nullptr) return;
    expr->depth = std::max<uint16_t>(expr->depth, static_cast<uint16_t>(below->depth + 1));
    if (expr->depth > limits_.max_depth) fail("an expression nests too deeply");
  }
  Expr* constant(Value value, uint32_t line) {
    Expr* const expr = make(Expr::Type::constant, line);
    expr->value = std::move(value);
    return expr;
  }
  static constexpr size_t kMostNamed = 1000;
  void add_named(Vector<Named>& to, Symbol symbol_of, const Expr* value) {
    if (to.size() == kMostNamed) fail("there are too many parameters or named arguments");
    for (const Named& other : to) {
      if (other.name == symbol_of) fail("'", name_of(symbol_of), "' is given twice");
    }
    to.push_back({symbol_of, value});
  }

  // --- expressions ---

  const Expr* parse_target(Items kind) {
    const Expr* const target = parse_tuple(kind);
    if (!can_assign(*target, kind)) fail("this can't be assigned to");
    return target;
  }
  bool can_assign(const Expr& target, Items kind) const {
    if (target.type == Expr::Type::tuple) {
      return std::ranges::all_of(target.operands,
                                 [&](const Expr* part) { return can_assign(*part, kind); });
    }
    if (target.type == Expr::Type::space_attribute) return true;
    return target.type == Expr::Type::name &&
           (kind != Items::loop_targets || target.symbol != program_->loop);
  }

  bool at_tuple_end(Items kind) const {
    return is(variable_end) || is(block_end) || is(rparen) || is(rbracket) || is(end) ||
           (kind == Items::loop_targets && is_word("in"));
  }

  const Expr* parse_tuple(Items kind) {
    const uint32_t line = current().line;
    const Expr* first = nullptr;
    Expr* tuple = nullptr;
    while (!at_tuple_end(kind)) {
      const Expr* const part = kind >= Items::set_targets ? parse_primary(kind)
                               : kind == Items::plain     ? parse_binary(0)
                                                          : parse_expression();
      if (tuple != nullptr) {
        add_operand(tuple, part);
      } else {
        first = part;
      }
      if (!skip_if(comma)) break;
      if (tuple == nullptr) tuple = make(Expr::Type::tuple, line, first);
    }
    if (tuple != nullptr) return tuple;
    if (first != nullptr) return first;
    if (kind != Items::grouped) expected("an expression");
    return make(Expr::Type::tuple, line);
  }

  const Expr* parse_expression() {
    enter();
    const Expr* expr = parse_binary(0);
    while (is_word("if")) {
      const uint32_t line = current().line;
      next();
      const Expr* const test = parse_binary(0);
      Expr* const made = make(Expr::Type::condition, line, test, expr);
      add_operand(made, skip_word("else") ? parse_expression() : nullptr);
      expr = made;
    }
    --level_;
    return expr;
  }

  // Operands with operators of this strength between them, from left to right.
  const Expr* parse_binary(size_t strength) {
    if (strength == std::size(kStrengths)) return parse_unary(true);
    const Strength& own = kStrengths[strength];
    uint32_t line = current().line;
    if (own.makes == Expr::Type::compare && skip_word("not")) {
      enter();
      const Expr* const negated = parse_binary(strength);
      --level_;
      return make(Expr::Type::negation, line, negated);
    }
    const Expr* const first = parse_binary(strength + 1);
    Expr* all = nullptr;
    for (;;) {
      line = current().line;
      const LexemeType type = skip_operator(own);
      if (type == end) return all != nullptr ? all : first;
      if (all == nullptr) all = make(own.makes, line, first);
      all->operators.push_back(type);
      add_operand(all, parse_binary(strength + 1));
    }
  }

  // Passes an operator of this strength; LexemeType::end if there is none.
  LexemeType skip_operator(const Strength& strength) {
    LexemeType type = current().type;
    if (is_word(strength.word)) {
      type = pipe;
    } else if (strength.makes == Expr::Type::compare && is_word("not") && look().text == "in") {
      next();
      type = tilde;
    } else if (type < strength.first || type > strength.last) {
      return end;
    }
    next();
    return type;
  }

  const Expr* parse_unary(bool with_filters) {
    enter();
    const Lexeme& token = current();
    const Expr* expr = nullptr;
    if (skip_if(sub) || skip_if(add)) {
      Expr* const made = make(Expr::Type::sign, token.line, parse_unary(false));
      made->operators.push_back(token.type);
      expr = made;
    } else {
      expr = parse_primary(Items::any);
    }
    expr = parse_postfix(expr, with_filters);
    --level_;
    return expr;
  }

  const Expr* parse_primary(Items kind) {
    const Lexeme& token = current();
    switch (token.type) {
      case name:
        next();
        return parse_name(token, kind);
      case text: {  // texts side by side are one
        std::string joined;
        for (; is(text); next()) joined += current().value.as_text();
        return constant(Value::text(std::move(joined)), token.line);
      }
      case integer:
      case number:
        next();
        return constant(token.value, token.line);
      case lparen: {
        next();
        const Expr* const inside = parse_tuple(Items::grouped);
        expect(rparen, "')'");
        return inside;
      }
      case lbracket:
        return parse_display(Expr::Type::list, rbracket);
      case lbrace:
        return parse_display(Expr::Type::dict, rbrace);
      default:
        expected("an expression");
        return constant(Value::none(), token.line);
    }
  }

  const Expr* parse_name(const Lexeme& token, Items kind) {
    const std::string_view word = token.text;
    // true or True, and so on
    const char initial = static_cast<char>(word[0] | 32);
    const std::string_view rest = word.substr(1);
    const bool yes = initial == 't' && rest == "rue";
    if (yes || (initial == 'f' && rest == "alse")) return constant(Value::boolean(yes), token.line);
    if (initial == 'n' && rest == "one") return constant(Value::none(), token.line);
    Expr* const expr = make(Expr::Type::name, token.line);
    expr->symbol = symbol(word);
    if (kind == Items::set_targets && skip_if(dot)) {
      expr->type = Expr::Type::space_attribute;
      expr->value = program_->names[expect_name()];
    } else if (kind < Items::set_targets && macro_ != nullptr) {
      macro_->takes_caller |= expr->symbol == program_->caller;
      const auto named = [&](const Named& parameter) { return parameter.name == expr->symbol; };
      if ((word == "varargs" || word == "kwargs") &&
          std::ranges::none_of(macro_->parameters, named))
        fail("'", word, "' isn't supported here");
    }
    return expr;
  }

  // [...] or {...}
  const Expr* parse_display(Expr::Type type, LexemeType close) {
    Expr* const expr = make(type, current().line);
    next();
    while (!is(close) && !failed_) {
      add_operand(expr, parse_expression());
      if (type == Expr::Type::dict) {
        expect(colon, "':'");
        add_operand(expr, parse_expression());
      }
      if (!skip_if(comma)) break;
    }
    expect(close, close == rbrace ? "'}'" : "']'");
    return expr;
  }

  // What follows an operand. Behind a filter or a test there are no more parts of a value.
  const Expr* parse_postfix(const Expr* expr, bool with_filters) {
    for (bool filtered = false;;) {
      const uint32_t line = current().line;
      if (is(lparen)) {
        Expr* const call = make(Expr::Type::call, line, expr);
        parse_arguments(call);
        expr = call;
      } else if (!filtered && skip_if(dot)) {
        if (is(integer)) {
          expr = make(Expr::Type::item, line, expr, constant(current().value, line));
          next();
        } else {
          Expr* const made = make(Expr::Type::attribute, line, expr);
          made->symbol = expect_name();
          expr = made;
        }
      } else if (!filtered && skip_if(lbracket)) {
        expr = parse_subscript(expr, line);
      } else if (with_filters && skip_if(pipe)) {
        filtered = true;
        expr = parse_applied(Expr::Type::filter, expr);
      } else if (with_filters && skip_word("is")) {
        filtered = true;
        const bool negated = skip_word("not");
        expr = parse_applied(Expr::Type::test, expr);
        if (negated) expr = make(Expr::Type::negation, line, expr);
      } else {
        return expr;
      }
    }
  }

  const Expr* parse_subscript(const Expr* expr, uint32_t line) {
    const Expr* const first = is(colon) ? nullptr : parse_tuple(Items::any);
    Expr* const made = make(is(colon) ? Expr::Type::slice : Expr::Type::item, line, expr);
    add_operand(made, first);
    while (made->type == Expr::Type::slice && made->operands.size() < 4) {
      const bool given = skip_if(colon) && !is(colon) && !is(rbracket);
      add_operand(made, given ? parse_expression() : nullptr);
    }
    expect(rbracket, "']'");
    return made;
  }

  // (arguments) of a call, a filter or a test.
  void parse_arguments(Expr* expr) {
    next();
    while (!is(rparen) && !failed_) {
      if (is(mul) || is(pow)) fail("'", current().text, "' in a call isn't supported here");
      const bool named = is(name) && look().type == assign;
      const Symbol key = named ? expect_name() : 0;
      if (named) next();
      const Expr* const value = parse_expression();
      if (named) {
        add_named(expr->named, key, value);
        note_depth(expr, value);
      } else {
        if (!expr->named.empty()) fail("an argument without a name follows one with a name");
        add_operand(expr, value);
      }
      if (!skip_if(comma)) break;
    }
    expect(rparen, "')'");
  }

  // The name and the arguments of a filter or a test. A test may have one without brackets.
  Expr* parse_applied(Expr::Type type, const Expr* expr) {
    Expr* const made = make(type, current().line);
    add_operand(made, expr);  // null in a filter block
    made->symbol = expect_name();
    if (is(lparen)) {
      parse_arguments(made);
    } else if (type == Expr::Type::test &&
               ((is(name) && !is_word("else") && !is_word("or") && !is_word("and")) || is(text) ||
                is(integer) || is(number) || is(lbracket) || is(lbrace))) {
      if (is_word("is")) fail("tests can't be chained with 'is'");
      add_operand(made, parse_postfix(parse_primary(Items::any), false));
    }
    return made;
  }

  const Vector<Lexeme>& tokens_;
  const Limits& limits_;
  Meter meter_;
  std::shared_ptr<Program> program_ = std::make_shared<Program>();
  Vector<Symbol> sorted_{nullptr};  // by name
  size_t at_ = 0;
  size_t level_ = 0;
  Stmt* macro_ = nullptr;  // or call block, around the current place
  bool failed_ = false;
  Error error_;
};

}  // namespace sluice::jinja
