#include "app/disk_folder.h"

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

std::string DiskFolder::name() const {
  std::error_code error;
  fs::path path = fs::canonical(path_, error);
  if (error) path = path_;
  return path.filename().string();
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
