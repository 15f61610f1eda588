#include "jinja/parser.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "jinja/expression_parser.h"

namespace sluice::jinja {
namespace {

using enum LexemeType;

class Parser : public ExpressionParser {
 public:
  using ExpressionParser::ExpressionParser;

  Result<std::shared_ptr<const Program>> run() {
    meter_.scan(tokens_.size());
    program_->loop = symbol("loop");
    program_->caller = symbol("caller");
    program_->kwargs = symbol("kwargs");
    program_->varargs = symbol("varargs");
    program_->body = parse_body({});
    program_->work = meter_.used_work();
    if (failed_) return std::unexpected(template_error(error_line_, error_));
    return program_;
  }

 private:
  // Up to a tag whose name is one of `ends`; that name is then the current token.
  Body parse_body(std::initializer_list<std::string_view> ends) {
    const Level level(*this);
    Body body;
    Stmt* output = nullptr;
    while (!failed_ && !is(end)) {
      const uint32_t line = current().line;
      if (is(block_begin)) {
        output = nullptr;
        next();
        for (const std::string_view word : ends) {
          if (is_word(word)) return body;
        }
        if (const Stmt* stmt = parse_statement()) body.push_back(stmt);
        expect(block_end, "the end of the tag");
        continue;
      }
      if (output == nullptr) body.push_back(output = make(Stmt::Type::output, line));
      if (is(data)) {
        output->exprs.push_back(constant(Value::text(std::string(current().text)), line));
        next();
      } else {
        next();
        output->exprs.push_back(parse_tuple());
        expect(variable_end, "}}");
      }
    }
    if (ends.size() != 0) fail(concat("{% ", *(ends.end() - 1), " %} is missing"));
    return body;
  }

  // The body of a tag: from the end of this tag to the one of `ends`.
  Body parse_inside(std::initializer_list<std::string_view> ends) {
    skip_if(colon);
    expect(block_end, "the end of the tag");
    return parse_body(ends);
  }
  Body parse_block(std::string_view end_word) {
    Body body = parse_inside({end_word});
    next();
    return body;
  }

  const Stmt* parse_statement() {
    if (!is(name)) {
      fail(concat("expected the name of a tag, found ", found()));
      return nullptr;
    }
    const std::string_view word = current().text;
    const uint32_t line = current().line;
    next();
    if (word == "if") return parse_if(line);
    if (word == "for") return parse_for(line);
    if (word == "set") return parse_set(line);
    if (word == "macro") return parse_macro(line);
    if (word == "call") return parse_call_block(line);
    if (word == "filter") return parse_filter_block(line);
    if (word == "with") return parse_with(line);
    if (word == "block") return parse_named_block(line);
    if (word == "print") return parse_print(line);
    if (word == "generation" || word == "autoescape") return parse_plain_block(word, line);
    if (word == "break" || word == "continue") {
      if (loops_ == 0) fail(concat("'", word, "' is outside of a loop"));
      return make(word == "break" ? Stmt::Type::leave_loop : Stmt::Type::next_round, line);
    }
    --at_;
    if (word == "include" || word == "import" || word == "from" || word == "extends") {
      fail(concat("the tag '", word, "' is not supported: there are no other templates"));
    } else {
      fail(concat("unknown tag '", printable(word, 40), "'"));
    }
    return nullptr;
  }

  const Stmt* parse_if(uint32_t line) {
    Stmt* stmt = make(Stmt::Type::branch, line);
    for (;;) {
      stmt->exprs.push_back(parse_tuple(false));
      stmt->bodies.push_back(parse_inside({"elif", "else", "endif"}));
      if (skip_word("elif")) continue;
      if (skip_word("else")) {
        stmt->exprs.push_back(nullptr);
        stmt->bodies.push_back(parse_block("endif"));
      } else {
        next();
      }
      return stmt;
    }
  }

  const Stmt* parse_for(uint32_t line) {
    Stmt* stmt = make(Stmt::Type::loop, line);
    stmt->target = parse_target(false, "in");
    if (assigns(stmt->target, program_->loop)) fail("a loop can't have 'loop' as its variable");
    if (!skip_word("in")) fail(concat("expected 'in', found ", found()));
    stmt->value = parse_tuple(false, "recursive");
    if (skip_word("if")) stmt->test = parse_expression();
    stmt->recursive = skip_word("recursive");
    ++loops_;
    stmt->body = parse_inside({"else", "endfor"});
    --loops_;
    if (skip_word("else")) {
      stmt->other = parse_block("endfor");
    } else {
      next();
    }
    return stmt;
  }

  static bool assigns(const Expr* target, Symbol symbol) {
    if (target->type == Expr::Type::name) return target->symbol == symbol;
    return target->type == Expr::Type::tuple &&
           std::any_of(target->operands.begin(), target->operands.end(),
                       [symbol](const Expr* part) { return assigns(part, symbol); });
  }

  const Stmt* parse_set(uint32_t line) {
    Stmt* stmt = make(Stmt::Type::set, line);
    stmt->target = parse_target(true);
    if (skip_if(assign)) {
      stmt->value = parse_tuple();
      return stmt;
    }
    stmt->type = Stmt::Type::set_block;
    if (is(pipe)) stmt->value = parse_filters(nullptr);
    stmt->body = parse_block("endset");
    return stmt;
  }

  const Stmt* parse_with(uint32_t line) {
    Stmt* stmt = make(Stmt::Type::with, line);
    while (!is(block_end) && !failed_) {
      if (!stmt->targets.empty()) expect(comma, "','");
      stmt->targets.push_back(parse_target(false));
      expect(assign, "'='");
      stmt->exprs.push_back(parse_expression());
    }
    stmt->body = parse_block("endwith");
    return stmt;
  }

  void parse_signature(Stmt* stmt) {
    expect(lparen, "'('");
    while (!is(rparen) && !failed_) {
      if (!stmt->parameters.empty()) expect(comma, "','");
      Parameter parameter{expect_name(), nullptr};
      if (skip_if(assign)) {
        parameter.fallback = parse_expression();
      } else if (!stmt->parameters.empty() && stmt->parameters.back().fallback != nullptr) {
        fail("a parameter without a default follows one with a default");
      }
      if (stmt->parameters.size() == kMostParameters) fail("a macro has too many parameters");
      for (const Parameter& other : stmt->parameters) {
        if (other.name == parameter.name) fail("a parameter has the same name as another");
      }
      stmt->parameters.push_back(parameter);
    }
    expect(rparen, "')'");
  }

  // The body of a macro or of what acts as one: loops around it are not its own.
  void parse_macro_body(Stmt* stmt, std::string_view end_word) {
    const size_t outer_loops = std::exchange(loops_, 0);
    macros_.push_back(stmt);
    stmt->body = parse_block(end_word);
    macros_.pop_back();
    loops_ = outer_loops;
    for (const Parameter& parameter : stmt->parameters) {
      if (parameter.name == program_->kwargs) stmt->takes_kwargs = false;
      if (parameter.name == program_->varargs) stmt->takes_varargs = false;
      if (parameter.name == program_->caller && stmt->takes_caller && !parameter.fallback) {
        fail("the parameter 'caller' needs a default");
      }
    }
  }

  const Stmt* parse_macro(uint32_t line) {
    Stmt* stmt = make(Stmt::Type::macro, line);
    stmt->symbol = expect_name();
    parse_signature(stmt);
    parse_macro_body(stmt, "endmacro");
    return stmt;
  }

  const Stmt* parse_call_block(uint32_t line) {
    Stmt* stmt = make(Stmt::Type::call_block, line);
    if (is(lparen)) parse_signature(stmt);
    stmt->value = parse_expression();
    if (stmt->value->type != Expr::Type::call) fail("a call block needs a call");
    parse_macro_body(stmt, "endcall");
    return stmt;
  }

  const Stmt* parse_filter_block(uint32_t line) {
    Stmt* stmt = make(Stmt::Type::filter_block, line);
    stmt->value = parse_filters(nullptr, true);
    stmt->body = parse_block("endfilter");
    return stmt;
  }

  // A block that no other template can replace is shown where it is.
  const Stmt* parse_named_block(uint32_t line) {
    Stmt* stmt = make(Stmt::Type::scope, line);
    stmt->symbol = expect_name();
    stmt->in_root = !skip_word("scoped");
    const std::string_view block_name = name_of(stmt->symbol);
    const size_t outer_loops = std::exchange(loops_, 0);
    stmt->body = parse_inside({"endblock"});
    loops_ = outer_loops;
    next();
    skip_word(block_name);
    return stmt;
  }

  // {% generation %} marks what a model has written, for training. A break can't leave it.
  const Stmt* parse_plain_block(std::string_view word, uint32_t line) {
    Stmt* stmt = make(Stmt::Type::scope, line);
    if (word == "generation") {
      parse_macro_body(stmt, "endgeneration");
      return stmt;
    }
    const Expr* on = parse_expression();
    if (on->type != Expr::Type::constant || is_true(on->value)) {
      fail("autoescape is not supported: chat templates write plain text");
    }
    stmt->body = parse_block("endautoescape");
    return stmt;
  }

  const Stmt* parse_print(uint32_t line) {
    Stmt* stmt = make(Stmt::Type::output, line);
    while (!is(block_end) && !failed_) {
      if (!stmt->exprs.empty()) expect(comma, "','");
      stmt->exprs.push_back(parse_expression());
    }
    return stmt;
  }

  static constexpr size_t kMostParameters = 1000;
  size_t loops_ = 0;  // around the current place, within the macro
};

}  // namespace

Result<std::shared_ptr<const Program>> parse_program(std::string_view source,
                                                     const Limits& limits) {
  if (source.size() > limits.max_source_bytes) {
    return sluice::fail(Code::invalid_argument, "the template has ", source.size(),
                        " bytes; at most ", limits.max_source_bytes, " are taken");
  }
  const std::string normalized = normalized_source(source);
  SLUICE_ASSIGN(const Tokens tokens, read_tokens(normalized, limits.max_source_bytes));
  return Parser(tokens, limits).run();
}

}  // namespace sluice::jinja
