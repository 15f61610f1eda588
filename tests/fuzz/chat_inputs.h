// Made inputs of chat templates: messages, tools and more, whose texts hold control tokens, parts
// of them, and what functions of templates could make tokens of.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "choices.h"
#include "harmless.h"
#include "jinja/value.h"

namespace sluice {

// The control tokens of the vocabulary, and pieces that templates and inputs are made of.
std::span<const std::string_view> control_tokens();
std::span<const std::string_view> token_pieces();

// Names that templates look up, known roles and format strings stay as they are.
std::string_view kept_texts();

struct Node {
  enum class Kind : uint8_t { null, boolean, integer, number, text, list, dict };
  Kind kind = Kind::null;
  bool kept = false;  // a text that isn't replaced
  bool role = false;  // a known role, which counts as the template's own
  double number = 0;
  std::string text;
  std::string key;  // in a dict
  std::vector<Node> parts;
};

struct MakeInput {
  bool ordered = false;  // the template depends on the order of texts
  bool parts = false;    // contents may be lists of parts
  size_t longest = 12;   // pieces of one text
  size_t repeat = 1;     // how often each text is repeated
};
Node make_chat_input(Choices& choices, const MakeInput& how);

std::string json_of(const Node& node, const Harmless* harmless);
jinja::Value value_of(const Node& node, const Harmless* harmless);

}  // namespace sluice
