// 64-byte aligned memory for weights, caches and scratch. Running out of memory is an Error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace sluice {

inline constexpr size_t kAlignment = 64;

inline constexpr uint64_t round_up(uint64_t value, uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// The most bytes that this process can use: the machine's memory, or the wasm memory's maximum.
uint64_t machine_memory();

// Owns one block of bytes. Move-only; an empty one has data() == nullptr.
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  AlignedBuffer(AlignedBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~AlignedBuffer();

  // Allocates `bytes` zeroed bytes; 0 bytes give an empty buffer. Fails with out_of_memory; the
  // message names `what` and the size.
  static Result<AlignedBuffer> allocate(uint64_t bytes, std::string_view what);
  // The same without zeroing, for memory that is about to be written (weights).
  static Result<AlignedBuffer> allocate_uninitialized(uint64_t bytes, std::string_view what);

  uint8_t* data() const { return data_; }
  size_t size() const { return size_; }
  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(data_);
  }

 private:
  uint8_t* data_ = nullptr;
  size_t size_ = 0;
};

struct BufferSize {
  AlignedBuffer& buffer;
  uint64_t bytes;
};
// Allocates each of the buffers, as AlignedBuffer::allocate() does. `what` names all of them. After
// an error some may be allocated.
Status allocate_each(std::initializer_list<BufferSize> buffers, std::string_view what);

}  // namespace sluice
