// Weights that were multiplied by a Hadamard transform before they were quantized: the keys
// prism.hadamard.* of a file of any family, which name the matrices. Their input rows must go
// through the same transform (ops/hadamard.h). Without it a pass gives noise, so what isn't known
// is refused.
#pragma once

#include <cstdint>
#include <vector>

#include "gguf/gguf.h"
#include "pass/model.h"
#include "weights/tensor_manifest.h"

namespace sluice {

class FoldedWeights {
 public:
  // The header must outlive it.
  explicit FoldedWeights(const Gguf& gguf) : gguf_(gguf) {}
  // Reads the keys, if the file has some, and sets the fold. Fails with unsupported_model for a
  // version, transform, axis or way of signs that isn't known, or with bad_file.
  Status read(Fold& fold);

  // Whether the rows that are multiplied by this tensor (its place in Gguf::tensors) are to be
  // transformed. If it was named, it is found now.
  bool take(size_t tensor);
  // The place of the signs of rows of `width` numbers; -1: the width has none, or isn't a multiple
  // of the block. refuse_width() says so, with bad_file.
  int32_t signs_of(int64_t width) const;
  std::unexpected<Error> refuse_width(int64_t width) const;
  bool embedding() const { return embedding_; }  // the rows of the embedding are transformed back
  // Whether the value heads of a gated delta net are grouped by the key head that they share.
  bool heads_grouped() const { return heads_grouped_; }
  // Fails with bad_file if the model uses a tensor that was named and not found: it is no matrix
  // that rows are multiplied by. With unsupported_model if nobody `groups_heads` of a file that
  // needs it.
  Status check_all_found(const TensorManifest& manifest, bool groups_heads) const;

 private:
  enum Tensor : uint8_t { plain, named, taken };
  // What is wrong with a key. Without `expected` nothing is.
  struct Problem {
    const char* key = nullptr;
    const char* expected = nullptr;
    std::string_view entry = {};  // of the key's array that is meant
    Code code = Code::bad_file;
  };
  Problem find_problem(Fold& fold);
  Problem read_signs(Fold& fold);
  Problem read_names();
  std::unexpected<Error> refuse(const Problem& problem) const;
  const MetadataValue* find(std::string_view key) const;

  const Gguf& gguf_;
  int64_t block_ = 0;
  const MetadataValue* sign_widths_ = nullptr;  // none: all signs are 1
  bool tied_output_ = false;
  bool embedding_ = false;
  bool heads_grouped_ = false;
  std::vector<uint8_t> tensors_;  // a Tensor for each; empty: none is folded
};

}  // namespace sluice
