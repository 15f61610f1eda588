// A tensor's elements as f32, in chunks that a pool's workers take. Rows are whole blocks and lie
// end to end, so a chunk may begin and end within a row.
#pragma once  // inside

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/threads.h"
#include "files/files.h"
#include "gguf/gguf.h"

namespace sluice {

// Elements of a chunk, a multiple of every type's block. The last one of a tensor may have fewer.
inline constexpr uint64_t kChunk = 1 << 16;
// Chunks between two calls of a progress callback.
inline constexpr uint64_t kBatch = 64;

uint64_t n_elements(const TensorInfo& tensor);
inline uint64_t n_chunks(uint64_t elements) { return (elements + kChunk - 1) / kChunk; }

// Calls body(worker, chunk) for the chunks from `begin` to `end`, each on any worker of the pool.
// Fails as the first chunk that failed, in their order.
using ChunkBody = std::function<Status(int worker, uint64_t chunk)>;
Status for_chunks(Pool& pool, uint64_t begin, uint64_t end, const ChunkBody& body);

// Reads the chunks of one tensor; several threads may do so, each with its own buffers. The source
// and the tensor must outlive it.
class ChunkReader {
 public:
  // `data`: where the tensors' data begins in the source.
  ChunkReader(ByteSource& source, uint64_t data, const TensorInfo& tensor);
  uint64_t elements() const { return elements_; }
  uint64_t chunks() const { return n_chunks(elements_); }
  // Sluice computes with the type, so values() works.
  bool computed() const { return computed_; }
  // Of `chunk`, at most kChunk.
  size_t elements_of(uint64_t chunk) const {
    return static_cast<size_t>(std::min(kChunk, elements_ - chunk * kChunk));
  }
  // The chunk's bytes, in `buffer`. Fails as the source does.
  Result<std::span<const uint8_t>> bytes(uint64_t chunk, std::vector<uint8_t>& buffer) const;
  // Its elements, in `values`; `buffer` is scratch. Fails as the source does.
  Result<std::span<const float>> values(uint64_t chunk, std::vector<uint8_t>& buffer,
                                        std::vector<float>& values) const;

 private:
  ByteSource& source_;
  uint64_t begin_;  // of the tensor's bytes in the source
  const TensorInfo& tensor_;
  uint64_t elements_;
  bool computed_;
};

}  // namespace sluice
