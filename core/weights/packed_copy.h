// A cache of packed weights (quant/matrix.h) for models that are streamed: reading packed bytes
// costs less than reading and packing.
#pragma once  // face

#include <cstdint>
#include <span>

namespace sluice {

class PackedKeeper {
 public:
  virtual ~PackedKeeper() = default;
  // Keeps the packed bytes of a chunk of weights if that is possible; `offset` is that of the chunk
  // in the file. From any thread.
  virtual void keep(uint64_t offset, std::span<const uint8_t> bytes) = 0;
};

// A copy of one file of a model. It may lack any chunk: that comes from the file.
class PackedCopy : public PackedKeeper {
 public:
  // Reads the chunk that is at `offset` of the file and has as many bytes as `place`. False: the
  // copy doesn't have it, or not as it was written; `place` may have changed. From any thread.
  virtual bool read(uint64_t offset, std::span<uint8_t> place) = 0;
};

}  // namespace sluice
