#include "jinja/meter.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "jinja/vector.h"

namespace sluice::jinja {
namespace {

constexpr uint64_t kEachPlace = 4;  // what a place costs besides the bytes that are compared

// How many bytes of `part` the text has at this place.
size_t matching(const char* text, std::string_view part) {
  size_t n = 0;
  while (n < part.size() && text[n] == part[n]) ++n;
  return n;
}

}  // namespace

void Meter::work(uint64_t units) {
  if (__builtin_add_overflow(work_, units, &work_)) work_ = UINT64_MAX;
  if (work_ < next_look_) return;
  if (__builtin_add_overflow(work_, kBetweenLooks, &next_look_)) next_look_ = UINT64_MAX;
  if (end_ != End::none) return;
  if (work_ > max_work_) {
    end_ = End::work;
  } else if (stopped_ && stopped_()) {
    end_ = End::stopped;
  }
}

void Meter::take(size_t bytes) {
  memory_ += bytes;
  if (memory_ > max_memory_ && end_ == End::none) end_ = End::memory;
}

bool Meter::has_room(uint64_t bytes) {
  if (memory_ <= max_memory_ && bytes <= max_memory_ - memory_) return !spent();
  if (end_ == End::none) end_ = End::memory;
  return false;
}

void VectorMemory::reserve(size_t n, size_t element_bytes) {
  if (n <= capacity_) return;
  const size_t capacity = std::max({n, 2 * capacity_, size_t{4}});
  const size_t bytes = capacity * element_bytes;
  if (meter_ != nullptr) meter_->take(bytes);
  void* const made = ::operator new(bytes);
  if (size_ > 0) std::memcpy(made, data_, size_ * element_bytes);
  free(element_bytes);
  data_ = made;
  capacity_ = capacity;
}

void* VectorMemory::add(size_t element_bytes) {
  reserve(size_ + 1, element_bytes);
  return static_cast<char*>(data_) + size_++ * element_bytes;
}

void VectorMemory::free(size_t element_bytes) {
  if (meter_ != nullptr) meter_->give_back(capacity_ * element_bytes);
  ::operator delete(data_);
}

void VectorMemory::swap(VectorMemory& other) {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(capacity_, other.capacity_);
  std::swap(meter_, other.meter_);
}

size_t find_part(Meter& meter, std::string_view text, std::string_view part, size_t from) {
  if (from > text.size() || part.size() > text.size() - from) return std::string_view::npos;
  if (part.empty()) return from;
  size_t at = from;
  const size_t end = text.size() - part.size() + 1;
  while (at < end && !meter.spent()) {
    if (text[at] != part[0]) {
      const void* const hit = std::memchr(text.data() + at, part[0], end - at);
      if (hit == nullptr) {
        meter.work((end - at) / 16);
        break;
      }
      const auto place = static_cast<size_t>(static_cast<const char*>(hit) - text.data());
      meter.work((place - at) / 16);
      at = place;
    }
    const size_t n = matching(text.data() + at, part);
    meter.work((kEachPlace + n) / 4);
    if (n == part.size()) return at;
    ++at;
  }
  return std::string_view::npos;
}

size_t find_last_part(Meter& meter, std::string_view text, std::string_view part) {
  if (part.size() > text.size()) return std::string_view::npos;
  for (size_t at = text.size() - part.size() + 1; at-- > 0 && !meter.spent();) {
    const size_t n = matching(text.data() + at, part);
    meter.work((kEachPlace + n) / 4);
    if (n == part.size()) return at;
  }
  return std::string_view::npos;
}

}  // namespace sluice::jinja
