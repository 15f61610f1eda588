// What a file's header says, as JSON, for `inspect --json` and the library's probe.
#pragma once  // face

#include <cstdint>
#include <string>

#include "engine.h"

namespace sluice {

// Architecture, name, parameters, types, tokenizer, metadata (of an array, its length and first
// elements), tensors, the memory plan or the reason why the file can't run, notes; `sampling` if
// the file recommends values of options (engine/model_sampling.h). `access`: how the model's bytes
// come, for the memory plan.
std::string inspect_json(const Gguf& header, const LoadOptions& options, uint64_t file_size,
                         Access access = Access::rereadable);

}  // namespace sluice
