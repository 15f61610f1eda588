// Reads both forms of importance matrices and writes the newer one.
//
// The older form, all numbers little-endian:
//   i32 n_entries | n_entries x (i32 length, name, i32 calls, i32 n_values, f32 value[n_values])
//   | i32 last chunk | i32 length, dataset
// A value is to be divided by `calls`, unless that is 0. The oldest files end behind the entries.
#include "files/importance.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cfloat>
#include <cstring>
#include <utility>

#include "base/aligned.h"
#include "base/format.h"
#include "base/utf8.h"
#include "files/gguf_writer.h"
#include "gguf/check.h"
#include "gguf/gguf.h"
#include "quant/quant.h"

namespace sluice {
namespace {

constexpr std::string_view kSums = ".in_sum2", kCounts = ".counts";
constexpr std::string_view kTypeKey = "general.type", kType = "imatrix";
constexpr std::string_view kDatasetsKey = "imatrix.datasets";
constexpr std::string_view kChunkCountKey = "imatrix.chunk_count";
constexpr std::string_view kChunkSizeKey = "imatrix.chunk_size";
// Those of the largest models with experts have half a gigabyte.
constexpr uint64_t kMaxFileBytes = 1ull << 32;
constexpr uint64_t kMaxName = 63;  // bytes of a tensor's name (gguf/parser.cc)
constexpr size_t kHeaderPiece = 1u << 16;
constexpr std::string_view kMeasureAgain = ". Measure it again (sluice imatrix)";

bool is_amount(float value) { return value >= 0 && value <= FLT_MAX; }

// The values of a matrix, or of its counts. `what` names them in messages. The source must have
// them. Allocates the memory once as a test, because a container that can't grow ends the program.
Result<std::vector<float>> read_amounts(ByteSource& source, uint64_t at, uint64_t n,
                                        std::string_view name, std::string_view what) {
  if (4 * n >= 1u << 20)
    SLUICE_TRY(AlignedBuffer::allocate_uninitialized(4 * n, "the importance matrix"));
  std::vector<float> out(n);
  SLUICE_TRY(source.read(at, {reinterpret_cast<uint8_t*>(out.data()), 4 * out.size()}));
  const auto wrong = std::ranges::find_if_not(out, is_amount);
  if (wrong != out.end())
    return fail(Code::bad_file, "the importance matrix of ", printable(name), " has ", *wrong,
                " among its ", what, "; expected numbers from 0 on", kMeasureAgain);
  return out;
}

// --- GGUF ----------------------------------------------------------------------------------------

Result<Gguf> read_header(ByteSource& source) {
  GgufParser parser;
  parser.set_file_size(source.size());
  std::vector<uint8_t> piece;
  for (uint64_t at = 0; !parser.done() && at < source.size(); at += piece.size()) {
    piece.resize(std::min<uint64_t>(kHeaderPiece, source.size() - at));
    SLUICE_TRY(source.read(at, piece));
    SLUICE_TRY(parser.push(piece));
  }
  SLUICE_TRY(parser.finish());
  return parser.take();
}

Result<uint32_t> read_u32(const Gguf& gguf, std::string_view key) {
  SLUICE_ASSIGN(const auto value, gguf.get_u64(key));
  if (value.value_or(0) > UINT32_MAX)
    return fail(Code::bad_file, "the importance matrix has ", key, " = ", *value,
                "; expected less than 2^32", kDamaged);
  return static_cast<uint32_t>(value.value_or(0));
}

Status read_facts(const Gguf& gguf, Importance& out) {
  SLUICE_ASSIGN(const auto type, gguf.get_string(kTypeKey));
  if (type != kType) {
    SLUICE_ASSIGN(const auto architecture, gguf.get_string("general.architecture"));
    return fail(
        Code::bad_file, "this GGUF file is ",
        architecture ? concat("a model (", printable(*architecture), ")") : "something else",
        ", not an importance matrix: its general.type is ", type ? printable(*type) : "missing",
        "; expected imatrix");
  }
  if (const MetadataValue* datasets = gguf.find(kDatasetsKey)) {
    if (!datasets->is_array() || datasets->element != ValueType::string)
      return fail(Code::bad_file, "the importance matrix has ", kDatasetsKey, " = ",
                  describe(*datasets), "; expected an array of strings", kDamaged);
    for (uint64_t i = 0; i < datasets->count; ++i) out.datasets.emplace_back(datasets->text(i));
  }
  SLUICE_ASSIGN(out.chunk_count, read_u32(gguf, kChunkCountKey));
  SLUICE_ASSIGN(out.chunk_size, read_u32(gguf, kChunkSizeKey));
  return {};
}

std::string shape_text(const TensorInfo& tensor) {
  std::string out = concat(tensor.dims[0]);
  for (uint32_t i = 1; i < std::max(tensor.n_dims, 1u); ++i) out += concat(" x ", tensor.dims[i]);
  return concat(file_type(tensor.type).name, " ", out);
}

bool is_f32(const TensorInfo& tensor) {
  return tensor.type == static_cast<uint32_t>(Type::F32) && tensor.dims[2] == 1 &&
         tensor.dims[3] == 1;
}

Result<Importance::Matrix> read_matrix(ByteSource& source, const Gguf& gguf,
                                       const TensorInfo& sums) {
  const std::string_view full = sums.name;
  const std::string_view name = full.substr(0, full.size() - kSums.size());
  if (name.empty())
    return fail(Code::bad_file, "a tensor of the importance matrix is called ", full,
                "; expected a tensor's name before it", kDamaged);
  const TensorInfo* counts = gguf.find_tensor(concat(name, kCounts));
  if (counts == nullptr)
    return fail(Code::bad_file, "the importance matrix has no counts of ", printable(name),
                kMeasureAgain);
  if (!is_f32(sums) || !is_f32(*counts) || counts->dims[0] != 1 || counts->dims[1] != sums.dims[1])
    return fail(Code::bad_file, "the importance matrix of ", printable(name), " has sums of ",
                shape_text(sums), " and counts of ", shape_text(*counts),
                "; expected F32 of columns x experts and of 1 x experts", kMeasureAgain);
  Importance::Matrix out;
  out.name = name;
  out.columns = sums.dims[0];
  out.n_experts = sums.dims[1];
  SLUICE_ASSIGN(out.in_sum2, read_amounts(source, gguf.data_offset + sums.offset,
                                          out.columns * out.n_experts, name, "sums"));
  SLUICE_ASSIGN(out.counts, read_amounts(source, gguf.data_offset + counts->offset, out.n_experts,
                                         name, "counts"));
  return out;
}

Result<Importance> read_gguf(ByteSource& source) {
  SLUICE_ASSIGN(const Gguf gguf, read_header(source));
  Importance out;
  SLUICE_TRY(read_facts(gguf, out));
  // The tensors lie in the file, because the parser was told its size; and none on another.
  for (const TensorInfo& tensor : gguf.tensors) {
    const std::string_view name = tensor.name;
    if (name.ends_with(kSums)) {
      SLUICE_ASSIGN(Importance::Matrix matrix, read_matrix(source, gguf, tensor));
      out.matrices.push_back(std::move(matrix));
    } else if (name.ends_with(kCounts)) {
      const std::string_view matrix = name.substr(0, name.size() - kCounts.size());
      if (gguf.find_tensor(concat(matrix, kSums)) == nullptr)
        return fail(Code::bad_file, "the importance matrix has counts of ", printable(matrix),
                    " without sums", kMeasureAgain);
    }
  }
  return out;
}

// --- the older form ------------------------------------------------------------------------------

// Reads one item after the other. Every length is compared with what is left of the file.
class Items {
 public:
  explicit Items(ByteSource& source) : source_(source) {}

  uint64_t left() const { return source_.size() - at_; }
  Result<int32_t> number() {
    int32_t out = 0;
    if (left() < sizeof out) return cut();
    SLUICE_TRY(source_.read(at_, {reinterpret_cast<uint8_t*>(&out), sizeof out}));
    at_ += sizeof out;
    return out;
  }
  Result<std::string> text(uint64_t n) {
    if (left() < n) return cut();
    std::string out(n, '\0');
    SLUICE_TRY(source_.read(at_, {reinterpret_cast<uint8_t*>(out.data()), out.size()}));
    at_ += n;
    return out;
  }
  Result<std::vector<float>> amounts(uint64_t n, std::string_view name) {
    if (left() / 4 < n) return cut();
    SLUICE_ASSIGN(auto out, read_amounts(source_, at_, n, name, "sums"));
    at_ += 4 * n;
    return out;
  }

 private:
  std::unexpected<Error> cut() const {
    return fail(Code::bad_file, "the importance matrix ends after ",
                counted(source_.size(), "byte"), ", in the middle of an entry", kDamaged);
  }
  ByteSource& source_;
  uint64_t at_ = 0;
};

constexpr uint64_t kLeastEntry = 17;  // bytes: a name of one letter and one value

Result<Importance::Matrix> read_entry(Items& items) {
  SLUICE_ASSIGN(const int32_t length, items.number());
  if (length < 1 || static_cast<uint64_t>(length) > kMaxName)
    return fail(Code::bad_file, "a name in the importance matrix has ", length,
                " bytes; expected 1 to ", kMaxName, kDamaged);
  Importance::Matrix out;
  SLUICE_ASSIGN(out.name, items.text(static_cast<uint64_t>(length)));
  if (utf8_sanitize(out.name) != out.name)
    return fail(Code::bad_file, "a name in the importance matrix, ", printable(out.name),
                ", is not valid UTF-8", kDamaged);
  SLUICE_ASSIGN(const int32_t calls, items.number());
  SLUICE_ASSIGN(const int32_t values, items.number());
  if (calls < 0 || values < 1)
    return fail(Code::bad_file, "the importance matrix of ", printable(out.name), " has ", values,
                " values, added up in ", calls, " calls; expected some", kDamaged);
  out.columns = static_cast<uint64_t>(values);
  SLUICE_ASSIGN(out.in_sum2, items.amounts(out.columns, out.name));
  out.counts = {static_cast<float>(std::max(calls, 1))};
  return out;
}

Result<Importance> read_dat(ByteSource& source) {
  Items items(source);
  int32_t entries = 0;
  if (items.left() >= sizeof entries) {
    SLUICE_ASSIGN(entries, items.number());
  }
  if (entries < 1 || static_cast<uint64_t>(entries) > items.left() / kLeastEntry ||
      static_cast<uint64_t>(entries) > kMaxEntries)
    return fail(Code::bad_file,
                "this file is no importance matrix: it isn't GGUF, and has no entries of the older "
                "form (.dat) either. Measure one with sluice imatrix");
  Importance out;
  for (int32_t i = 0; i < entries; ++i) {
    SLUICE_ASSIGN(Importance::Matrix matrix, read_entry(items));
    out.matrices.push_back(std::move(matrix));
  }
  if (items.left() == 0) return out;
  SLUICE_ASSIGN(const int32_t chunks, items.number());
  SLUICE_ASSIGN(const int32_t length, items.number());
  if (chunks < 0 || length < 0 || static_cast<uint64_t>(length) != items.left())
    return fail(Code::bad_file, "the importance matrix ends with ", chunks,
                " chunks and a name of ", length, " bytes; expected one of ", items.left(),
                kDamaged);
  out.chunk_count = static_cast<uint32_t>(chunks);
  SLUICE_ASSIGN(std::string dataset, items.text(items.left()));
  if (!dataset.empty()) out.datasets.push_back(std::move(dataset));
  return out;
}

// In the older form a name may occur twice.
Status check_names(const Importance& importance) {
  std::vector<std::string_view> names;
  for (const Importance::Matrix& matrix : importance.matrices) names.push_back(matrix.name);
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  if (twice == names.end()) return {};
  return fail(Code::bad_file, "the importance matrix has ", printable(*twice), " twice", kDamaged);
}

}  // namespace

// --- for all -------------------------------------------------------------------------------------

const Importance::Matrix* Importance::find(std::string_view name) const {
  const auto found = std::ranges::find(matrices, name, &Matrix::name);
  return found == matrices.end() ? nullptr : &*found;
}

Result<Importance> read_importance(ByteSource& source) {
  const uint64_t bytes = source.size();
  if (bytes > kMaxFileBytes)
    return fail(Code::bad_file, "this file has ", human_bytes(bytes),
                "; no importance matrix is larger than ", human_bytes(kMaxFileBytes));
  std::array<char, 4> magic{};
  if (bytes >= magic.size())
    SLUICE_TRY(source.read(0, {reinterpret_cast<uint8_t*>(magic.data()), magic.size()}));
  const bool is_gguf = std::string_view(magic.data(), magic.size()) == "GGUF";
  SLUICE_ASSIGN(Importance out, is_gguf ? read_gguf(source) : read_dat(source));
  if (out.matrices.empty())
    return fail(Code::bad_file, "the importance matrix is empty: it has no sums of any tensor",
                kMeasureAgain);
  SLUICE_TRY(check_names(out));
  return out;
}

namespace {

// Without the last dimension if that is 1, as ggml counts them.
TensorInfo tensor_of(std::string name, uint64_t columns, uint64_t n_experts) {
  TensorInfo out;
  out.name = std::move(name);
  out.type = static_cast<uint32_t>(Type::F32);
  out.n_dims = n_experts > 1 ? 2 : 1;
  out.dims[0] = columns;
  out.dims[1] = n_experts;
  return out;
}

std::span<const uint8_t> bytes_of(const std::vector<float>& values) {
  return {reinterpret_cast<const uint8_t*>(values.data()), 4 * values.size()};
}

}  // namespace

Status write_importance(const Importance& importance, ByteSink& sink) {
  Gguf gguf;
  set_value(gguf, kTypeKey, text_value(kType));
  set_value(gguf, kDatasetsKey, texts_value(importance.datasets));
  set_value(gguf, kChunkCountKey, u32_value(importance.chunk_count));
  set_value(gguf, kChunkSizeKey, u32_value(importance.chunk_size));
  for (const Importance::Matrix& matrix : importance.matrices) {
    assert(matrix.in_sum2.size() == matrix.columns * matrix.n_experts &&
           matrix.counts.size() == matrix.n_experts);
    if (matrix.name.size() + kSums.size() > kMaxName)
      return fail(Code::invalid_argument, "the tensor's name ", printable(matrix.name), " has ",
                  matrix.name.size(), " bytes; an importance matrix can have names of up to ",
                  kMaxName - kSums.size());
    gguf.tensors.push_back(tensor_of(concat(matrix.name, kSums), matrix.columns, matrix.n_experts));
    gguf.tensors.push_back(tensor_of(concat(matrix.name, kCounts), 1, matrix.n_experts));
  }
  SLUICE_TRY(place_tensors(gguf));
  GgufWriter writer(gguf, sink);
  SLUICE_TRY(writer.begin());
  for (const Importance::Matrix& matrix : importance.matrices) {
    SLUICE_TRY(writer.append(bytes_of(matrix.in_sum2)));
    SLUICE_TRY(writer.append(bytes_of(matrix.counts)));
  }
  return {};
}

}  // namespace sluice
