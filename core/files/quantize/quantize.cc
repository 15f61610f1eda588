#include "files/quantize/quantize.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>
#include <memory>
#include <utility>

#include "base/format.h"
#include "files/gguf_writer.h"
#include "files/quantize/quantize_rows.h"
#include "quant/quant.h"

namespace sluice {
namespace {

// What a worker reads and rounds at once: about so many values, whole rows if they are shorter. It
// is a multiple of all types' blocks.
constexpr uint64_t kChunkValues = 1u << 17;
// A piece is written while the next one is made.
constexpr size_t kMaxChunks = 64;
constexpr size_t kPieceBytes = size_t{32} << 20;

using Weights = std::vector<float>;  // [experts][columns]

struct Chunk {
  const QuantizePlan::Tensor* planned = nullptr;
  const TensorInfo* tensor = nullptr;
  uint64_t first = 0;  // value of the tensor
  uint64_t n_rows = 0, n_columns = 0;
  size_t at = 0, bytes = 0;             // its place in the piece
  std::shared_ptr<const Weights> hold;  // of its columns; null: none
  const float* importance = nullptr;    // in `hold`
  Status status = {};
};

struct Piece {
  std::vector<Chunk> chunks;
  std::vector<uint8_t> bytes;  // as the new file has them
};

// A worker's buffers.
struct QuantizeScratch {
  std::vector<uint8_t> bytes;
  std::vector<float> values;
};

uint64_t bytes_of(Type type, uint64_t n_values) {
  const FileType t = file_type(static_cast<uint32_t>(type));
  return n_values / t.block * t.block_bytes;
}

bool all_finite(const std::vector<float>& values, uint64_t n) {
  constexpr uint32_t kExponent = 0x7f800000;
  bool good = true;
  for (uint64_t i = 0; i < n; ++i)
    good &= (std::bit_cast<uint32_t>(values[i]) & kExponent) != kExponent;
  return good;
}

class Quantizer {
 public:
  Quantizer(ByteSource& source, const Gguf& header, const QuantizePlan& plan,
            const QuantizeOptions& options, Pool& pool, std::span<ByteSink* const> sinks)
      : source_(source),
        header_(header),
        plan_(plan),
        options_(options),
        pool_(pool),
        sinks_(sinks),
        scratch_(static_cast<size_t>(pool.size())) {}

  Status run(const OnFileProgress& on_progress) {
    Piece pieces[2];
    const uint64_t total = plan_.bytes();
    SLUICE_TRY(begin_file(0));
    for (size_t i = 0;; ++i) {
      Piece& now = pieces[i % 2];
      const Piece& before = pieces[(i + 1) % 2];
      fill(now);
      make(now, before);
      SLUICE_TRY(written_status_);
      for (Chunk& chunk : now.chunks) SLUICE_TRY(std::move(chunk.status));
      const std::string_view name =
          now.chunks.empty() ? std::string_view() : now.chunks.back().tensor->name;
      if (on_progress && !on_progress({written_ + writer_->written(), total, name}))
        return fail(Code::aborted, "interrupted");
      if (now.chunks.empty()) break;
    }
    while (file_ + 1 < plan_.files.size()) SLUICE_TRY(begin_file(file_ + 1));
    assert(writer_->done());
    return {};
  }

 private:
  // Takes the next chunks of the tensors.
  void fill(Piece& piece) {
    piece.chunks.clear();
    const size_t most = std::clamp(8 * scratch_.size(), size_t{16}, kMaxChunks);
    size_t bytes = 0;
    while (next_ < plan_.tensors.size() && piece.chunks.size() < most && bytes < kPieceBytes) {
      const QuantizePlan::Tensor& planned = plan_.tensors[next_];
      const TensorInfo& tensor = header_.tensors[planned.source];
      const uint64_t n = tensor.dims[0] * tensor.dims[1] * tensor.dims[2] * tensor.dims[3];
      if (taken_ == 0) weights_ = weights_of(planned, tensor);
      if (taken_ == n) {
        ++next_;
        taken_ = 0;
        continue;
      }
      Chunk chunk = next_chunk(planned, tensor, n);
      chunk.at = bytes;
      chunk.bytes = bytes_of(planned.to, chunk.n_rows * chunk.n_columns);
      bytes += chunk.bytes;
      taken_ += chunk.n_rows * chunk.n_columns;
      piece.chunks.push_back(std::move(chunk));
    }
    if (piece.bytes.size() < bytes) piece.bytes.resize(bytes);
  }

  Chunk next_chunk(const QuantizePlan::Tensor& planned, const TensorInfo& tensor, uint64_t n) {
    Chunk chunk;
    chunk.planned = &planned;
    chunk.tensor = &tensor;
    chunk.first = taken_;
    const uint64_t columns = tensor.dims[0], matrix = columns * tensor.dims[1];
    // The columns have the same weights in all rows of a matrix. With weights, some types look at
    // whole rows; without, blocks stand alone.
    const uint64_t end = weights_ == nullptr ? n : taken_ - taken_ % matrix + matrix;
    if (columns > kChunkValues && weights_ == nullptr) {
      chunk.n_rows = 1;
      chunk.n_columns = std::min(kChunkValues, columns - taken_ % columns);
    } else {
      chunk.n_rows =
          std::min(std::max<uint64_t>(1, kChunkValues / columns), (end - taken_) / columns);
      chunk.n_columns = columns;
    }
    if (weights_ != nullptr) {
      chunk.hold = weights_;
      chunk.importance = weights_->data() + taken_ / matrix % tensor.dims[2] * columns;
    }
    return chunk;
  }

  // The mean squares of the inputs of the tensor's columns; null if nothing is known, or needed.
  std::shared_ptr<const Weights> weights_of(const QuantizePlan::Tensor& planned,
                                            const TensorInfo& tensor) const {
    if (options_.importance == nullptr || planned.from == planned.to) return nullptr;
    const Importance::Matrix* matrix = options_.importance->find(tensor.name);
    if (matrix == nullptr || matrix->counts.empty() ||
        matrix->in_sum2.size() % matrix->counts.size() != 0 ||
        matrix->in_sum2.size() != tensor.dims[0] * tensor.dims[2])
      return nullptr;
    const auto weights = std::make_shared<Weights>(matrix->in_sum2.size());
    const size_t columns = weights->size() / matrix->counts.size();
    for (size_t i = 0; i < weights->size(); ++i) {
      const float count = matrix->counts[i / columns];
      (*weights)[i] = count > 0 ? matrix->in_sum2[i] / count : 1.0f;
    }
    return weights;
  }

  // Makes the bytes of a piece. Meanwhile one worker writes the piece before.
  void make(Piece& now, const Piece& before) {
    written_status_ = {};
    struct Work {
      Quantizer* self;
      Piece* now;
      const Piece* before;
    };
    const Work work{this, &now, &before};
    Pool* const pool = &pool_;
    const auto n = static_cast<int64_t>(now.chunks.size()) + 1;
    pool_.run([work, pool, n](int worker) {
      // The first worker begins with the first item.
      pool->parallel_for(worker, n, [work, worker](Share part) {
        for (int64_t i = part.begin; i < part.end; ++i) {
          if (i == 0) {
            work.self->written_status_ = work.self->write(*work.before);
            continue;
          }
          Chunk& chunk = work.now->chunks[static_cast<size_t>(i - 1)];
          chunk.status = work.self->make_chunk(chunk, work.now->bytes.data() + chunk.at,
                                               work.self->scratch_[static_cast<size_t>(worker)]);
        }
      });
    });
  }

  Status make_chunk(const Chunk& chunk, uint8_t* out, QuantizeScratch& scratch) {
    const QuantizePlan::Tensor& planned = *chunk.planned;
    const uint64_t n = chunk.n_rows * chunk.n_columns;
    const std::span<uint8_t> bytes = [&] {
      const uint64_t size = bytes_of(planned.from, n);
      if (planned.from == planned.to) return std::span(out, size);
      if (scratch.bytes.size() < size) scratch.bytes.resize(size);
      return std::span(scratch.bytes.data(), size);
    }();
    SLUICE_TRY(source_.read(
        header_.data_offset + chunk.tensor->offset + bytes_of(planned.from, chunk.first), bytes));
    const auto in_tensor = [&](Code code, std::string_view what) {
      return fail(code, "tensor ", printable(chunk.tensor->name), ": ", what);
    };
    const TypeTraits* traits = find_traits(chunk.tensor->type);
    if (traits == nullptr) return {};  // a copy
    if (scratch.values.size() < n) scratch.values.resize(n);
    traits->dequantize(bytes.data(), static_cast<int64_t>(n), scratch.values.data());
    if (planned.from == planned.to) {
      if (!all_finite(scratch.values, n))
        return in_tensor(Code::bad_file, "a value is no finite number. The file is damaged");
      return {};
    }
    const Status rounded =
        quantize_rows(planned.to, scratch.values.data(), static_cast<int64_t>(chunk.n_rows),
                      static_cast<int64_t>(chunk.n_columns), chunk.importance, out);
    if (!rounded) return in_tensor(rounded.error().code, rounded.error().message);
    return {};
  }

  Status write(const Piece& piece) {
    for (const Chunk& chunk : piece.chunks) {
      while (file_ < chunk.planned->file) SLUICE_TRY(begin_file(file_ + 1));
      SLUICE_TRY(writer_->append({piece.bytes.data() + chunk.at, chunk.bytes}));
    }
    return {};
  }

  Status begin_file(size_t file) {
    if (writer_) written_ += writer_->written();
    file_ = file;
    writer_.emplace(plan_.files[file], *sinks_[file]);
    return writer_->begin();
  }

  ByteSource& source_;
  const Gguf& header_;
  const QuantizePlan& plan_;
  const QuantizeOptions& options_;
  Pool& pool_;
  const std::span<ByteSink* const> sinks_;
  std::vector<QuantizeScratch> scratch_;  // one for each worker

  size_t next_ = 0;     // the tensor that is taken next, of plan_.tensors
  uint64_t taken_ = 0;  // of its values
  std::shared_ptr<const Weights> weights_;

  size_t file_ = 0;
  std::optional<GgufWriter> writer_;
  uint64_t written_ = 0;  // to the files before
  Status written_status_ = {};
};

}  // namespace

Status quantize(ByteSource& source, const Gguf& header, const QuantizePlan& plan,
                const QuantizeOptions& options, Pool& pool, std::span<ByteSink* const> sinks,
                const OnFileProgress& on_progress) {
  assert(sinks.size() == plan.files.size());
  SLUICE_TRY(check_quantization(header, plan, options));
  return Quantizer(source, header, plan, options, pool, sinks).run(on_progress);
}

}  // namespace sluice
