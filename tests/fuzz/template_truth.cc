#include "template_truth.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/format.h"
#include "base/utf8.h"
#include "chat/chat_template.h"
#include "make/byte_vocabulary.h"

namespace sluice {
namespace {

constexpr TokenId kFirstControl = 256;
constexpr uint64_t kCheap = 50'000;  // units of work, for which chats are made as well
// How far beyond the limit of work a template comes: up to the next look, and what one step does
// with a text, which is charged at once.
uint64_t beyond(const jinja::Limits& limits) { return (1 << 14) + 2 * limits.max_memory; }

jinja::Limits limits_of(bool small) {
  jinja::Limits limits;
  limits.max_work = small ? 5'000 : 400'000;
  limits.max_memory = small ? 1 << 16 : 4 << 20;
  limits.max_items = 10'000;
  return limits;
}

std::vector<TextSpan> text_spans(const jinja::Rendered& rendered) {
  std::vector<TextSpan> spans;
  for (const jinja::InputSpan& span : rendered.input) spans.push_back({span.begin, span.end});
  return spans;
}

// The text with its parts from the input in brackets.
std::string with_parts(const jinja::Rendered& rendered) {
  std::string out;
  size_t at = 0;
  for (const jinja::InputSpan& span : rendered.input) {
    out += rendered.text.substr(at, span.begin - at) + "⟦" +
           rendered.text.substr(span.begin, span.end - span.begin) + "⟧";
    at = span.end;
  }
  return out + rendered.text.substr(at);
}

}  // namespace

std::string shown(const TruthCounts& counts) {
  return concat(counts.runs, " runs: ", counts.rendered, " rendered (", counts.tokens,
                " with control tokens, ", counts.tempted, " where the input would have made more, ",
                counts.idle, " with nothing replaced), ", counts.failed, " failed, ", counts.spent,
                " beyond the limits; ", counts.chats, " as chats; ", counts.wrong, " wrong");
}

bool tell_something(const TruthCounts& counts) {
  return counts.tokens > counts.runs / 20 && counts.tempted > counts.runs / 50 &&
         counts.chats > counts.runs / 50;
}

TemplateTruth::TemplateTruth() {
  std::vector<std::string> control;
  for (const std::string_view token : control_tokens()) control.emplace_back(token);
  bytes_ = byte_vocabulary(control).header();
  header_ = *parse_gguf(as_bytes(bytes_));
  tokenizer_ = *Tokenizer::from_gguf(header_);
}

TemplateTruth::Run TemplateTruth::render(const jinja::Program& program, const jinja::Limits& limits,
                                         const jinja::Value& input) {
  const jinja::RenderOptions options;
  jinja::Interpreter interpreter(program, limits, input, options);
  Result<jinja::Rendered> rendered = interpreter.run();
  return {std::move(rendered), interpreter.meter.used_work(), interpreter.meter.spent()};
}

std::vector<TokenId> TemplateTruth::control_ids(const std::vector<TokenId>& ids) const {
  std::vector<TokenId> control;
  const auto end = kFirstControl + static_cast<TokenId>(control_tokens().size());
  for (const TokenId id : ids)
    if (id >= kFirstControl && id < end) control.push_back(id);
  return control;
}

std::string TemplateTruth::compare(const Run& run, const Run& other) {
  const jinja::Rendered& a = *run.rendered;
  const jinja::Rendered& b = *other.rendered;
  if (utf8_sanitize(a.text) != a.text) return "the prompt is no UTF-8";
  const auto ids = control_ids(tokenizer_->encode(a.text, true, text_spans(a)));
  const auto true_ids = control_ids(tokenizer_->encode(b.text, true, text_spans(b)));
  const size_t naive = control_ids(tokenizer_->encode(a.text, true)).size();
  counts_.tokens += ids.empty() ? 0 : 1;
  counts_.tempted += naive > ids.size() ? 1 : 0;
  if (ids != true_ids) return "other control tokens";
  if (a.text.size() != b.text.size()) return "another length";
  const auto same = [](const jinja::InputSpan& x, const jinja::InputSpan& y) {
    return x.begin == y.begin && x.end == y.end && x.field == y.field && x.offset == y.offset;
  };
  if (!std::equal(a.input.begin(), a.input.end(), b.input.begin(), b.input.end(), same))
    return "other parts from the input";
  size_t at = 0;
  for (const jinja::InputSpan& span : a.input) {
    if (span.begin < at || span.end <= span.begin || span.end > a.text.size())
      return "parts without order";
    if (a.text.compare(at, span.begin - at, b.text, at, span.begin - at) != 0)
      return "a part from the input counts as the template's";
    at = span.end;
  }
  if (a.text.substr(at) != b.text.substr(at))
    return "a part from the input counts as the template's";
  return {};
}

// The same from JSON to tokens.
std::string TemplateTruth::compare_chats(const MadeTemplate& made, const Node& input,
                                         const Harmless& harmless) {
  ++counts_.chats;
  const std::string json = json_of(input, nullptr);
  const std::string replaced = json_of(input, &harmless);
  ChatRequest request;
  request.chat_template = made.source;
  request.messages = json;
  const auto prompt = apply_chat_template({&header_, &*tokenizer_}, request);
  request.messages = replaced;
  const auto other = apply_chat_template({&header_, &*tokenizer_}, request);
  if (prompt.has_value() != other.has_value()) return "only one chat fails";
  if (!prompt) return prompt.error().code == other.error().code ? "" : "chats fail differently";
  if (control_ids(prompt->tokens) != control_ids(other->tokens))
    return "other control tokens in the chat";
  const auto same = [](const TextSpan& a, const TextSpan& b) {
    return a.begin == b.begin && a.end == b.end;
  };
  return std::ranges::equal(prompt->input, other->input, same)
             ? ""
             : "other parts from the chat's input";
}

std::optional<std::string> TemplateTruth::check(std::span<const uint8_t> bytes) {
  ++counts_.runs;
  const size_t third = bytes.size() / 3;
  Choices for_input(bytes.first(third));
  Choices for_template(bytes.subspan(third));
  const size_t mode = for_template.below(16);
  const bool small = mode == 1;
  const MadeTemplate made = make_template(for_template, small);
  const Harmless harmless(made.kept);
  const Node input = make_chat_input(for_input, {.ordered = made.ordered, .parts = made.parts});

  const jinja::Limits limits = limits_of(small);
  const auto wrong = [&](std::string_view what, const Run* run = nullptr,
                         const Run* other = nullptr) {
    ++counts_.wrong;
    std::string text =
        concat(what, "\n  template: ", made.source, "\n  input: ", json_of(input, nullptr),
               "\n  replaced: ", json_of(input, &harmless));
    for (const Run* each : {run, other}) {
      if (each == nullptr) continue;
      text += concat("\n  ", each->work, " units: ",
                     each->rendered ? with_parts(*each->rendered) : each->rendered.error().message);
    }
    return text;
  };
  const auto program = jinja::parse_program(made.source, limits);
  if (!program && small) {  // it may be too large
    ++counts_.spent;
    return std::nullopt;
  }
  if (!program) return wrong("it doesn't parse: " + program.error().message);
  const Run run = render(**program, limits, value_of(input, nullptr));
  const Run other = render(**program, limits, value_of(input, &harmless));
  for (const Run* each : {&run, &other})
    if (each->work > limits.max_work + beyond(limits)) return wrong("it works on and on", each);
  if (run.spent || other.spent) {  // a little work depends on the characters
    ++counts_.spent;
    return std::nullopt;
  }
  if (run.rendered.has_value() != other.rendered.has_value())
    return wrong("only one fails", &run, &other);
  if (!run.rendered) {
    ++counts_.failed;
    return std::nullopt;
  }
  ++counts_.rendered;
  counts_.idle +=
      std::ranges::all_of(control_tokens(), [&](auto token) { return harmless.keeps(token); }) ? 1
                                                                                               : 0;
  if (const std::string what = compare(run, other); !what.empty()) return wrong(what, &run, &other);
  if (run.work <= kCheap && mode % 4 == 0) {
    if (const std::string what = compare_chats(made, input, harmless); !what.empty())
      return wrong(what, &run, &other);
  }
  return std::nullopt;
}

}  // namespace sluice
