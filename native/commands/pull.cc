// sluice pull: downloads a model into the cache.
#include "pull/pull.h"

#include <nlohmann/json.hpp>

#include "app/arguments.h"
#include "app/diagnostics.h"
#include "app/downloads.h"
#include "app/exit_status.h"
#include "app/help.h"
#include "app/model.h"
#include "app/model_name.h"
#include "app/output.h"
#include "app/signals.h"
#include "app/terms.h"
#include "base/format.h"
#include "commands/commands.h"
#include "engine/memory_plan.h"
#include "gguf/gguf.h"
#include "text/tokenizer.h"

namespace sluice::cli {
namespace {

using Json = nlohmann::ordered_json;

struct PullOptions {
  std::string address;
  DownloadOptions download;
  bool force = false;
  bool quiet = false;
  bool json = false;
};

constexpr char kPullFooter[] =
    R"help(Downloads a model into the cache, or goes on with a download that was broken
off, and prints the file's path. Of a split model all files are downloaded.
ADDRESS is an http: or https: address of a GGUF file, OWNER/REPO (or
hf:OWNER/REPO, hf.co/OWNER/REPO) with a file or a type like Q4_0, an address of
a page of the hub, the name of a model in the cache, or one of those that sluice
models lists (NAME or NAME:TYPE). The other commands take
the same for MODEL and download what is missing; a model in the cache needs no
network if it is named as before (another hf: name of the same file asks the
hub). A model whose header says that it can't run here is not downloaded, and a
server that has only a part of the file is refused. With a known sha256
(--sha256, or the hub's list) the file is compared. Ctrl-C at any time leaves a
cache that the next download goes on with.

With --json: {"path","bytes","sha256","address"}; of a split model also "parts",
a list with such an object for each file. sha256 is "" if it is not known.

Examples:
  sluice pull hf:OWNER/REPO:Q4_0
  sluice pull https://example.org/model.gguf --sha256 HEX
  sluice run "$(sluice pull hf:OWNER/REPO)" -p "Once upon a time")help";

Json describe(const pull::PulledFile& file) {
  return {{"path", file.path},
          {"bytes", file.bytes},
          {"sha256", file.sha256},
          {"address", file.address}};
}

// Fails as loading the model would, except for memory: it may be meant for another machine.
Status can_run(const Gguf& header) {
  const auto refused = [](Error error) {
    error.message +=
        concat(error.message.ends_with('.') ? "" : ".", " sluice pull --force brings it anyway");
    return std::unexpected(std::move(error));
  };
  if (const auto plan = plan_memory(header, {}); !plan) return refused(plan.error());
  if (const auto tokenizer = Tokenizer::from_gguf(header); !tokenizer)
    return refused(tokenizer.error());
  return {};
}

int pull_address(const PullOptions& options) {
  const auto fail_with = [&](const Error& error) { return report(error, options.json); };
  if (options.quiet) be_quiet();
  const auto meaning = download_of(options.address);
  if (!meaning) return fail_with(meaning.error());
  ModelSource model;
  model.name = options.address;
  model.offered = meaning->offered;
  model.download = options.download;
  const bool has_hash = meaning->offered && !meaning->offered->file->sha256.empty();
  if (has_hash && model.download.sha256.empty())
    model.download.sha256 = {meaning->offered->file->sha256};
  auto wish = wish_of(model.download, false);
  if (!wish) return fail_with(wish.error());
  wish->force = options.force;
  if (!options.force) wish->accept = can_run;
  auto pulled = [&]() -> Result<pull::Pulled> {
    SLUICE_ASSIGN(pull::Settings settings, download_settings(options.download));
    if (!options.json) say_what_is_kept(settings);
    SLUICE_ASSIGN(pull::Located located, pull::locate(settings, meaning->address, wish->refresh));
    note_choice(located);
    SLUICE_TRY(accept_terms(model, settings, located));
    return obtain_checked(settings, std::move(located), *wish);
  }();
  set_farewell("");
  if (!pulled) return fail_with(with_file_name(model, pulled.error()));
  const auto& files = pulled->files;
  if (!options.json) {
    for (const pull::PulledFile& file : files) write_content(file.path + "\n");
    return kDone;
  }
  Json json = describe(files[0]);
  if (files.size() > 1) {
    uint64_t bytes = 0;
    Json parts = Json::array();
    for (const pull::PulledFile& file : files) {
      bytes += file.bytes;
      parts.push_back(describe(file));
    }
    json["bytes"] = bytes;
    json["sha256"] = "";
    json["parts"] = parts;
  }
  write_json(json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
  return kDone;
}

}  // namespace

void add_pull(CLI::App& program, int& status) {
  auto options = std::make_shared<PullOptions>();
  CLI::App* app = add_command(program, "pull", "download a model into the cache", kPullFooter,
                              Environment::cache);
  add_value(*app, "ADDRESS", "ADDRESS",
            "an https: address, or hf:OWNER/REPO[:FILE or TYPE][@REVISION]",
            [options](const std::string& text) { options->address = text; })
      ->required();
  add_flag(*app, "--force", options->force,
           "download it also if its header says that it can't run here");
  add_flag(*app, "-q,--quiet", options->quiet, "only the path: no notes");
  add_json(*app, options->json, "what was downloaded as one JSON object");
  add_download_options(*app, options->download);
  app->callback([options, &status] { status = pull_address(*options); });
}

}  // namespace sluice::cli
