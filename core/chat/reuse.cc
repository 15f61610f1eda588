#include "chat/reuse.h"

#include <algorithm>
#include <string_view>

namespace sluice {
namespace {

// Walks along tokens and their bytes.
struct Walk {
  const Tokenizer& tokenizer;
  std::span<const TokenId> ids;
  size_t at = 0;          // the next token
  std::string_view rest;  // bytes of the last token that are not compared yet

  bool ended() const { return at == ids.size(); }
  bool special() const { return tokenizer.is_special(ids[at]); }
  void step() { rest = tokenizer.piece(ids[at++]); }
};

}  // namespace

std::vector<TokenId> reuse_tokens(const Tokenizer& tokenizer, std::span<const TokenId> known,
                                  std::vector<TokenId> prompt) {
  Walk a{tokenizer, known, 0, {}};
  Walk b{tokenizer, prompt, 0, {}};
  size_t n_known = 0,
         n_prompt = 0;  // tokens of the common prefix, which ends where a token of both does
  while (true) {
    const size_t n = std::min(a.rest.size(), b.rest.size());
    if (a.rest.substr(0, n) != b.rest.substr(0, n)) break;
    a.rest.remove_prefix(n);
    b.rest.remove_prefix(n);
    if (a.rest.empty() && b.rest.empty()) {
      n_known = a.at;
      n_prompt = b.at;
      if (a.ended() || b.ended()) break;
      const bool special = a.special() || b.special();
      if (special && a.ids[a.at] != b.ids[b.at]) break;
      a.step();
      b.step();
      if (special) a.rest = b.rest = {};
    } else {
      Walk& behind = a.rest.empty() ? a : b;
      // Special tokens stand by themselves.
      if (behind.ended() || behind.special()) break;
      behind.step();
    }
  }
  std::vector<TokenId> out(known.begin(), known.begin() + static_cast<ptrdiff_t>(n_known));
  out.insert(out.end(), prompt.begin() + static_cast<ptrdiff_t>(n_prompt), prompt.end());
  return out;
}

}  // namespace sluice
