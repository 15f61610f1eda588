#include "pull/pull.h"

#include <algorithm>
#include <cctype>
#include <deque>
#include <functional>
#include <optional>
#include <utility>

#include "base/format.h"
#include "pull/block_file.h"
#include "pull/cache.h"
#include "pull/download.h"
#include "pull/header_check.h"
#include "pull/journal.h"
#include "pull/repository.h"
#include "pull/same_file.h"
#include "pull/text.h"

namespace sluice::pull {
namespace {

constexpr size_t kMaxListPage = 32 << 20;
constexpr int kMaxPages = 20;
constexpr double kListPatience = 10;  // seconds; the file can be had without the list
constexpr uint64_t kHeaderPiece = 4 << 20;
constexpr int kMaxRounds = 4;  // of repairing blocks, or of files that change during the download
constexpr double kRateSeconds = 5;

// Keeps the client's and the download's reports together.
class Reporter {
 public:
  Reporter(const Settings& settings, std::string name, int part, int parts) : settings_(settings) {
    state_.name = std::move(name);
    state_.part = part;
    state_.parts = parts;
  }
  void loaded(uint64_t loaded, uint64_t total, uint64_t kept, bool checking) {
    const double now = now_seconds();
    if (checking != state_.checking) samples_.clear();
    state_.checking = checking;
    state_.loaded = loaded;
    state_.total = total;
    state_.kept = kept;
    samples_.emplace_back(now, loaded);
    while (samples_.size() > 2 && samples_.front().first < now - kRateSeconds) samples_.pop_front();
    const double seconds = now - samples_.front().first;
    const uint64_t before = samples_.front().second;
    state_.rate =
        seconds > 0.2 && loaded > before ? static_cast<double>(loaded - before) / seconds : 0;
    show();
  }
  void waiting(const std::string& why) {
    if (why == state_.waiting) return;
    state_.waiting = why;
    show();
  }

 private:
  void show() {
    if (settings_.progress) settings_.progress(state_);
  }
  const Settings& settings_;
  Progress state_;
  std::deque<std::pair<double, uint64_t>> samples_;
};

void say(const Settings& settings, const std::string& text) {
  if (settings.note) settings.note(text);
}

// Says once why it waits.
class WaitNote {
 public:
  explicit WaitNote(const Settings& settings) : settings_(settings) {}
  void operator()() {
    if (!std::exchange(said_, true))
      say(settings_, "another process is downloading this model; waiting for it");
  }

 private:
  const Settings& settings_;
  bool said_ = false;
};

std::string without_query(const std::string& url) { return url.substr(0, url.find('?')); }

// The addresses of all parts, if it is one of a split model.
std::vector<std::string> all_parts(const std::string& url) {
  const std::string path = without_query(url);
  const auto split = split_of(path);
  if (!split) return {url};
  std::vector<std::string> urls;
  for (int part = 1; part <= split->parts; ++part)
    urls.push_back(shard(path, part) + url.substr(path.size()));
  return urls;
}

// Downloads one file of a model.
class Obtain {
 public:
  Obtain(const Settings& settings, Located& model, const Wish& wish, size_t index)
      : model_(model),
        wish_(wish),
        url_(model.urls[index]),
        index_(index),
        sha256_(index < wish.sha256.size() ? lower(wish.sha256[index]) : ""),
        settings_(settings),
        reporter_(settings_, file_name(url_), static_cast<int>(index) + 1,
                  static_cast<int>(model.urls.size())) {
    settings_.client.waiting = [this](const std::string& why) { reporter_.waiting(why); };
  }

  Result<PulledFile> run(std::vector<Lock>& locks) {
    const EntryPaths paths(settings_.directory, key_of(url_));
    WaitNote waiting(settings_);
    std::optional<Lock> held;
    while (!held) {
      bool whole = false;
      if (!wish_.refresh) {
        SLUICE_ASSIGN(Lock lock, Lock::take(paths.lock, Hold::shared, std::ref(waiting)));
        SLUICE_ASSIGN(auto file, BlockFile::open_to_read(settings_.directory, url_));
        SLUICE_ASSIGN(const bool good, is_good(file));
        if (good) {
          locks.push_back(std::move(lock));
          return result(*file);
        }
        if (model_.kept_only && (!file || !file->complete()))
          return not_whole(file ? &*file : nullptr);
        whole = file && file->finished();
      }
      SLUICE_ASSIGN(held, Lock::try_take(paths.lock, Hold::exclusive));
      if (held) break;
      Lock::pause(std::ref(waiting));
      // Another process that completes the file may use it for hours. But one that is whole and
      // isn't good isn't read again and again.
      if (whole) {
        SLUICE_ASSIGN(held, Lock::take(paths.lock, Hold::exclusive, std::ref(waiting)));
      }
    }
    Lock lock = std::move(*held);
    SLUICE_ASSIGN(BlockFile file, BlockFile::open_to_write(settings_.directory, url_));
    if (wish_.refresh && file.complete()) {
      SLUICE_ASSIGN(const bool current, is_current(file));
      if (!current) {
        say(settings_, concat(printable(file_name(url_)), " has changed on the server"));
        SLUICE_TRY(file.reset());
      }
    }
    SLUICE_TRY(fill(file, lock));
    lock.share();
    locks.push_back(std::move(lock));
    return result(file);
  }

 private:
  // For a file that must not be downloaded now.
  std::unexpected<Error> not_whole(const BlockFile* file) const {
    const std::string name = printable(file_name(url_), 200);
    const uint64_t total = file != nullptr ? file->total() : 0;
    return fail(Code::bad_file, "the cache has ",
                file != nullptr ? human_bytes(file->stored()) : "nothing", total == 0 ? "" : " of ",
                total == 0 ? "" : human_bytes(total), " of ", name, "; sluice pull ",
                printable(url_, 4096), " downloads the rest");
  }

  PulledFile result(const BlockFile& file) const {
    return {file.path(), file.total(), file.meta().verified ? file.meta().sha256 : "", url_};
  }

  // True if the file is complete, has the hash that is asked for, and its blocks are as they were
  // written. Notes that it was used.
  Result<bool> is_good(std::optional<BlockFile>& file) {
    if (!file || !file->finished() || needs_sum(*file)) return false;
    if (wish_.check) {
      SLUICE_ASSIGN(const auto damaged, check(*file, false, nullptr));
      if (!damaged.empty()) return false;
    }
    note_use(*file);
    return true;
  }

  void add_name(Meta& meta) const {
    if (!model_.name.empty() && std::ranges::find(meta.names, model_.name) == meta.names.end())
      meta.names.push_back(model_.name);
  }

  void join_set(Meta& meta) const {
    const bool is_source = !model_.page.empty();
    meta.source = is_source;
    meta.set = is_source ? model_.page : model_.urls.size() > 1 ? model_.urls[0] : "";
    meta.part = static_cast<int>(index_) + 1;
    meta.parts = is_source ? model_.files : static_cast<int>(model_.urls.size());
  }

  void note_use(BlockFile& file) const {
    Meta meta = file.meta();
    meta.used = now_ms();
    add_name(meta);
    if (!model_.page.empty()) join_set(meta);  // more is known of it than when the file was begun
    // A cache that can't be written to can still be read.
    [[maybe_unused]] const Status written = file.note(meta);
  }

  std::string wanted_sum(const BlockFile& file) const {
    return sha256_.empty() ? file.meta().sha256 : sha256_;
  }
  bool needs_sum(const BlockFile& file) const {
    const std::string wanted = wanted_sum(file);
    return !wanted.empty() && !(file.meta().verified && file.meta().sha256 == wanted);
  }

  Result<std::vector<uint64_t>> check(BlockFile& file, bool clear, PassingSum* sum) {
    double shown = 0;
    return file.check(clear, sum, [&](uint64_t read) {
      const double now = now_seconds();
      if (now < shown + 0.1) return;
      shown = now;
      reporter_.loaded(std::min(read, file.total()), file.total(), file.stored(), true);
    });
  }

  // What the hub's list says of this file; nothing if it has no list.
  Result<std::optional<HubFile>> listed() {
    if (!model_.address.on_hub()) return std::nullopt;
    if (model_.list.empty()) {
      Client client = settings_.client;
      client.retry_seconds = std::min(client.retry_seconds, kListPatience);
      long status = 0;
      auto list = fetch_list(client, model_.address, &status);
      if (!list) {
        if (status == 401 || status == 404) return std::unexpected(std::move(list).error());
        say(settings_, concat("the hub's list can't be had, so the file's sha256 is unknown: ",
                              list.error().message));
        return std::nullopt;
      }
      model_.list = std::move(*list);
    }
    for (const HubFile& file : model_.list) {
      if (hub_file(settings_.client.hub, model_.address, file.path) == url_) return file;
    }
    return std::nullopt;
  }

  // Asks the server whether the cached file is what it has now.
  Result<bool> is_current(const BlockFile& file) {
    const Meta& meta = file.meta();
    if (model_.address.on_hub() && !meta.sha256.empty()) {
      model_.list.clear();
      SLUICE_ASSIGN(const auto now, listed());
      if (now && !now->sha256.empty()) return now->sha256 == meta.sha256;
    }
    SLUICE_ASSIGN(const Response response, fetch(settings_.client, url_, Range{0, 0},
                                                 [](const auto&, auto) { return false; }));
    return is_same_file(meta, response,
                        response.range ? response.range->total : response.length.value_or(0));
  }

  // Writes the journal before the first byte.
  Status begin(BlockFile& file, uint64_t& expected) {
    Meta meta = file.meta();
    join_set(meta);
    if (file.stored() == 0 && sha256_.empty()) {
      SLUICE_ASSIGN(const auto known, listed());
      if (known) {
        meta.sha256 = known->sha256;
        expected = known->bytes;
      }
    }
    if (!sha256_.empty()) meta.sha256 = sha256_;
    meta.verified = false;
    add_name(meta);
    return file.note(meta);
  }

  Status fill(BlockFile& file, Lock& lock) {
    const std::string name = printable(file_name(url_), 200);
    for (int round = 0; round < kMaxRounds; ++round) {
      PassingSum sum;
      if (!file.complete()) {
        if (model_.kept_only) return not_whole(&file);
        const bool fresh = file.stored() == 0;
        HeaderCheck header(url_, model_.urls.size() == 1 ? wish_.accept : nullptr);
        const bool has_header = !wish_.force && model_.page.empty();
        const Result<bool> same = download_missing(file, sum, has_header ? &header : nullptr);
        // Without a first byte the address may be mistyped.
        if (!same && (file.stored() == 0 || (fresh && header.refused()))) drop(lock);
        if (!same) return std::unexpected(same.error());
        if (!*same) continue;
      }
      const bool summing = needs_sum(file);
      if (wish_.check || summing || !file.finished()) {
        SLUICE_ASSIGN(const auto damaged, check(file, true, summing ? &sum : nullptr));
        if (!damaged.empty()) {
          say(settings_, concat("the cache has ", counted(damaged.size(), "damaged block"), " of ",
                                name, model_.kept_only ? "" : "; fetching again"));
          continue;
        }
      }
      if (summing) SLUICE_TRY(compare(file, sum.hex(), lock));
      SLUICE_TRY(file.finish());
      note_use(file);
      return {};
    }
    return with_facts(
        fail(Code::download_failed, "can't download ", printable(without_query(url_), 300),
             ": the file changes on the server or on the disk while it comes; try again later"),
        facts_of(url_, {}));
  }

  // False: the server's file has changed, and the stored blocks are dropped.
  Result<bool> download_missing(BlockFile& file, PassingSum& sum, HeaderCheck* header) {
    uint64_t expected = 0;
    SLUICE_TRY(begin(file, expected));
    SLUICE_TRY(file.check_room());
    SLUICE_ASSIGN(
        const Outcome outcome,
        download(settings_.client, file, expected, sum, header, [&](const Downloaded& state) {
          reporter_.loaded(state.bytes, state.total, state.kept, false);
        }));
    if (outcome == Outcome::complete) {
      if (header != nullptr) SLUICE_TRY(header->end(file.total()));
      return true;
    }
    say(settings_, concat(printable(file_name(url_)),
                          " has changed on the server since its download began; beginning again"));
    model_.list.clear();
    SLUICE_TRY(file.reset());
    return false;
  }

  // Removes the entry's files.
  void drop(Lock& lock) {
    const EntryPaths paths(settings_.directory, key_of(url_));
    for (const std::string& path : paths.removed()) std::remove(path.c_str());
    lock.remove_file();
  }

  Status compare(BlockFile& file, const std::string& found, Lock& lock) {
    const std::string wanted = wanted_sum(file);
    Meta meta = file.meta();
    if (found == wanted) {
      meta.sha256 = wanted;
      meta.verified = true;
      return file.note(meta);
    }
    // A wrong --sha256 doesn't cost a file that was compared with another one, or that was whole
    // before and had none.
    const bool keeps = meta.sha256.empty() || (meta.verified && meta.sha256 == found);
    if (!keeps) drop(lock);
    return with_facts(
        fail(Code::download_corrupt, printable(without_query(url_), 300), " has the sha256 ", found,
             ", expected ", wanted,
             keeps ? "; the file stays as it was: check --sha256, or remove it with sluice cache "
                     "delete"
                   : "; the bytes were dropped. Try again, and if it happens again, check the "
                     "address and --sha256"),
        {{"url", printable(without_query(url_), 300)},
         {"expectedSha256", wanted},
         {"foundSha256", found}});
  }

  Located& model_;
  const Wish& wish_;
  const std::string url_;
  const size_t index_;
  const std::string sha256_;  // that the user expects, or ""
  Settings settings_;
  Reporter reporter_;
};

}  // namespace

Result<std::vector<HubFile>> fetch_list(const Client& client, const Address& address,
                                        long* status) {
  std::vector<HubFile> files;
  std::string url = list_url(client.hub, address);
  for (int page = 0; page < kMaxPages && !url.empty(); ++page) {
    SLUICE_ASSIGN(const auto answer, fetch_text(client, url, kMaxListPage, status));
    auto more = read_list(answer.second);
    if (!more) return with_facts(NewError(std::move(more).error()), facts_of(url, {}));
    files.insert(files.end(), std::make_move_iterator(more->begin()),
                 std::make_move_iterator(more->end()));
    url = next_page(answer.first.link);
    // A next page at another origin isn't the hub's.
    if (!url.empty() && origin_of(url) != client.hub) break;
  }
  return files;
}

Result<Located> locate(const Settings& settings, std::string_view text, bool refresh) {
  const std::string& hub = settings.client.hub;
  Located model;
  SLUICE_ASSIGN(model.address, parse_address(text, hub));
  if (model.address.on_hub()) model.name = hub_name(hub, model.address);
  std::string url = model.address.url;
  if (url.empty() && !refresh) url = find_named(settings.directory, model.name).value_or("");
  if (url.empty()) {
    Reporter reporter(settings,
                      concat("the list of ", model.address.owner, "/", model.address.repo), 1, 1);
    Client client = settings.client;
    client.waiting = [&](const std::string& why) { reporter.waiting(why); };
    auto list = fetch_list(client, model.address);
    if (!list && find_named(settings.directory, source_name(hub, model.address))) {
      const std::string name = printable(text, 300);
      return fail(Code::bad_file, "the cache has ", name,
                  " as the source of a conversion, which can't be run; make a model of it first: "
                  "sluice convert ",
                  name, " OUT.gguf (the hub's list can't be had: ", list.error().message, ")");
    }
    if (!list) return std::unexpected(std::move(list).error());
    model.list = std::move(*list);
    SLUICE_ASSIGN(model.chosen, choose_file(model.list, model.address));
    url = hub_file(hub, model.address, model.chosen.path);
  }
  model.urls = all_parts(url);
  return model;
}

bool is_cached(const Settings& settings, const Located& model) {
  return std::ranges::all_of(model.urls, [&](const std::string& url) {
    const auto file = BlockFile::open_to_read(settings.directory, url);
    return file && *file && (*file)->finished();
  });
}

Result<Pulled> obtain(const Settings& settings, Located model, const Wish& wish) {
  if (!wish.sha256.empty() && wish.sha256.size() != model.urls.size()) {
    return fail(Code::invalid_argument, "--sha256 gives ", counted(wish.sha256.size(), "hash"),
                ", but the model has ", counted(model.urls.size(), "file"),
                "; give one for each, with commas between them");
  }
  SLUICE_TRY(make_cache_directory(settings.directory));
  Pulled pulled;
  for (size_t i = 0; i < model.urls.size(); ++i) {
    SLUICE_ASSIGN(PulledFile file, Obtain(settings, model, wish, i).run(pulled.locks));
    pulled.files.push_back(std::move(file));
  }
  return pulled;
}

Result<uint64_t> read_beginning(const Settings& settings, const Located& model, size_t index,
                                const std::function<bool(std::span<const uint8_t>)>& take) {
  const std::string& url = model.urls[index];
  SLUICE_ASSIGN(auto file, BlockFile::open_to_read(settings.directory, url));
  bool more = true;
  uint64_t at = 0;
  if (file && file->finished()) {
    std::vector<uint8_t> bytes;
    for (uint64_t block = 0; block < file->n_blocks() && more; ++block) {
      SLUICE_ASSIGN(const bool good, file->read(block, bytes));
      if (!good) break;  // the network may have it
      more = take(bytes);
      at += bytes.size();
    }
    if (!more || at == file->total()) return file->total();
  }
  if (model.kept_only)
    return fail(Code::bad_file, "the cache has not all of ", printable(file_name(url), 200),
                "; sluice pull ", printable(url, 4096), " downloads the rest");
  uint64_t total = 0;
  while (more && (total == 0 || at < total)) {
    // After a lost connection the request starts again; bytes that `take` had are skipped.
    uint64_t came = 0;
    const uint64_t first = at;
    const auto body = [&](const Response& response, std::span<const uint8_t> bytes) {
      const bool whole = response.status == 200;
      if (!whole && (!response.range || response.range->first != first)) return false;
      total = whole ? response.length.value_or(0) : response.range->total;
      const uint64_t place = (whole ? 0 : first) + came;
      came += bytes.size();
      const uint64_t known = std::min<uint64_t>(at > place ? at - place : 0, bytes.size());
      const auto fresh = bytes.subspan(static_cast<size_t>(known));
      at += fresh.size();
      if (!fresh.empty()) more = take(fresh);
      return more;
    };
    SLUICE_TRY(fetch(settings.client, url, Range{first, first + kHeaderPiece - 1}, body,
                     [&] { came = 0; }));
    if (at == first) {
      return with_facts(
          fail(Code::download_failed, "can't read the header of ",
               printable(without_query(url), 300), ": the server sent other bytes than asked for"),
          facts_of(url, {}));
    }
  }
  return total;
}

}  // namespace sluice::pull
