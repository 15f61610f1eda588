#include "api/text_ids.h"

#include <algorithm>
#include <span>
#include <string>

namespace sluice {

std::vector<TokenId> text_ids(const Tokenizer& tokenizer, std::string_view prompt,
                              std::string_view text) {
  return tokenizer.framed(tokenizer.encode(std::string(prompt).append(text)));
}

void truncate_ids(const Tokenizer& tokenizer, size_t most, std::vector<TokenId>& ids) {
  if (ids.size() <= most) return;
  const std::span<const TokenId> ends = tokenizer.suffix();
  const bool ended =
      ids.size() >= ends.size() && std::ranges::equal(std::span(ids).last(ends.size()), ends);
  ids.resize(most);
  if (ended && ends.size() <= most) std::ranges::copy(ends, ids.end() - std::ssize(ends));
}

}  // namespace sluice
