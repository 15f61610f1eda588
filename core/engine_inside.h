// What bench, bindings, inspect, template, tokenize and the tests need beyond engine.h: the types
// that Engine's accessors return, and functions on a file's header. Not a public interface: it may
// change at any time.
#pragma once  // face

#include <cstdint>
#include <string>

#include "chat/chat_template.h"
#include "chat/reuse.h"
#include "engine.h"
#include "gguf/gguf.h"
#include "gguf/model_parser.h"
#include "kernels/kernels.h"
#include "pass/config.h"
#include "pass/profile.h"
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
// How fast this machine decodes: bytes of weights of this type per second that so many threads, or
// half of them if these are faster, multiply for one token after another. The median of passes over
// 128 MiB, more than most caches hold. Takes about `seconds`, and the time to write that memory
// once. 0 if there is no memory for it. A decoded token reads MemoryPlan::per_token of weights, so
// this tells about how many a second can have.
double decode_rate(Type type, int threads, double seconds);

}  // namespace sluice
