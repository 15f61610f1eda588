// What an embedding model wants before a query and before a document: the makers' own words.
#pragma once  // face

#include <cstdint>
#include <string_view>

#include "gguf/gguf.h"

namespace sluice {

// What a text is to a search. plain: nothing is put before it.
enum class TextKind : uint8_t { plain, query, document };

// Texts to put before; "" where the model wants none.
struct EmbeddingPrompts {
  std::string_view query;
  std::string_view document;

  std::string_view of(TextKind kind) const {
    if (kind == TextKind::plain) return "";
    return kind == TextKind::query ? query : document;
  }
};

// Those of the family to which the file seems to belong, by its architecture and the words of its
// name (general.name, general.basename).
EmbeddingPrompts embedding_prompts(const Gguf& header);

}  // namespace sluice
