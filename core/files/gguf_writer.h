// Writes GGUF files, version 3 (gguf/gguf.h has the format).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "files/files.h"
#include "gguf/gguf.h"

namespace sluice {

// --- values --------------------------------------------------------------------------------------

MetadataValue u32_value(uint32_t value);
MetadataValue i32_value(int32_t value);
MetadataValue u64_value(uint64_t value);
MetadataValue f32_value(float value);
MetadataValue bool_value(bool value);
MetadataValue text_value(std::string_view text);
// An array of texts. All of them together have less than 4 GiB.
MetadataValue texts_value(std::span<const std::string> texts);
MetadataValue i32s_value(std::span<const int32_t> values);
MetadataValue u32s_value(std::span<const uint32_t> values);
MetadataValue f32s_value(std::span<const float> values);
MetadataValue bools_value(const std::vector<bool>& values);

// Gives the key this value: where it stands, or at the end if it is new.
void set_value(Gguf& gguf, std::string_view key, MetadataValue value);
// Removes the key. False: there is none.
bool remove_value(Gguf& gguf, std::string_view key);

// --- files ---------------------------------------------------------------------------------------

// Sets what follows from the metadata and from the tensors' names, types and shapes: version 3,
// each tensor's bytes and place, in their order, at multiples of `alignment`; data_offset and
// data_bytes. Fails with invalid_argument if a row is no whole number of blocks, a type has no
// blocks, or sizes are larger than files can be.
Status place_tensors(Gguf& gguf);

// The header's bytes with the padding before the data. The tensors must be placed.
std::string header_bytes(const Gguf& gguf);

// Writes a file whose tensors are placed: its header at once, then the tensors' data in their
// order, in pieces of any size. Padding comes by itself.
class GgufWriter {
 public:
  // `gguf` and `sink` must outlive the writer.
  GgufWriter(const Gguf& gguf, ByteSink& sink) : gguf_(gguf), sink_(sink) {}
  Status begin();
  // The next bytes of the data, all of one tensor. More than it has is a defect of the caller.
  Status append(std::span<const uint8_t> bytes);
  // All data have come: false is a defect of the caller.
  bool done() const { return tensor_ == gguf_.tensors.size(); }
  // The bytes that were written so far.
  uint64_t written() const { return written_; }

 private:
  Status write(std::span<const uint8_t> bytes);
  Status end_tensors();

  const Gguf& gguf_;
  ByteSink& sink_;
  size_t tensor_ = 0;   // whose bytes come next
  uint64_t taken_ = 0;  // of its bytes
  uint64_t written_ = 0;
};

}  // namespace sluice
