// A hub's repository as a folder that core/files reads: its files are downloaded into the cache.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "app/model.h"
#include "base/result.h"
#include "files/convert/folder.h"

namespace sluice::cli {

class HubFolder final : public Folder {
 public:
  // Of the repository at an address (model_name.h, as_address()). Downloads what the cache lacks of
  // the files that a conversion reads, and shows the progress on a terminal's stderr; with `tells`
  // a signal that ends the program meanwhile says what is kept. `accept` sees all files but the
  // weights before those are downloaded, and its error ends the download. Of the options --sha256
  // doesn't fit. Fails as pull::obtain_repository() does.
  static Result<HubFolder> at(const std::string& address, const DownloadOptions& options,
                              bool tells, const std::function<Status(Folder&)>& accept);
  std::string name() const override { return name_; }
  bool has(const std::string& file) override { return paths_.contains(file); }
  Result<std::unique_ptr<ByteSource>> open(const std::string& file) override;

 private:
  HubFolder(std::string name, std::map<std::string, std::string> paths)
      : name_(std::move(name)), paths_(std::move(paths)) {}

  std::string name_;                          // REPO
  std::map<std::string, std::string> paths_;  // on the disk, by the file's name in the repository
  std::shared_ptr<const void> hold_;          // keeps the files in the cache from being removed
};

}  // namespace sluice::cli
