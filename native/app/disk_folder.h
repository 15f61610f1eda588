// A folder on disk, as core/files reads it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "files/convert/folder.h"

namespace sluice::cli {

// What a file of such a folder is, where a message says what is expected.
inline constexpr std::string_view kPartOfModel = "a file of a Hugging Face model";

class DiskFolder final : public Folder {
 public:
  // Fails with bad_file if there is no folder at `path`.
  static Result<DiskFolder> at(const std::string& path);
  // Fails with invalid_argument if `path` is one of its files, under any name. Files of GGUF in it
  // aren't meant: a conversion may write one anew.
  Status check_apart(const std::string& path) const;
  // Its own name, or that of the next folder above whose name says something of the model.
  std::string name() const override;
  // Also a link that leads nowhere counts: to open it fails, with its name.
  bool has(const std::string& file) override;
  Result<std::unique_ptr<ByteSource>> open(const std::string& file) override;

 private:
  explicit DiskFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace sluice::cli
