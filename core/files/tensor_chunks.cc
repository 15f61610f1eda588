#include "files/tensor_chunks.h"

#include <mutex>
#include <optional>

#include "base/format.h"
#include "quant/quant.h"

namespace sluice {
namespace {

consteval bool chunks_are_whole_blocks() {
  for (const TypeTraits& type : kTypes)
    if (type.block != 0 && kChunk % type.block != 0) return false;
  return true;
}
static_assert(chunks_are_whole_blocks());

// What the workers of one call share.
struct Chunks {
  uint64_t begin;
  const ChunkBody& body;
  std::mutex mutex;
  uint64_t failed = UINT64_MAX;  // the first chunk that failed
  std::optional<Error> error = std::nullopt;

  void take(int worker, const Share& part) {
    for (int64_t i = part.begin; i < part.end; ++i) {
      const uint64_t chunk = begin + static_cast<uint64_t>(i);
      const Status done = body(worker, chunk);
      if (done) continue;
      const std::lock_guard lock(mutex);
      if (chunk >= failed) continue;
      failed = chunk;
      error = done.error();
    }
  }
};

}  // namespace

uint64_t n_elements(const TensorInfo& tensor) {
  return tensor.dims[0] * tensor.dims[1] * tensor.dims[2] * tensor.dims[3];
}

Status for_chunks(Pool& pool, uint64_t begin, uint64_t end, const ChunkBody& body) {
  Chunks chunks{begin, body, {}};
  const auto n = static_cast<int64_t>(end - begin);
  // A late worker calls the job when `chunks` is gone; it is read only in the body.
  pool.run([&pool, n, shared = &chunks](int worker) {
    pool.parallel_for(worker, n,
                      [worker, shared](const Share& part) { shared->take(worker, part); });
  });
  if (chunks.error) return std::unexpected(std::move(*chunks.error));
  return {};
}

ChunkReader::ChunkReader(ByteSource& source, uint64_t data, const TensorInfo& tensor)
    : source_(source),
      begin_(data + tensor.offset),
      tensor_(tensor),
      elements_(n_elements(tensor)),
      computed_(find_traits(tensor.type) != nullptr) {}

Result<std::span<const uint8_t>> ChunkReader::bytes(uint64_t chunk,
                                                    std::vector<uint8_t>& buffer) const {
  const FileType type = file_type(tensor_.type);
  const uint64_t at = chunk * (kChunk / type.block * type.block_bytes);
  const size_t n = elements_of(chunk) / type.block * type.block_bytes;
  if (buffer.size() < n) buffer.resize(n);
  const std::span<uint8_t> out(buffer.data(), n);
  SLUICE_TRY(source_.read(begin_ + at, out));
  return out;
}

Result<std::span<const float>> ChunkReader::values(uint64_t chunk, std::vector<uint8_t>& buffer,
                                                   std::vector<float>& values) const {
  const TypeTraits* type = find_traits(tensor_.type);
  if (type == nullptr)
    return fail(Code::unsupported_type, "tensor ", printable(tensor_.name), " has type ",
                file_type(tensor_.type).name, ", whose numbers can't be read here");
  SLUICE_ASSIGN(const std::span<const uint8_t> packed, bytes(chunk, buffer));
  const size_t n = elements_of(chunk);
  if (values.size() < n) values.resize(n);
  type->dequantize(packed.data(), static_cast<int64_t>(n), values.data());
  return std::span<const float>(values.data(), n);
}

}  // namespace sluice
