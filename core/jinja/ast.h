// A template's syntax tree. It never changes after parsing. Nodes are owned by the Program.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "jinja/lexer.h"

namespace sluice::jinja {

struct Limits;

// A name in the template: its place in Program::names.
using Symbol = uint32_t;

struct Expr;

// A parameter with its default, or a keyword argument.
struct Named {
  Symbol name;
  const Expr* value;  // null: a parameter has no default
};

struct Expr {
  enum class Type : uint8_t {
    constant,         // value
    name,             // symbol
    space_attribute,  // the target ns.attr: symbol, value is the attribute's name
    list,             // operands
    tuple,
    dict,       // operands: key, value, key, value
    attribute,  // operands[0].symbol
    item,       // operands[0][operands[1]]
    slice,      // operands[0][operands[1] : operands[2] : operands[3]], null where not given
    call,       // operands[0](operands[1..], named)
    filter,     // operands[0] | symbol(operands[1..], ...); operands[0] is null in a filter block
    test,       // operands[0] is symbol(operands[1..], ...)
    sign,       // operators[0] operands[0]
    negation,   // not operands[0]
    chain,      // operands[0] operators[0] operands[1] ..., from left to right
    compare,    // the same for comparisons; lt, ..., and `in` (pipe), `not in` (tilde)
    both,       // and
    either,     // or
    condition,  // operands[1] if operands[0] else operands[2], which may be null
  };
  Type type;
  uint16_t depth = 1;  // of the tree below
  uint32_t line;
  Symbol symbol = 0;
  Value value;
  Vector<const Expr*> operands{nullptr};
  Vector<LexemeType> operators{nullptr};
  Vector<Named> named{nullptr};
};

struct Stmt;
using Body = Vector<const Stmt*>;

template <>
inline constexpr bool kMovesAsBytes<Body> = true;

struct Stmt {
  enum class Type : uint8_t {
    output,        // exprs
    loop,          // for target in value if test: bodies[0], else bodies[1], if there are two
    branch,        // if exprs[i]: bodies[i]; a body more than expressions is else
    set,           // target = value
    set_block,     // target = bodies[0] | value
    macro,         // symbol(parameters): bodies[0]
    call_block,    // the call `value` with bodies[0] as its caller
    filter_block,  // bodies[0] | value
    with,          // exprs: target, value, target, value; bodies[0]
    scope,         // bodies[0]
    leave_loop,    // break
    next_round,    // continue
  };
  Type type;
  bool takes_caller = false;  // a macro's body uses caller
  uint32_t line;
  Symbol symbol = 0;
  const Expr* target = nullptr;
  const Expr* value = nullptr;
  const Expr* test = nullptr;
  Vector<const Expr*> exprs{nullptr};
  Vector<Named> parameters{nullptr};
  Vector<Body> bodies{nullptr};
};

struct Program {
  Vector<std::unique_ptr<Expr>> exprs{nullptr};
  Vector<std::unique_ptr<Stmt>> stmts{nullptr};
  Vector<Value> names{nullptr};  // texts, by symbol
  Body body{nullptr};
  uint64_t work = 0;  // that parsing took, as Meter counts it
  Symbol loop = 0, caller = 0;
};

// parser.cc
Result<std::shared_ptr<const Program>> parse_program(std::string_view source, const Limits& limits);

}  // namespace sluice::jinja
