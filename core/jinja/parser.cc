// Makes a template's syntax tree.
#include <tuple>

#include "jinja/expression_parser.h"

namespace sluice::jinja {
namespace {

struct Tag {
  const char* name;
  Stmt::Type type;
  const char* end;  // null: the tag has no body
};
constexpr Tag kTags[] = {
    {"if", Stmt::Type::branch, "endif"},
    {"for", Stmt::Type::loop, "endfor"},
    {"set", Stmt::Type::set, "endset"},
    {"macro", Stmt::Type::macro, "endmacro"},
    {"call", Stmt::Type::call_block, "endcall"},
    {"filter", Stmt::Type::filter_block, "endfilter"},
    {"with", Stmt::Type::with, "endwith"},
    // Marks what a model has written, for training.
    {"generation", Stmt::Type::scope, "endgeneration"},
    {"break", Stmt::Type::leave_loop, nullptr},
    {"continue", Stmt::Type::next_round, nullptr},
};

class Parser : public ExpressionParser {
 public:
  using ExpressionParser::ExpressionParser;

  Result<std::shared_ptr<const Program>> run() {
    program_->loop = symbol("loop");
    program_->caller = symbol("caller");
    program_->body = parse_body(nullptr, 0, false);
    program_->work = meter_.used_work();
    if (failed_) return std::unexpected(std::move(error_));
    return program_;
  }

 private:
  // Up to the tag that ends the body of `tag`, which stands in line `opened`, or that divides it:
  // its name is then the current token. No tag: to the end of the template.
  Body parse_body(const Tag* tag, uint32_t opened, bool divided) {
    enter();
    Body body(nullptr);
    Stmt* output = nullptr;
    for (;;) {
      const uint32_t line = current().line;
      if (is(end)) {
        if (tag != nullptr) miss_end(*tag, opened);
        break;
      }
      if (skip_if(block_begin)) {
        if (tag != nullptr && ends(*tag, divided)) break;
        if (is_word("else") || is_word("elif") || (is(name) && current().text.starts_with("end"))) {
          if (tag != nullptr) miss_end(*tag, opened);
          fail("nothing is open to which the tag '", current().text, "' could belong");
        }
        output = nullptr;
        if (const Stmt* stmt = parse_statement(line)) body.push_back(stmt);
        expect(block_end, "the end of the tag");
        continue;
      }
      if (output == nullptr) body.push_back(output = make(Stmt::Type::output, line));
      if (is(data)) {
        output->exprs.push_back(constant(current().value, line));
        next();
      } else {
        next();
        output->exprs.push_back(parse_tuple(Items::any));
        expect(variable_end, "}}");
      }
    }
    --level_;
    return body;
  }
  void miss_end(const Tag& tag, uint32_t opened) {
    fail("{% ", tag.end, concat(" %} is missing for the tag in line ", opened).c_str());
  }
  bool ends(const Tag& tag, bool divided) const {
    return is_word(tag.end) || (divided && is_word("else")) ||
           (divided && tag.type == Stmt::Type::branch && is_word("elif"));
  }

  const Stmt* parse_statement(uint32_t line) {
    const Tag* const tag =
        std::ranges::find_if(kTags, [&](const Tag& t) { return is_word(t.name); });
    if (tag == std::end(kTags)) {
      fail("the tag '", current().text, "' isn't supported here");
      return nullptr;
    }
    const auto outer = std::pair(loops_, macro_);
    Stmt* const stmt = make(tag->type, line);
    next();
    parse_head(*stmt);
    // A set with a value has no body.
    if (tag->end == nullptr || stmt->type == Stmt::Type::set) return stmt;
    bool divided = stmt->type == Stmt::Type::branch || stmt->type == Stmt::Type::loop;
    for (;;) {
      skip_if(colon);
      expect(block_end, "the end of the tag");
      stmt->bodies.push_back(parse_body(tag, line, divided));
      std::tie(loops_, macro_) = outer;
      if (skip_word("elif")) {
        stmt->exprs.push_back(parse_tuple(Items::plain));
      } else if (divided && skip_word("else")) {
        divided = false;
      } else {
        break;
      }
    }
    next();
    if (stmt->takes_caller) {
      if (macro_ != nullptr) macro_->takes_caller = true;
      for (const Named& parameter : stmt->parameters) {
        if (parameter.name == program_->caller && parameter.value == nullptr)
          fail("the parameter 'caller' needs a default");
      }
    }
    return stmt;
  }

  // What a tag has behind its name.
  void parse_head(Stmt& stmt) {
    switch (stmt.type) {
      case Stmt::Type::branch:
        stmt.exprs.push_back(parse_tuple(Items::plain));
        break;
      case Stmt::Type::loop:
        stmt.target = parse_target(Items::loop_targets);
        if (!skip_word("in")) expected("'in'");
        stmt.value = parse_tuple(Items::plain);
        if (skip_word("if")) stmt.test = parse_expression();
        if (is_word("recursive")) fail("recursive loops aren't supported here");
        ++loops_;
        break;
      case Stmt::Type::set:
        stmt.target = parse_target(Items::set_targets);
        if (skip_if(assign)) {
          stmt.value = parse_tuple(Items::any);
          break;
        }
        stmt.type = Stmt::Type::set_block;
        while (skip_if(pipe)) stmt.value = parse_applied(Expr::Type::filter, stmt.value);
        break;
      case Stmt::Type::filter_block:
        do {
          stmt.value = parse_applied(Expr::Type::filter, stmt.value);
        } while (skip_if(pipe));
        break;
      case Stmt::Type::with:
        while (!is(block_end) && !failed_) {
          stmt.exprs.push_back(parse_target(Items::with_targets));
          expect(assign, "'='");
          stmt.exprs.push_back(parse_expression());
          if (!skip_if(comma)) break;
        }
        break;
      case Stmt::Type::macro:
        stmt.symbol = expect_name();
        parse_signature(stmt);
        begin_macro(&stmt);
        break;
      case Stmt::Type::call_block:
        if (is(lparen)) parse_signature(stmt);
        stmt.value = parse_expression();
        if (stmt.value->type != Expr::Type::call) fail("a call block needs a call");
        begin_macro(&stmt);
        break;
      case Stmt::Type::scope:
        begin_macro(macro_);  // a break can't leave it
        break;
      default:  // break and continue
        if (loops_ == 0) fail("'break' or 'continue' is outside of a loop");
    }
  }

  // The loops around a macro are not its own.
  void begin_macro(Stmt* macro) {
    loops_ = 0;
    macro_ = macro;
  }

  void parse_signature(Stmt& stmt) {
    expect(lparen, "'('");
    for (bool more = !is(rparen); more; more = skip_if(comma)) {
      const Symbol parameter = expect_name();
      const Expr* const fallback = skip_if(assign) ? parse_expression() : nullptr;
      if (fallback == nullptr && !stmt.parameters.empty() &&
          stmt.parameters.back().value != nullptr)
        fail("a parameter without a default follows one with a default");
      add_named(stmt.parameters, parameter, fallback);
    }
    expect(rparen, "')'");
  }

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
  SLUICE_ASSIGN(const Vector<Lexeme> tokens, read_tokens(normalized));
  return Parser(tokens, limits).run();
}

}  // namespace sluice::jinja
