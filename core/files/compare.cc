#include "files/compare.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "files/edit.h"
#include "files/tensor_chunks.h"

namespace sluice {
namespace {

bool same_value(const MetadataValue& a, const MetadataValue& b) {
  return a.type == b.type && (!a.is_array() || a.element == b.element) && a.count == b.count &&
         a.bytes == b.bytes && a.ends == b.ends;
}

uint64_t first_difference(std::string_view a, std::string_view b) {
  return static_cast<uint64_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

// Of two values that differ.
std::optional<uint64_t> first_of(const MetadataValue& a, const MetadataValue& b) {
  if (a.type != b.type) return std::nullopt;
  if (a.type == ValueType::string) return first_difference(a.bytes, b.bytes);
  if (!a.is_array() || a.element != b.element) return std::nullopt;
  if (a.element != ValueType::string)
    return first_difference(a.bytes, b.bytes) / value_type_size(a.element);
  const uint64_t common = std::min(a.count, b.count);
  for (uint64_t i = 0; i < common; ++i)
    if (a.text(i) != b.text(i)) return i;
  return common;
}

bool same_shape(const TensorInfo& a, const TensorInfo& b) {
  return a.n_dims == b.n_dims && std::ranges::equal(a.dims, b.dims);
}

struct CompareScratch {
  std::vector<uint8_t> bytes_a, bytes_b;
  std::vector<float> values_a, values_b;
};

// Sums over the pairs of a chunk.
struct Sums {
  double aa = 0, bb = 0, ab = 0, dd = 0;
  double largest = 0;
  uint64_t n_not_finite = 0;

  void add(const Sums& other) {
    aa += other.aa;
    bb += other.bb;
    ab += other.ab;
    dd += other.dd;
    largest = std::max(largest, other.largest);
    n_not_finite += other.n_not_finite;
  }
};

// In four sums each, so that a processor needn't wait for one addition before the next.
Sums sums_of(std::span<const float> a, std::span<const float> b) {
  constexpr size_t kLanes = 4;
  std::array<Sums, kLanes> lanes;
  for (size_t i = 0; i < a.size(); ++i) {
    Sums& sums = lanes[i % kLanes];
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) {
      ++sums.n_not_finite;
      continue;
    }
    const auto x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
    const double difference = x - y;
    sums.aa += x * x;
    sums.bb += y * y;
    sums.ab += x * y;
    sums.dd += difference * difference;
    sums.largest = std::max(sums.largest, std::abs(difference));
  }
  for (size_t i = 1; i < kLanes; ++i) lanes[0].add(lanes[i]);
  return lanes[0];
}

class Comparison {
 public:
  Comparison(const ModelBytes& a, const ModelBytes& b, Pool& pool, const OnFileProgress& progress)
      : a_(a), b_(b), pool_(pool), progress_(progress), scratch_(static_cast<size_t>(pool.size())) {
    for (const TensorInfo& tensor : a.header.tensors) progressed_.total += tensor.bytes;
  }

  // Compares two of the same shape. Nothing: they are equal.
  Result<std::optional<TensorDifference>> compare(const TensorInfo& a, const TensorInfo& b) {
    const ChunkReader reader_a(a_.bytes, a_.header.data_offset, a);
    const ChunkReader reader_b(b_.bytes, b_.header.data_offset, b);
    if (a.type == b.type) {
      SLUICE_ASSIGN(const bool same, same_bytes(reader_a, reader_b, a));
      if (same) return std::nullopt;
    }
    TensorDifference out{TensorDifference::Kind::values, &a, &b, std::nullopt};
    if (!reader_a.computed() || !reader_b.computed()) return out;
    SLUICE_ASSIGN(out.error, error_of(reader_a, reader_b, a));
    return out;
  }

  // Goes on to the next tensor.
  Status end(const TensorInfo& tensor) {
    progressed_.done += tensor.bytes;
    return tell(tensor, 0);
  }

 private:
  // After so many bytes of the tensor.
  Status tell(const TensorInfo& tensor, uint64_t bytes) const {
    FileProgress now = progressed_;
    now.done += bytes;
    now.tensor = tensor.name;
    if (progress_ && !progress_(now)) return std::unexpected(Error{Code::aborted, "interrupted"});
    return {};
  }

  Result<bool> same_bytes(const ChunkReader& a, const ChunkReader& b, const TensorInfo& tensor) {
    std::atomic<bool> same = true;
    for (uint64_t begin = 0; begin < a.chunks() && same; begin += kBatch) {
      const uint64_t end = std::min(begin + kBatch, a.chunks());
      SLUICE_TRY(for_chunks(pool_, begin, end, [&](int worker, uint64_t chunk) -> Status {
        if (!same) return {};
        CompareScratch& own = scratch_[static_cast<size_t>(worker)];
        SLUICE_ASSIGN(const auto bytes_a, a.bytes(chunk, own.bytes_a));
        SLUICE_ASSIGN(const auto bytes_b, b.bytes(chunk, own.bytes_b));
        if (!std::ranges::equal(bytes_a, bytes_b)) same = false;
        return {};
      }));
      SLUICE_TRY(tell(tensor, tensor.bytes / a.chunks() * end));
    }
    return same.load();
  }

  Result<TensorError> error_of(const ChunkReader& a, const ChunkReader& b,
                               const TensorInfo& tensor) {
    Sums all;
    std::array<Sums, kBatch> sums;
    for (uint64_t begin = 0; begin < a.chunks(); begin += kBatch) {
      const uint64_t end = std::min(begin + kBatch, a.chunks());
      SLUICE_TRY(for_chunks(pool_, begin, end, [&](int worker, uint64_t chunk) -> Status {
        CompareScratch& own = scratch_[static_cast<size_t>(worker)];
        SLUICE_ASSIGN(const auto values_a, a.values(chunk, own.bytes_a, own.values_a));
        SLUICE_ASSIGN(const auto values_b, b.values(chunk, own.bytes_b, own.values_b));
        sums[chunk - begin] = sums_of(values_a, values_b);
        return {};
      }));
      for (uint64_t i = 0; i < end - begin; ++i) all.add(sums[i]);
      SLUICE_TRY(tell(tensor, tensor.bytes / a.chunks() * end));
    }
    TensorError out;
    out.n_not_finite = all.n_not_finite;
    out.largest_difference = all.largest;
    const auto n = static_cast<double>(a.elements() - all.n_not_finite);
    if (n == 0) return out;
    out.rms_a = std::sqrt(all.aa / n);
    out.rms_b = std::sqrt(all.bb / n);
    out.rms_difference = std::sqrt(all.dd / n);
    out.product = all.ab / n;
    return out;
  }

  const ModelBytes& a_;
  const ModelBytes& b_;
  Pool& pool_;
  const OnFileProgress& progress_;
  std::vector<CompareScratch> scratch_;  // by worker
  FileProgress progressed_;              // the tensors that are done
};

}  // namespace

bool is_layout_key(std::string_view key) {
  return key == "general.alignment" || key.starts_with("split.") || key == kPaddingKey;
}

std::vector<FieldDifference> compare_fields(const Gguf& a, const Gguf& b) {
  std::unordered_map<std::string_view, const MetadataValue*> of_b;
  for (const auto& [key, value] : b.metadata)
    if (!is_layout_key(key)) of_b.emplace(key, &value);
  std::vector<FieldDifference> out;
  for (const auto& [key, value] : a.metadata) {
    if (is_layout_key(key)) continue;
    const auto other = of_b.find(key);
    if (other == of_b.end()) {
      out.push_back({key, &value, nullptr, std::nullopt});
      continue;
    }
    if (!same_value(value, *other->second))
      out.push_back({key, &value, other->second, first_of(value, *other->second)});
    of_b.erase(other);
  }
  for (const auto& [key, value] : b.metadata)
    if (of_b.contains(key)) out.push_back({key, nullptr, &value, std::nullopt});
  return out;
}

std::optional<double> TensorError::relative() const {
  if (rms_a == 0) return std::nullopt;
  return rms_difference / rms_a;
}

std::optional<double> TensorError::cosine() const {
  if (rms_a == 0 || rms_b == 0) return std::nullopt;
  return std::clamp(product / rms_a / rms_b, -1.0, 1.0);
}

Result<TensorComparison> compare_tensors(const ModelBytes& a, const ModelBytes& b, Pool& pool,
                                         const OnFileProgress& progress) {
  using Kind = TensorDifference::Kind;
  Comparison comparison(a, b, pool, progress);
  TensorComparison out;
  for (const TensorInfo& tensor : a.header.tensors) {
    const TensorInfo* other = b.header.find_tensor(tensor.name);
    if (other == nullptr) {
      out.different.push_back({Kind::only_a, &tensor, nullptr, std::nullopt});
    } else if (!same_shape(tensor, *other)) {
      out.different.push_back({Kind::shape, &tensor, other, std::nullopt});
    } else {
      SLUICE_ASSIGN(auto difference, comparison.compare(tensor, *other));
      if (difference) {
        out.different.push_back(*difference);
      } else {
        ++out.n_equal;
      }
    }
    SLUICE_TRY(comparison.end(tensor));
  }
  for (const TensorInfo& tensor : b.header.tensors) {
    if (a.header.find_tensor(tensor.name) == nullptr)
      out.different.push_back({Kind::only_b, nullptr, &tensor, std::nullopt});
  }
  return out;
}

}  // namespace sluice
