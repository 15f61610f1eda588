#include "jinja/vector.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "jinja/meter.h"

namespace sluice::jinja {

void VectorMemory::grow(size_t least, size_t element_bytes) {
  const size_t capacity = std::max({least, 2 * capacity_, size_t{4}});
  if (meter_ != nullptr) meter_->take(capacity * element_bytes);
  void* const made = ::operator new(capacity* element_bytes);
  if (size_ > 0) std::memcpy(made, data_, size_ * element_bytes);
  free(element_bytes);
  data_ = made;
  capacity_ = capacity;
}

void VectorMemory::free(size_t element_bytes) {
  if (data_ == nullptr) return;
  if (meter_ != nullptr) meter_->give_back(capacity_ * element_bytes);
  ::operator delete(data_);
}

void VectorMemory::swap(VectorMemory& other) {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(capacity_, other.capacity_);
  std::swap(meter_, other.meter_);
}

}  // namespace sluice::jinja
