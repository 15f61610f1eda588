#include "split_models.h"

#include <algorithm>
#include <cstdio>
#include <fstream>

namespace sluice {
namespace {

// A value's bytes as in a file, after its type.
std::string encoded(const MetadataValue& value) {
  if (!value.is_array()) {
    return value.type == ValueType::string ? gguf_string(value.bytes) : value.bytes;
  }
  std::string out = bytes_of(static_cast<uint32_t>(value.element)) + bytes_of(value.count);
  if (value.element != ValueType::string) return out + value.bytes;
  for (uint64_t i = 0; i < value.count; ++i) out += gguf_string(value.text(i));
  return out;
}

void kv_u16(GgufBuilder& file, std::string_view key, size_t value) {
  file.kv_raw(key, static_cast<uint32_t>(ValueType::u16), bytes_of(static_cast<uint16_t>(value)));
}

// The files with tensors, but without their data. `sources[i]`: the tensors of file i in `whole`.
std::vector<GgufBuilder> without_data(const Gguf& whole, size_t n_files, bool first_empty,
                                      std::vector<std::vector<TensorInfo>>& sources) {
  std::vector<GgufBuilder> files(n_files);
  sources.resize(n_files);
  for (const auto& [key, value] : whole.metadata)
    files[0].kv_raw(key, static_cast<uint32_t>(value.type), encoded(value));
  for (size_t i = 0; i < n_files; ++i) {
    files[i].alignment = whole.alignment;
    if (whole.alignment != 32)
      files[i].kv_u32("general.alignment", static_cast<uint32_t>(whole.alignment));
    kv_u16(files[i], "split.no", i);
    kv_u16(files[i], "split.count", n_files);
    files[i].kv_i32("split.tensors.count", static_cast<int32_t>(whole.tensors.size()));
  }
  const size_t first = first_empty ? 1 : 0;
  for (size_t t = 0; t < whole.tensors.size(); ++t) {
    const TensorInfo& tensor = whole.tensors[t];
    const size_t i = first + t * (n_files - first) / whole.tensors.size();
    files[i].tensor(tensor.name, tensor.type, {tensor.dims, tensor.dims + tensor.n_dims}, "");
    uint64_t offset = 0;
    if (!sources[i].empty()) {
      offset = *files[i].find_tensor(sources[i].back().name).offset + sources[i].back().bytes;
    }
    files[i].find_tensor(tensor.name).offset =
        (offset + whole.alignment - 1) / whole.alignment * whole.alignment;
    sources[i].push_back(tensor);
  }
  return files;
}

bool copy_bytes(std::ifstream& in, uint64_t at, uint64_t n, std::ofstream& out) {
  std::vector<char> piece(1 << 20);
  in.seekg(static_cast<std::streamoff>(at));
  for (uint64_t left = n; left > 0 && in && out;) {
    const auto size = static_cast<std::streamsize>(std::min<uint64_t>(left, piece.size()));
    in.read(piece.data(), size);
    out.write(piece.data(), size);
    left -= static_cast<uint64_t>(size);
  }
  return in.good() && out.good();
}

}  // namespace

std::vector<GgufBuilder> split_builders(std::string_view file, size_t n_files, bool first_empty) {
  const auto whole = parse_gguf(as_bytes(file), file.size());
  if (!whole) return {};
  std::vector<std::vector<TensorInfo>> sources;
  std::vector<GgufBuilder> files = without_data(*whole, n_files, first_empty, sources);
  for (size_t i = 0; i < n_files; ++i) {
    for (const TensorInfo& source : sources[i]) {
      GgufBuilder::Tensor& tensor = files[i].find_tensor(source.name);
      tensor.data = file.substr(whole->data_offset + source.offset, source.bytes);
      tensor.offset.reset();
    }
  }
  return files;
}

std::vector<std::string> split_model(std::string_view file, size_t n_files, bool first_empty) {
  std::vector<std::string> files;
  for (const GgufBuilder& one : split_builders(file, n_files, first_empty))
    files.push_back(one.build());
  return files;
}

std::string joined(const std::vector<std::string>& files) {
  std::string all;
  for (const std::string& file : files) {
    const auto header = parse_gguf(as_bytes(file));
    all += header ? file.substr(0, header->file_bytes()) : file;
  }
  return all;
}

std::vector<uint64_t> sizes_of(const std::vector<std::string>& files) {
  std::vector<uint64_t> sizes;
  for (const std::string& file : files) sizes.push_back(file.size());
  return sizes;
}

std::string split_name(std::string_view name, size_t index, size_t n_files) {
  char ending[32];
  std::snprintf(ending, sizeof ending, "-%05zu-of-%05zu.gguf", index + 1, n_files);
  return std::string(name) + ending;
}

bool split_file(const std::string& path, size_t n_files, std::vector<std::string>& written) {
  std::ifstream in(path, std::ios::binary);
  GgufParser parser;
  std::vector<char> piece(1 << 16);
  while (in && !parser.done()) {
    in.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    const std::string_view bytes(piece.data(), static_cast<size_t>(in.gcount()));
    if (!parser.push(as_bytes(bytes))) return false;
  }
  if (!parser.done()) return false;
  in.clear();
  const Gguf whole = parser.take();
  std::vector<std::vector<TensorInfo>> sources;
  const std::vector<GgufBuilder> files = without_data(whole, n_files, false, sources);
  const std::string_view name = std::string_view(path).substr(0, path.size() - 5);  // ".gguf"
  for (size_t i = 0; i < n_files; ++i) {
    std::ofstream out(written.emplace_back(split_name(name, i, n_files)), std::ios::binary);
    const std::string header = files[i].header();
    out << header;
    for (const TensorInfo& source : sources[i]) {
      if (!copy_bytes(in, whole.data_offset + source.offset, source.bytes, out)) return false;
      const uint64_t odd = source.bytes % whole.alignment;
      if (odd > 0) out << std::string(whole.alignment - odd, '\0');
    }
    if (!out.flush()) return false;
  }
  return true;
}

}  // namespace sluice
