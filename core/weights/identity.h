// A model's fingerprint: XXH64 over its headers and over the ends of each tensor, which are its
// first and last 4 KiB in the file, or all of it if it has no more than 8 KiB. It doesn't depend on
// how the weights were loaded, because packing can be undone. It is no protection: collisions can
// be made on purpose.
//
//   XXH64 of: XXH64 of the file's bytes up to the data (of a split model, of all files' headers),
//             then for each tensor, in the header's order, XXH64 of its ends
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "gguf/gguf.h"
#include "weights/byte_range.h"
#include "weights/tensor_manifest.h"

namespace sluice {

class Weights;

class Identity {
 public:
  static constexpr uint64_t kEnd = 4096;  // bytes of an end

  // The arguments must outlive it.
  Identity(const Gguf& header, const TensorManifest& manifest);
  // All ends have been taken.
  bool known() const { return missing_ == 0; }
  uint64_t value() const;  // only if known()

  // Whether the slot has bytes of ends and take() was not yet called for it.
  bool lacks(int slot) const { return !slots_[static_cast<size_t>(slot)].taken; }
  // Takes the ends that are in a slot, which must be resident and stay so meanwhile.
  void take(const Weights& weights, int slot);
  // Up to `most` rows that the hash still needs.
  std::vector<int32_t> missing_rows(int handle, size_t most) const;
  // Takes such a row; weights must be able to read it.
  void take_row(const Weights& weights, int handle, int64_t row);
  // All pieces were taken: bytes that are still missing are in none, and count as 0.
  void end();

 private:
  struct Tensor {
    uint64_t begin = 0;  // in the file
    uint64_t bytes = 0;
    uint64_t missing = 0;       // bytes of the ends
    std::vector<uint8_t> ends;  // while some are missing
    std::vector<uint8_t> have;  // of `ends`
    uint64_t hash = 0;          // once none is missing
  };
  struct Slot {
    std::vector<int> handles;  // of its pieces
    bool taken = false;
  };
  // `tensor_end`: the range of one end in the tensor. Returns the index in `ends` of byte `at`.
  static size_t index_of(const ByteRange& tensor_end, uint64_t at);
  static bool lacks(const Tensor& tensor, const ByteRange& tensor_end, ByteRange bytes);
  static uint64_t bytes_of_ends(const Tensor& tensor);
  static std::pair<ByteRange, ByteRange> ends_of(const Tensor& tensor);
  void finish(Tensor& tensor);

  const TensorManifest& manifest_;
  uint64_t header_hash_;
  std::vector<Tensor> tensors_;  // in the header's order
  size_t missing_ = 0;           // tensors
  std::vector<Slot> slots_;
};

}  // namespace sluice
