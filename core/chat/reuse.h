// Prefix reuse across tokenizations: where a prompt has the text of a session, it gets the
// session's tokens.
#pragma once  // face

#include <span>
#include <vector>

#include "text/tokenizer.h"

namespace sluice {

// `prompt` with the longest prefix of text that both have in the tokens of `known`. A model may
// write a text in other tokens than the encoder does; with the model's own, nothing that it wrote
// is computed again. `known`: Session::written().
std::vector<TokenId> reuse_tokens(const Tokenizer& tokenizer, std::span<const TokenId> known,
                                  std::vector<TokenId> prompt);

}  // namespace sluice
