// What the parsers of expressions (expression_parser.h) and of statements (parser.cc) share: the
// tokens, the names and the making of nodes.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <span>

#include "base/format.h"
#include "jinja/ast.h"
#include "jinja/template.h"

namespace sluice::jinja {

// After an error the parser is at the end of the tokens, so that all loops end.
class ParserBase {
 public:
  ParserBase(const Tokens& tokens, const Limits& limits)
      : tokens_(tokens.list),
        limits_(limits),
        meter_(limits.max_work, limits.max_memory),
        program_(std::make_shared<Program>()) {
    meter_.take(tokens_.capacity() * sizeof(Lexeme));
  }

 protected:
  // --- tokens ---

  const Lexeme& current() const { return tokens_[at_]; }
  const Lexeme& look() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  bool is(LexemeType type) const { return current().type == type; }
  static bool is_word(const Lexeme& token, std::string_view word) {
    return token.type == LexemeType::name && token.text == word;
  }
  bool is_word(std::string_view word) const { return is_word(current(), word); }
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

  void fail(std::string_view message) {
    if (failed_) return;
    failed_ = true;
    error_line_ = current().line;
    error_ = message;
    at_ = tokens_.size() - 1;
  }
  std::string found() const {
    switch (current().type) {
      case LexemeType::end:
        return "the end of the template";
      case LexemeType::block_end:
      case LexemeType::variable_end:
        return "the end of the tag";
      default:
        return concat("'", printable(current().text, 40), "'");
    }
  }
  void expect(LexemeType type, const char* what) {
    if (!skip_if(type)) fail(concat("expected ", what, ", found ", found()));
  }
  Symbol expect_name() {
    const std::string_view text = current().text;
    if (!is(LexemeType::name)) fail(concat("expected a name, found ", found()));
    const Symbol made = failed_ ? 0 : symbol(text);
    next();
    return made;
  }

  std::string_view name_of(Symbol symbol_of) const { return program_->names[symbol_of].as_text(); }
  Symbol symbol(std::string_view text) {
    const auto before = [this](Symbol s, std::string_view t) { return name_of(s) < t; };
    take(sizeof(Symbol), sorted_.size() / 64);
    const auto place = std::lower_bound(sorted_.begin(), sorted_.end(), text, before);
    if (place != sorted_.end() && name_of(*place) == text) return *place;
    const auto made = static_cast<Symbol>(program_->names.size());
    take(sizeof(Text) + text.size(), 4);
    program_->names.push_back(Value::text(std::string(text)));
    sorted_.insert(place, made);
    return made;
  }

  // --- nodes ---

  // Counts memory and work; fails when they are spent.
  void take(size_t bytes, uint64_t work) {
    meter_.take(bytes);
    meter_.work(work);
    if (meter_.spent()) fail("the template takes too much memory or work to read");
  }

  // Counts how deep the calls of the parser are.
  class Level {
   public:
    explicit Level(ParserBase& parser) : parser_(parser) {
      if (++parser_.level_ > parser_.limits_.max_depth)
        parser_.fail("the template nests too deeply");
    }
    ~Level() { --parser_.level_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    ParserBase& parser_;
  };

  Expr* make(Expr::Type type, uint32_t line, std::span<const Expr* const> operands = {}) {
    take(sizeof(Expr), 10);
    program_->exprs.push_back(std::make_unique<Expr>());
    Expr& expr = *program_->exprs.back();
    expr.type = type;
    expr.line = line;
    for (const Expr* operand : operands) add_operand(&expr, operand);
    return &expr;
  }
  Expr* make(Expr::Type type, uint32_t line, std::initializer_list<const Expr*> operands) {
    return make(type, line, std::span(operands.begin(), operands.size()));
  }
  void note_depth(Expr* expr, const Expr* below) {
    if (below == nullptr) return;
    expr->depth = std::max<uint16_t>(expr->depth, static_cast<uint16_t>(below->depth + 1));
    if (expr->depth > limits_.max_depth) fail("an expression nests too deeply");
  }
  void add_operand(Expr* expr, const Expr* operand) {
    take(2 * sizeof(operand), 1);
    expr->operands.push_back(operand);
    note_depth(expr, operand);
  }
  Expr* constant(Value value, uint32_t line) {
    Expr* expr = make(Expr::Type::constant, line);
    expr->value = std::move(value);
    return expr;
  }
  Stmt* make(Stmt::Type type, uint32_t line) {
    take(sizeof(Stmt), 10);
    program_->stmts.push_back(std::make_unique<Stmt>());
    Stmt& stmt = *program_->stmts.back();
    stmt.type = type;
    stmt.line = line;
    return &stmt;
  }

  const std::vector<Lexeme>& tokens_;
  const Limits& limits_;
  Meter meter_;
  std::shared_ptr<Program> program_;
  std::vector<Symbol> sorted_;  // by name
  size_t at_ = 0;
  size_t level_ = 0;
  bool failed_ = false;
  uint32_t error_line_ = 1;
  std::string error_;
};

}  // namespace sluice::jinja
