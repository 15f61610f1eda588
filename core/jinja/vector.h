// A vector whose memory a Meter counts. It moves its elements as bytes when it grows, so the same
// functions (meter.cc) serve all types: std::vector's own for each took 30 KB of a page's modules.
#pragma once  // face

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <type_traits>
#include <utility>

namespace sluice::jinja {

class Meter;

// Types that may be moved as bytes: they hold no address of themselves.
template <typename T>
inline constexpr bool kMovesAsBytes = std::is_trivially_copyable_v<T>;
template <typename T>
inline constexpr bool kMovesAsBytes<std::unique_ptr<T>> = true;
template <typename A, typename B>
inline constexpr bool kMovesAsBytes<std::pair<A, B>> = kMovesAsBytes<A>&& kMovesAsBytes<B>;

class VectorMemory {
 public:
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  size_t capacity() const { return capacity_; }

 protected:
  explicit VectorMemory(Meter* meter) : meter_(meter) {}
  void reserve(size_t n, size_t element_bytes);
  // Memory for one more element at the end.
  void* add(size_t element_bytes);
  void free(size_t element_bytes);
  void swap(VectorMemory& other);

  void* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
  Meter* meter_;  // null: nobody counts, as for values that outlive a rendering
};

// There is no default meter, so that nobody forgets it. A copy has the meter of its original.
template <typename T>
class Vector : public VectorMemory {
 public:
  explicit Vector(Meter* meter) : VectorMemory(meter) {}
  Vector(size_t n, const T& value, Meter* meter) : VectorMemory(meter) {
    reserve(n);
    while (size_ < n) push_back(value);
  }
  Vector(std::initializer_list<T> items, Meter* meter) : VectorMemory(meter) {
    append(items.begin(), items.size());
  }
  Vector(const Vector& other) : VectorMemory(other.meter_) { append(other.begin(), other.size_); }
  Vector(Vector&& other) noexcept : VectorMemory(other.meter_) { swap(other); }
  Vector& operator=(Vector other) noexcept {
    swap(other);
    return *this;
  }
  ~Vector() {
    static_assert(kMovesAsBytes<T>);
    clear();
    free(sizeof(T));
  }

  T* begin() { return static_cast<T*>(data_); }
  T* end() { return begin() + size_; }
  const T* begin() const { return static_cast<const T*>(data_); }
  const T* end() const { return begin() + size_; }
  T& operator[](size_t i) { return begin()[i]; }
  const T& operator[](size_t i) const { return begin()[i]; }
  T& back() { return begin()[size_ - 1]; }
  const T& back() const { return begin()[size_ - 1]; }

  void reserve(size_t n) { VectorMemory::reserve(n, sizeof(T)); }
  // Takes its element by value: it may be one of this vector.
  void push_back(T item) { new (add(sizeof(T))) T(std::move(item)); }
  template <typename... Args>
  void emplace_back(Args&&... args) {
    push_back(T(std::forward<Args>(args)...));
  }
  void pop_back() {
    back().~T();
    --size_;
  }
  void clear() {
    while (size_ > 0) pop_back();
  }
  void insert(const T* before, T item) {
    const auto at = static_cast<size_t>(before - begin());
    push_back(std::move(item));
    for (size_t i = size_ - 1; i > at; --i) std::swap(begin()[i], begin()[i - 1]);
  }
  void erase(const T* item) {
    for (auto at = static_cast<size_t>(item - begin()); at + 1 < size_; ++at)
      begin()[at] = std::move(begin()[at + 1]);
    pop_back();
  }

 private:
  void append(const T* from, size_t n) {
    reserve(n);
    for (size_t i = 0; i < n; ++i) push_back(from[i]);
  }
};

}  // namespace sluice::jinja
