#include "app/hub_folder.h"

#include <vector>

#include "app/diagnostics.h"
#include "app/disk_folder.h"
#include "app/downloads.h"
#include "app/file_bytes.h"
#include "app/signals.h"
#include "base/format.h"
#include "pull/repository.h"

namespace sluice::cli {

Result<HubFolder> HubFolder::at(const std::string& address, const DownloadOptions& options,
                                bool tells, const std::function<Status(Folder&)>& accept) {
  if (!options.sha256.empty()) {
    return fail(Code::invalid_argument,
                "--sha256 is for the files of a model; those of a repository are compared with the "
                "hub's list");
  }
  SLUICE_ASSIGN(pull::Settings settings, download_settings(options));
  if (tells) say_what_is_kept(settings);
  auto repository = pull::obtain_repository(settings, address, options.refresh,
                                            [&](const pull::Repository& others) {
                                              HubFolder folder(others.repo, others.paths);
                                              return accept(folder);
                                            });
  set_farewell("");
  erase_status();
  if (!repository) return std::unexpected(std::move(repository).error());
  HubFolder folder(std::move(repository->repo), std::move(repository->paths));
  folder.hold_ = std::make_shared<const std::vector<pull::Lock>>(std::move(repository->locks));
  return folder;
}

Result<std::unique_ptr<ByteSource>> HubFolder::open(const std::string& file) {
  const auto found = paths_.find(file);
  if (found == paths_.end())
    return fail(Code::bad_file, name_, " has no file ", printable(file, 300));
  auto source = DiskFile::open(found->second, kPartOfModel);
  if (source) return std::make_unique<DiskFile>(std::move(*source));
  // The path is a name that says nothing.
  Error error = std::move(source).error();
  error.message = concat(name_, "/", file, ": ", error.message);
  return std::unexpected(std::move(error));
}

}  // namespace sluice::cli
