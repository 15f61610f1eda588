#include "measure/text_chunks.h"

#include <algorithm>

#include "base/format.h"

namespace sluice {

Result<TextChunks> TextChunks::make(const Tokenizer& tokenizer, std::string_view text,
                                    size_t chunk_size, size_t most,
                                    const std::function<bool()>& go_on) {
  const auto prefix = tokenizer.prefix();
  TextChunks out(chunk_size, prefix.empty() ? kNoToken : prefix.front());
  out.ids_.assign(prefix.begin(), prefix.end());
  Encoding encoding(tokenizer, text);
  for (bool more = true; more && (most == 0 || out.count() < most);) {
    if (!go_on()) return fail(Code::aborted, "interrupted while the text was encoded");
    more = encoding.step();
    const std::vector<TokenId> ids = encoding.take();
    out.ids_.insert(out.ids_.end(), ids.begin(), ids.end());
  }
  if (out.count() == 0)
    return fail(Code::invalid_argument, "the text has ", counted(out.ids_.size(), "token"),
                "; at least ", chunk_size,
                ", one chunk, are needed. Give a longer text or smaller chunks");
  const size_t chunks = most == 0 ? out.count() : std::min(out.count(), most);
  out.ids_.resize(chunks * chunk_size);
  return out;
}

std::vector<TokenId> TextChunks::chunk(size_t i) const {
  const auto first = ids_.begin() + static_cast<ptrdiff_t>(i * chunk_size_);
  std::vector<TokenId> out(first, first + static_cast<ptrdiff_t>(chunk_size_));
  if (bos_ != kNoToken) out.front() = bos_;
  return out;
}

}  // namespace sluice
