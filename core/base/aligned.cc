#include "base/aligned.h"

#include <cstdlib>
#include <cstring>
#include <limits>

#ifdef __EMSCRIPTEN__
#include <emscripten/heap.h>
#else
#include <sys/mman.h>
#include <unistd.h>
#endif

#include "base/format.h"

namespace sluice {
namespace {

[[maybe_unused]] constexpr size_t kHugePage = size_t{2} << 20;

}  // namespace

uint64_t machine_memory() {
#ifdef __EMSCRIPTEN__
  return emscripten_get_heap_max();
#else
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page_bytes = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page_bytes <= 0) return std::numeric_limits<size_t>::max();
  return static_cast<uint64_t>(pages) * static_cast<uint64_t>(page_bytes);
#endif
}

AlignedBuffer::~AlignedBuffer() { std::free(data_); }

Result<AlignedBuffer> AlignedBuffer::allocate(uint64_t bytes, std::string_view what) {
  auto buffer = allocate_uninitialized(bytes, what);
  if (buffer.has_value() && buffer->data_ != nullptr) std::memset(buffer->data_, 0, buffer->size_);
  return buffer;
}

Result<AlignedBuffer> AlignedBuffer::allocate_uninitialized(uint64_t bytes, std::string_view what) {
  AlignedBuffer buffer;
  if (bytes == 0) return buffer;
  if (bytes > std::numeric_limits<size_t>::max() / 2) {
    return with_facts(fail(Code::out_of_memory, what, " needs ", human_bytes(bytes),
                           ", more than this machine can address; use a smaller model or context"),
                      {{"neededBytes", bytes}});
  }
  const size_t padded = static_cast<size_t>(round_up(bytes, kAlignment));
#ifdef MADV_HUGEPAGE
  // Large buffers take large pages: fewer faults while they are filled, fewer page walks later.
  if (padded >= 2 * kHugePage) {
    void* data = nullptr;
    if (posix_memalign(&data, kHugePage, padded) == 0) {
      madvise(data, padded, MADV_HUGEPAGE);
      buffer.data_ = static_cast<uint8_t*>(data);
    }
  }
#endif
  if (buffer.data_ == nullptr)
    buffer.data_ = static_cast<uint8_t*>(std::aligned_alloc(kAlignment, padded));
  if (buffer.data_ == nullptr) {
    return with_facts(fail(Code::out_of_memory, "no memory for ", what, " (", human_bytes(bytes),
                           "); close other programs or use a smaller model or context"),
                      {{"neededBytes", bytes}});
  }
  buffer.size_ = static_cast<size_t>(bytes);
  return buffer;
}

Status allocate_each(std::initializer_list<BufferSize> buffers, std::string_view what) {
  for (const BufferSize& each : buffers) {
    SLUICE_ASSIGN(each.buffer, AlignedBuffer::allocate(each.bytes, what));
  }
  return {};
}

}  // namespace sluice
