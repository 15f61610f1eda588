#include "api/fill_mask.h"

#include <algorithm>

#include "api/json_parts.h"
#include "base/format.h"
#include "base/utf8.h"
#include "engine.h"

namespace sluice {
namespace {

constexpr std::string_view kWordPiece = "bert";    // Tokenizer::model()
constexpr std::string_view kWordStart = "\u2581";  // of a WordPiece token that begins a word
constexpr std::string_view kGoesOn = "##";         // how the others are shown

// Whether a token of WordPiece goes on with a word.
bool goes_on(const Tokenizer& tokenizer, TokenId id) {
  return tokenizer.model() == kWordPiece && !tokenizer.is_special(id) &&
         !tokenizer.raw_token(id).starts_with(kWordStart);
}

// Where the mask token is written out in a text.
std::vector<TextSpan> written_masks(const Tokenizer& tokenizer, std::string_view text) {
  const std::string_view mask = tokenizer.raw_token(tokenizer.mask());
  std::vector<TextSpan> spans = tokenizer.find_control(text);
  std::erase_if(spans, [&](const TextSpan& span) {
    return text.substr(span.begin, span.end - span.begin) != mask;
  });
  return spans;
}

}  // namespace

Result<MaskedText> masked_ids(const Tokenizer& tokenizer, std::vector<TokenId> ids) {
  const TokenId mask = tokenizer.mask();
  if (mask == kNoToken)
    return fail(Code::invalid_argument,
                "the model's vocabulary has no mask token, so no word can be left open");
  MaskedText masked{std::move(ids), {}};
  for (size_t i = 0; i < masked.ids.size(); ++i)
    if (masked.ids[i] == mask) masked.masks.push_back(i);
  if (masked.masks.empty())
    return fail(Code::invalid_argument, "the text has no mask; write ",
                printable(tokenizer.raw_token(mask)), " in place of the word to be found");
  return masked;
}

Result<MaskedText> masked_text(const Tokenizer& tokenizer, std::string_view text) {
  return masked_ids(tokenizer, tokenizer.framed(tokenizer.encode(text, true)));
}

std::vector<MaskTop> mask_tops(const MaskedText& masked, std::span<const float> logits, int top) {
  const size_t n_vocab = logits.size() / masked.masks.size();
  std::vector<MaskTop> tops;
  for (size_t i = 0; i < masked.masks.size(); ++i)
    tops.push_back(top_logprobs(logits.subspan(i * n_vocab, n_vocab), std::max(top, 1)));
  return tops;
}

std::string token_text(const Tokenizer& tokenizer, TokenId id) {
  const std::string_view raw = tokenizer.raw_token(id);
  if (tokenizer.is_special(id)) return utf8_sanitize(raw);
  if (goes_on(tokenizer, id)) return utf8_sanitize(concat(kGoesOn, raw));
  return utf8_sanitize(tokenizer.model() == kWordPiece ? raw.substr(kWordStart.size())
                                                       : tokenizer.piece(id));
}

std::string filled_text(const Tokenizer& tokenizer, std::string_view text,
                        std::span<const MaskTop> tops) {
  std::string filled;
  size_t at = 0;
  const auto append_token = [&](TokenId id) {
    std::string token = token_text(tokenizer, id);
    const bool joins = goes_on(tokenizer, id);
    if (joins) token.erase(0, kGoesOn.size());
    // A token of BPE brings the space before it.
    if (joins || token.starts_with(' '))
      while (filled.ends_with(' ')) filled.pop_back();
    filled += token;
  };
  size_t mask = 0;
  for (const TextSpan& span : written_masks(tokenizer, text)) {
    if (mask == tops.size()) break;
    filled += text.substr(at, span.begin - at);
    append_token(tops[mask++].front().first);
    at = span.end;
  }
  return utf8_sanitize(filled.append(text.substr(at)));
}

std::string filled_ids(const Tokenizer& tokenizer, const MaskedText& masked,
                       std::span<const MaskTop> tops) {
  std::vector<TokenId> ids = masked.ids;
  for (size_t i = 0; i < tops.size(); ++i) ids[masked.masks[i]] = tops[i].front().first;
  return utf8_sanitize(tokenizer.decode(ids));
}

std::string fill_mask_json(const Tokenizer& tokenizer, const MaskedText& masked,
                           std::string_view filled, std::span<const MaskTop> tops) {
  JsonText out;
  out.open('{');
  out.text("text", filled);
  out.count("tokens", masked.ids.size());
  out.open("masks", '[');
  for (size_t i = 0; i < tops.size(); ++i) {
    out.open('{');
    out.count("position", masked.masks[i]);
    out.open("top", '[');
    for (const auto& [id, logprob] : tops[i]) {
      out.open('{');
      out.whole("id", id);
      out.text("token", token_text(tokenizer, id));
      out.key("logprob");
      out.raw(concat(logprob));
      out.close('}');
    }
    out.close(']');
    out.close('}');
  }
  out.close(']');
  out.close('}');
  return out.take();
}

}  // namespace sluice
