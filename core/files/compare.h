// What differs between two files of models: fields, tensors, and by how much their numbers do. How
// the files are laid out doesn't count.
#pragma once  // face

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/threads.h"
#include "files/files.h"
#include "gguf/gguf.h"

namespace sluice {

// Whether the key tells how its file is laid out, and nothing of the model: general.alignment,
// split.no and its like, and edit.padding.
bool is_layout_key(std::string_view key);

struct FieldDifference {
  std::string key;
  const MetadataValue* a = nullptr;  // null: only the other has the key
  const MetadataValue* b = nullptr;
  // Of two arrays with elements of one type, the first element that differs, or that only one has;
  // of two texts, the first byte.
  std::optional<uint64_t> first;
};
// Of all keys but those of the layout, in the order of `a`, then the keys that only `b` has. The
// pointers are into the two headers.
std::vector<FieldDifference> compare_fields(const Gguf& a, const Gguf& b);

// How far the numbers of b are from those of a. Pairs of which one isn't finite are only counted.
struct TensorError {
  uint64_t n_not_finite = 0;
  double rms_a = 0;
  double rms_b = 0;
  double rms_difference = 0;
  double largest_difference = 0;
  double product = 0;  // the mean of a * b
  // rms_difference / rms_a; nothing if a is all zeros.
  std::optional<double> relative() const;
  // Of the angle between the two; nothing if one of them is all zeros.
  std::optional<double> cosine() const;
};

struct TensorDifference {
  enum class Kind {
    only_a,
    only_b,
    shape,
    values,  // the types or the bytes: see `error`
  };
  Kind kind = Kind::values;
  const TensorInfo* a = nullptr;  // null: only the other has it
  const TensorInfo* b = nullptr;
  // Of `values`, unless the engine doesn't compute with one of the types.
  std::optional<TensorError> error;
};
struct TensorComparison {
  std::vector<TensorDifference> different;  // in the order of `a`, then those that only `b` has
  uint64_t n_equal = 0;                     // type, shape and bytes
};

// A model's header with its bytes.
struct ModelBytes {
  const Gguf& header;
  ByteSource& bytes;
};
// Compares tensors of the same name, by pieces with all workers. Each number depends only on the
// tensors. `progress`: bytes of a that are done. Fails as the sources do, or with aborted. The
// pointers are into the two headers.
Result<TensorComparison> compare_tensors(const ModelBytes& a, const ModelBytes& b, Pool& pool,
                                         const OnFileProgress& progress);

}  // namespace sluice
