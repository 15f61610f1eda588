#include "chat/prompt.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/format.h"
#include "jinja/text.h"

namespace sluice {
namespace {

using jinja::InputSpan;
using jinja::InputSpans;
using jinja::Value;

const InputSpan* last_of(const InputSpans& spans, uint32_t field) {
  for (size_t i = spans.size(); i-- > 0;)
    if (spans[i].field == field) return &spans[i];
  return nullptr;
}

// Where the prompt shows the text's end, which may be without white space behind it.
std::optional<size_t> end_of(const jinja::Text& text, const InputSpans& shown) {
  if (text.input.empty()) return std::nullopt;
  const InputSpan& tail = text.input.back();
  const InputSpan* last = last_of(shown, tail.field);
  if (last == nullptr) return std::nullopt;
  const size_t reached = last->offset + (last->end - last->begin) + tail.begin;
  if (reached < tail.offset + jinja::strip(text.text, false, true).size()) return std::nullopt;
  return last->end;
}

// To two digits.
uint64_t rounded(uint64_t n) {
  uint64_t unit = 1;
  while (n / unit >= 100) unit *= 10;
  return (n + unit / 2) / unit * unit;
}

// Ends the prompt in the final text.
Status cut(TemplateUse& used, const ChatInput& input, PromptText& prompt) {
  SLUICE_ASSIGN(const Value last, final_text(input));
  const jinja::Text& text = last.as<jinja::Text>();
  std::optional<size_t> end = end_of(text, prompt.input);
  if (!end) {
    // The text is empty, or the template leaves its end out: a character behind it tells the place.
    const uint32_t placeholder = input.fields + 1;
    const auto size = static_cast<uint32_t>(text.text.size());
    InputSpans spans = text.input;
    spans.push_back({size, size + 1, placeholder, 0});
    const Value longer = Value::text_in_parts(text.text + "x", std::move(spans));
    SLUICE_ASSIGN(jinja::Rendered shown, used.render(with_final_text(input, longer)));
    if (const InputSpan* found = last_of(shown.input, placeholder)) end = found->begin;
    prompt.text = std::move(shown.text);
    prompt.input = std::move(shown.input);
  }
  if (!end) {
    return fail(Code::invalid_argument,
                "continue_final_message: the template doesn't show the text of the last message as "
                "it is, so the prompt can't end in it");
  }
  prompt.text.resize(*end);
  while (!prompt.input.empty() && prompt.input.back().begin >= *end) prompt.input.pop_back();
  prompt.final_begin = *end;
  if (prompt.input.empty()) return {};
  InputSpan& clipped = prompt.input.back();
  clipped.end = std::min(clipped.end, static_cast<uint32_t>(*end));
  if (text.input.empty()) return {};
  const uint32_t first = text.input[0].field, final = text.input.back().field;
  for (size_t i = prompt.input.size(); i-- > 0;) {
    const InputSpan& span = prompt.input[i];
    if (span.field < first || span.field > final) break;
    prompt.final_begin = span.begin;
  }
  return {};
}

}  // namespace

Result<PromptText> render_prompt(TemplateUse& used, const ChatInput& input) {
  SLUICE_ASSIGN(jinja::Rendered shown, used.render(input));
  PromptText prompt{std::move(shown.text), std::move(shown.input)};
  prompt.final_begin = prompt.text.size();
  if (input.continues) SLUICE_TRY(cut(used, input, prompt));
  return prompt;
}

std::vector<TextSpan> spans_within(const InputSpans& spans, size_t begin, size_t end) {
  std::vector<TextSpan> within;
  auto span = std::ranges::partition_point(
      spans, [begin](const InputSpan& each) { return each.end <= begin; });
  for (; span != spans.end() && span->begin < end; ++span) {
    const size_t from = std::max<size_t>(span->begin, begin) - begin;
    const size_t to = std::min<size_t>(span->end, end) - begin;
    if (!within.empty() && within.back().end == from) {
      within.back().end = to;
    } else {
      within.push_back({from, to});
    }
  }
  return within;
}

Result<PromptTokens> PromptEncoder::encode(const PromptText& prompt, size_t begin, size_t end,
                                           size_t most) const {
  const std::string_view text = std::string_view(prompt.text).substr(begin, end - begin);
  Encoding encoding(tokenizer, text, true, Encoding::kSlice,
                    spans_within(prompt.input, begin, end));
  PromptTokens tokens;
  for (bool more = true; more;) {
    if (stopped && stopped()) return fail(Code::aborted, "the prompt was interrupted");
    more = encoding.step();
    const std::vector<TokenId> some = encoding.take();
    tokens.ids.insert(tokens.ids.end(), some.begin(), some.end());
    const uint64_t left = encoding.bytes_left();
    const uint64_t done = text.size() - std::min<uint64_t>(left, text.size());
    // A part that tells how long the rest is.
    if (!more || most == 0 || encoding.min_ids() <= most || done < Encoding::kSlice / 2) continue;
    const uint64_t about = uint64_t{tokens.ids.size()} * text.size() / done;
    tokens.about = std::max(rounded(about), encoding.min_ids());
    break;
  }
  return tokens;
}

Result<PromptTokens> PromptEncoder::encode_whole(const PromptText& prompt, size_t most) const {
  SLUICE_ASSIGN(PromptTokens tokens, encode(prompt, 0, prompt.text.size(), most));
  // The template may have written the prefix, too.
  std::vector<TokenId>& ids = tokens.ids;
  if (const TokenId bos = tokenizer.bos(); bos != kNoToken) {
    const auto other = std::ranges::find_if(ids, [bos](TokenId id) { return id != bos; });
    if (other - ids.begin() > 1) ids.erase(ids.begin() + 1, other);
  }
  ids = tokenizer.with_prefix(std::move(ids));
  return tokens;
}

}  // namespace sluice
