// The parser of expressions.
#pragma once

#include <string_view>
#include <vector>

#include "jinja/parser_base.h"

namespace sluice::jinja {

class ExpressionParser : public ParserBase {
 public:
  using ParserBase::ParserBase;

 protected:
  const Expr* parse_target(bool with_spaces, std::string_view stop = {});
  static bool can_assign(const Expr* target);
  bool at_tuple_end(std::string_view stop) const;
  // One expression, or several with commas between them. `simple`: only names and literals.
  const Expr* parse_tuple(bool with_condition = true, std::string_view stop = {},
                          bool simple = false, bool with_spaces = false, bool in_brackets = false);
  const Expr* parse_expression();
  const Expr* parse_or();
  const Expr* parse_and();
  const Expr* parse_not();
  const Expr* parse_compare();
  // The operators that go from left to right, the weakest first: + -, ~, * / // %, **.
  static bool in_class(LexemeType type, int strength);
  const Expr* parse_chain(int strength);
  const Expr* parse_unary(bool with_filters);
  const Expr* parse_primary(bool with_spaces, bool as_target = false);
  // [...] or {...}
  const Expr* parse_display(bool dict);
  const Expr* parse_postfix(const Expr* expr);
  const Expr* parse_subscript(const Expr* expr);
  // (arguments) of a call, a filter or a test.
  void parse_arguments(Expr* expr);
  const Expr* parse_call(const Expr* callee);
  Symbol parse_dotted_name();
  // | name(...) | name(...). `inline_start`: the first has no "|".
  const Expr* parse_filters(const Expr* expr, bool inline_start = false);
  const Expr* parse_test(const Expr* expr);
  void note_use(Symbol used);

  Vector<Stmt*> macros_{nullptr};  // around the current place
};

}  // namespace sluice::jinja
