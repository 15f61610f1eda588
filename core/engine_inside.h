// What bench, bindings, inspect, tokenize and the tests need beyond engine.h: the types that
// Engine's accessors return, and functions on a file's header. Not a public interface: it may
// change at any time.
#pragma once

#include <cstdint>
#include <string>

#include "engine.h"
#include "gguf/gguf.h"
#include "gguf/model_parser.h"
#include "kernels/kernels.h"
#include "models/config.h"
#include "models/profile.h"
#include "text/tokenizer.h"
#include "weights/source_file.h"
#include "weights/weights.h"

namespace sluice {

// Reads and checks the header of a file on disk, or those of all files of a split model, and
// nothing else of them (native builds only).
Result<Gguf> read_header(const std::string& path);
Result<Gguf> read_header(const ModelFiles& files);
// The memory that running this file takes. Fails as loading would (unsupported_type, ...), but
// doesn't check the budget.
Result<MemoryPlan> plan_memory(const Gguf& header, const LoadOptions& options);
// The contents of the header for `inspect --json` and probe: architecture, name, parameters, types,
// tokenizer, metadata (of an array, its length and first elements), tensors, the memory plan or the
// reason why the file can't run, notes.
std::string inspect_json(const Gguf& header, const LoadOptions& options, uint64_t file_size);

}  // namespace sluice
