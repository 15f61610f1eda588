// The files of a hub's repository that a conversion reads, in the cache. All are of one commit.
//
// Each is an entry of the cache under the address that its commit has, HUB/OWNER/REPO/resolve/
// COMMIT/FILE. What keeps them together is the page of the commit, HUB/OWNER/REPO/tree/COMMIT, in
// the journals. A server that doesn't tell the commit has the revision in its place.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "pull/address.h"
#include "pull/hub.h"
#include "pull/lock.h"
#include "pull/pull.h"

namespace sluice::pull {

struct Repository {
  std::string repo;                          // the last part of its name
  std::map<std::string, std::string> paths;  // on the disk, by the file's name in the repository
  std::vector<Lock> locks;                   // shared: keeps the files from being removed
};

// Gets all files but the weights before those are downloaded. Its error ends the download.
using AcceptSource = std::function<Status(const Repository&)>;

// Makes sure that the files are in the cache and valid: the weights in safetensors, config.json,
// tokenizer.json, and what else of a tokenizer's and a config's files there is. Uses no network if
// they are; with `refresh` it asks which commit the revision is now. Where that has changed, files
// of the earlier commit with the same sha256 are kept, and the others removed. Fails with
// invalid_argument if `text` names no repository, or one that can't be converted, and says what it
// has instead; with bad_file if its index of the weights can't be used; as accept(), which may be
// empty; else as obtain().
Result<Repository> obtain_repository(const Settings& settings, std::string_view text, bool refresh,
                                     const AcceptSource& accept = {});

// --- for the cache's commands --------------------------------------------------------------------

// The name under which the cache finds a repository's source: like hub_name(), but of no model.
std::string source_name(const std::string& hub, const Address& of);
// The page of a revision or commit.
std::string source_page(const std::string& hub, const Address& of);
// hf:OWNER/REPO[@REVISION] of a source_name(), whose source has this page; "" if it is none.
std::string shown_source(std::string_view page, std::string_view name);

// --- what is chosen ------------------------------------------------------------------------------

struct Sources {
  std::vector<std::string> names;  // all but the weights
  bool sharded = false;            // the last name is that of the index of the weights
};
// Chooses among all files of a repository. Fails with invalid_argument.
Result<Sources> choose_sources(const std::vector<HubFile>& files, const Address& of);
// The names of the shards in an index (model.safetensors.index.json), each once, in their order.
// Fails with bad_file, also of names that are no plain file names of safetensors, and of a shard
// that isn't among the files.
Result<std::vector<std::string>> read_index(std::string_view json,
                                            const std::vector<HubFile>& files);

}  // namespace sluice::pull
