#include "files/convert/folder.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

#include "base/format.h"

namespace sluice {

bool is_plain_name(const std::string& file) {
  constexpr size_t kMaxFileName = 255;
  if (file.empty() || file.size() > kMaxFileName || file == "." || file == "..") return false;
  return std::ranges::none_of(file, [](char c) {
    return c == '/' || c == '\\' || static_cast<uint8_t>(c) < 0x20 || c == 0x7f;
  });
}

bool is_inner_name(const std::string& file) {
  const size_t slash = file.find('/');
  return slash == file.npos
             ? is_plain_name(file)
             : is_plain_name(file.substr(0, slash)) && is_plain_name(file.substr(slash + 1));
}

Result<std::unique_ptr<ByteSource>> open_part(Folder& folder, const std::string& file) {
  constexpr std::string_view kPointer = "version https://git-lfs.github.com/spec/";
  SLUICE_ASSIGN(auto source, folder.open(file));
  if (source->size() < kPointer.size()) return source;
  std::array<uint8_t, kPointer.size()> begin = {};
  SLUICE_TRY(source->read(0, begin));
  if (!std::ranges::equal(begin, kPointer)) return source;
  return fail(Code::bad_file, printable(file),
              " is a pointer of Git LFS, not the file that it stands for; run git lfs pull in the "
              "folder, or download the file");
}

Result<std::string> read_whole(Folder& folder, const std::string& file, uint64_t max_bytes) {
  SLUICE_ASSIGN(const auto source, open_part(folder, file));
  if (source->size() > max_bytes)
    return fail(Code::bad_file, printable(file), " has ", source->size(), " bytes; at most ",
                max_bytes, " are expected");
  std::string text(static_cast<size_t>(source->size()), '\0');
  SLUICE_TRY(source->read(0, {reinterpret_cast<uint8_t*>(text.data()), text.size()}));
  return text;
}

Result<std::optional<std::string>> read_if_there(Folder& folder, const std::string& file,
                                                 uint64_t max_bytes) {
  if (!folder.has(file)) return std::optional<std::string>();
  SLUICE_ASSIGN(std::string text, read_whole(folder, file, max_bytes));
  return std::optional<std::string>(std::move(text));
}

}  // namespace sluice
