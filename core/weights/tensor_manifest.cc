#include "weights/tensor_manifest.h"

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "quant/quant.h"

namespace sluice {
namespace {

std::string shape_text(const TensorInfo& info) {
  std::string text = "[";
  for (uint32_t d = 0; d < info.n_dims; ++d) {
    text += concat(d ? ", " : "", info.dims[d]);
  }
  return text + "]";
}

}  // namespace

// Adds the `count` rows (of a vector: numbers) from `first` on of a tensor with this shape.
Result<int> TensorManifest::add(const Gguf& gguf, std::string_view name, int slot,
                                const Shape& shape, int64_t first, int64_t count) {
  const TensorInfo* info = gguf.find_tensor(name);
  if (info == nullptr) {
    return fail(Code::bad_file, "the file has no tensor ", name,
                ", which its architecture needs; it is damaged or incomplete: get it again");
  }
  const TypeTraits* type = find_traits(info->type);
  if (type == nullptr) {
    const FileType found = file_type(info->type);
    const std::string type_text =
        found.name ? std::string(found.name) : concat("number ", info->type);
    return with_facts(fail(Code::unsupported_type, "tensor ", name, " has type ", type_text,
                           ", which Sluice doesn't compute; use a file in one of the types ",
                           computed_type_names()),
                      {{"tensor", std::string(name)}, {"type", type_text}});
  }
  const bool shaped = info->dims[0] == static_cast<uint64_t>(shape.cols) &&
                      info->dims[1] == static_cast<uint64_t>(shape.rows) &&
                      info->dims[2] == static_cast<uint64_t>(shape.matrices) && info->dims[3] == 1;
  if (!shaped) {
    return fail(Code::bad_file, "tensor ", name, " has the shape ", shape_text(*info),
                ", but the header's numbers ask for [", shape.cols,
                shape.is_vector && shape.rows == 1 ? std::string() : concat(", ", shape.rows),
                shape.matrices > 1 ? concat(", ", shape.matrices) : std::string(),
                "]; the file is damaged");
  }
  if (shape.is_vector && type->group != 0) {
    return with_facts(fail(Code::unsupported_type, "tensor ", name, " is a vector of type ",
                           type->name, "; vectors are expected as F32, F16 or BF16"),
                      {{"tensor", std::string(name)}, {"type", std::string(type->name)}});
  }
  Piece piece;
  piece.tensor = name;
  piece.tensor_index = static_cast<size_t>(info - gguf.tensors.data());
  piece.slot = slot;
  piece.type = type->type;
  piece.is_vector = shape.is_vector;
  piece.rows = shape.is_vector ? 1 : count;
  piece.cols = shape.is_vector ? count : shape.cols;
  piece.first_row = shape.is_vector ? 0 : first;
  piece.all_rows = shape.is_vector ? 1 : shape.rows * shape.matrices;
  // The parser has checked that the file's bytes fit 64 bits.
  const uint64_t unit = row_bytes(*type, static_cast<uint64_t>(shape.is_vector ? 1 : shape.cols));
  piece.begin = gguf.data_offset + info->offset + static_cast<uint64_t>(first) * unit;
  piece.bytes = static_cast<uint64_t>(count) * unit;
  pieces_.push_back(std::move(piece));
  return static_cast<int>(pieces_.size()) - 1;
}

Result<int> TensorManifest::add_matrix(const Gguf& gguf, std::string_view name, int slot,
                                       int64_t rows, int64_t cols) {
  return add(gguf, name, slot, {cols, rows, 1, false}, 0, rows);
}

Result<int> TensorManifest::add_rows(const Gguf& gguf, std::string_view name, int slot,
                                     int64_t all_rows, int64_t cols, int64_t first, int64_t rows) {
  return add(gguf, name, slot, {cols, all_rows, 1, false}, first, rows);
}

Result<int> TensorManifest::add_expert(const Gguf& gguf, std::string_view name, int slot,
                                       int64_t n_matrices, int64_t rows, int64_t cols,
                                       int64_t index, int64_t first, int64_t count) {
  return add(gguf, name, slot, {cols, rows, n_matrices, false}, index * rows + first, count);
}

Result<int> TensorManifest::add_vector(const Gguf& gguf, std::string_view name, int slot,
                                       int64_t length) {
  return add(gguf, name, slot, {length, 1, 1, true}, 0, length);
}

Result<int> TensorManifest::add_vectors(const Gguf& gguf, std::string_view name, int slot,
                                        int64_t n, int64_t length) {
  return add(gguf, name, slot, {length, n, 1, true}, 0, n * length);
}

Result<int> TensorManifest::add_vector_part(const Gguf& gguf, std::string_view name, int slot,
                                            int64_t all, int64_t first, int64_t length) {
  return add(gguf, name, slot, {all, 1, 1, true}, first, length);
}

Status TensorManifest::check_no_others(const Gguf& gguf, std::string_view architecture,
                                       std::vector<uint8_t> idle) const {
  std::vector<uint8_t> added = std::move(idle);
  added.resize(gguf.tensors.size());
  for (const Piece& piece : pieces_) added[piece.tensor_index] = 1;
  for (const std::string& name : ignored_)
    if (const TensorInfo* info = gguf.find_tensor(name); info != nullptr)
      added[static_cast<size_t>(info - gguf.tensors.data())] = 1;
  const auto other = std::ranges::find(added, 0);
  if (other == added.end()) return {};
  const TensorInfo& tensor = gguf.tensors[static_cast<size_t>(other - added.begin())];
  return with_facts(
      fail(Code::unsupported_model, "the file has a tensor ", printable(tensor.name),
           ", which Sluice doesn't know in the architecture ", architecture,
           "; the text would be wrong without it"),
      {{"architecture", std::string(architecture)}, {"tensor", printable(tensor.name)}});
}

}  // namespace sluice
