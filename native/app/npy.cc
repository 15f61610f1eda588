#include "app/npy.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "base/format.h"

namespace sluice::cli {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr size_t kMostHeader = 64 << 10;  // bytes; shapes of any sense have a hundred
constexpr size_t kMostDims = 32;          // as NumPy

template <typename T>
void append_number(std::string& out, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
}

std::string shape_in_text(std::span<const uint64_t> shape) {
  std::string text = "(";
  for (const uint64_t n : shape) text += concat(n, ", ");
  if (shape.size() > 1) text.resize(text.size() - 2);
  if (shape.size() == 1) text.pop_back();  // (3,)
  return text + ")";
}

}  // namespace

// --- writing -------------------------------------------------------------------------------------

std::string npy_header(std::span<const uint64_t> shape) {
  constexpr size_t kAlignment = 64;
  std::string text =
      concat("{'descr': '<f4', 'fortran_order': False, 'shape': ", shape_in_text(shape), ", }");
  const size_t before = kMagic.size() + 4;  // the version, and the length of the text
  const size_t used = before + text.size() + 1;
  text.append((kAlignment - used % kAlignment) % kAlignment, ' ').append("\n");
  std::string header(kMagic);
  header.append("\x01\x00", 2);
  append_number(header, static_cast<uint16_t>(text.size()));
  return header + text;
}

std::span<const uint8_t> npy_bytes(std::span<const float> numbers) {
  return {reinterpret_cast<const uint8_t*>(numbers.data()), numbers.size_bytes()};
}

std::span<const uint8_t> npy_bytes(std::string_view header) {
  return {reinterpret_cast<const uint8_t*>(header.data()), header.size()};
}

namespace {

constexpr std::array<uint32_t, 256> kCrcTable = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < table.size(); ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) != 0 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
    table[i] = crc;
  }
  return table;
}();

uint32_t crc32(uint32_t crc, std::span<const uint8_t> bytes) {
  crc = ~crc;
  for (const uint8_t byte : bytes) crc = crc >> 8 ^ kCrcTable[(crc ^ byte) & 0xff];
  return ~crc;
}

constexpr uint16_t kZipVersion = 45;       // with zip64
constexpr uint16_t kZipDate = 0x21;        // 1980-01-01: the same arrays are the same bytes
constexpr uint32_t kInZip64 = UINT32_MAX;  // the number stands among those of zip64

// What the two headers of an entry have in common, from the version on.
void append_entry(std::string& out, uint32_t crc, size_t name, uint16_t extra) {
  append_number(out, kZipVersion);
  append_number(out, uint32_t{0});  // no flags, stored
  append_number(out, uint16_t{0});  // 00:00
  append_number(out, kZipDate);
  append_number(out, crc);
  append_number(out, kInZip64);
  append_number(out, kInZip64);
  append_number(out, static_cast<uint16_t>(name));
  append_number(out, extra);
}

}  // namespace

Status NpzWriter::append(std::span<const uint8_t> bytes) {
  written_ += bytes.size();
  return out_.append(bytes);
}

Status NpzWriter::add(std::string_view name, std::span<const uint64_t> shape,
                      std::span<const float> numbers) {
  const std::string entry = concat(name, ".npy"), header = npy_header(shape);
  const std::span<const uint8_t> data = npy_bytes(numbers);
  const uint32_t crc = crc32(crc32(0, npy_bytes(header)), data);
  const uint64_t size = header.size() + data.size();
  const uint64_t begin = written_;
  std::string local = "PK\x03\x04";
  append_entry(local, crc, entry.size(), 20);
  local += entry;
  append_number(local, uint16_t{1});  // zip64: both sizes
  append_number(local, uint16_t{16});
  append_number(local, size);
  append_number(local, size);

  directory_ += "PK\x01\x02";
  append_number(directory_, kZipVersion);  // that made it
  append_entry(directory_, crc, entry.size(), 28);
  append_number(directory_, uint16_t{0});  // no comment
  append_number(directory_, uint32_t{0});  // disk 0, no attributes
  append_number(directory_, uint32_t{0});
  append_number(directory_, kInZip64);
  directory_ += entry;
  append_number(directory_, uint16_t{1});  // zip64: both sizes, and where the entry begins
  append_number(directory_, uint16_t{24});
  append_number(directory_, size);
  append_number(directory_, size);
  append_number(directory_, begin);
  ++entries_;
  SLUICE_TRY(append(npy_bytes(local)));
  SLUICE_TRY(append(npy_bytes(header)));
  return append(data);
}

Status NpzWriter::finish() {
  const uint64_t begin = written_, end = begin + directory_.size();
  std::string tail = "PK\x06\x06";  // the end of a zip64 directory
  append_number(tail, uint64_t{44});
  append_number(tail, kZipVersion);
  append_number(tail, kZipVersion);
  append_number(tail, uint64_t{0});  // disk 0 of 0
  append_number(tail, entries_);
  append_number(tail, entries_);
  append_number(tail, uint64_t{directory_.size()});
  append_number(tail, begin);
  tail += "PK\x06\x07";  // where that is
  append_number(tail, uint32_t{0});
  append_number(tail, end);
  append_number(tail, uint32_t{1});
  tail += "PK\x05\x06";  // the end of any
  append_number(tail, uint32_t{0});
  append_number(tail, kInZip64);  // the number of entries, twice in 16 bits
  append_number(tail, kInZip64);
  append_number(tail, kInZip64);
  append_number(tail, uint16_t{0});
  SLUICE_TRY(append(npy_bytes(directory_)));
  return append(npy_bytes(tail));
}

// --- reading -------------------------------------------------------------------------------------

namespace {

// The dictionary of a header, as NumPy writes it: three keys, in any order.
struct NpyHeader {
  std::optional<std::string> descr;
  std::optional<bool> fortran;
  std::optional<std::vector<uint64_t>> shape;
};

class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  // Nothing if it is something else.
  std::optional<NpyHeader> run() {
    NpyHeader header;
    if (!take('{')) return std::nullopt;
    while (!take('}')) {
      const auto key = quoted();
      if (!key || !take(':')) return std::nullopt;
      if (*key == "descr" && !header.descr) {
        header.descr = quoted();
        if (!header.descr) return std::nullopt;
      } else if (*key == "fortran_order" && !header.fortran) {
        if (word("True"))
          header.fortran = true;
        else if (word("False"))
          header.fortran = false;
        else
          return std::nullopt;
      } else if (*key == "shape" && !header.shape) {
        header.shape = numbers();
        if (!header.shape) return std::nullopt;
      } else {
        return std::nullopt;
      }
      if (!take(',') && !peek('}')) return std::nullopt;
    }
    skip();
    if (at_ != text_.size() || !header.descr || !header.fortran || !header.shape)
      return std::nullopt;
    return header;
  }

 private:
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool peek(char c) {
    skip();
    return at_ < text_.size() && text_[at_] == c;
  }
  bool take(char c) {
    if (!peek(c)) return false;
    ++at_;
    return true;
  }
  bool word(std::string_view expected) {
    skip();
    if (!text_.substr(at_).starts_with(expected)) return false;
    at_ += expected.size();
    return true;
  }
  std::optional<std::string> quoted() {
    const char quote = peek('"') ? '"' : '\'';
    if (!take(quote)) return std::nullopt;
    const size_t end = text_.find(quote, at_);
    if (end == std::string_view::npos) return std::nullopt;
    std::string value(text_.substr(at_, end - at_));
    at_ = end + 1;
    return value;
  }
  std::optional<std::vector<uint64_t>> numbers() {
    std::vector<uint64_t> values;
    if (!take('(')) return std::nullopt;
    while (!take(')')) {
      skip();
      uint64_t value = 0;
      const size_t begin = at_;
      for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
        if (value > UINT32_MAX) return std::nullopt;  // a dimension of 2^32 * 10 or more
        value = 10 * value + static_cast<uint64_t>(text_[at_] - '0');
      }
      if (at_ == begin || values.size() == kMostDims) return std::nullopt;
      values.push_back(value);
      if (!take(',') && !peek(')')) return std::nullopt;
    }
    return values;
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

Result<NpyFile> NpyFile::open(const std::string& path) {
  SLUICE_ASSIGN(File file, File::open(path, "a .npy file"));
  NpyFile npy(std::move(file));
  npy.name_ = printable(path, kMaxShownPath);
  SLUICE_TRY(npy.read_header());
  return npy;
}

std::unexpected<Error> NpyFile::refuse(std::string_view why) const {
  return fail(Code::bad_file, name_, ": ", why);
}

Status NpyFile::read_header() {
  std::array<uint8_t, 12> start{};
  const size_t there = std::min<uint64_t>(start.size(), file_.size());
  SLUICE_TRY(file_.read(0, std::span(start).first(there)));
  const std::string_view magic(reinterpret_cast<const char*>(start.data()), kMagic.size());
  const uint8_t version = start[6];
  if (there < 10 || magic != kMagic || version < 1 || version > 3)
    return refuse("it is no .npy file (numpy.save writes one)");
  uint64_t length = start[8] + 256u * start[9];
  begin_ = 10;
  if (version > 1) {
    length += (uint64_t{start[10]} << 16) + (uint64_t{start[11]} << 24);
    begin_ = 12;
  }
  if (length > kMostHeader || begin_ + length > file_.size())
    return refuse(concat("its header has ", length, " bytes, which it can't have"));
  std::string text(length, '\0');
  SLUICE_TRY(file_.read(begin_, {reinterpret_cast<uint8_t*>(text.data()), text.size()}));
  begin_ += length;
  auto header = HeaderParser(text).run();
  if (!header) return refuse(concat("its header is damaged: ", printable(text, 120)));
  if (*header->descr != "<f4" && *header->descr != "<f8")
    return refuse(concat("its numbers are '", printable(*header->descr, 20),
                         "'; expected '<f4' or '<f8' (array.astype('<f4'))"));
  size_ = *header->descr == "<f4" ? 4 : 8;
  if (*header->fortran)
    return refuse("it has Fortran's order; expected C's (numpy.ascontiguousarray)");
  shape_ = std::move(*header->shape);
  uint64_t bytes = size_;
  for (const uint64_t n : shape_) {
    if (n != 0 && bytes > std::numeric_limits<uint64_t>::max() / n)
      return refuse(concat("no file has room for its shape ", shape_text()));
    bytes *= n;
  }
  if (bytes != file_.size() - begin_)
    return refuse(concat("the shape ", shape_text(), " of '", *header->descr, "' has ", bytes,
                         " bytes, but the file has ", file_.size() - begin_,
                         " behind its header: it is damaged"));
  return {};
}

std::string NpyFile::shape_text() const { return shape_in_text(shape_); }

Status NpyFile::read(uint64_t first, std::span<double> out) const {
  std::vector<uint8_t> bytes(out.size() * size_);
  SLUICE_TRY(file_.read(begin_ + first * size_, bytes));
  for (size_t i = 0; i < out.size(); ++i) {
    if (size_ == 8) {
      std::memcpy(&out[i], bytes.data() + 8 * i, 8);
    } else {
      float value = 0;
      std::memcpy(&value, bytes.data() + 4 * i, 4);
      out[i] = static_cast<double>(value);
    }
    if (!std::isfinite(out[i]))
      return refuse(concat("number ", first + i, " is NaN or infinite; expected finite ones"));
  }
  return {};
}

}  // namespace sluice::cli
