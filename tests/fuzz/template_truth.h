// Made templates with made inputs, and what is true of them: the prompt has the control tokens that
// the same template gives when the characters of the input are replaced by harmless ones. More than
// that, its bytes that don't come from the input are the same, and the same bytes come from it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "chat_inputs.h"
#include "gguf/gguf.h"
#include "jinja/interpreter.h"
#include "template_grammar.h"
#include "text/tokenizer.h"

namespace sluice {

struct TruthCounts {
  uint64_t runs = 0;
  uint64_t rendered = 0;
  uint64_t failed = 0;   // both times, by an error that is not a limit's
  uint64_t spent = 0;    // more than the limits allow
  uint64_t tokens = 0;   // rendered, with control tokens in the prompt
  uint64_t tempted = 0;  // a tokenizer that doesn't know the input would have found more
  uint64_t idle = 0;     // of `rendered`: the replacement keeps all control tokens
  uint64_t chats = 0;    // also from JSON to tokens
  uint64_t wrong = 0;
};

// A line of all counts.
std::string shown(const TruthCounts& counts);
// Whether the counts say that the runs could have found something.
bool tell_something(const TruthCounts& counts);

class TemplateTruth {
 public:
  TemplateTruth();
  // Makes a template and an input of the bytes. What is wrong, in words; nothing if all is right.
  std::optional<std::string> check(std::span<const uint8_t> bytes);
  const TruthCounts& counts() const { return counts_; }

 private:
  struct Run {
    Result<jinja::Rendered> rendered;
    uint64_t work;
    bool spent;
  };
  Run render(const jinja::Program& program, const jinja::Limits& limits, const jinja::Value& input);
  std::vector<TokenId> control_ids(const std::vector<TokenId>& ids) const;
  std::string compare(const Run& run, const Run& other);
  std::string compare_chats(const MadeTemplate& made, const Node& input, const Harmless& harmless);

  std::string bytes_;  // of the vocabulary
  Gguf header_;
  std::optional<Tokenizer> tokenizer_;
  TruthCounts counts_;
};

}  // namespace sluice
