#include "weights/weights.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "quant/quant.h"

namespace sluice {
namespace {

constexpr size_t kBinBytes = 64 * 1024;
constexpr size_t kPieceBytes = 128 * 1024;  // read at once by a worker: stays in its cache

}  // namespace

Weights::Weights(const Needs& needs) : slots_(static_cast<size_t>(needs.n_slots())) {
  for (const Piece& piece : needs.pieces()) {
    Tensor tensor;
    tensor.name = piece.tensor;
    tensor.slot = piece.slot;
    tensor.begin = piece.begin;
    tensor.bytes = piece.bytes;
    tensor.is_vector = piece.is_vector;
    tensor.matrix = Matrix{piece.type, piece.rows, piece.cols, nullptr, !piece.is_vector};
    tensors_.push_back(std::move(tensor));
    ++slots_[static_cast<size_t>(piece.slot)].missing;
  }
}

// A vector of 16-bit floats keeps its file bytes behind the f32 values it is widened to.
uint64_t Weights::memory_of(const Tensor& tensor) {
  const uint64_t widened = tensor.is_vector && tensor.matrix.type != Type::F32
                               ? 4 * static_cast<uint64_t>(tensor.matrix.cols)
                               : 0;
  return round_up(widened, kAlignment) + round_up(tensor.bytes, kAlignment);
}

uint64_t Weights::bytes() const {
  uint64_t total = 0;
  for (const Tensor& tensor : tensors_) total += memory_of(tensor);
  return total;
}

uint64_t Weights::arrived_bytes() const {
  uint64_t total = 0;
  for (const Tensor& tensor : tensors_) {
    total += tensor.arrived == tensor.bytes ? memory_of(tensor) : tensor.arrived;
  }
  return total;
}

void Weights::sort_by_offset() {
  order_.resize(tensors_.size());
  for (size_t i = 0; i < order_.size(); ++i) order_[i] = static_cast<int>(i);
  std::sort(order_.begin(), order_.end(), [&](int a, int b) {
    return tensors_[static_cast<size_t>(a)].begin < tensors_[static_cast<size_t>(b)].begin;
  });
}

Status Weights::allocate() {
  sort_by_offset();
  std::vector<uint64_t> slot_bytes(slots_.size());
  uint64_t longest_strip = 0;
  for (const Tensor& tensor : tensors_) {
    slot_bytes[static_cast<size_t>(tensor.slot)] += memory_of(tensor);
    if (tensor.matrix.packed) {
      longest_strip = std::max<uint64_t>(longest_strip, kStripRows * tensor.matrix.bytes_per_row());
    }
  }
  SLUICE_ASSIGN(bin_, AlignedBuffer::allocate_uninitialized(kBinBytes, "reading the file"));
  SLUICE_ASSIGN(strip_,
                AlignedBuffer::allocate_uninitialized(longest_strip, "packing the weights"));
  SLUICE_ASSIGN(memory_, AlignedBuffer::allocate_uninitialized(bytes(), "the weights"));
  std::vector<uint64_t> free_at(slots_.size());  // of a slot, in memory_
  std::exclusive_scan(slot_bytes.begin(), slot_bytes.end(), free_at.begin(), uint64_t{0});
  for (Slot& slot : slots_) {
    slot.state = slot.missing == 0 ? SlotState::resident : SlotState::arriving;
    if (slot.missing == 0) ++resident_slots_;
  }
  for (Tensor& tensor : tensors_) {
    uint64_t& at = free_at[static_cast<size_t>(tensor.slot)];
    uint8_t* memory = memory_.data() + at;
    at += memory_of(tensor);
    tensor.matrix.data = memory;
    tensor.place = memory + memory_of(tensor) - round_up(tensor.bytes, kAlignment);
  }
  return {};
}

std::span<uint8_t> Weights::window() {
  if (next_ < order_.size()) {
    const Tensor& tensor = tensors_[static_cast<size_t>(order_[next_])];
    if (cursor_ >= tensor.begin) {
      return {tensor.place + tensor.arrived, static_cast<size_t>(tensor.bytes - tensor.arrived)};
    }
    return {bin_.data(),
            static_cast<size_t>(std::min<uint64_t>(kBinBytes, tensor.begin - cursor_))};
  }
  return {bin_.data(), kBinBytes};
}

std::vector<std::span<uint8_t>> Weights::places() {
  std::vector<std::span<uint8_t>> places;
  uint64_t at = cursor_;
  for (size_t i = next_; i < order_.size(); ++i) {
    const Tensor& tensor = tensors_[static_cast<size_t>(order_[i])];
    while (at < tensor.begin) {
      const uint64_t n = std::min<uint64_t>(kBinBytes, tensor.begin - at);
      places.emplace_back(bin_.data(), static_cast<size_t>(n));
      at += n;
    }
    places.emplace_back(tensor.place + tensor.arrived,
                        static_cast<size_t>(tensor.bytes - tensor.arrived));
    at = tensor.begin + tensor.bytes;
  }
  return places;
}

Status Weights::commit(size_t n) {
  while (n > 0) {
    const size_t part = std::min(n, window().size());
    if (next_ < order_.size()) {
      Tensor& tensor = tensors_[static_cast<size_t>(order_[next_])];
      if (cursor_ >= tensor.begin) {
        tensor.arrived += part;
        SLUICE_TRY(advance(tensor));
        if (tensor.arrived == tensor.bytes) ++next_;
      }
    }
    cursor_ += part;
    n -= part;
  }
  return {};
}

// Packs the strips that are complete now.
Status Weights::advance(Tensor& tensor) {
  const Matrix& matrix = tensor.matrix;
  const size_t strip_bytes = kStripRows * matrix.bytes_per_row();
  if (matrix.packed) {
    const int64_t whole_strips = matrix.rows / kStripRows;
    while (tensor.packed_strips < whole_strips &&
           static_cast<uint64_t>(tensor.packed_strips + 1) * strip_bytes <= tensor.arrived) {
      uint8_t* strip = tensor.place + static_cast<size_t>(tensor.packed_strips) * strip_bytes;
      std::memcpy(strip_.data(), strip, strip_bytes);
      if (!pack_strip(matrix.type, strip_.data(), matrix.cols, strip)) {
        return check_rows(tensor, tensor.packed_strips * kStripRows, strip_.data(), kStripRows);
      }
      ++tensor.packed_strips;
    }
  }
  if (tensor.arrived < tensor.bytes) return {};
  const int64_t rest = tensor.packed_strips * kStripRows;  // the first row that stays as it is
  SLUICE_TRY(check_rows(tensor, rest,
                        tensor.place + static_cast<size_t>(tensor.packed_strips) * strip_bytes,
                        matrix.rows - rest));
  complete(tensor);
  return {};
}

// The n rows of a tensor from row `first` on, as in the file: are all of their numbers finite?
Status Weights::check_rows(const Tensor& tensor, int64_t first, const uint8_t* rows, int64_t n) {
  const Matrix& matrix = tensor.matrix;
  const int64_t row = first_not_finite(matrix.type, rows, n, matrix.cols);
  if (row < 0) return {};
  return fail(Code::bad_file, "tensor ", tensor.name, " has a ",
              traits(matrix.type).group == 0 ? "number" : "scale",
              " that is NaN or infinite in row ", first + row, " (of ", matrix.rows,
              ", the first is row 0); expected finite numbers. The file is damaged: download it "
              "again or take another file");
}

void Weights::complete(Tensor& tensor) {
  if (tensor.is_vector && tensor.place != tensor.matrix.data) {
    // The f32 values lie in front of the file's bytes, in memory that this object owns.
    auto* widened = reinterpret_cast<float*>(const_cast<uint8_t*>(tensor.matrix.data));
    traits(tensor.matrix.type).dequantize(tensor.place, tensor.matrix.cols, widened);
  }
  Slot& slot = slots_[static_cast<size_t>(tensor.slot)];
  if (--slot.missing == 0) {
    slot.state = SlotState::resident;
    ++resident_slots_;
  }
}

Status Weights::read_from(const ReadData& read, Pool& pool) {
  SLUICE_TRY(allocate());
  Reading reading{&read, std::vector<Reader>(static_cast<size_t>(pool.size()))};
  for (Reader& reader : reading.readers) {
    SLUICE_ASSIGN(reader.piece, AlignedBuffer::allocate_uninitialized(
                                    std::max(kPieceBytes, strip_.size()), "reading the file"));
  }
  int64_t n_strips = 0;
  for (const Tensor& tensor : tensors_) n_strips += tensor.matrix.strips();
  Pool* const workers = &pool;
  Reading* const shared = &reading;
  workers->run([this, workers, shared, n_strips](int worker) {
    workers->share_out(worker, n_strips, [&](Share mine) {
      read_share(*shared, shared->readers[static_cast<size_t>(worker)], mine);
    });
  });
  const auto first = std::ranges::min_element(reading.readers, {}, &Reader::failed);
  SLUICE_TRY(first->status);
  for (Tensor& tensor : tensors_) {
    tensor.arrived = tensor.bytes;
    complete(tensor);
  }
  next_ = order_.size();
  strip_ = AlignedBuffer();
  return {};
}

// The strips `mine`, counted over all tensors in the file's order (a vector is one).
void Weights::read_share(Reading& reading, Reader& reader, Share mine) const {
  int64_t first = 0;
  for (const int index : order_) {
    const Tensor& tensor = tensors_[static_cast<size_t>(index)];
    const Matrix& matrix = tensor.matrix;
    const auto in_piece =
        static_cast<int64_t>(reader.piece.size() / (kStripRows * matrix.bytes_per_row()));
    const int64_t end = std::min(mine.end - first, matrix.strips());
    for (int64_t s = std::max<int64_t>(mine.begin - first, 0); s < end;) {
      if (first + s >= reading.failed.load(std::memory_order_relaxed)) return;
      // Rows that stay as they are come straight to their place, by themselves.
      int64_t n = 1;
      while (n < in_piece && s + n < end && matrix.strip_packed(s + n)) ++n;
      Status status = read_strips(*reading.read, tensor, {s, s + n}, reader.piece.data());
      if (!status.has_value()) {
        reader.failed = first + s;
        reader.status = std::move(status);
        int64_t known = reading.failed.load(std::memory_order_relaxed);
        while (known > reader.failed &&
               !reading.failed.compare_exchange_weak(known, reader.failed)) {
        }
        return;
      }
      s += n;
    }
    first += matrix.strips();
  }
}

// `strips` of a tensor: either all packed, read at once into `piece`, or one that isn't.
Status Weights::read_strips(const ReadData& read, const Tensor& tensor, Share strips,
                            uint8_t* piece) const {
  const Matrix& matrix = tensor.matrix;
  const uint64_t strip_bytes = kStripRows * matrix.bytes_per_row();
  const uint64_t at = static_cast<uint64_t>(strips.begin) * strip_bytes;
  if (!matrix.strip_packed(strips.begin)) {
    const std::span<uint8_t> rest(tensor.place + at, static_cast<size_t>(tensor.bytes - at));
    SLUICE_TRY(read(tensor.begin + at, rest));
    const int64_t row = strips.begin * kStripRows;
    return check_rows(tensor, row, rest.data(), matrix.rows - row);
  }
  const uint64_t bytes = static_cast<uint64_t>(strips.end - strips.begin) * strip_bytes;
  SLUICE_TRY(read(tensor.begin + at, {piece, static_cast<size_t>(bytes)}));
  uint8_t* place = tensor.place + at;
  for (int64_t s = strips.begin; s < strips.end; ++s) {
    if (!pack_strip(matrix.type, piece, matrix.cols, place)) {
      return check_rows(tensor, s * kStripRows, piece, kStripRows);
    }
    piece += strip_bytes;
    place += strip_bytes;
  }
  return {};
}

uint64_t Weights::missing_bytes() const {
  if (order_.empty() || next_ >= order_.size()) return 0;
  const Tensor& last = tensors_[static_cast<size_t>(order_.back())];
  return last.begin + last.bytes - cursor_;
}

}  // namespace sluice
