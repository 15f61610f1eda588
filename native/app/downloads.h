// What the commands need of pull/: its settings, and the line that shows a download's progress.
#pragma once

#include "app/model.h"
#include "pull/pull.h"

namespace sluice::cli {

// From the options and the environment: HF_ENDPOINT, HF_TOKEN, XDG_CACHE_HOME. Fails with
// invalid_argument.
Result<pull::Settings> download_settings(const DownloadOptions& options);
// The hashes and the refresh of the options. Fails with invalid_argument.
Result<pull::Wish> wish_of(const DownloadOptions& options, bool check);

// The headers of the files at an address, and nothing else of them.
Result<ModelHeader> read_headers(const pull::Settings& settings, const pull::Located& located);
// pull::obtain. wish.accept is asked about split models, too.
Result<pull::Pulled> obtain_checked(const pull::Settings& settings, pull::Located located,
                                    const pull::Wish& wish);
// Says which file of a repository is taken, if none was named.
void note_choice(const pull::Located& located);

}  // namespace sluice::cli
