// A template's syntax tree. It never changes after parsing. Nodes are owned by the Program.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "jinja/lexer.h"
#include "jinja/value.h"

namespace sluice::jinja {

// A name in the template: its place in Program::names.
using Symbol = uint32_t;

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
    call,       // operands[0](operands[1..], named, star, stars)
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
  std::vector<const Expr*> operands;
  std::vector<LexemeType> operators;
  std::vector<std::pair<Symbol, const Expr*>> named;  // keyword arguments
  const Expr* star = nullptr;                         // *args
  const Expr* stars = nullptr;                        // **kwargs
};

struct Stmt;
using Body = std::vector<const Stmt*>;

struct Parameter {
  Symbol name;
  const Expr* fallback;  // or null
};

struct Stmt {
  enum class Type : uint8_t {
    output,        // exprs
    loop,          // for target in value if test: body, else other
    branch,        // if exprs[i]: bodies[i]; a null expression is else
    set,           // target = value
    set_block,     // target = body | value
    macro,         // symbol(parameters): body
    call_block,    // the call `value` with the body as its caller
    filter_block,  // body | value
    with,          // targets = exprs: body
    scope,         // body
    leave_loop,    // break
    next_round,    // continue
  };
  Type type;
  bool recursive = false;     // a loop
  bool takes_caller = false;  // a macro's body uses caller, kwargs, varargs
  bool takes_kwargs = false;
  bool takes_varargs = false;
  bool in_root = false;  // a block's scope: sees only names of the top level
  uint32_t line;
  Symbol symbol = 0;
  const Expr* target = nullptr;
  const Expr* value = nullptr;
  const Expr* test = nullptr;
  std::vector<const Expr*> exprs;
  std::vector<const Expr*> targets;
  std::vector<Parameter> parameters;
  std::vector<Body> bodies;
  Body body;
  Body other;
};

struct Program {
  std::vector<std::unique_ptr<Expr>> exprs;
  std::vector<std::unique_ptr<Stmt>> stmts;
  std::vector<Value> names;  // texts, by symbol
  Body body;
  uint64_t work = 0;  // that parsing took, as Meter counts it
  Symbol loop = 0, caller = 0, kwargs = 0, varargs = 0;
};

}  // namespace sluice::jinja
