// What the commands need of pull/: its settings, and the line that shows a download's progress.
#pragma once

#include "model.h"
#include "pull/pull.h"

namespace sluice::cli {

// From the options and the environment: HF_ENDPOINT, HF_TOKEN, XDG_CACHE_HOME. Fails with
// invalid_argument.
Result<pull::Settings> download_settings(const DownloadOptions& options);
// The hashes and the refresh of the options. Fails with invalid_argument.
Result<pull::Wish> wish_of(const DownloadOptions& options, bool check);

}  // namespace sluice::cli
