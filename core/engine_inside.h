// What bench, bindings, inspect, tokenize and the tests need beyond engine.h: the types that an
// engine's accessors give, and what can be said of a file without an engine. Not for users: all of
// it may change with the inside.
#pragma once

#include <cstdint>
#include <string>

#include "engine.h"
#include "gguf/gguf.h"
#include "kernels/kernels.h"
#include "models/config.h"
#include "models/profile.h"
#include "text/tokenizer.h"
#include "weights/weights.h"

namespace sluice {

// The header of a file on disk (native builds only). Of the file nothing else is read.
Result<Gguf> read_header(const std::string& path);
Result<Gguf> read_header(const File& file);
// What running this file takes, without its weights; fails as loading would (unsupported_type,
// ...).
Result<MemoryPlan> plan_memory(const Gguf& header, const LoadOptions& options);
// Everything the header says, for `inspect --json` and probe: architecture, name, parameters,
// types, tokenizer, metadata (long arrays by length and first elements), tensors, memory plan or
// the reason why it can't run, notes.
std::string inspect_json(const Gguf& header, const LoadOptions& options, uint64_t file_size);

}  // namespace sluice
