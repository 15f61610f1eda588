#include "pull/repository.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "base/format.h"
#include "base/parse_json.h"
#include "pull/block_file.h"
#include "pull/cache.h"
#include "pull/http.h"
#include "pull/same_file.h"
#include "pull/text.h"

namespace sluice::pull {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kConfig = "config.json";
constexpr std::string_view kTokenizer = "tokenizer.json";
constexpr std::string_view kWeights = "model.safetensors";
constexpr std::string_view kShardIndex = "model.safetensors.index.json";
// Taken if they are there.
constexpr std::array<std::string_view, 9> kOptional = {
    "tokenizer_config.json", "tokenizer.model",       "generation_config.json",
    "chat_template.jinja",   "chat_template.json",    "special_tokens_map.json",
    "modules.json",          "1_Pooling/config.json", "sentence_bert_config.json"};
constexpr uint64_t kMaxIndex = 64 << 20;
constexpr size_t kMostNamed = 8;  // files in a message

const HubFile* find(const std::vector<HubFile>& files, std::string_view name) {
  const auto found = std::ranges::find(files, name, &HubFile::path);
  return found == files.end() ? nullptr : &*found;
}

std::string repo_of(const Address& of) {
  return concat("hf:", of.owner, "/", of.repo,
                of.revision == "main" ? "" : concat("@", printable(of.revision)));
}

// The names of the files that `fits`, for a message: "a, b, ...". "": none.
template <typename Fits>
std::string names_of(const std::vector<HubFile>& files, const Fits& fits) {
  std::string out;
  size_t n = 0;
  for (const HubFile& file : files) {
    if (!fits(file.path)) continue;
    if (n++ < kMostNamed) out += concat(n == 1 ? "" : ", ", printable(file.path, 120));
  }
  return n > kMostNamed ? out + ", ..." : out;
}

// Why a repository without safetensors can't be converted, and what to do with it.
std::string without_weights(const std::vector<HubFile>& files, const std::string& repo) {
  const auto ends = [](std::string_view end) {
    return [end](std::string_view path) { return lower(path).ends_with(end); };
  };
  if (!names_of(files, ends(".gguf")).empty()) {
    return concat(repo, " has GGUF files, which need no conversion: sluice run ", repo,
                  " uses one at once");
  }
  const std::string pickled = names_of(files, [](std::string_view path) {
    return path.ends_with(".bin") || path.ends_with(".pt") || path.ends_with(".pth");
  });
  if (!pickled.empty()) {
    return concat(repo, " has its weights only in ", pickled,
                  ", which is Python's pickle and may "
                  "run code when it is read; expected model.safetensors. Look for the model with "
                  "safetensors, or save it so with transformers: save_pretrained(DIR)");
  }
  const std::string all = names_of(files, [](std::string_view) { return true; });
  return concat(repo, " has no weights in safetensors; expected model.safetensors or ", kShardIndex,
                all.empty() ? ", and there are no files" : ", and there are ", all,
                "; look for a repository that has them");
}

// The files of a source that the cache has.
struct Known {
  std::string page;
  std::vector<Cached> files;  // in the order of their parts
  bool whole() const {
    return !files.empty() && files.size() == static_cast<size_t>(files[0].meta.parts) &&
           std::ranges::all_of(files, &Cached::complete);
  }
};

Result<std::optional<Known>> find_known(const std::string& directory, const std::string& name) {
  const auto page = find_named(directory, name);
  if (!page) return std::nullopt;
  Known known{*page, {}};
  SLUICE_ASSIGN(auto entries, list_cache(directory));
  for (Cached& entry : entries) {
    if (entry.unreadable.empty() && entry.meta.source && entry.meta.set == *page)
      known.files.push_back(std::move(entry));
  }
  if (known.files.empty()) return std::nullopt;
  std::ranges::sort(known.files, {}, [](const Cached& file) { return file.meta.part; });
  return known;
}

// The name in its repository of a file of a page: /resolve/ and a slash are in place of /tree/.
// Names need no encoding.
std::string name_in(std::string_view page, std::string_view address) {
  const size_t prefix = page.size() + 4;
  return std::string(address.size() > prefix ? address.substr(prefix) : "");
}

// The settings for requests beside the files: what they wait for is shown.
Client client_of(const Settings& settings, const Address& of) {
  Client client = settings.client;
  client.waiting = [&settings,
                    name = concat("the list of ", of.owner, "/", of.repo)](const std::string& why) {
    Progress progress;
    progress.name = name;
    progress.waiting = why;
    if (settings.progress) settings.progress(progress);
  };
  return client;
}

// The commit that a revision is now; the revision if the server doesn't tell it. A repository
// without config.json isn't asked: `lacks_config`.
Result<std::string> commit_of(const Client& client, const Address& address, bool& lacks_config) {
  if (is_commit(address.revision)) return address.revision;
  long status = 0;
  const auto answer = fetch(
      client, hub_file(client.hub, address, kConfig), Range{0, 0},
      [](const auto&, auto) { return false; }, {}, &status);
  lacks_config = !answer && status == 404;
  if (lacks_config) return address.revision;
  if (!answer) return std::unexpected(answer.error());
  return is_commit(answer->commit) ? answer->commit : address.revision;
}

// Removes a name from an entry that has others, too. False: it has no other.
bool keeps_without(const std::string& directory, const Cached& entry, const std::string& name) {
  if (entry.meta.names.size() < 2 && !entry.meta.pinned) return false;
  const auto lock = Lock::try_take(EntryPaths(directory, entry.key).lock, Hold::exclusive);
  if (!lock || !*lock) return true;
  auto file = BlockFile::open_to_write(directory, entry.meta.address);
  if (!file) return true;
  Meta meta = file->meta();
  std::erase(meta.names, name);
  [[maybe_unused]] const Status noted = file->note(meta);
  return true;
}

// Gives an entry another address and page, unless a process uses one of the two entries.
void move_entry(const std::string& directory, const Cached& entry, const std::string& address,
                const std::string& page) {
  auto from = Lock::try_take(EntryPaths(directory, entry.key).lock, Hold::exclusive);
  if (!from || !*from) return;
  const auto to = Lock::try_take(EntryPaths(directory, key_of(address)).lock, Hold::exclusive);
  if (!to || !*to) return;
  auto there = BlockFile::open_to_read(directory, address);
  if (!there || *there) return;
  auto file = BlockFile::open_to_write(directory, entry.meta.address);
  if (!file || !file->finished()) return;
  Meta moved = file->meta();
  moved.address = address;
  moved.set = page;
  if (file->move_to(moved)) (*from)->remove_file();
}

// The name means another commit now: files of the old one that the new one has, too, move to it.
// The others are removed, unless another name means them.
void leave(const Settings& settings, const Known& old, const Located& now) {
  const std::string& directory = settings.directory;
  for (const Cached& entry : old.files) {
    if (keeps_without(directory, entry, now.name)) continue;
    const HubFile* file = find(now.list, name_in(old.page, entry.meta.address));
    const bool same = file != nullptr && entry.complete && entry.meta.verified &&
                      !file->sha256.empty() && file->sha256 == entry.meta.sha256;
    if (same) {
      move_entry(directory, entry, hub_file(settings.client.hub, now.address, file->path),
                 now.page);
    } else {
      [[maybe_unused]] const auto removed = remove_entry(directory, entry.key);
    }
  }
}

Result<std::string> read_index_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string bytes(kMaxIndex + 1, '\0');
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<size_t>(in.gcount()));
  if (in.bad() || bytes.size() > kMaxIndex) {
    return fail(Code::bad_file, "can't read ", kShardIndex, " of at most ", human_bytes(kMaxIndex),
                "; use another repository");
  }
  return bytes;
}

// Sets the addresses of files of the commit.
void set_files(const Settings& settings, const std::vector<std::string>& names, Located& located) {
  located.urls.clear();
  for (const std::string& name : names)
    located.urls.push_back(hub_file(settings.client.hub, located.address, name));
  located.files = static_cast<int>(names.size());
}

// Before the first of many files: storage_full if not all of them have room.
Status check_room(const Settings& settings, const std::vector<std::string>& names,
                  const Located& located) {
  uint64_t missing = 0;
  for (size_t i = 0; i < names.size(); ++i) {
    const HubFile* listed = find(located.list, names[i]);
    if (listed == nullptr) continue;
    const auto file = BlockFile::open_to_read(settings.directory, located.urls[i]);
    const uint64_t stored = file && *file ? (*file)->stored() : 0;
    missing += std::min(listed->bytes - std::min(stored, listed->bytes), UINT64_MAX - missing);
  }
  if (!make_room(settings.directory, missing))
    return std::unexpected(no_room(settings.directory, missing));
  return {};
}

// The files of a page that were pulled.
Repository repository_of(const Address& address, const std::string& page, Pulled pulled) {
  Repository out;
  out.repo = address.repo;
  for (const PulledFile& file : pulled.files)
    out.paths.emplace(name_in(page, file.address), file.path);
  out.locks = std::move(pulled.locks);
  return out;
}

// The names of the weights' files; all other files are there.
Result<std::vector<std::string>> weights_of(const Located& located, const Sources& sources,
                                            const Repository& others) {
  if (!sources.sharded) return std::vector<std::string>{std::string(kWeights)};
  SLUICE_ASSIGN(const std::string index,
                read_index_text(others.paths.at(std::string(kShardIndex))));
  auto shards = read_index(index, located.list);
  if (shards && sources.names.size() + shards->size() > kMaxParts) {
    return fail(Code::bad_file, kShardIndex, " names ", shards->size(), " shards; at most ",
                kMaxParts - sources.names.size(), " are taken; use another repository");
  }
  return shards;
}

// Downloads what is missing: first all but the weights, whose names an index has. If they are
// refused and `is_new`, nothing of them is kept.
Result<Pulled> obtain_chosen(const Settings& settings, Located located, const Sources& sources,
                             const Wish& wish, const AcceptSource& accept, bool is_new) {
  std::vector<std::string> names = sources.names;
  set_files(settings, names, located);
  ++located.files;  // or more: they don't count as whole yet
  Result<std::vector<std::string>> weights;
  {
    SLUICE_ASSIGN(Pulled pulled, obtain(settings, located, wish));
    const Repository others = repository_of(located.address, located.page, std::move(pulled));
    const Status fine = accept ? accept(others) : Status();
    weights = fine ? weights_of(located, sources, others) : std::unexpected(fine.error());
  }  // without the locks
  if (!weights) {
    for (const std::string& url : located.urls) {
      if (!is_new) break;
      [[maybe_unused]] const auto removed = remove_entry(settings.directory, key_of(url));
    }
    return std::unexpected(weights.error());
  }
  names.insert(names.end(), weights->begin(), weights->end());
  set_files(settings, names, located);
  SLUICE_TRY(check_room(settings, names, located));
  return obtain(settings, std::move(located), wish);
}

}  // namespace

std::string source_name(const std::string& hub, const Address& of) {
  // No selector is a slash.
  return concat(hub, "/", of.owner, "/", of.repo, "@", of.revision, ":/");
}

std::string source_page(const std::string& hub, const Address& of) {
  std::string page = hub_file(hub, of, "");
  return page.replace(hub.size() + of.owner.size() + of.repo.size() + 2, 9, "/tree/");
}

std::string shown_source(std::string_view page, std::string_view name) {
  const size_t end = page.rfind("/tree/");
  if (end == std::string_view::npos || end == 0 || !name.ends_with(":/")) return "";
  const size_t slash = page.rfind('/', end - 1);
  const size_t owner = slash == std::string_view::npos ? slash : page.rfind('/', slash - 1);
  if (owner == std::string_view::npos || !name.starts_with(concat(page.substr(0, end), "@")))
    return "";
  const std::string_view revision = name.substr(end + 1, name.size() - end - 3);
  return concat("hf:", page.substr(owner + 1, end - owner - 1), revision == "main" ? "" : "@",
                revision == "main" ? "" : revision);
}

Result<Sources> choose_sources(const std::vector<HubFile>& files, const Address& of) {
  const std::string repo = repo_of(of);
  Sources sources;
  sources.sharded = find(files, kWeights) == nullptr;
  const std::string_view weights = sources.sharded ? kShardIndex : kWeights;
  if (find(files, weights) == nullptr)
    return fail(Code::invalid_argument, without_weights(files, repo));
  for (const std::string_view needed : {kConfig, kTokenizer}) {
    if (find(files, needed) != nullptr) {
      sources.names.emplace_back(needed);
      continue;
    }
    const bool is_config = needed == kConfig;
    const std::string others = names_of(files, [&](std::string_view path) {
      return is_config ? path.ends_with(".json")
                       : path.starts_with("tokenizer") || path.starts_with("vocab") ||
                             path.starts_with("merges") || path.starts_with("spiece");
    });
    return fail(Code::invalid_argument, repo, " has no ", needed, ", which tells ",
                is_config ? "what the model is" : "its tokens", others.empty() ? "" : "; it has ",
                others, "; look for a repository that has it",
                is_config ? ""
                          : ", or save it with transformers: AutoTokenizer.from_pretrained("
                            "..).save_pretrained(DIR)");
  }
  for (const std::string_view other : kOptional) {
    const HubFile* file = find(files, other);
    // An empty one says nothing, and can't be downloaded.
    if (file != nullptr && file->bytes > 0) sources.names.emplace_back(other);
  }
  if (sources.sharded) sources.names.emplace_back(kShardIndex);
  return sources;
}

Result<std::vector<std::string>> read_index(std::string_view text,
                                            const std::vector<HubFile>& files) {
  const auto wrong = [](const auto&... parts) {
    return fail(Code::bad_file, kShardIndex, parts..., "; use another repository");
  };
  const Status sound = check_json(text);
  const Json json = sound ? Json::parse(text, nullptr, false) : Json();
  if (!json.is_object())
    return wrong(" is no JSON object", sound ? "" : ": " + sound.error().message);
  const auto map = json.find("weight_map");
  if (map == json.end() || !map->is_object() || map->empty())
    return wrong(" has no weight_map, which names the file of each tensor");
  std::set<std::string> names;
  for (const auto& [tensor, value] : map->items()) {
    if (!value.is_string()) return wrong(" gives no file for ", printable(tensor, 100));
    const auto name = value.template get<std::string>();
    // A name that is found in one folder only.
    if (!is_name(name) || !name.ends_with(".safetensors"))
      return wrong(" names the file ", printable(name, 100), ", expected NAME.safetensors");
    if (names.insert(name).second && find(files, name) == nullptr)
      return wrong(" names the file ", printable(name, 100), ", which the repository doesn't have");
  }
  return std::vector<std::string>(names.begin(), names.end());
}

Result<Repository> obtain_repository(const Settings& settings, std::string_view text, bool refresh,
                                     const AcceptSource& accept) {
  const std::string& hub = settings.client.hub;
  SLUICE_ASSIGN(const Address address, parse_address(text, hub));
  if (!address.on_hub()) {
    return fail(Code::invalid_argument, printable(text, 300),
                " is no repository of a hub; expected hf:OWNER/REPO[@REVISION]");
  }
  if (!address.path.empty() || !address.folder.empty() || !address.type.empty()) {
    return fail(Code::invalid_argument, printable(text, 300),
                " names a part of a repository; a whole one is converted: ", repo_of(address));
  }
  SLUICE_TRY(make_cache_directory(settings.directory));
  Located located;
  located.name = source_name(hub, address);
  located.address = address;
  SLUICE_ASSIGN(const auto known, find_known(settings.directory, located.name));
  Wish wish;
  Pulled pulled;
  std::string page;
  const auto name_commit = [&](const std::string& commit) {
    located.address.revision = commit;
    located.page = source_page(hub, located.address);
  };
  if (known) {  // what it was when it was downloaded
    SLUICE_ASSIGN(const Address then, parse_address(known->page, hub));
    name_commit(then.revision);
  }
  if (known && known->whole() && !refresh) {
    for (const Cached& file : known->files) located.urls.push_back(file.meta.address);
    located.files = static_cast<int>(located.urls.size());
    page = located.page;
    SLUICE_ASSIGN(pulled, obtain(settings, std::move(located), wish));
  } else {
    const Client client = client_of(settings, address);
    // A download that was broken off goes on with its commit, unless the hub has it no more.
    long status = 0;
    bool lacks_config = false;
    if (known && !refresh) {
      auto list = fetch_list(client, located.address, &status);
      if (!list && status != 404) return std::unexpected(std::move(list).error());
      if (list) located.list = std::move(*list);
    }
    if (located.list.empty()) {
      SLUICE_ASSIGN(const std::string commit, commit_of(client, address, lacks_config));
      name_commit(commit);
      SLUICE_ASSIGN(located.list, fetch_list(client, located.address));
    }
    const auto sources = choose_sources(located.list, address);
    if (!sources) return std::unexpected(sources.error());
    if (lacks_config) {
      return fail(Code::download_failed, "the hub lists ", kConfig, " in ", repo_of(address),
                  ", but doesn't have it; try again later");
    }
    if (known && known->page != located.page) leave(settings, *known, located);
    // Files of a commit don't change.
    wish.refresh = refresh && !is_commit(located.address.revision);
    page = located.page;
    SLUICE_ASSIGN(pulled,
                  obtain_chosen(settings, std::move(located), *sources, wish, accept, !known));
  }
  return repository_of(address, page, std::move(pulled));
}

}  // namespace sluice::pull
