// The expressions of made templates, and where their characters come from.
#pragma once

#include <array>
#include <bitset>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "choices.h"
#include "harmless.h"
#include "template_rules.h"

namespace sluice {

constexpr size_t kMaxVariables = 48;
using Variables = std::bitset<kMaxVariables>;

// Where the characters of an expression come from.
struct Origin {
  Chars own;            // of the template, or kept
  Variables variables;  // also what these have
  bool input = false;   // characters that are replaced
  void add(const Origin& other) {
    own |= other.own;
    variables |= other.variables;
    input |= other.input;
  }
};

struct Code {
  std::string text;
  Origin from;
};

struct Variable {
  std::string name;
  Made made;
  size_t number;  // in Variables
};

class Expressions {
 protected:
  Expressions(Choices& choices, bool large);

  // A new name for a value, in scope until it is taken out of variables_. False: there are too
  // many.
  bool declare(std::string name, Made made, size_t& number);
  static Origin origin_of_variable(size_t number);
  static Origin origin_of(std::string_view own);
  // The origin of what is written here.
  void write(const Origin& from);
  void compare(const Origin& a, const Origin& b);
  // What all the expressions and variables must have kept.
  Chars kept();

  std::string_view piece();  // of tokens, or of what stands between them
  Code text(size_t depth);
  Code any(size_t depth);  // a value that becomes a text
  Code expression(Made made, size_t depth);

  struct Macro {
    std::string name;
    std::vector<size_t> parameters;
    size_t result;
  };

  static constexpr size_t kMaxSize = 60;  // expressions and statements

  Choices& choices_;
  std::vector<Variable> variables_;  // in scope
  std::vector<Origin> origins_;      // of all variables
  std::vector<size_t> sinks_;        // what captures the output
  std::vector<std::pair<Origin, Origin>> compared_;
  std::vector<std::pair<Origin, Chars>> needed_;
  std::vector<Macro> macros_, call_macros_;
  size_t caller_ = SIZE_MAX;
  size_t macro_depth_ = 0;
  size_t names_ = 0;
  size_t size_ = 0;
  bool in_message_ = false;
  bool in_loop_ = false;
  bool ordered_ = false;
  bool parts_ = false;
  bool html_ = false;

 private:
  void resolve(Origin& from) const;
  Code literal(std::string_view text);
  Code written();
  Code message();
  static Origin input();
  Origin content() const;
  // A variable of this kind, if there is one.
  bool variable(Made made, Code& code);
  Code text_end();
  Code end_of(Made made);
  Code compared(size_t depth);
  Code operand(char kind, size_t depth);
  Code apply(const Rule& rule, size_t depth);
  Code call(size_t depth);

  std::array<std::vector<const Rule*>, 5> rules_;
};

}  // namespace sluice
