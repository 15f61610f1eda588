// What a model makes of texts.
#pragma once  // face

#include <cstdint>

namespace sluice {

struct ModelMakes {
  bool text = false;     // it writes
  bool vectors = false;  // of texts; every model can
  bool masks = false;    // it says which tokens may stand in place of masks
};

// Which of the rows that the final norm makes of a text's positions become one: that of the first
// (as BERT's [CLS]) or the last, or the mean of all, added up in order. With the numbers of GGUF
// (ARCH.pooling_type).
enum class Pooling : uint8_t { none = 0, mean = 1, first = 2, last = 3 };

// So many tokens of short texts are computed together where vectors are made, if all weights are in
// memory.
inline constexpr int64_t kBatchTokens = 512;

}  // namespace sluice
