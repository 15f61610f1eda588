// Regular expressions over tensor names, as --tensor-type takes them.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sluice {

// A pattern of ECMAScript's form that is searched in a name: it may match any part of it. Known are
// characters, . [a-z] [^..] \d \w \s \b and their opposites, ( ) (?: ) | * + ? {m,n} ^ and $.
// Looking ahead and references to groups are not. Any pattern takes time in proportion to its own
// length times the name's, and no stack.
class NamePattern {
 public:
  // Fails with invalid_argument, which says what is wrong where.
  static Result<NamePattern> compile(std::string_view pattern);
  bool found_in(std::string_view name) const;

  static constexpr size_t kMaxBytes = 1000;   // of a pattern
  static constexpr size_t kMaxSteps = 20000;  // of its program; {m,n} multiplies them

 private:
  friend class PatternCompiler;
  enum class Op : uint8_t { set, begin, end, border, no_border, both, go, done };
  struct Step {
    Op op = Op::done;
    uint32_t next = 0;                   // the step that follows
    uint32_t other = 0;                  // of `both`: the second one
    std::array<uint64_t, 4> bytes = {};  // of `set`
  };
  void add(std::vector<uint32_t>& steps, std::vector<uint32_t>& seen, uint32_t mark, uint32_t step,
           std::string_view name, size_t at) const;

  std::vector<Step> steps_;
};

}  // namespace sluice
