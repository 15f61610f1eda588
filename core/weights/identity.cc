#include "weights/identity.h"

#include <algorithm>
#include <cstring>

#include "base/xxh64.h"
#include "weights/weights.h"

namespace sluice {

Identity::Identity(const Gguf& header, const TensorManifest& manifest)
    : manifest_(manifest),
      header_hash_(header.header_hash),
      slots_(static_cast<size_t>(manifest.n_slots())) {
  for (const TensorInfo& info : header.tensors) {
    Tensor tensor;
    tensor.begin = header.data_offset + info.offset;
    tensor.bytes = info.bytes;
    tensor.missing = bytes_of_ends(tensor);
    if (tensor.missing > 0) ++missing_;
    if (tensor.missing == 0) tensor.hash = xxh64({});
    tensors_.push_back(std::move(tensor));
  }
  for (Slot& slot : slots_) slot.taken = true;
  for (size_t handle = 0; handle < manifest.pieces().size(); ++handle) {
    const Piece& piece = manifest.pieces()[handle];
    const Tensor& tensor = tensors_[piece.tensor_index];
    const auto [head, tail] = ends_of(tensor);
    const uint64_t first = piece.begin - tensor.begin, end = first + piece.bytes;
    if (first >= head.end && end <= tail.begin) continue;  // in the middle, as most experts
    Slot& slot = slots_[static_cast<size_t>(piece.slot)];
    slot.handles.push_back(static_cast<int>(handle));
    slot.taken = false;
  }
}

uint64_t Identity::bytes_of_ends(const Tensor& tensor) { return std::min(tensor.bytes, 2 * kEnd); }

std::pair<ByteRange, ByteRange> Identity::ends_of(const Tensor& tensor) {
  if (tensor.bytes <= 2 * kEnd) return {{0, tensor.bytes}, {}};
  return {{0, kEnd}, {tensor.bytes - kEnd, tensor.bytes}};
}

size_t Identity::index_of(const ByteRange& tensor_end, uint64_t at) {
  const uint64_t first = tensor_end.begin == 0 ? 0 : kEnd;
  return static_cast<size_t>(first + (at - tensor_end.begin));
}

void Identity::take(const Weights& weights, int slot) {
  Slot& of = slots_[static_cast<size_t>(slot)];
  for (const int handle : of.handles) {
    if (weights.by_rows(handle)) continue;
    for (const int32_t row : missing_rows(handle, SIZE_MAX)) take_row(weights, handle, row);
  }
  of.taken = true;
}

// Whether one of these bytes of an end hasn't been taken.
bool Identity::lacks(const Tensor& tensor, const ByteRange& tensor_end, ByteRange bytes) {
  if (tensor.have.empty()) return true;
  const uint8_t* have = tensor.have.data() + index_of(tensor_end, bytes.begin);
  return std::memchr(have, 0, static_cast<size_t>(bytes.size())) != nullptr;
}

std::vector<int32_t> Identity::missing_rows(int handle, size_t most) const {
  std::vector<int32_t> rows;
  const Piece& piece = manifest_.piece(handle);
  const Tensor& tensor = tensors_[piece.tensor_index];
  if (tensor.missing == 0 || piece.rows == 0 || piece.bytes == 0) return rows;
  const uint64_t row_bytes = piece.bytes / static_cast<uint64_t>(piece.rows);
  const uint64_t first = piece.begin - tensor.begin;  // of the piece, in the tensor
  const auto [head, tail] = ends_of(tensor);
  for (const ByteRange& tensor_end : {head, tail}) {
    const uint64_t begin = std::max(tensor_end.begin, first);
    const uint64_t end = std::min(tensor_end.end, first + piece.bytes);
    for (uint64_t at = begin; at < end;) {
      const uint64_t row = (at - first) / row_bytes;
      const uint64_t next = std::min(first + (row + 1) * row_bytes, end);
      const auto id = static_cast<int32_t>(row);
      if (lacks(tensor, tensor_end, {at, next}) && (rows.empty() || rows.back() != id)) {
        if (rows.size() == most) return rows;
        rows.push_back(id);
      }
      at = next;
    }
  }
  return rows;
}

void Identity::take_row(const Weights& weights, int handle, int64_t row) {
  const Piece& piece = manifest_.piece(handle);
  Tensor& tensor = tensors_[piece.tensor_index];
  if (tensor.missing == 0) return;
  if (tensor.ends.empty()) {
    tensor.ends.resize(static_cast<size_t>(bytes_of_ends(tensor)));
    tensor.have.resize(tensor.ends.size());
  }
  const uint64_t row_bytes = piece.bytes / static_cast<uint64_t>(piece.rows);
  std::vector<uint8_t> bytes(static_cast<size_t>(row_bytes));
  weights.read_file_row(handle, row, bytes.data());
  const uint64_t first = piece.begin - tensor.begin + static_cast<uint64_t>(row) * row_bytes;
  const auto [head, tail] = ends_of(tensor);
  for (const ByteRange& tensor_end : {head, tail}) {
    const uint64_t begin = std::max(tensor_end.begin, first);
    const uint64_t end = std::min(tensor_end.end, first + row_bytes);
    // Two pieces may have the same bytes.
    if (begin >= end || !lacks(tensor, tensor_end, {begin, end})) continue;
    const auto n = static_cast<size_t>(end - begin);
    const auto at = index_of(tensor_end, begin);
    uint8_t* const have = tensor.have.data() + at;
    tensor.missing -= static_cast<uint64_t>(std::count(have, have + n, 0));
    std::memset(have, 1, n);
    std::memcpy(tensor.ends.data() + at, bytes.data() + (begin - first), n);
  }
  if (tensor.missing == 0) finish(tensor);
}

void Identity::finish(Tensor& tensor) {
  tensor.ends.resize(static_cast<size_t>(bytes_of_ends(tensor)));
  tensor.hash = xxh64(tensor.ends);
  tensor.missing = 0;
  tensor.ends = {};
  tensor.have = {};
  --missing_;
}

void Identity::end() {
  for (Tensor& tensor : tensors_)
    if (tensor.missing > 0) finish(tensor);
}

uint64_t Identity::value() const {
  Xxh64 all;
  const auto add = [&](uint64_t hash) {
    uint8_t bytes[8];
    std::memcpy(bytes, &hash, sizeof bytes);
    all.update(bytes);
  };
  add(header_hash_);
  for (const Tensor& tensor : tensors_) add(tensor.hash);
  return all.value();
}

}  // namespace sluice
