// Downloads for the commands: settings of pull/, and a status line with the progress.
#pragma once

#include "app/model.h"
#include "pull/pull.h"

namespace sluice::cli {

// From the options and the environment: HF_ENDPOINT, HF_TOKEN, XDG_CACHE_HOME. Fails with
// invalid_argument.
Result<pull::Settings> download_settings(const DownloadOptions& options);
// pull::Wish with the hashes and the refresh of the options. Fails with invalid_argument.
Result<pull::Wish> wish_of(const DownloadOptions& options, bool check);

// Reads the headers of the files at an address, and no more of them.
Result<ModelHeader> read_headers(const pull::Settings& settings, const pull::Located& located);
// pull::obtain() that calls wish.accept for split models, too.
Result<pull::Pulled> obtain_checked(const pull::Settings& settings, pull::Located located,
                                    const pull::Wish& wish);
// From now on a signal that ends a download says how much of it is kept, until set_farewell("").
void say_what_is_kept(pull::Settings& settings);
// Prints which file of a repository is used, if none was named.
void note_choice(const pull::Located& located);

}  // namespace sluice::cli
