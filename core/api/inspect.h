// What a file's header says, as JSON, for `inspect --json` and the library's probe.
#pragma once  // face

#include <cstdint>
#include <string>

#include "engine.h"
#include "gguf/gguf.h"

namespace sluice {

// Elements of an array that JSON has unless it is to have all.
inline constexpr uint64_t kShownElements = 8;

// A value of the metadata as JSON. An array is {"array":type,"count":n,"first":[..]} with its first
// `most` elements.
std::string metadata_json(const MetadataValue& value, uint64_t most = kShownElements);

// Architecture, name, parameters, what it makes of texts (makes: text, vectors, masks; pooling and
// dimensions of its vectors), types, tokenizer, metadata (of an array, its length and first
// elements), tensors, the memory plan or the reason why the file can't run, notes; `sampling` if
// the file recommends values of options (engine/model_sampling.h). `access`: how the model's bytes
// come, for the memory plan. `most`: elements of each array.
std::string inspect_json(const Gguf& header, const LoadOptions& options, uint64_t file_size,
                         Access access = Access::rereadable, uint64_t most = kShownElements);

}  // namespace sluice
