// Measures an importance matrix (files/importance.h): the model computes a text, and of each matrix
// that rows are multiplied by, the squares of these are added up, column by column.
//
// The text is cut into chunks (measure/text_chunks.h), and every position of them counts. Matrices
// are those of layers (blk.): not the embedding, and the head only on request. Of experts, the rows
// that were routed to each count. A fused tensor counts once. The rows are those that the file's
// columns are multiplied by: of folded weights (pass/folded_weights.h) the transformed ones.
#pragma once  // face

#include <cstdint>
#include <functional>
#include <string_view>

#include "base/result.h"
#include "engine.h"
#include "files/importance.h"

namespace sluice {

struct ImportanceOptions {
  uint32_t chunk_size = 512;   // tokens
  uint32_t n_chunks = 0;       // at most; 0: all of the text
  bool output_tensor = false;  // output.weight as well
};

// How far the measuring is, in tokens.
struct ImportanceProgress {
  uint64_t done = 0;
  uint64_t total = 0;   // 0 while the text is encoded
  uint64_t chunk = 0;   // the one that is computed, from 0
  uint64_t chunks = 0;  // of all
};
// Called between slices of the work, on the thread that called it. False ends it with `aborted`.
using OnImportanceProgress = std::function<bool(const ImportanceProgress&)>;

// Checks the options before a model with this header is loaded. Fails with invalid_argument if
// output_tensor is asked for and the head is the embedding, or there is none.
Status check_importance(const Gguf& header, const ImportanceOptions& options);
// What the memory must be planned for: a context of one chunk, of f32 keys and values; the logits
// of all positions with output_tensor.
void plan_importance(const ImportanceOptions& options, LoadOptions& load);

// The matrices are sorted by name; `datasets` is empty. The sums are the same whatever the threads,
// the kernels and the memory are. They take 8 bytes for each column, of each expert.
//
// The engine must be opened, with a plan as above; nobody else may use it meanwhile. Fails as
// check_importance() does; with invalid_argument if the text has less than one chunk; with bad_file
// if numbers overflow; as Session::start_results(), Session::step() and Engine::wait() do.
Result<Importance> measure_importance(Engine& engine, std::string_view text,
                                      const ImportanceOptions& options,
                                      const OnImportanceProgress& on_progress);

}  // namespace sluice
