#include "chat/literal.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "jinja/text.h"

namespace sluice {
namespace {

using jinja::Entry;
using jinja::Kind;
using jinja::Value;

// The private planes of Unicode.
constexpr uint32_t kPrivateFirst = 0xf0000;
constexpr uint32_t kPrivateLast = 0x10fffd;
// Special tokens of which a part is looked for; a prompt has a few different ones.
constexpr size_t kMaxTokens = 200;

bool is_private(uint32_t c) { return c >= kPrivateFirst && c <= kPrivateLast; }
bool is_continuation(char c) { return (static_cast<uint8_t>(c) & 0xc0) == 0x80; }

// Replaces characters by private ones that the prompt doesn't have.
class Masks {
 public:
  explicit Masks(std::string_view prompt) : used_(kPrivateLast - kPrivateFirst + 1) {
    for (size_t at = 0; at < prompt.size();) {
      const Utf8Char c = utf8_decode(prompt.substr(at));
      if (is_private(c.code_point)) used_[c.code_point - kPrivateFirst] = true;
      at += c.length;
    }
  }

  // Appends the character in place of `c`. Too many different ones remain as they are.
  void append_mask(std::string& out, uint32_t c) {
    for (const Mask& mask : masks_)
      if (mask.original == c) return utf8_append(out, mask.shown);
    while (next_ < used_.size() && used_[next_]) ++next_;
    if (next_ == used_.size() || masks_.size() == kMaxMasks) return utf8_append(out, c);
    masks_.push_back({c, kPrivateFirst + next_++});
    utf8_append(out, masks_.back().shown);
  }

  // Whether the text is `prompt` if its masks are replaced by the originals. Appends where they are
  // in it.
  bool leads_to(std::string_view prompt, std::string_view masked,
                std::vector<TextSpan>& spans) const {
    size_t end = 0;
    for (size_t at = 0; at < masked.size();) {
      const Utf8Char c = utf8_decode(masked.substr(at));
      std::string shown(masked.substr(at, c.length));
      at += c.length;
      if (const Mask* mask = mask_of(c.code_point)) {
        shown.clear();
        utf8_append(shown, mask->original);
        if (spans.empty() || spans.back().end != end) spans.push_back({end, end});
        spans.back().end += shown.size();
      }
      if (!prompt.substr(end).starts_with(shown)) return false;
      end += shown.size();
    }
    return end == prompt.size();
  }

 private:
  struct Mask {
    uint32_t original;
    uint32_t shown;
  };
  static constexpr size_t kMaxMasks = 1000;  // names of special tokens have about 60 characters

  const Mask* mask_of(uint32_t c) const {
    if (!is_private(c)) return nullptr;
    for (const Mask& mask : masks_)
      if (mask.shown == c) return &mask;
    return nullptr;
  }

  std::vector<uint8_t> used_;  // by the prompt
  std::vector<Mask> masks_;
  uint32_t next_ = 0;
};

// A text of the input in which special tokens are written out.
struct Found {
  std::string_view text;
  std::vector<TextSpan> spans;
};

class Masker {
 public:
  Masker(const Tokenizer& tokenizer, std::string_view prompt)
      : tokenizer_(tokenizer), masks_(prompt) {
    for (const TextSpan& span : tokenizer.find_control(prompt)) {
      if (tokens_.size() == kMaxTokens) break;
      const std::string_view token = prompt.substr(span.begin, span.end - span.begin);
      if (std::find(tokens_.begin(), tokens_.end(), token) == tokens_.end())
        tokens_.push_back(token);
    }
  }

  // Special tokens can only come from the input if the prompt has some.
  bool finds_any() const { return !tokens_.empty(); }
  const std::vector<Found>& found() const { return found_; }
  bool masked() const { return masked_; }
  const Masks& masks() const { return masks_; }

  // `ends`: a part of a token at the text's ends is replaced, too: the template may put texts
  // together.
  Value mask(const Value& value, bool ends) {
    if (value.is_text()) return mask_text(value, ends);
    if (value.is(Kind::list)) {
      std::vector<Value> items;
      for (const Value& item : value.items()) items.push_back(mask(item, ends));
      return Value::list(std::move(items));
    }
    if (!value.is(Kind::dict)) return value;
    std::vector<Entry> entries;
    for (const auto& [key, item] : value.entries()) {
      const bool name = key.as_text() == "role" || key.as_text() == "type";
      entries.emplace_back(mask(key, false), mask(item, ends && !name));
    }
    return Value::dict(std::move(entries));
  }

 private:
  // Adds the longest parts of tokens at the two ends.
  void add_ends(std::string_view text, std::vector<TextSpan>& spans) const {
    const size_t end = jinja::strip(text, false, true).size();
    const size_t begin = text.size() - jinja::strip(text, true, false).size();
    if (begin >= end) return;
    const std::string_view inner = text.substr(begin, end - begin);
    size_t first = 0, last = 0;
    for (const std::string_view token : tokens_) {
      for (size_t n = 1; n < std::min(token.size(), inner.size() + 1); ++n) {
        if (inner.starts_with(token.substr(token.size() - n))) first = std::max(first, n);
        if (inner.ends_with(token.substr(0, n))) last = std::max(last, n);
      }
    }
    if (first > 0) spans.insert(spans.begin(), {begin, begin + first});
    if (last > 0) spans.push_back({end - last, end});
  }

  Value mask_text(const Value& value, bool ends) {
    const std::string_view text = value.as_text();
    std::vector<TextSpan> spans = tokenizer_.find_control(text);
    if (!spans.empty()) found_.push_back({text, spans});
    if (ends) add_ends(text, spans);
    if (spans.empty()) return value;
    masked_ = true;
    std::string out;
    size_t at = 0;
    for (const TextSpan& span : spans) {
      size_t begin = std::max(span.begin, at);
      while (begin > at && is_continuation(text[begin])) --begin;
      out.append(text.substr(at, begin - at));
      for (at = begin; at < span.end;) {
        const Utf8Char c = utf8_decode(text.substr(at));
        masks_.append_mask(out, c.code_point);
        at += c.length;
      }
    }
    out.append(text.substr(at));
    return Value::text(std::move(out));
  }

  const Tokenizer& tokenizer_;
  Masks masks_;
  std::vector<std::string_view> tokens_;  // that the prompt has
  std::vector<Found> found_;
  bool masked_ = false;
};

// Looks for the texts themselves, in their order.
std::vector<TextSpan> search(const std::vector<Found>& found, std::string_view prompt,
                             Notes& warnings) {
  std::vector<TextSpan> spans;
  size_t from = 0;
  bool missing = false;
  for (const Found& each : found) {
    const std::string_view text = jinja::strip(each.text, true, true);
    const size_t skipped = each.text.size() - jinja::strip(each.text, true, false).size();
    const size_t at = prompt.find(text, from);
    if (at == std::string_view::npos) {
      missing = true;
      continue;
    }
    for (const TextSpan& span : each.spans) {
      if (span.end <= skipped) continue;
      const size_t begin = at + std::max(span.begin, skipped) - skipped;
      const size_t end = at + std::min(span.end - skipped, text.size());
      if (begin < end) spans.push_back({begin, end});
    }
    from = at + text.size();
  }
  if (missing) {
    warnings.push_back(
        {NoteCode::special_token_in_message,
         "a message contains the name of a special token, and the template changes the message: "
         "the name counts as the token"});
  }
  return spans;
}

}  // namespace

std::vector<TextSpan> literal_spans(const Tokenizer& tokenizer, const jinja::Template& made,
                                    const jinja::RenderOptions& time, const ChatInput& input,
                                    std::string_view prompt, Notes& warnings) {
  Masker masker(tokenizer, prompt);
  if (!masker.finds_any()) return {};
  std::vector<Entry> context;
  for (const auto& [key, value] : input.context) {
    const bool token = key.as_text().ends_with("_token");  // bos_token and the like
    context.emplace_back(key, token ? value : masker.mask(value, true));
  }
  if (!masker.masked()) return {};
  if (const auto masked = made.render(jinja::Value::dict(std::move(context)), time)) {
    std::vector<TextSpan> spans;
    if (masker.masks().leads_to(prompt, *masked, spans)) return spans;
  }
  return search(masker.found(), prompt, warnings);
}

}  // namespace sluice
