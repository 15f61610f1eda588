// Prompts that go on where a session is: the tokens that it has are taken as they are.
#pragma once  // face

#include <span>
#include <vector>

#include "text/tokenizer.h"

namespace sluice {

// `prompt` with the tokens of `known` in place of others for the same text, from the beginning on
// as far as the two agree. A model may write a text in other tokens than an encoder does; with
// these, nothing that it wrote is computed again. `known`: Session::written().
std::vector<TokenId> reuse_tokens(const Tokenizer& tokenizer, std::span<const TokenId> known,
                                  std::vector<TokenId> prompt);

}  // namespace sluice
