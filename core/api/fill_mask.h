// Texts with masks, and the tokens that a model would put in their places.
#pragma once  // face

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/token.h"
#include "text/tokenizer.h"

namespace sluice {

// A text as a model gets it, special tokens around it included.
struct MaskedText {
  std::vector<TokenId> ids;
  std::vector<size_t> masks;  // positions of the mask token in `ids`, ascending; at least one
};

// The ids of a text in which the vocabulary's mask token is written out ("[MASK]", "<mask>"); so
// are other special tokens. Fails with invalid_argument if the text has no mask, and says what to
// write, or if the vocabulary has no mask token.
Result<MaskedText> masked_text(const Tokenizer& tokenizer, std::string_view text);

// The same for ids as they are. Fails likewise.
Result<MaskedText> masked_ids(const Tokenizer& tokenizer, std::vector<TokenId> ids);

// The likeliest tokens of one mask with their log-probabilities, best first.
using MaskTop = std::vector<std::pair<TokenId, float>>;

// The `top` likeliest tokens of each mask, at least one. `logits` has a row for each mask.
std::vector<MaskTop> mask_tops(const MaskedText& masked, std::span<const float> logits, int top);

// A token as it stands in such lists, in valid UTF-8: the text that it adds; of WordPiece the word,
// or "##ing" for a token that goes on with one; of a special token its name.
std::string token_text(const Tokenizer& tokenizer, TokenId id);

// The text with the likeliest token in place of each mask. A token that goes on with a word joins
// what stands before it.
std::string filled_text(const Tokenizer& tokenizer, std::string_view text,
                        std::span<const MaskTop> tops);

// The same for ids, as the text that they stand for; special tokens around it are left out.
std::string filled_ids(const Tokenizer& tokenizer, const MaskedText& masked,
                       std::span<const MaskTop> tops);

// {"text":..,"tokens":n,"masks":[{"position":..,"top":[{"id":..,"token":..,"logprob":..},..]},..]}.
// `text` is `filled`.
std::string fill_mask_json(const Tokenizer& tokenizer, const MaskedText& masked,
                           std::string_view filled, std::span<const MaskTop> tops);

}  // namespace sluice
