// The ids of a whole text, as models get it that see all of it at once.
#pragma once  // face

#include <cstddef>
#include <string_view>
#include <vector>

#include "base/token.h"
#include "text/tokenizer.h"

namespace sluice {

// The ids of `prompt` and `text` together, with those that the file asks for around a text ([CLS]
// and [SEP], BOS, EOS). Special tokens that are written out in the text are text. An empty text has
// only the ids around it; there may be none.
std::vector<TokenId> text_ids(const Tokenizer& tokenizer, std::string_view prompt,
                              std::string_view text);

// Cuts such ids to `most` of them. The ids behind the text stay, as far as there is room.
void truncate_ids(const Tokenizer& tokenizer, size_t most, std::vector<TokenId>& ids);

}  // namespace sluice
