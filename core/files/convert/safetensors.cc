#include "files/convert/safetensors.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <span>
#include <unordered_set>
#include <utility>

#include "base/format.h"

namespace sluice {
namespace {

constexpr uint64_t kMaxHeader = 100'000'000;  // the format's own limit
constexpr size_t kMaxTensors = 1 << 18;
constexpr size_t kMaxDims = 8;
constexpr int kMaxIgnoredDepth = 32;  // of JSON in fields that nobody knows

struct TypeRow {
  std::string_view name;
  uint32_t bits;
};
// In the order of SafeType.
constexpr TypeRow kRows[] = {
    {"BOOL", 8},    {"U8", 8},      {"I8", 8},          {"U16", 16},        {"I16", 16},
    {"U32", 32},    {"I32", 32},    {"U64", 64},        {"I64", 64},        {"F16", 16},
    {"BF16", 16},   {"F32", 32},    {"F64", 64},        {"C64", 64},        {"F8_E4M3", 8},
    {"F8_E5M2", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}, {"F6_E2M3", 6},
    {"F6_E3M2", 6}, {"F4", 4},
};
static_assert(std::size(kRows) == static_cast<size_t>(SafeType::f4) + 1);

// Takes the header's JSON. The first problem stays in `problem` and ends the parser.
class HeaderReceiver final : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::vector<SafeTensor> tensors;
  std::string problem;

  bool null() override { return other("null"); }
  bool boolean(bool) override { return other("true or false"); }
  bool number_integer(number_integer_t) override { return other("a negative number"); }
  bool number_float(number_float_t, const string_t&) override {
    return other("a number that is not whole");
  }
  bool binary(binary_t&) override { return other("bytes"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (ignored_ > 0) return true;
    if (list_ == nullptr) return other("a number");
    if (list_->size() == kMaxDims) return refuse("has more than 8 dimensions");
    list_->push_back(value);
    return true;
  }

  bool string(string_t& value) override {
    if (ignored_ > 0) return true;
    if (depth_ == 2 && in_metadata_) return true;
    if (depth_ != 2 || field_ != "dtype") return other("a text");
    const auto* const row = std::ranges::find(kRows, value, &TypeRow::name);
    if (row == std::end(kRows))
      return refuse(concat("has the type ", printable(value), ", which safetensors doesn't have"));
    current_.type = static_cast<SafeType>(row - kRows);
    return true;
  }

  bool start_object(size_t) override {
    if (ignored_ > 0 || known_field()) {
      if (known_field() && ignored_ == 0) return other("an object");
      return ignore_more();
    }
    if (depth_ == 2) return in_metadata_ ? other("an object") : ignore_more();
    if (++depth_ == 1) return true;
    has_ = {};
    current_ = {};
    current_.name = name_;
    offsets_.clear();
    return true;
  }

  bool end_object() override {
    if (ignored_ > 0) {
      --ignored_;
      return true;
    }
    if (--depth_ == 0) return true;
    if (std::exchange(in_metadata_, false)) return true;
    for (const auto& [there, field] : {std::pair{has_[0], "dtype"}, std::pair{has_[1], "shape"},
                                       std::pair{has_[2], "data_offsets"}})
      if (!there) return refuse(concat("has no ", field));
    if (offsets_.size() != 2) return refuse("has data_offsets that are no two numbers");
    if (tensors.size() == kMaxTensors) return refuse("is one too many");
    current_.at = offsets_[0];
    current_.bytes = offsets_[1];  // its end, until it is checked
    tensors.push_back(std::move(current_));
    return true;
  }

  bool start_array(size_t) override {
    if (ignored_ > 0) return ignore_more();
    if (depth_ == 2 && !in_metadata_ && !known_field()) return ignore_more();
    if (depth_ != 2 || in_metadata_ || field_ == "dtype" || list_ != nullptr)
      return other("an array");
    list_ = field_ == "shape" ? &current_.shape : &offsets_;
    return true;
  }
  bool end_array() override {
    if (ignored_ > 0) {
      --ignored_;
    } else {
      list_ = nullptr;
    }
    return true;
  }

  bool key(string_t& value) override {
    if (ignored_ > 0) return true;
    if (depth_ == 1) {
      name_ = value;
      if (!names_.insert(value).second) return refuse("comes twice");
      in_metadata_ = value == "__metadata__";
      return true;
    }
    if (in_metadata_) return true;
    field_ = value;
    constexpr std::string_view kFields[] = {"dtype", "shape", "data_offsets"};
    const auto* const found = std::ranges::find(kFields, field_);
    if (found == std::end(kFields)) return true;
    if (std::exchange(has_[static_cast<size_t>(found - kFields)], true))
      return refuse(concat("has the field ", field_, " twice"));
    return true;
  }

  bool parse_error(size_t at, const std::string&, const nlohmann::json::exception&) override {
    problem = concat("its header is no JSON at byte ", at);
    return false;
  }

 private:
  bool refuse(std::string what) {
    problem = concat("its entry ", printable(name_), " ", what);
    return false;
  }
  // A value where the format has another one. In fields that it doesn't have all may be.
  bool other(std::string_view what) {
    if (ignored_ > 0) return true;
    if (depth_ == 2 && !in_metadata_ && !known_field()) return true;
    if (depth_ == 0) {
      problem = "its header is no object of JSON";
      return false;
    }
    return refuse(concat("has ", what, " where the format has something else"));
  }
  bool known_field() const {
    return depth_ == 2 && !in_metadata_ &&
           (field_ == "dtype" || field_ == "shape" || field_ == "data_offsets");
  }
  bool ignore_more() {
    if (++ignored_ < kMaxIgnoredDepth) return true;
    return refuse("is nested too deeply");
  }

  std::unordered_set<std::string> names_;
  std::string name_;   // of the entry
  std::string field_;  // of it
  SafeTensor current_;
  std::vector<uint64_t> offsets_;
  std::vector<uint64_t>* list_ = nullptr;  // the array that numbers go to
  std::array<bool, 3> has_ = {};           // its fields
  bool in_metadata_ = false;
  int depth_ = 0;    // 1: in the header's object, 2: in an entry
  int ignored_ = 0;  // levels below a field that the format doesn't have
};

// The bytes of a shape of this type.
std::optional<uint64_t> bytes_of_shape(const SafeTensor& tensor) {
  uint64_t bits = safe_type_bits(tensor.type);
  for (const uint64_t n : tensor.shape)
    if (__builtin_mul_overflow(bits, n, &bits)) return {};
  if (bits % 8 != 0) return {};
  return bits / 8;
}

// Checks that the tensors' ranges are `bytes` bytes without gaps, and gives each its place in the
// file, whose data begin at `data`.
Status place(std::vector<SafeTensor>& tensors, uint64_t data, uint64_t bytes) {
  for (SafeTensor& tensor : tensors) {
    const uint64_t begin = tensor.at, end = tensor.bytes;
    const auto promised = bytes_of_shape(tensor);
    if (begin > end || !promised || *promised != end - begin)
      return fail(Code::bad_file, "tensor ", printable(tensor.name), " has the bytes ", begin,
                  " to ", end, ", which don't fit its shape and the type ",
                  safe_type_name(tensor.type));
    tensor.bytes = end - begin;
  }
  std::vector<uint32_t> order(tensors.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::sort(order, {}, [&](uint32_t i) {
    return std::pair{tensors[i].at, tensors[i].at + tensors[i].bytes};
  });
  uint64_t end = 0;
  for (const uint32_t i : order) {
    SafeTensor& tensor = tensors[i];
    if (tensor.at != end)
      return fail(
          Code::bad_file, "tensor ", printable(tensor.name), " begins at byte ", tensor.at,
          tensor.at < end ? ", within the one before it, which ends at " : ", behind a gap from ",
          end);
    end += tensor.bytes;
    tensor.at += data;
  }
  if (end != bytes)
    return fail(Code::bad_file, "the tensors have ", end, " bytes, the file has ", bytes,
                end < bytes ? "; it is damaged" : "; it is not complete");
  return {};
}

}  // namespace

std::string_view safe_type_name(SafeType type) { return kRows[static_cast<size_t>(type)].name; }
uint32_t safe_type_bits(SafeType type) { return kRows[static_cast<size_t>(type)].bits; }

uint64_t SafeTensor::elements() const {
  return std::accumulate(shape.begin(), shape.end(), uint64_t{1}, std::multiplies<>());
}

Result<std::vector<SafeTensor>> read_safetensors(ByteSource& source) {
  uint8_t length[8] = {};
  if (source.size() < sizeof(length))
    return fail(Code::bad_file, "the file has ", source.size(), " bytes; it is no safetensors");
  SLUICE_TRY(source.read(0, length));
  uint64_t n = 0;
  std::memcpy(&n, length, sizeof(n));
  if (n > kMaxHeader || n > source.size() - sizeof(length))
    return fail(Code::bad_file, "the header would have ", n, " bytes, ",
                n > kMaxHeader ? "more than safetensors files may have"
                               : "more than the file; it is not complete");
  std::string header(static_cast<size_t>(n), '\0');
  SLUICE_TRY(source.read(sizeof(length), {reinterpret_cast<uint8_t*>(header.data()), n}));
  HeaderReceiver receiver;
  // The parser would skip a byte order mark, which the format doesn't have.
  const bool marked = header.starts_with("\xef\xbb\xbf");
  if (marked || !nlohmann::json::sax_parse(header, &receiver)) {
    return fail(Code::bad_file, "the safetensors file is damaged: ",
                receiver.problem.empty() ? "its header is no JSON" : receiver.problem);
  }
  SLUICE_TRY(place(receiver.tensors, sizeof(length) + n, source.size() - sizeof(length) - n));
  return std::move(receiver.tensors);
}

}  // namespace sluice
