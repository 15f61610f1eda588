#include "files/gguf_writer.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <utility>

#include "base/format.h"
#include "gguf/check.h"
#include "quant/quant.h"

namespace sluice {
namespace {

template <typename T>
MetadataValue scalar(ValueType type, T value) {
  MetadataValue out;
  out.type = type;
  out.bytes.resize(sizeof(T));
  std::memcpy(out.bytes.data(), &value, sizeof(T));
  return out;
}

template <typename T>
MetadataValue array(ValueType element, std::span<const T> values) {
  MetadataValue out;
  out.type = ValueType::array;
  out.element = element;
  out.count = values.size();
  if (!values.empty())
    out.bytes.assign(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  return out;
}

template <typename T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

void put_text(std::string& out, std::string_view text) {
  put<uint64_t>(out, text.size());
  out += text;
}

void put_value(std::string& out, const MetadataValue& value) {
  put(out, static_cast<uint32_t>(value.type));
  if (value.type == ValueType::string) return put_text(out, value.bytes);
  if (!value.is_array()) {
    out += value.bytes;
    return;
  }
  put(out, static_cast<uint32_t>(value.element));
  put(out, value.count);
  if (value.element != ValueType::string) {
    out += value.bytes;
    return;
  }
  for (uint64_t i = 0; i < value.count; ++i) put_text(out, value.text(i));
}

uint64_t aligned(uint64_t bytes, uint64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

}  // namespace

MetadataValue u32_value(uint32_t value) { return scalar(ValueType::u32, value); }
MetadataValue i32_value(int32_t value) { return scalar(ValueType::i32, value); }
MetadataValue u64_value(uint64_t value) { return scalar(ValueType::u64, value); }
MetadataValue f32_value(float value) { return scalar(ValueType::f32, value); }
MetadataValue bool_value(bool value) { return scalar<uint8_t>(ValueType::boolean, value ? 1 : 0); }

MetadataValue text_value(std::string_view text) {
  MetadataValue out;
  out.type = ValueType::string;
  out.bytes = text;
  return out;
}

MetadataValue texts_value(std::span<const std::string> texts) {
  MetadataValue out;
  out.type = ValueType::array;
  out.element = ValueType::string;
  out.count = texts.size();
  out.ends.reserve(texts.size());
  for (const std::string& text : texts) {
    out.bytes += text;
    out.ends.push_back(static_cast<uint32_t>(out.bytes.size()));
  }
  return out;
}

MetadataValue i32s_value(std::span<const int32_t> values) { return array(ValueType::i32, values); }
MetadataValue u32s_value(std::span<const uint32_t> values) { return array(ValueType::u32, values); }
MetadataValue f32s_value(std::span<const float> values) { return array(ValueType::f32, values); }

MetadataValue bools_value(const std::vector<bool>& values) {
  MetadataValue out = array<uint8_t>(ValueType::boolean, {});
  out.count = values.size();
  for (const bool value : values) out.bytes.push_back(value ? 1 : 0);
  return out;
}

void set_value(Gguf& gguf, std::string_view key, MetadataValue value) {
  for (auto& [name, old] : gguf.metadata) {
    if (name != key) continue;
    old = std::move(value);
    return;
  }
  gguf.metadata.emplace_back(key, std::move(value));
}

bool remove_value(Gguf& gguf, std::string_view key) {
  return std::erase_if(gguf.metadata, [&](const auto& entry) { return entry.first == key; }) > 0;
}

Status place_tensors(Gguf& gguf) {
  const auto too_large = [] {
    return fail(Code::invalid_argument, "the file would be larger than files can be");
  };
  uint64_t end = 0;
  for (TensorInfo& tensor : gguf.tensors) {
    const FileType type = file_type(tensor.type);
    if (type.name == nullptr || type.block == 0)
      return fail(Code::invalid_argument, "tensor ", printable(tensor.name), " has type number ",
                  tensor.type, ", which no file can have");
    if (tensor.dims[0] % type.block != 0)
      return fail(Code::invalid_argument, "tensor ", printable(tensor.name), " has rows of ",
                  tensor.dims[0], " elements; ", type.name, " has blocks of ", type.block);
    uint64_t bytes = type.block_bytes;
    const std::array<uint64_t, 4> factors = {tensor.dims[0] / type.block, tensor.dims[1],
                                             tensor.dims[2], tensor.dims[3]};
    for (const uint64_t factor : factors)
      if (__builtin_mul_overflow(bytes, factor, &bytes)) return too_large();
    if (bytes > kMaxFile || end > kMaxFile) return too_large();
    tensor.offset = aligned(end, gguf.alignment);
    tensor.bytes = bytes;
    end = tensor.offset + bytes;
  }
  if (end > kMaxFile) return too_large();
  gguf.version = 3;
  gguf.data_bytes = end;
  gguf.files.clear();
  gguf.data_offset = header_bytes(gguf).size();
  gguf.index_tensors();
  return {};
}

std::string header_bytes(const Gguf& gguf) {
  std::string out = "GGUF";
  put<uint32_t>(out, 3);
  put<uint64_t>(out, gguf.tensors.size());
  put<uint64_t>(out, gguf.metadata.size());
  for (const auto& [key, value] : gguf.metadata) {
    put_text(out, key);
    put_value(out, value);
  }
  for (const TensorInfo& tensor : gguf.tensors) {
    put_text(out, tensor.name);
    put(out, tensor.n_dims);
    for (uint32_t i = 0; i < tensor.n_dims; ++i) put(out, tensor.dims[i]);
    put(out, tensor.type);
    put(out, tensor.offset);
  }
  out.resize(aligned(out.size(), gguf.alignment), '\0');
  return out;
}

Status GgufWriter::begin() {
  const std::string header = header_bytes(gguf_);
  SLUICE_TRY(write({reinterpret_cast<const uint8_t*>(header.data()), header.size()}));
  return end_tensors();
}

Status GgufWriter::append(std::span<const uint8_t> bytes) {
  assert(!done() && bytes.size() <= gguf_.tensors[tensor_].bytes - taken_);
  SLUICE_TRY(write(bytes));
  taken_ += bytes.size();
  return end_tensors();
}

Status GgufWriter::write(std::span<const uint8_t> bytes) {
  written_ += bytes.size();
  return sink_.append(bytes);
}

// Pads the tensors that are complete.
Status GgufWriter::end_tensors() {
  while (!done() && taken_ == gguf_.tensors[tensor_].bytes) {
    const uint64_t end =
        gguf_.data_offset + aligned(gguf_.tensors[tensor_].offset + taken_, gguf_.alignment);
    const std::vector<uint8_t> zeros(end - written_);
    SLUICE_TRY(write(zeros));
    ++tensor_;
    taken_ = 0;
  }
  return {};
}

}  // namespace sluice
