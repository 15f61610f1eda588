// The incremental parser. It knows how many bytes its current item still needs; advance() reads an
// item that is complete and begins the next.
#include <algorithm>
#include <bit>
#include <cstring>

#include "base/aligned.h"
#include "base/format.h"
#include "base/utf8.h"
#include "gguf/check.h"
#include "gguf/gguf.h"
#include "quant/quant.h"

namespace sluice {
namespace {

constexpr uint64_t kPreambleBytes = 24;    // magic, version, n_tensors, n_kv
constexpr uint64_t kMinEntryBytes = 14;    // a one-letter key with a one-byte value
constexpr uint64_t kMinTensorBytes = 25;   // a one-letter name, no dimension
constexpr uint64_t kMaxHeader = 1u << 28;  // bytes; real headers have up to 30 MB
constexpr uint64_t kMaxKey = 65535;        // as the format's description says
constexpr uint64_t kMaxName = 63;          // ggml's names have 64 bytes with the final 0
constexpr uint64_t kMaxDims = 4;
constexpr uint64_t kMaxAlignment = 1u << 20;

template <typename T>
T read_at(const uint8_t* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

bool is_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const Utf8Char c = utf8_decode(text.substr(at));
    if (!c.valid) return false;
    at += c.length;
  }
  return true;
}

// Makes room for `extra` more elements, doubling the capacity. Allocates the memory once as a test,
// because a container that can't grow ends the program.
template <typename Container>
Status reserve_for(Container& container, size_t extra) {
  if (container.capacity() - container.size() >= extra) return {};
  const size_t doubled = std::min<size_t>(2 * container.capacity(), kMaxHeader);
  const size_t wanted = std::max(container.size() + extra, doubled);
  const uint64_t bytes = uint64_t{wanted} * sizeof(container[0]);
  if (bytes >= 1u << 20)
    SLUICE_TRY(AlignedBuffer::allocate_uninitialized(bytes, "the file's header"));
  container.reserve(wanted);
  return {};
}

}  // namespace

struct GgufParser::State {
  // The item that is being read. The order in a file: preamble; for each key its length, the key,
  // its value; for each tensor its name's length, name, n_dims, place; padding.
  enum class Stage {
    preamble,
    key_length,
    key,
    value_type,
    scalar,
    array_head,
    array_scalars,
    text_length,
    text,
    name_length,
    name,
    n_dims,
    place,
    padding,
    done,
  };

  Gguf gguf;
  Stage stage = Stage::preamble;
  uint64_t position = 0;   // bytes of the file taken
  uint64_t file_size = 0;  // 0: unknown
  std::optional<Error> error;

  uint64_t needed = kPreambleBytes;  // bytes that the item still lacks
  std::string* sink = nullptr;       // where they go; null: to `field`
  uint8_t field[8 * kMaxDims + 12] = {};
  size_t field_used = 0;

  uint64_t n_kv = 0;
  uint64_t n_tensors = 0;
  std::string key;
  MetadataValue value;
  uint64_t texts_left = 0;
  TensorInfo tensor;

  Result<size_t> take_bytes(std::span<const uint8_t> bytes);
  Status finish() const;

 private:
  Status advance();
  Status expect(Stage next, uint64_t bytes);
  Status expect_into(Stage next, uint64_t bytes, std::string& target);
  Status next_entry();
  Status end_header();

  Status read_preamble();
  Status read_key();
  Status read_value_type();
  Status read_array_head();
  Status read_text_length();
  Status end_text();
  Status end_value();
  Status check_alignment();
  Status read_name();
  Status read_n_dims();
  Status read_place();

  uint64_t left() const { return file_size > position ? file_size - position : 0; }
  std::string where() const;
  template <typename... Parts>
  std::unexpected<Error> refuse(const Parts&... parts) const {
    return fail(Code::bad_file, where(), ": ", parts..., kDamaged);
  }
};

std::string GgufParser::State::where() const {
  if (stage == Stage::preamble) return "the file's first 24 bytes";
  if (gguf.metadata.size() < n_kv) {
    const std::string name = key.empty() ? "" : concat(" ('", printable(key), "')");
    return concat("metadata entry ", gguf.metadata.size() + 1, " of ", n_kv, name);
  }
  if (gguf.tensors.size() < n_tensors) {
    const std::string name = tensor.name.empty() ? "" : concat(" ('", printable(tensor.name), "')");
    return concat("tensor entry ", gguf.tensors.size() + 1, " of ", n_tensors, name);
  }
  return "the header";
}

Result<size_t> GgufParser::State::take_bytes(std::span<const uint8_t> bytes) {
  size_t at = 0;
  while (stage != Stage::done) {
    const auto n = static_cast<size_t>(std::min<uint64_t>(needed, bytes.size() - at));
    if (n > 0) {
      if (sink) {
        SLUICE_TRY(reserve_for(*sink, n));
        sink->append(reinterpret_cast<const char*>(bytes.data()) + at, n);
      } else if (stage != Stage::padding) {
        std::memcpy(field + field_used, bytes.data() + at, n);
        field_used += n;
      }
      at += n;
      position += n;
      needed -= n;
    }
    if (needed > 0) break;
    SLUICE_TRY(advance());
  }
  return at;
}

Status GgufParser::State::advance() {
  switch (stage) {
    case Stage::preamble:
      return read_preamble();
    case Stage::key_length: {
      const auto length = read_at<uint64_t>(field);
      if (length < 1 || length > kMaxKey) {
        return refuse("its key has ", length, " bytes; expected 1 to ", kMaxKey);
      }
      return expect_into(Stage::key, length, key);
    }
    case Stage::key:
      return read_key();
    case Stage::value_type:
      return read_value_type();
    case Stage::scalar:
      value.bytes.assign(reinterpret_cast<const char*>(field), value_type_size(value.type));
      return end_value();
    case Stage::array_head:
      return read_array_head();
    case Stage::array_scalars:
      return end_value();
    case Stage::text_length:
      return read_text_length();
    case Stage::text:
      return end_text();
    case Stage::name_length: {
      const auto length = read_at<uint64_t>(field);
      if (length < 1 || length > kMaxName) {
        return refuse("its name has ", length, " bytes; expected 1 to ", kMaxName);
      }
      return expect_into(Stage::name, length, tensor.name);
    }
    case Stage::name:
      return read_name();
    case Stage::n_dims:
      return read_n_dims();
    case Stage::place:
      return read_place();
    case Stage::padding:
    case Stage::done:
      stage = Stage::done;
      return {};
  }
  return {};
}

// The next item has a fixed size. Fails if the file ends before.
Status GgufParser::State::expect(Stage next, uint64_t bytes) {
  if (file_size > 0 && bytes > left()) {
    return refuse("the file ends after ", counted(file_size, "byte"),
                  ", in the middle of its header");
  }
  stage = next;
  needed = bytes;
  sink = nullptr;
  field_used = 0;
  return {};
}

// The next item has a size that the file states. Memory is allocated as its bytes come.
Status GgufParser::State::expect_into(Stage next, uint64_t bytes, std::string& target) {
  if (file_size > 0 && bytes > left()) {
    return refuse(bytes, " bytes announced, but only ", left(), " are left in the file");
  }
  if (bytes > kMaxHeader || position > kMaxHeader - bytes) {
    return refuse(bytes, " bytes announced; expected a header of at most ", kMaxHeader, " bytes");
  }
  stage = next;
  needed = bytes;
  sink = &target;
  return {};
}

Status GgufParser::State::read_preamble() {
  const std::string_view first(reinterpret_cast<const char*>(field), kPreambleBytes);
  if (!first.starts_with("GGUF")) return not_gguf(first);
  gguf.version = read_at<uint32_t>(field + 4);
  if (gguf.version != 2 && gguf.version != 3) {
    if (gguf.version != 0 && (gguf.version & 0xffff) == 0) {
      return fail(Code::bad_file, "this GGUF file is big-endian (its version reads as ",
                  gguf.version,
                  "); expected little-endian. Convert the model again without "
                  "--bigendian");
    }
    return fail(Code::bad_file, "this file has GGUF version ", gguf.version, "; expected 2 or 3. ",
                gguf.version == 1 ? "It is from 2023: convert the model again"
                                  : "Look for a newer Sluice, or convert the model again");
  }
  n_tensors = read_at<uint64_t>(field + 8);
  n_kv = read_at<uint64_t>(field + 16);
  if (n_tensors > kMaxEntries || n_kv > kMaxEntries) {
    return refuse(n_tensors, " tensors and ", n_kv,
                  " metadata entries announced; expected at most ", kMaxEntries, " of each");
  }
  const uint64_t least = n_kv * kMinEntryBytes + n_tensors * kMinTensorBytes;
  if (file_size > 0 && least > left()) {
    return refuse(n_tensors, " tensors and ", n_kv,
                  " metadata entries announced, which take at least ", least,
                  " bytes; the file has ", left(), " more");
  }
  return next_entry();
}

Status GgufParser::State::next_entry() {
  key.clear();
  value = MetadataValue();
  tensor = TensorInfo();
  if (gguf.metadata.size() < n_kv) return expect(Stage::key_length, 8);
  if (gguf.tensors.size() < n_tensors) return expect(Stage::name_length, 8);
  return end_header();
}

Status GgufParser::State::read_key() {
  if (!is_utf8(key)) return refuse("its key is not valid UTF-8");
  return expect(Stage::value_type, 4);
}

Status GgufParser::State::read_value_type() {
  const auto type = read_at<uint32_t>(field);
  if (type > static_cast<uint32_t>(ValueType::f64)) {
    return refuse("its value has type ", type, ", which is unknown; expected 0 to 12");
  }
  value.type = static_cast<ValueType>(type);
  if (value.type == ValueType::array) return expect(Stage::array_head, 12);
  if (value.type == ValueType::string) {
    texts_left = 1;
    return expect(Stage::text_length, 8);
  }
  return expect(Stage::scalar, value_type_size(value.type));
}

Status GgufParser::State::read_array_head() {
  const auto element = read_at<uint32_t>(field);
  value.count = read_at<uint64_t>(field + 4);
  if (element > static_cast<uint32_t>(ValueType::f64)) {
    return refuse("its array has elements of type ", element,
                  ", which is unknown; expected 0 to 12");
  }
  value.element = static_cast<ValueType>(element);
  if (value.element == ValueType::array) {
    return refuse("an array of arrays; expected an array of numbers, bools or strings");
  }
  const bool texts = value.element == ValueType::string;
  const uint64_t least = texts ? 8 : value_type_size(value.element);  // bytes of an element
  if (value.count > kMaxHeader / least || (file_size > 0 && value.count > left() / least)) {
    return refuse("an array of ", value.count, " x ", value_type_name(value.element),
                  file_size > 0
                      ? concat(" announced, but only ", left(), " bytes are left in the file")
                      : concat("; expected at most ", kMaxHeader, " bytes"));
  }
  if (!texts) return expect_into(Stage::array_scalars, value.count * least, value.bytes);
  texts_left = value.count;
  if (texts_left == 0) return end_value();
  return expect(Stage::text_length, 8);
}

Status GgufParser::State::read_text_length() {
  return expect_into(Stage::text, read_at<uint64_t>(field), value.bytes);
}

Status GgufParser::State::end_text() {
  if (value.is_array()) {
    SLUICE_TRY(reserve_for(value.ends, 1));
    value.ends.push_back(static_cast<uint32_t>(value.bytes.size()));  // at most kMaxHeader
  }
  if (--texts_left > 0) return expect(Stage::text_length, 8);
  return end_value();
}

Status GgufParser::State::end_value() {
  if ((value.is_array() ? value.element : value.type) == ValueType::boolean) {
    for (const char c : value.bytes) {
      if (c != 0 && c != 1) {
        return refuse("a bool holds ", static_cast<uint8_t>(c), "; expected 0 or 1");
      }
    }
  }
  if (key == "general.alignment") SLUICE_TRY(check_alignment());
  gguf.metadata.emplace_back(std::move(key), std::move(value));
  return next_entry();
}

Status GgufParser::State::check_alignment() {
  if (value.type != ValueType::u32) {
    return refuse("the alignment has type ", value_type_name(value.type), "; expected u32");
  }
  gguf.alignment = *value.as_u64();
  if (!std::has_single_bit(gguf.alignment) || gguf.alignment > kMaxAlignment) {
    return refuse("the alignment is ", gguf.alignment, "; expected a power of two from 1 to ",
                  kMaxAlignment);
  }
  return {};
}

Status GgufParser::State::read_name() {
  if (!is_utf8(tensor.name)) return refuse("its name is not valid UTF-8");
  return expect(Stage::n_dims, 4);
}

Status GgufParser::State::read_n_dims() {
  tensor.n_dims = read_at<uint32_t>(field);
  if (tensor.n_dims > kMaxDims) {
    return refuse("it has ", tensor.n_dims, " dimensions; expected at most ", kMaxDims);
  }
  return expect(Stage::place, 8 * tensor.n_dims + 12);
}

// Reads dimensions, type and offset. Checks everything but overlaps, which check_directory()
// checks.
Status GgufParser::State::read_place() {
  uint64_t elements = 1;
  for (uint32_t i = 0; i < tensor.n_dims; ++i) {
    const auto dim = read_at<uint64_t>(field + 8 * i);
    if (dim == 0 || dim > static_cast<uint64_t>(INT64_MAX)) {
      return refuse("dimension ", i, " is ", dim, "; expected 1 to 2^63 - 1");
    }
    if (elements > static_cast<uint64_t>(INT64_MAX) / dim) {
      return refuse("its dimensions multiply to more than 2^63 - 1 elements");
    }
    tensor.dims[i] = dim;
    elements *= dim;
  }
  const uint8_t* after_dims = field + 8 * tensor.n_dims;
  tensor.type = read_at<uint32_t>(after_dims);
  tensor.offset = read_at<uint64_t>(after_dims + 4);

  const FileType type = file_type(tensor.type);
  if (!type.name) return refuse("its type ", tensor.type, " is unknown");
  if (type.block == 0) {
    return with_facts(
        fail(Code::unsupported_type, where(), ": type ", type.name,
             " is no longer in use; expected a current type. Convert the model again"),
        {{"type", std::string(type.name)}});
  }
  if (tensor.dims[0] % type.block != 0) {
    return refuse("its rows have ", tensor.dims[0], " elements; expected a multiple of ",
                  type.block, ", the block of ", type.name);
  }
  const uint64_t blocks = elements / type.block;
  if (blocks > kMaxFile / type.block_bytes) {
    return refuse("its ", elements, " elements of type ", type.name, " take more than 2^53 bytes");
  }
  tensor.bytes = blocks * type.block_bytes;
  if (tensor.offset % gguf.alignment != 0) {
    return refuse("its offset is ", tensor.offset, "; expected a multiple of ", gguf.alignment,
                  ", the file's alignment");
  }
  if (tensor.offset > kMaxFile - tensor.bytes) {
    return refuse("it lies at offset ", tensor.offset, " with ", tensor.bytes,
                  " bytes; expected it to end before 2^53");
  }
  gguf.data_bytes = std::max(gguf.data_bytes, tensor.offset + tensor.bytes);
  SLUICE_TRY(reserve_for(gguf.tensors, 1));
  gguf.tensors.push_back(std::move(tensor));
  return next_entry();
}

Status GgufParser::State::end_header() {
  gguf.index_tensors();
  SLUICE_TRY(check_directory(gguf));
  // A file that only holds a vocabulary may end here, without padding.
  gguf.data_offset = n_tensors > 0 ? round_up(position, gguf.alignment) : position;
  if (gguf.data_bytes > kMaxFile - gguf.data_offset) {
    return refuse("the data would end past 2^53 bytes");
  }
  if (file_size > 0 && gguf.file_bytes() > file_size) {
    const uint64_t missing = gguf.file_bytes() - file_size;
    return fail(Code::bad_file, "the file has ", counted(file_size, "byte"),
                ", but its header promises ", gguf.file_bytes(), ": ", missing,
                missing == 1 ? " byte is" : " bytes are", " missing. Download it again");
  }
  gguf.files = {{0, gguf.file_bytes()}};
  return expect(Stage::padding, gguf.data_offset - position);
}

Status GgufParser::State::finish() const {
  if (error) return std::unexpected(*error);
  if (stage == Stage::done) return {};
  if (position == 0) return fail(Code::bad_file, "the file is empty; expected a GGUF file");
  if (stage == Stage::preamble) {
    const std::string_view first(reinterpret_cast<const char*>(field), field_used);
    if (!first.starts_with(std::string_view("GGUF").substr(0, first.size())))
      return not_gguf(first);
  }
  return fail(Code::bad_file, "the file ends after ", counted(position, "byte"), ", in ", where(),
              "; expected ",
              stage == Stage::padding ? "its tensors' data" : "the rest of its header",
              ". It was cut short: download it again");
}

GgufParser::GgufParser() : state_(std::make_unique<State>()) {}
GgufParser::~GgufParser() = default;
GgufParser::GgufParser(GgufParser&&) noexcept = default;
GgufParser& GgufParser::operator=(GgufParser&&) noexcept = default;

Result<size_t> GgufParser::push(std::span<const uint8_t> bytes) {
  if (state_->error) return std::unexpected(*state_->error);
  Result<size_t> taken = state_->take_bytes(bytes);
  if (!taken) state_->error = taken.error();
  return taken;
}

bool GgufParser::done() const { return state_->stage == State::Stage::done; }
void GgufParser::set_file_size(uint64_t bytes) { state_->file_size = bytes; }
Status GgufParser::finish() const { return state_->finish(); }
Gguf GgufParser::take() { return std::move(state_->gguf); }

Result<Gguf> parse_gguf(std::span<const uint8_t> bytes, uint64_t file_size) {
  GgufParser parser;
  parser.set_file_size(file_size);
  SLUICE_TRY(parser.push(bytes));
  SLUICE_TRY(parser.finish());
  return parser.take();
}

}  // namespace sluice
