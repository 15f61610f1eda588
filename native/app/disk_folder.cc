#include "app/disk_folder.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>
#include <utility>

#include "app/file_bytes.h"
#include "base/format.h"

namespace sluice::cli {

namespace fs = std::filesystem;

Result<DiskFolder> DiskFolder::at(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status))
    return fail(Code::bad_file, "can't open ", printable(path, kMaxShownPath),
                ": No such file or directory");
  if (!fs::is_directory(status))
    return fail(Code::bad_file, printable(path, kMaxShownPath),
                " is no folder; the folder of a Hugging Face model is expected, with config.json, "
                "tokenizer.json and *.safetensors");
  return DiskFolder(path);
}

Status DiskFolder::check_apart(const std::string& path) const {
  std::error_code error;
  for (fs::directory_iterator entry(path_, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code unequal;
    if (entry->path().extension() != ".gguf" && fs::equivalent(entry->path(), path, unequal))
      return fail(Code::invalid_argument, "can't write ", printable(path, kMaxShownPath),
                  ": it is ", printable(entry->path().filename().string()),
                  " of the folder that is converted; give the new file another name");
  }
  return {};
}

namespace {

// Whether a folder's name says nothing of the model in it: "model", or a commit's hash.
bool says_nothing(const std::string& name) {
  constexpr std::array kEmpty = {"model", "models", "snapshot", "snapshots", "main", "hf"};
  constexpr size_t kHash = 40;
  return name.empty() || std::ranges::find(kEmpty, name) != kEmpty.end() ||
         (name.size() == kHash && name.find_first_not_of("0123456789abcdef") == std::string::npos);
}

}  // namespace

std::string DiskFolder::name() const {
  std::error_code error;
  fs::path path = fs::canonical(path_, error);
  if (error) path = path_;
  std::string own = path.filename().string();
  while (says_nothing(path.filename().string()) && path.has_relative_path())
    path = path.parent_path();
  std::string name = path.filename().string();
  if (name.empty()) return own;
  // The cache of Hugging Face's library: models--OWNER--REPO/snapshots/HASH.
  if (name.starts_with("models--")) name = name.substr(name.rfind("--") + 2);
  return name;
}

bool DiskFolder::has(const std::string& file) {
  std::error_code error;
  if (!is_inner_name(file)) return false;
  return fs::symlink_status(fs::path(path_) / file, error).type() != fs::file_type::not_found;
}

Result<std::unique_ptr<ByteSource>> DiskFolder::open(const std::string& file) {
  if (!is_inner_name(file))
    return fail(Code::bad_file, "a folder can have no file ", printable(file));
  SLUICE_ASSIGN(DiskFile source, DiskFile::open((fs::path(path_) / file).string(), kPartOfModel));
  return std::make_unique<DiskFile>(std::move(source));
}

}  // namespace sluice::cli
