#include "app/downloads.h"

#include <algorithm>
#include <cstdlib>

#include "app/device.h"
#include "app/diagnostics.h"
#include "app/signals.h"
#include "base/format.h"
#include "gguf/model_parser.h"
#include "pull/address.h"
#include "pull/cache.h"

namespace sluice::cli {
namespace {

std::string text_of(const pull::Progress& p) {
  const std::string name =
      concat(printable(p.name, 40), p.parts > 1 ? concat(" (", p.part, " of ", p.parts, ")") : "");
  std::string text = concat(p.checking ? "checking " : "downloading ", name, " ");
  text += human_bytes(p.loaded);
  if (p.total > 0) {
    text += concat(
        " of ", human_bytes(p.total), " (",
        static_cast<uint64_t>(100.0 * static_cast<double>(p.loaded) / static_cast<double>(p.total)),
        "%)");
  }
  if (p.rate > 0) {
    text += concat(", ", human_bytes(static_cast<uint64_t>(p.rate)), "/s");
    if (p.total > p.loaded && !p.checking)
      text +=
          concat(", ", human_duration(static_cast<double>(p.total - p.loaded) / p.rate), " left");
  }
  return p.waiting.empty() ? text : concat(text, "; ", p.waiting);
}

// What Ctrl-C prints.
std::string stopped_text(const pull::Progress& p) {
  if (p.kept == 0) return "sluice: stopped: nothing is kept yet\n";
  return concat("sluice: stopped: ", human_bytes(p.kept), p.total == 0 ? "" : " of ",
                p.total == 0 ? "" : human_bytes(p.total),
                p.parts > 1 ? concat(" of file ", p.part, " of ", p.parts) : "",
                " are kept; the same command goes on\n");
}

// Shows progress on a terminal; elsewhere only what a download waits for, once for each reason.
class ProgressLine {
 public:
  void show(const pull::Progress& progress) {
    if (can_show_status()) {
      show_status(text_of(progress));
      return;
    }
    // "the server asks to wait 29 s" and "28 s" are one reason.
    const std::string reason =
        progress.waiting.substr(0, progress.waiting.find_first_of("0123456789"));
    if (reason.empty() || reason == said_) return;
    said_ = reason;
    note(progress.waiting);
  }
  ~ProgressLine() { erase_status(); }

 private:
  std::string said_;
};

// Before the download of a split model: checks the headers of all its files with wish.accept. If
// they can't be read, the download itself reports why, after more attempts.
Status check_split(pull::Settings settings, const pull::Located& located, const pull::Wish& wish) {
  settings.client.retry_seconds = std::min(settings.client.retry_seconds, 1.0);
  settings.client.stall_seconds = std::min(settings.client.stall_seconds, 10.0);
  settings.client.waiting = [&](const std::string& why) {
    pull::Progress progress;
    progress.name = pull::file_name(located.urls[0]);
    progress.waiting = why;
    if (!why.empty()) settings.progress(progress);
  };
  const auto header = read_headers(settings, located);
  return header ? wish.accept(header->gguf) : Status();
}

}  // namespace

Result<ModelHeader> read_headers(const pull::Settings& settings, const pull::Located& located) {
  const size_t n_files = located.urls.size();
  ModelParser parser(std::vector<uint64_t>(n_files, 0));
  ModelHeader header;
  for (size_t i = 0; i < n_files; ++i) {
    Status parsed;
    const auto wants_more = [&] { return !parser.done() && parser.files().size() == i + 1; };
    SLUICE_ASSIGN(const uint64_t bytes,
                  pull::read_beginning(settings, located, i, [&](std::span<const uint8_t> piece) {
                    const auto taken = parser.push(piece);
                    if (!taken) parsed = std::unexpected(taken.error());
                    return parsed && wants_more();
                  }));
    SLUICE_TRY(parsed);
    if (wants_more()) SLUICE_TRY(parser.finish());
    header.file_bytes += bytes;
  }
  header.gguf = parser.take();
  return header;
}

Result<pull::Settings> download_settings(const DownloadOptions& options) {
  pull::Settings settings;
  SLUICE_ASSIGN(settings.client.hub, pull::hub_origin(std::getenv("HF_ENDPOINT")));
  SLUICE_ASSIGN(settings.directory, pull::cache_directory());
  if (const char* token = std::getenv("HF_TOKEN"); token != nullptr) settings.client.token = token;
  const auto is_plain = [](char c) { return c > 0x20 && c < 0x7f; };
  if (!std::ranges::all_of(settings.client.token, is_plain)) {
    return fail(Code::invalid_argument,
                "HF_TOKEN has spaces or other characters in it that no token has");
  }
  settings.client.retry_seconds = static_cast<double>(options.retry_timeout);
  settings.client.stall_seconds = static_cast<double>(options.stall_timeout);
  const auto line = std::make_shared<ProgressLine>();
  settings.progress = [line](const pull::Progress& progress) { line->show(progress); };
  settings.note = [](const std::string& text) {
    erase_status();
    note(text);
  };
  return settings;
}

Result<pull::Wish> wish_of(const DownloadOptions& options, bool check) {
  for (const std::string& sum : options.sha256) {
    if (!pull::is_sha256(sum)) {
      return fail(Code::invalid_argument, "--sha256: expected 64 hexadecimal digits, found '",
                  printable(sum), "'");
    }
  }
  pull::Wish wish;
  wish.sha256 = options.sha256;
  wish.refresh = options.refresh;
  wish.check = check;
  return wish;
}

Result<pull::Pulled> obtain_checked(const pull::Settings& settings, pull::Located located,
                                    const pull::Wish& wish) {
  const bool split = located.urls.size() > 1 && !located.kept_only;
  if (split && wish.accept && !pull::is_cached(settings, located))
    SLUICE_TRY(check_split(settings, located, wish));
  // The rate of the download, for the estimates of sluice models.
  struct {
    uint64_t bytes = 0, last = 0;
    int part = 0;
    double begin = 0, end = 0;
  } came;
  pull::Settings watched = settings;
  watched.progress = [&](const pull::Progress& progress) {
    settings.progress(progress);
    if (progress.checking) return;
    const double now = pull::now_seconds();
    if (came.begin == 0) came.begin = now;
    if (came.part == progress.part && progress.loaded > came.last)
      came.bytes += progress.loaded - came.last;
    came.part = progress.part;
    came.last = progress.loaded;
    came.end = now;
  };
  auto pulled = pull::obtain(watched, std::move(located), wish);
  learn_download(settings.directory, came.bytes, came.end - came.begin);
  return pulled;
}

void say_what_is_kept(pull::Settings& settings) {
  settings.progress = [show = settings.progress](const pull::Progress& progress) {
    set_farewell(stopped_text(progress));
    show(progress);
  };
}

void note_choice(const pull::Located& located) {
  const pull::Address& address = located.address;
  if (!address.on_hub() || !address.path.empty() || !address.type.empty()) return;
  const std::string repo = concat(address.owner, "/", address.repo, ": ");
  erase_status();
  if (located.list.empty()) {
    note(concat(repo, "takes ", printable(pull::file_name(located.urls[0]), 120),
                " from the cache"));
  } else {
    note(repo + pull::choice_text(located.list, address, located.chosen));
  }
}

}  // namespace sluice::cli
