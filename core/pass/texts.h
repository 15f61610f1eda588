// The texts of a pass. A session's pass has one; a pass that makes vectors may have several.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sluice {

// Some tokens of a pass, which see those of the same text alone.
struct PassText {
  int64_t first = 0;     // the first one, counted from the pass's first token
  int64_t n_tokens = 0;  // in the pass
  int64_t position = 0;  // of the first one in its text
  // Of the text's position 0 in the timeline's caches: a multiple of 16. A text whose place is no
  // multiple of kKvChunk ends within that chunk. So all sums over its positions are the same
  // wherever it lies.
  int64_t place = 0;

  int64_t end() const { return first + n_tokens; }
};

// Adds a text of so many tokens behind these, from its position 0 on. Short ones share chunks.
void add_text(std::vector<PassText>& texts, int64_t n_tokens);
// The places that they take in caches.
int64_t places_of(std::span<const PassText> texts);
// Which of them has this token of the pass. They are ascending and without gaps.
size_t text_of(std::span<const PassText> texts, int64_t token);

}  // namespace sluice
