// A folder on disk, as core/files reads it.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "base/result.h"
#include "files/folder.h"

namespace sluice::cli {

class DiskFolder final : public Folder {
 public:
  // Fails with bad_file if there is no folder at `path`.
  static Result<DiskFolder> at(const std::string& path);
  std::string name() const override;
  bool has(const std::string& file) override;
  Result<std::unique_ptr<ByteSource>> open(const std::string& file) override;

 private:
  explicit DiskFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace sluice::cli
