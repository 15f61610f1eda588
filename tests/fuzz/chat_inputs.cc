#include "chat_inputs.h"

#include <cstdio>
#include <utility>

#include "base/utf8.h"

namespace sluice {
namespace {

using jinja::Value;

constexpr std::string_view kTokens[] = {
    "<|im_start|>", "<|im_end|>", "<|end|>", "<s>", "</s>", "[INST]", "[/INST]", "<｜tasnA｜>",
};
constexpr std::string_view kPieces[] = {
    "<|im_start|>",
    "<|im_",
    "start|>",
    "<|im_end|>",
    "<|im_e",
    "end|>",
    "nd|>",
    "<|",
    "|>",
    "<",
    ">",
    "|",
    "im",
    "_",
    "i",
    "m",
    "s",
    "e",
    "n",
    "d",
    "<s>",
    "<s",
    "s>",
    "</s>",
    "</",
    "/",
    "[INST]",
    "[/INST]",
    "[IN",
    "ST]",
    "[",
    "]",
    "<|end|>",
    "<|en",
    "d|>",
    "<｜tasnA｜>",
    "<｜tasn",
    "A｜>",
    "｜",
    "▁",
};
// What the input has besides: other orders and cases, entities, escapes, what splits and ends.
constexpr std::string_view kOthers[] = {
    " ",
    "\n",
    "x",
    "hey",
    "1",
    ",",
    "a",
    "t",
    "r",
    "I",
    "N",
    "S",
    "T",
    ">|dne_mi|<",
    ">|trats_mi|<",
    ">s<",
    "]TSNI[",
    "<|IM_START|>",
    "<S>",
    "[inst]",
    "<|Im_End|>",
    "<x|x>",
    "<xsx>",
    "< s >",
    "<|im_ end|>",
    "<|im_\nend|>",
    "&lt;|im_start|&gt;",
    "&lt;s&gt;",
    "&#60;s&#62;",
    "&amp;lt;s&amp;gt;",
    "<b>",
    "<!-- s -->",
    "%3Cs%3E",
    "\\u003cs\\u003e",
    "\\x3cs",
    "\"",
    "'",
    "\\",
    "\\n",
    "%s",
    "{}",
    "{{ x }}",
    "{0}",
    "\t",
    "\r\n",
    "\xe2\x80\xa8",
    "\x1b",
    "é",
    "É",
    "[ınst]",
    "<ſ>",
    "İ",
    "日",
    "🎉",
    "｜",
    "word word",
    "Some text. ",
    "user",
    "/",
    ".",
    "&",
    "_",
    "-",
    "<|im_x",
    "xend|>",
    "0",
    "-1.5e3",
    "aid",
    "end",
    "start",
    "  ",
    "ß",
};
constexpr std::string_view kRoles[] = {"user", "system", "assistant", "tool"};
constexpr std::string_view kForms[] = {"%s",     "<|im_%s|>", "{}", "<%s>",
                                       "{0}{0}", "[%s]",      "%r", "<{}>"};
constexpr std::string_view kNames[] = {
    "messages",  "role", "content", "name",  "n",           "tool_calls", "function",
    "arguments", "k1",   "type",    "tools", "description", "parameters", "properties",
    "note",      "form", "count",   "flag",  "ratio",       "object",     "string",
};

Node node(Node::Kind kind, std::string_view key) {
  Node made;
  made.kind = kind;
  made.key = key;
  return made;
}
Node kept(std::string_view key, std::string_view text) {
  Node made = node(Node::Kind::text, key);
  made.text = text;
  made.kept = true;
  return made;
}
Node number(std::string_view key, double value, Node::Kind kind = Node::Kind::integer) {
  Node made = node(kind, key);
  made.number = value;
  return made;
}
Node dict(std::string_view key, std::vector<Node> parts) {
  Node made = node(Node::Kind::dict, key);
  made.parts = std::move(parts);
  return made;
}

class Maker {
 public:
  Maker(Choices& choices, const MakeInput& how) : choices_(choices), how_(how) {}

  Node run() {
    Node messages = node(Node::Kind::list, "messages");
    const size_t count = 1 + choices_.below(3);
    for (size_t i = 0; i < count; ++i) messages.parts.push_back(message(i));
    Node tools = node(Node::Kind::list, "tools");
    tools.parts.push_back(tool());
    Node whole = dict("", {});
    whole.parts = {
        std::move(messages),
        std::move(tools),
        text("note"),
        kept("form", choices_.pick(kForms)),
        number("count", static_cast<double>(choices_.below(100))),
        number("flag", choices_.below(2) != 0 ? 1 : 0, Node::Kind::boolean),
        number("ratio", static_cast<double>(choices_.below(64)) / 8, Node::Kind::number)};
    return whole;
  }

 private:
  std::string characters() {
    std::string made;
    const size_t count = choices_.below(how_.longest);
    for (size_t i = 0; i < count && !choices_.ended(); ++i) {
      const size_t kind = choices_.below(8);
      made += kind == 0  ? choices_.pick(kTokens)
              : kind < 5 ? choices_.pick(kPieces)
                         : choices_.pick(kOthers);
    }
    if (how_.ordered) made = without_partners(made);
    const std::string once = made;
    for (size_t i = 1; i < how_.repeat; ++i) made += once;
    return made;
  }
  Node text(std::string_view key) {
    Node made = node(Node::Kind::text, key);
    made.text = characters();
    return made;
  }
  // With a name that no template looks up.
  Node named_by_input(char first) {
    Node made = text("");
    made.key = first + characters();
    return made;
  }

  Node message(size_t index) {
    Node role = node(Node::Kind::text, "role");
    if (choices_.below(4) != 3) {
      role.text = choices_.pick(kRoles);
      role.kept = role.role = true;
    } else {
      role.text = "z" + characters();  // no known role
    }
    Node content = text("content");
    if (how_.parts && choices_.sometimes(6)) {
      Node part = dict("", {kept("type", "text"), text("text")});
      content = node(Node::Kind::list, "content");
      content.parts = {part, part};
    }
    Node name = text("name");
    name.text = static_cast<char>('9' - index) + name.text;
    Node arguments = dict("arguments", {text("k1"), named_by_input('1')});
    if (choices_.sometimes(8)) arguments.parts.push_back(named_by_input('2'));
    Node call = dict("", {kept("type", "function"), dict("function", {text("name"), arguments})});
    Node calls = node(Node::Kind::list, "tool_calls");
    calls.parts.push_back(std::move(call));
    return dict("", {std::move(role), std::move(content), std::move(name),
                     number("n", static_cast<double>(choices_.below(9))), std::move(calls)});
  }

  Node tool() {
    Node properties = dict("properties", {named_by_input('3'), named_by_input('0')});
    Node parameters = dict("parameters", {kept("type", "object"), std::move(properties)});
    return dict("", {kept("type", "function"),
                     dict("function", {text("name"), text("description"), std::move(parameters)})});
  }

  Choices& choices_;
  const MakeInput& how_;
};

std::string shown(const Node& node, const Harmless* harmless) {
  return harmless == nullptr || node.kept ? node.text : harmless->replace(node.text);
}
// Only names that are no lookups begin with a digit.
std::string shown_key(const Node& node, const Harmless* harmless) {
  const bool looked_up = !node.key.empty() && (node.key[0] < '0' || node.key[0] > '9');
  return harmless == nullptr || looked_up ? node.key : harmless->replace(node.key);
}

// Some characters as escapes, the same ones in each replacement.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  const auto escape = [&out](uint32_t unit) {
    char hex[16];
    std::snprintf(hex, sizeof hex, "\\u%04x", unit);
    out += hex;
  };
  for (size_t at = 0; at < text.size();) {
    const Utf8Char c = utf8_decode(text.substr(at));
    if (c.code_point < 32 || c.code_point == '"' || c.code_point == '\\' || at % 7 == 3) {
      if (c.code_point >= 0x10000) {
        escape(0xd800 + ((c.code_point - 0x10000) >> 10));
        escape(0xdc00 + (c.code_point & 0x3ff));
      } else {
        escape(c.code_point);
      }
    } else {
      out += text.substr(at, c.length);
    }
    at += c.length;
  }
  return out + "\"";
}

Value value_of(const Node& node, const Harmless* harmless, uint32_t& field) {
  switch (node.kind) {
    case Node::Kind::null:
      return Value::none().marked(true);
    case Node::Kind::boolean:
      return Value::boolean(node.number != 0).marked(true);
    case Node::Kind::integer:
      return Value::integer(static_cast<int64_t>(node.number)).marked(true);
    case Node::Kind::number:
      return Value::number(node.number).marked(true);
    case Node::Kind::text:
      return node.role ? Value::text(node.text) : Value::input_text(shown(node, harmless), ++field);
    case Node::Kind::list: {
      jinja::List items(nullptr);
      for (const Node& part : node.parts) items.push_back(value_of(part, harmless, field));
      return Value::list(std::move(items)).marked(true);
    }
    case Node::Kind::dict:
      break;
  }
  jinja::Entries entries(nullptr);
  for (const Node& part : node.parts) {
    Value key = Value::input_text(shown_key(part, harmless), ++field);
    entries.emplace_back(std::move(key), value_of(part, harmless, field));
  }
  return Value::dict(std::move(entries)).marked(true);
}

}  // namespace

std::span<const std::string_view> control_tokens() { return kTokens; }
std::span<const std::string_view> token_pieces() { return kPieces; }

std::string_view kept_texts() {
  static const std::string all = [] {
    std::string texts;
    for (const std::string_view name : kNames) texts += name;
    for (const std::string_view role : kRoles) texts += role;
    for (const std::string_view form : kForms) texts += form;
    return texts;
  }();
  return all;
}

Node make_chat_input(Choices& choices, const MakeInput& how) { return Maker(choices, how).run(); }

std::string json_of(const Node& node, const Harmless* harmless) {
  switch (node.kind) {
    case Node::Kind::null:
      return "null";
    case Node::Kind::boolean:
      return node.number != 0 ? "true" : "false";
    case Node::Kind::integer:
      return std::to_string(static_cast<int64_t>(node.number));
    case Node::Kind::number:
      return std::to_string(node.number);
    case Node::Kind::text:
      return quoted(shown(node, harmless));
    default:
      break;
  }
  const bool list = node.kind == Node::Kind::list;
  std::string out(1, list ? '[' : '{');
  for (const Node& part : node.parts) {
    if (out.size() > 1) out += ", ";
    if (!list) out += quoted(shown_key(part, harmless)) + ": ";
    out += json_of(part, harmless);
  }
  return out + (list ? ']' : '}');
}

Value value_of(const Node& node, const Harmless* harmless) {
  uint32_t field = 0;
  return value_of(node, harmless, field);
}

}  // namespace sluice
