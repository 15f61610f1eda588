#include "gguf/check.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/format.h"
#include "base/order.h"

namespace sluice {
namespace {

// What a file that isn't GGUF seems to be, by its first bytes; "" if they don't tell.
std::string_view recognize(std::string_view first) {
  struct Sign {
    std::string_view prefix;
    std::string_view meaning;
  };
  static constexpr Sign kSigns[] = {
      {"\x1f\x8b", "it looks like gzip data: unpack it first"},
      {"\x28\xb5\x2f\xfd", "it looks like Zstandard data: unpack it first"},
      {"PK\x03\x04", "it looks like a zip archive (or a PyTorch checkpoint): convert it to GGUF"},
      {"version https://git-lfs",
       "it is a Git LFS pointer, not the file: download the file itself"},
      {"lmgg", "it is a GGML file of 2023: convert it to GGUF"},
      {"tjgg", "it is a GGML file of 2023: convert it to GGUF"},
      {"fmgg", "it is a GGML file of 2023: convert it to GGUF"},
  };
  for (const Sign& sign : kSigns) {
    if (first.starts_with(sign.prefix)) return sign.meaning;
  }
  // safetensors: a 64-bit length, then JSON.
  if (first.size() > 8 && first[8] == '{' && first[6] == 0 && first[7] == 0) {
    return "it looks like a safetensors file: convert it to GGUF";
  }
  if (first.starts_with("\xef\xbb\xbf")) first.remove_prefix(3);
  while (!first.empty() && std::string_view(" \t\r\n").contains(first[0])) first.remove_prefix(1);
  if (first.starts_with('<')) {
    return "it looks like an HTML page: check the address, it must lead to the model file itself";
  }
  if (first.starts_with('{') || first.starts_with('[')) {
    return "it looks like JSON, perhaps a server's error message: check the address";
  }
  return {};
}

Status check_unique(const Gguf& gguf) {
  // By sorting, because no choice of keys makes that slow.
  const auto key_of = [&](uint32_t index) { return std::string_view(gguf.metadata[index].first); };
  const auto by_key =
      order_of(gguf.metadata.size(), [&](uint32_t a, uint32_t b) { return key_of(a) < key_of(b); });
  const auto twice = std::ranges::adjacent_find(by_key, {}, key_of);
  if (twice != by_key.end()) {
    return fail(Code::bad_file, "the key '", printable(key_of(*twice)),
                "' stands in the file twice; expected once", kDamaged);
  }
  if (const auto name = find_duplicate_tensor(gguf)) {
    return fail(Code::bad_file, "the tensor '", printable(*name),
                "' stands in the file twice; expected once", kDamaged);
  }
  return {};
}

Status check_overlap(const Gguf& gguf) {
  const std::vector<TensorInfo>& tensors = gguf.tensors;
  const auto by_offset = order_of(tensors.size(), [&](uint32_t a, uint32_t b) {
    return tensors[a].offset < tensors[b].offset;
  });
  for (size_t i = 1; i < by_offset.size(); ++i) {
    const TensorInfo& before = tensors[by_offset[i - 1]];
    const TensorInfo& after = tensors[by_offset[i]];
    if (after.offset < before.offset + before.bytes) {
      return fail(Code::bad_file, "the tensors '", printable(before.name), "' (", before.bytes,
                  " bytes at offset ", before.offset, ") and '", printable(after.name),
                  "' (at offset ", after.offset, ") overlap; expected each to have its own bytes",
                  kDamaged);
    }
  }
  return {};
}

}  // namespace

std::optional<std::string_view> find_duplicate_tensor(const Gguf& gguf) {
  const auto name_of = [&](uint32_t index) { return std::string_view(gguf.tensors[index].name); };
  const auto twice = std::ranges::adjacent_find(gguf.by_name, {}, name_of);
  if (twice == gguf.by_name.end()) return std::nullopt;
  return name_of(*twice);
}

Status check_directory(const Gguf& gguf) {
  SLUICE_TRY(check_unique(gguf));
  return check_overlap(gguf);
}

std::unexpected<Error> not_gguf(std::string_view first) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const char c : first.substr(0, 4)) {
    const auto byte = static_cast<uint8_t>(c);
    hex.append({' ', kDigits[byte >> 4], kDigits[byte & 15]});
  }
  const std::string_view meaning = recognize(first);
  return fail(Code::bad_file, "this is not a GGUF file: it begins with the bytes", hex, " (\"",
              printable(first), "\"), expected \"GGUF\"; ",
              meaning.empty() ? "choose another file" : meaning);
}

}  // namespace sluice
