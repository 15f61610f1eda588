// What the files of families share: sizes, keys and tensors that nearly all decoders have.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "files/convert/conversion.h"
#include "quant/types.h"

namespace sluice {

// general.file_type of a file of this type.
uint32_t file_type_number(Type type);

// Reads the sizes by the names that models like LLaMA have. `head_dim`: where the config has none;
// 0: width / heads. Fails, in c.config, where the heads don't divide.
ModelSizes read_sizes(Conversion& c, uint64_t head_dim = 0);

// Writes block_count, context_length, embedding_length, feed_forward_length, attention.head_count,
// and head_count_kv if the sizes have it.
void set_sizes(Conversion& c, const ModelSizes& sizes);
// attention.key_length and value_length.
void set_head_dim(Conversion& c, uint64_t head_dim);
void set_file_type(Conversion& c, Type type);

// The numbers of a layer, as in "model.layers.3.": "layers.3." and "blk.3.".
struct LayerNames {
  std::string from, to;
};
LayerNames layer_names(uint64_t layer, std::string_view start = "layers.");

// "embed_tokens.weight" as token_embd.weight.
void add_embedding(Conversion& c, const ModelSizes& sizes, bool cut = false);
// "lm_head.weight" as output.weight, unless it is the embedding (tie_word_embeddings).
void add_head(Conversion& c, const ModelSizes& sizes, bool tied_by_default);
// The gate, up and down projections "mlp.*".
void add_mlp(Conversion& c, const LayerNames& names, uint64_t width, uint64_t ff, bool biases);

// The order of the rows of LLaMA's q and k in GGUF files: where Hugging Face has a head's halves
// one behind the other, they have pairs.
std::vector<uint32_t> paired_rows(uint64_t heads, uint64_t head_dim);

}  // namespace sluice
