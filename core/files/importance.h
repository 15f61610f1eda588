// Importance matrices: how large the inputs of each matrix are, column by column, measured over a
// text (sluice imatrix, llama-imatrix). Quantizing gives the columns with large inputs more of its
// precision.
//
// A file is GGUF with general.type "imatrix", imatrix.datasets [texts], imatrix.chunk_count and
// imatrix.chunk_size (u32), and for each matrix two F32 tensors: NAME.in_sum2 [columns, experts or
// 1], sums of squared inputs, and NAME.counts [1, experts or 1], how many inputs were added. The
// older form (.dat) is read as well. It doesn't tell experts: there a matrix with several has
// n_experts 1 and the columns of all of them, one expert after the other.
#pragma once  // face

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "files/files.h"

namespace sluice {

struct Importance {
  struct Matrix {
    std::string name;  // the tensor's: "blk.0.attn_q.weight"
    uint64_t columns = 0;
    uint64_t n_experts = 1;
    std::vector<float> in_sum2;  // [n_experts][columns]
    std::vector<float> counts;   // [n_experts]
  };
  std::vector<Matrix> matrices;  // in the file's order
  std::vector<std::string> datasets;
  uint32_t chunk_count = 0;
  uint32_t chunk_size = 0;  // tokens

  const Matrix* find(std::string_view name) const;
};

// Fails with bad_file if it is no importance matrix, or a hostile one: sizes that don't belong
// together, values that are no finite numbers >= 0, a name twice, no matrices at all. Its memory is
// that of the file's sums. Fails with out_of_memory if there isn't so much.
Result<Importance> read_importance(ByteSource& source);
// In llama.cpp's file form, the matrices in their order (llama.cpp sorts them by name). Fails as
// the sink does, and with invalid_argument if a name is too long for such a file.
Status write_importance(const Importance& importance, ByteSink& sink);

}  // namespace sluice
