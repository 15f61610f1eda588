#include "app/model.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "app/diagnostics.h"
#include "app/exit_status.h"
#include "app/header_rewrite.h"
#include "app/memory.h"
#include "app/model_name.h"
#include "app/signals.h"
#include "base/format.h"
#include "engine/memory_plan.h"
#include "engine/read_header.h"
#include "pull/address.h"
#include "pull/block_file.h"
#include "pull/pull.h"
#include "text/tokenizer.h"
#include "weights/packed_copy.h"
#include "weights/source_file.h"
#ifdef SLUICE_PULL
#include "app/device.h"
#include "app/downloads.h"
#include "app/terms.h"
#include "pull/cache.h"
#include "pull/packed_copy.h"
#endif

namespace sluice::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kBundledModel[] = "stories-q8_0.gguf";

// Directories where the bundled model may be, in the order in which they are searched.
std::vector<fs::path> model_directories() {
  std::vector<fs::path> directories;
  if (const char* named = std::getenv("SLUICE_MODEL_DIR"); named != nullptr && *named != '\0') {
    directories.emplace_back(named);
  }
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error) {
    const fs::path home = program.parent_path();
    directories.push_back((home / "../../web/app/public/models").lexically_normal());
    directories.push_back((home / "../share/sluice").lexically_normal());
  }
  return directories;
}

Result<ModelSource> local_model(const std::string& path) {
  ModelSource model;
  model.name = path;
  model.file = fs::path(path).filename().string();
  model.paths = model_paths(path);
  SLUICE_TRY(finish_rewrite(model.paths.front()));
  return model;
}

#ifdef SLUICE_PULL

Status check_address(const ModelSource& model) {
  SLUICE_ASSIGN(const pull::Settings settings, download_settings(model.download));
  SLUICE_TRY(wish_of(model.download, true));
  SLUICE_TRY(pull::parse_address(model.address, settings.client.hub));
  return {};
}

// Keeps weights that are read again packed beside their file, if that is in the cache. Without a
// copy only time is lost. Returns Opened::copy_news.
std::function<std::string()> add_copies(const ModelSource& model, ModelFiles& files) {
  if (model.cached.empty()) return [] { return std::string(); };
  const auto copies = std::make_shared<std::vector<std::shared_ptr<pull::PackedFile>>>();
  files.set_copy_maker([cached = model.cached, copies](size_t index, uint64_t bytes) {
    std::shared_ptr<PackedCopy> none;
    const auto directory = pull::cache_directory();
    if (!directory) return none;
    const std::string& address = cached[index];
    const auto file = pull::BlockFile::open_to_read(*directory, address);
    if (!file || !*file || !(*file)->finished()) return none;
    copies->push_back(std::make_shared<pull::PackedFile>(
        *directory, pull::key_of(address), (*file)->table(), (*file)->total(), bytes));
    return std::shared_ptr<PackedCopy>(copies->back());
  });
  return [copies] {
    std::string made;
    for (const auto& copy : *copies) {
      const pull::CopyNews news = copy->news();
      if (news == pull::CopyNews::no_room) {
        return concat("; there is no room for their packed copy (", human_bytes(copy->expected()),
                      ", and as much must stay free)");
      }
      if (news == pull::CopyNews::made) made = "; their packed copy was made for the next runs";
    }
    return made;
  };
}

Result<pull::Located> locate(const ModelSource& model, const pull::Settings& settings) {
  SLUICE_ASSIGN(pull::Located located,
                pull::locate(settings, model.address, model.download.refresh));
  located.kept_only = model.kept_only;
  note_choice(located);
  return located;
}

Result<ModelHeader> read_remote_header(ModelSource& model) {
  SLUICE_ASSIGN(const pull::Settings settings, download_settings(model.download));
  SLUICE_ASSIGN(const pull::Located located, locate(model, settings));
  model.file = pull::file_name(located.urls[0]);
  return read_headers(settings, located);
}

// `accept` sees the header of a model in one file before the rest is downloaded; null: whatever it
// says.
Status pull_model(ModelSource& model, std::function<Status(const Gguf&)> accept) {
  SLUICE_ASSIGN(const pull::Settings settings, download_settings(model.download));
  SLUICE_ASSIGN(pull::Wish wish, wish_of(model.download, true));
  SLUICE_ASSIGN(pull::Located located, locate(model, settings));
  model.file = pull::file_name(located.urls[0]);
  SLUICE_TRY(accept_terms(model, settings, located));
  wish.force = accept == nullptr;
  wish.accept = std::move(accept);
  SLUICE_ASSIGN(pull::Pulled pulled, obtain_checked(settings, std::move(located), wish));
  for (const pull::PulledFile& file : pulled.files) {
    model.paths.push_back(file.path);
    model.cached.push_back(file.address);
  }
  model.hold = std::make_shared<std::vector<pull::Lock>>(std::move(pulled.locks));
  return {};
}

#else

Status check_address(const ModelSource&) {
  return fail(Code::invalid_argument,
              "this build of the program has no downloads; expected the path of a GGUF model");
}
Status pull_model(ModelSource& model, const std::function<Status(const Gguf&)>&) {
  return check_address(model);
}
std::function<std::string()> add_copies(const ModelSource&, ModelFiles&) {
  return [] { return std::string(); };
}
Result<ModelHeader> read_remote_header(ModelSource& model) {
  SLUICE_TRY(check_address(model));
  return ModelHeader{};
}

#endif

// Prints how much doesn't stay in memory, and why.
void note_budget(const MemoryPlan& plan, bool by_default) {
  if (plan.reread == 0) return;
  std::string needed = human_bytes(plan.all, true), budget = human_bytes(plan.budget);
  if (needed == budget) {  // the budget is less, so that must be seen
    needed = concat(plan.all, " bytes");
    budget = concat(plan.budget, " bytes");
  }
  note(concat("the model needs ", needed, ", ",
              by_default ? "but of the memory here it takes " : "but the budget is ", budget,
              by_default ? ", what is free (--memory-budget sets it): " : ": ",
              human_bytes(plan.reread), " of its weights are read again for each token"));
}

// Downloads the model's files unless they are on the disk. Shows the progress on a terminal's
// stderr. Fails with download_failed, download_corrupt, offline or storage_full; before a
// download also as Engine::open would.
Status fetch_files(ModelSource& model, const LoadOptions& options, const Adjust& adjust) {
  if (model.address.empty() || !model.paths.empty()) return {};
  // The header is enough to tell that a model can't run here, in its memory or context.
  return pull_model(model, [&options, &adjust](const Gguf& header) -> Status {
    LoadOptions adjusted = options;
    resolve_context(header, adjusted);
    if (adjust) SLUICE_TRY(adjust(header, adjusted));
    SLUICE_TRY(check_memory(header, adjusted, Access::rereadable));
    SLUICE_TRY(Tokenizer::from_gguf(header));
    return {};
  });
}

}  // namespace

Result<ModelSource> find_model(const std::string& given, const DownloadOptions& download,
                               bool may_be_prompt) {
  Meaning meaning;
  if (!given.empty()) {
    SLUICE_ASSIGN(meaning, meaning_of(given, may_be_prompt));
  }
  const bool is_path = meaning.address.empty() || meaning.kept_only;
  if (is_path && (!download.sha256.empty() || download.refresh)) {
    return fail(Code::invalid_argument, "--sha256 and --refresh are for models at addresses");
  }
  if (!meaning.address.empty()) {
    ModelSource model;
    model.name = given;
    model.address = meaning.address;
    model.kept_only = meaning.kept_only;
    model.offered = meaning.offered;
    model.download = download;
    if (meaning.offered && download.sha256.empty() && !meaning.offered->file->sha256.empty())
      model.download.sha256 = {meaning.offered->file->sha256};
    SLUICE_TRY(check_address(model));
    return model;
  }
  if (!given.empty()) return local_model(given);
  std::error_code error;
  std::string looked;
  for (const fs::path& directory : model_directories()) {
    const fs::path path = directory / kBundledModel;
    if (fs::is_regular_file(path, error)) return local_model(path.string());
    looked += concat("\n  ", path.string());
  }
  return fail(Code::bad_file, "no model was named and the bundled one isn't there; looked for",
              looked, "\nName a GGUF file, or the bundled model's directory in SLUICE_MODEL_DIR");
}

void resolve_context(const Gguf& header, LoadOptions& options) {
  if (options.context_size != kTrainedContext) return;
  constexpr uint64_t kMostContext = 1 << 20;  // as the row contextSize of options.json
  const MetadataValue* architecture = header.find("general.architecture");
  const bool named = architecture != nullptr && architecture->type == ValueType::string;
  const MetadataValue* length =
      named ? header.find(concat(architecture->text(), ".context_length")) : nullptr;
  const uint64_t trained = length != nullptr ? length->as_u64().value_or(0) : 0;
  options.context_size = static_cast<uint32_t>(std::min(trained, kMostContext));
}

Result<Opened> open(ModelSource& model, LoadOptions options, const Adjust& adjust) {
  const bool by_default = options.memory_budget == 0;
  const auto choose_budget = [&] {
    if (by_default) options.memory_budget = default_budget(available_memory());
  };
  const auto explained = [by_default](Error error) {
    if (by_default && error.code == Code::budget_too_small)
      error.message += ". (The budget is the memory that is free here; --memory-budget sets it)";
    return std::unexpected(std::move(error));
  };
  choose_budget();
  if (const auto there = fetch_files(model, options, adjust); !there)
    return explained(there.error());
  choose_budget();  // a download takes time
  SLUICE_ASSIGN(ModelFiles files, ModelFiles::open(model.paths));
  if (adjust || options.context_size == kTrainedContext) {
    SLUICE_ASSIGN(const Gguf header, sluice::read_header(files));
    resolve_context(header, options);
    if (adjust) SLUICE_TRY(adjust(header, options));
  }
  Opened opened;
  opened.copy_news = add_copies(model, files);
  if (can_show_status()) opened.line = std::make_unique<LoadLine>(model.file, files.size());
  auto engine = Engine::open(std::move(files), options);
  if (!engine) {
    opened.line.reset();
    return explained(engine.error());
  }
  opened.engine = std::move(*engine);
  note_budget(opened.engine->memory_plan(), by_default);
  if (opened.line != nullptr) opened.line->follow(*opened.engine);
  return opened;
}

Result<std::unique_ptr<Engine>> load(ModelSource& model, const LoadOptions& options,
                                     const Adjust& adjust) {
  SLUICE_ASSIGN(Opened opened, open(model, options, adjust));
  SLUICE_TRY(opened.engine->wait_ready());
  return std::move(opened.engine);
}

Result<Event> next_event(Engine& engine) {
  while (true) {
    SLUICE_ASSIGN(Event event, engine.session().step());
    if (event.kind != Event::Kind::waiting) return event;
    SLUICE_TRY(engine.wait());
  }
}

Result<bool> wait_identified(Engine& engine) {
  while (true) {
    SLUICE_ASSIGN(const bool known, engine.identify());
    if (known || interrupted_by() != 0) {
      engine.stop_identifying();
      return known;
    }
    SLUICE_TRY(engine.wait());
  }
}

Status fetch(ModelSource& model) {
  if (model.address.empty() || !model.paths.empty()) return {};
  return pull_model(model, nullptr);
}

void learn_from([[maybe_unused]] const Stats& stats) {
#ifdef SLUICE_PULL
  if (const auto directory = pull::cache_directory()) learn_decode(*directory, stats);
#endif
}

Result<ModelHeader> read_header(ModelSource& model) {
  if (!model.address.empty()) return read_remote_header(model);
  SLUICE_ASSIGN(const ModelFiles files, ModelFiles::open(model.name));
  SLUICE_ASSIGN(Gguf header, sluice::read_header(files));
  return ModelHeader{std::move(header), files.size()};
}

Error with_file_name(const ModelSource& model, Error error) {
  const std::string name = printable(model.name, kMaxShownPath);
  if (exit_status(error.code) == kBadFile && error.message.find(name) == std::string::npos) {
    error.message = concat(name, ": ", error.message);
  }
  return error;
}

}  // namespace sluice::cli
