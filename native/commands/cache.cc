// sluice cache: shows, checks and removes the models that were downloaded.
#include "pull/cache.h"

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>

#include "app/arguments.h"
#include "app/diagnostics.h"
#include "app/downloads.h"
#include "app/exit_status.h"
#include "app/help.h"
#include "app/kept_models.h"
#include "app/model_name.h"
#include "app/output.h"
#include "app/shelf.h"
#include "app/usage.h"
#include "base/format.h"
#include "commands/commands.h"
#include "pull/address.h"
#include "pull/packed_copy.h"
#include "pull/pull.h"
#include "pull/repository.h"
#include "pull/verify.h"

namespace sluice::cli {
namespace {

using Json = nlohmann::ordered_json;

struct CacheOptions {
  std::string action;
  std::vector<std::string> addresses;
  bool all = false;
  bool names = false;
  bool json = false;
};

constexpr char kCacheFooter[] =
    R"(list shows each model: name, size, state, last use, address. verify reads models
and compares the hash of each block, and the file's sha256 if it is known;
damaged blocks are removed, and the next use fetches them again. delete removes
models. An ADDRESS is what run or pull was given, or a name: that of the file or
of its repository, or its beginning if only one model has it; small and capital
letters are the same, and .gguf may be left out. Without one, list and verify
take all models; delete needs an ADDRESS or --all, which leaves models in use.
A model that was larger than its memory budget has a packed copy of what was
read again; it counts and goes with the model. verify drops damaged chunks of
it, which are packed again when they are needed. The files that sluice convert
downloaded from a repository are one entry, named like hf:OWNER/REPO; it is the
source of a conversion, and no model that runs.

With --json each model is a line: list {"source","name","path","bytes","stored",
"packed","packedFits","complete","verified","sha256","etag","commit","pinned",
"created","used","inUse","parts","forConversion"} (times in ms since 1970),
verify {"source","ok","bytes","damaged","sha256","packed","packedDamaged"} or,
of a model in use, {"source","inUse"}, delete {"source","deleted","bytes"}. The
exit status is 3 if verify finds damage of a model, 1 if one was in use.

Examples:
  sluice cache list
  sluice cache verify hf:OWNER/REPO:Q4_0
  sluice cache delete --all)";

// The models with these addresses or names; all models if the list is empty. Fails with not_found
// if the cache doesn't have one of them.
Result<std::vector<Kept>> chosen(const CacheOptions& options, const pull::Settings& settings) {
  SLUICE_ASSIGN(std::vector<Kept> models, kept_models(settings.directory));
  if (options.addresses.empty()) return models;
  std::vector<Kept> out;
  for (const std::string& text : options.addresses) {
    std::string source = text;  // the key of an entry that can't be read
    if (const std::string full = as_address(text); !full.empty()) {
      SLUICE_ASSIGN(const pull::Address address, pull::parse_address(full, settings.client.hub));
      source = address.url;
      if (source.empty()) {
        const std::string& hub = settings.client.hub;
        for (const std::string& name :
             {pull::hub_name(hub, address), pull::source_name(hub, address)}) {
          if (source.empty()) source = pull::find_named(settings.directory, name).value_or("");
        }
        if (source.empty()) source = pull::source_page(hub, address);
      }
    } else if (const std::string key = pull::key_at(settings.directory, text); !key.empty()) {
      source = key;  // the path of its file
    }
    std::vector<const Kept*> meant;
    for (const Kept& model : models) {
      if (model.source == source || std::ranges::any_of(model.entries, [&](const auto& entry) {
            return entry.meta.address == source || entry.key == source;
          }))
        meant.push_back(&model);
    }
    if (meant.empty()) meant = named(models, text);
    if (const auto offered = find_on_shelf(text); meant.size() != 1 && offered && *offered) {
      SLUICE_ASSIGN(const pull::Address address,
                    pull::parse_address((*offered)->file->address, settings.client.hub));
      meant.clear();
      for (const Kept& model : models) {
        if (model.source == address.url) meant.push_back(&model);
      }
    }
    if (meant.empty()) {
      return fail(Code::not_found, "the cache has no model ", printable(text, 300),
                  "; expected the address or the file name of one that sluice cache list shows, or "
                  "what it was downloaded by",
                  near_name(models, text));
    }
    if (meant.size() > 1) return std::unexpected(ambiguous(models, meant, text));
    out.push_back(*meant[0]);
  }
  return out;
}

std::string day(int64_t ms) {
  const time_t seconds = ms / 1000;
  tm parts = {};
  char text[32] = "-";
  if (ms > 0 && localtime_r(&seconds, &parts) != nullptr)
    std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &parts);
  return text;
}

std::string state_of(const Kept& model) {
  if (!model.unreadable().empty()) return model.unreadable();
  std::string state =
      model.verified() && model.complete() ? "complete, sha256 verified" : "complete";
  if (!model.complete()) state = "partial";
  if (model.is_source()) state = concat("source of a conversion, ", state);
  if (model.meta().parts > 1) state += concat(", ", model.meta().parts, " files");
  if (model.packed() > 0) {
    state += concat(model.packed_fits() ? ", packed copy " : ", unusable packed copy ",
                    human_bytes(model.packed()));
  }
  if (model.pinned()) state += ", pinned";
  return model.in_use() ? state + ", in use" : state;
}

// The stored bytes: "4.79 MB", or of a partial model "1.57 MB of 4.79 MB".
std::string size_of(uint64_t stored, uint64_t bytes, bool complete) {
  if (complete) return human_bytes(stored);
  return concat(human_bytes(stored), bytes == 0 ? ", size unknown" : " of ",
                bytes == 0 ? "" : human_bytes(bytes));
}

Json json_of(const Kept& model) {
  const pull::Meta& meta = model.meta();
  Json json = {{"source", model.source},
               {"name", model.file()},
               {"path", model.entries[0].path},
               {"bytes", model.bytes()},
               {"stored", model.stored()},
               {"packed", model.packed()},
               {"packedFits", model.packed() > 0 && model.packed_fits()},
               {"complete", model.complete()},
               {"verified", model.verified()},
               {"sha256", meta.sha256},
               {"etag", meta.etag},
               {"commit", meta.commit},
               {"pinned", model.pinned()},
               {"created", meta.created},
               {"used", model.used()},
               {"inUse", model.in_use()},
               {"parts", meta.parts},
               {"forConversion", model.is_source()}};
  if (!model.unreadable().empty()) json["unreadable"] = model.unreadable();
  return json;
}

void print_json(const Json& json) {
  write_json(json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
}

// For scripts and completions: names of models that can be run.
int list_names(const pull::Settings& settings, const std::vector<Kept>& models) {
  const auto all = kept_models(settings.directory);
  for (const Kept& model : models) {
    if (!model.unreadable().empty() || model.is_source()) continue;
    write_out(printable(shortest_name(all ? *all : models, model), 8192) + "\n");
  }
  return kDone;
}

int list(const CacheOptions& options, const pull::Settings& settings,
         const std::vector<Kept>& models) {
  if (options.names) return list_names(settings, models);
  uint64_t stored = 0;
  for (const Kept& model : models) {
    stored += model.stored() + model.packed();
    if (options.json) {
      print_json(json_of(model));
      continue;
    }
    write_shown(concat(printable(model.file(), 200), "\n  ",
                       size_of(model.stored(), model.bytes(), model.complete()), ", ",
                       state_of(model), ", last used ", day(model.used()), "\n  ",
                       printable(model.source, 4096), "\n"));
  }
  if (options.json) return kDone;
  const auto sources = static_cast<size_t>(std::ranges::count_if(models, &Kept::is_source));
  write_shown(
      concat(counted(models.size() - sources, "model"),
             sources > 0 ? concat(" and ", counted(sources, "source"), " of conversions") : "",
             ", ", human_bytes(stored), " in ", printable(settings.directory, 300), "\n"));
  return kDone;
}

// Shows the progress of a file's check.
std::function<void(uint64_t)> shown_check(const pull::Settings& settings,
                                          const pull::Cached& entry) {
  pull::Progress progress;
  progress.name = pull::file_name(entry.meta.address);
  progress.checking = true;
  progress.total = entry.meta.total_bytes;
  return [&settings, progress](uint64_t read) mutable {
    if (read < progress.loaded + (64 << 20)) return;
    progress.loaded = std::min(read, progress.total);
    settings.progress(progress);
  };
}

// The end of verify's message: the state of the packed copy.
std::string copy_text(const pull::CopyCheck& copy) {
  if (copy.damaged > 0) {
    const bool one = copy.damaged == 1;
    return concat("; packed copy: ", counted(copy.damaged, "damaged chunk"),
                  one ? " was dropped; it is" : " were dropped; they are",
                  one ? " packed again when it is needed" : " packed again when they are needed");
  }
  if (copy.removed) return "; packed copy: it wasn't of this file and was removed";
  return copy.bytes == 0 ? "" : concat(", packed copy ", human_bytes(copy.bytes));
}

int verify(const CacheOptions& options, const pull::Settings& settings,
           const std::vector<Kept>& models) {
  int status = kDone;
  for (const Kept& model : models) {
    if (!model.unreadable().empty()) {
      note(concat(model.source, " can't be read: ", model.unreadable()));
      continue;
    }
    pull::Verified verified;
    Status done;
    for (const pull::Cached& entry : model.entries) {
      done = pull::verify_entry(settings.directory, entry, verified, shown_check(settings, entry));
      if (!done) break;
    }
    erase_status();
    if (!done && done.error().code == Code::not_found) {
      note(concat(printable(model.file(), 200), " isn't checked: another process has deleted it"));
      continue;
    }
    if (!done && done.error().code != Code::busy) return report(done.error(), options.json);
    if (!done) {
      if (status == kDone) status = kFailed;
      if (options.json) print_json({{"source", model.source}, {"inUse", true}});
      note(concat(printable(model.file(), 200),
                  " isn't checked: another process is using it; try again when it has ended"));
      continue;
    }
    // The entry may have changed since it was listed.
    const auto n_files = static_cast<size_t>(model.meta().parts);
    const bool whole = verified.whole && model.entries.size() == n_files;
    const bool good = verified.damaged.empty() && verified.sum_fits;
    if (!good) status = exit_status(Code::download_corrupt);
    if (options.json) {
      print_json({{"source", model.source},
                  {"ok", good},
                  {"bytes", verified.bytes},
                  {"damaged", verified.damaged},
                  {"sha256", model.entries.size() == 1 ? verified.sha256 : ""},
                  {"packed", verified.copy.bytes},
                  {"packedDamaged", verified.copy.damaged}});
      continue;
    }
    const std::string result =
        !verified.damaged.empty() ? concat(counted(verified.damaged.size(), "damaged block"),
                                           ", which the next use fetches again")
        : !verified.sum_fits      ? concat("its sha256 is ", verified.sha256, ", expected ",
                                           model.meta().sha256, "; delete it and download it again")
                                  : concat(whole ? "good, " : "good so far, ",
                                      size_of(verified.bytes, model.bytes(), whole));
    write_shown(concat(printable(model.file(), 200), ": ", result, copy_text(verified.copy), "\n"));
  }
  return status;
}

int remove(const CacheOptions& options, const pull::Settings& settings,
           const std::vector<Kept>& models) {
  for (const Kept& model : models) {
    if (options.all && (model.pinned() || model.in_use())) {
      note(concat(printable(model.file(), 200), " stays: it is ",
                  model.pinned() ? "pinned" : "in use"));
      continue;
    }
    for (const pull::Cached& entry : model.entries) {
      const auto removed = pull::remove_entry(settings.directory, entry.key);
      if (removed) continue;
      Error error = removed.error();
      if (error.code == Code::busy) {
        error.message = concat("another process is using ", printable(model.file(), 200),
                               "; try again when it has ended");
      }
      return report(error, options.json);
    }
    if (options.json) {
      print_json({{"source", model.source},
                  {"deleted", true},
                  {"bytes", model.stored() + model.packed()}});
    } else {
      write_shown(concat("deleted ", printable(model.file(), 200), ", ",
                         human_bytes(model.stored() + model.packed()), "\n"));
    }
  }
  return kDone;
}

const std::vector<std::string> kActions = {"list", "verify", "delete"};

int cache(const CacheOptions& options) {
  const auto fail_with = [&](const Error& error) { return report(error, options.json); };
  if (std::ranges::find(kActions, options.action) == kActions.end()) {
    const std::string meant = did_you_mean(options.action, kActions);
    return fail_with(
        {Code::invalid_argument,
         concat("unknown action '", printable(options.action), "'",
                meant.empty() ? "; the actions are list, verify, delete; see" : meant + " See",
                " sluice cache --help")});
  }
  if (options.action == "delete" && options.addresses.empty() != options.all) {
    return fail_with(
        {Code::invalid_argument, options.all ? "delete takes addresses or --all, not both"
                                             : "delete needs the address of a model, or --all"});
  }
  if (options.all && options.action != "delete")
    return fail_with({Code::invalid_argument, "--all is for delete; leave it out"});
  if (options.names && options.action != "list")
    return fail_with({Code::invalid_argument, "--names is for list; leave it out"});
  const auto settings = download_settings({});
  if (!settings) return fail_with(settings.error());
  const auto models = chosen(options, *settings);
  if (!models) return fail_with(models.error());
  if (models->empty() && options.action != "list" && !options.json)
    write_out("the cache is empty\n");
  const auto act = options.action == "list" ? list : options.action == "verify" ? verify : remove;
  return act(options, *settings, *models);
}

}  // namespace

void add_cache(CLI::App& program, int& status) {
  auto options = std::make_shared<CacheOptions>();
  CLI::App* app = add_command(program, "cache", "list, verify or delete downloaded models",
                              kCacheFooter, Environment::cache);
  app->add_option("ACTION", options->action, "list, verify or delete")
      ->type_name("ACTION")
      ->required();
  app->add_option("ADDRESS", options->addresses, "the models, by address or name; without one, all")
      ->type_name("ADDRESS");
  add_flag(*app, "--all", options->all, "delete all models");
  add_flag(*app, "--names", options->names,
           "list: only the shortest name of each model, one a line");
  add_json(*app, options->json, "one JSON object a line for each model");
  app->callback([options, &status] { status = cache(*options); });
}

}  // namespace sluice::cli
