#include "downloads.h"

#include <algorithm>
#include <cstdlib>

#include "base/format.h"
#include "common.h"
#include "pull/cache.h"
#include "pull/retry.h"

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

}  // namespace

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
  return pull::Wish{options.sha256, options.refresh, check};
}

}  // namespace sluice::cli
