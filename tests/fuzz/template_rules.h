// The table of the grammar's expressions. Operands in the patterns:
//   $T a text, $A any value, $N a number, $B a truth, $L a list of texts, $D a dict;
//   $C what a text is compared with; $O a literal that is only written;
//   $I a small number, $W a width, $S a slice; $M a message; $1 and $3 forms for one value, with %
//   and {}, $2 and $4 such for two values.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace sluice {

enum class Made : uint8_t { text, number, truth, list, dict };

// What an expression does with its operands besides passing on their characters.
enum Effect : uint8_t {
  kCompare = 1,     // compares the first with the second
  kCompareAll = 2,  // compares each with each
  kItself = 4,      // compares parts of the first with each other
  kOrder = 8,       // depends on the order of texts
  kHtml = 16,       // makes HTML, which escapes what it is joined with
  kInLoop = 32,     // only there
  kLarge = 64,      // only in large templates
};

struct Rule {
  Made made;
  std::string_view pattern;
  uint8_t effect = 0;
  std::string_view needs = {};  // characters that it tells from others; "W": no ASCII
  std::string_view adds = {};   // characters that it makes, by one of the names below
};

std::span<const Rule> template_rules();

// What is made of any text, as `adds` names it.
std::string_view made_characters(std::string_view name);

}  // namespace sluice
