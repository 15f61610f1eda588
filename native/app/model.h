// MODEL: the path of a file, or an address whose file comes from the cache or the network.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/load_line.h"
#include "app/shelf.h"
#include "engine.h"
#include "gguf/gguf.h"

namespace sluice::cli {

struct DownloadOptions {
  std::vector<std::string> sha256;  // of each file, or none
  bool refresh = false;
  bool accept_terms = false;
  int64_t retry_timeout = 60;  // seconds without a new byte until a download is given up
  int64_t stall_timeout = 30;  // seconds without a byte until a connection counts as lost
};

struct ModelSource {
  std::string name;                  // as it was given, for messages
  std::string file;                  // the file's name without folders
  std::string address;               // of a model of the cache; else ""
  bool kept_only = false;            // it was given by its path in the cache: nothing is downloaded
  std::optional<OnShelf> offered;    // it was given by its name on the shelf
  DownloadOptions download;          // of an address
  std::vector<std::string> paths;    // the files on the disk; with an address only after open()
  std::vector<std::string> cached;   // the address of each of them in the cache, or none
  std::shared_ptr<const void> hold;  // keeps files in the cache from being removed
};

// The model that `given` means (model_name.h) or, if it is empty, the bundled one. Of an address
// only its form is checked. An edit of a file that was broken off is finished (header_rewrite.h).
// Fails with bad_file, which says where it looked, or invalid_argument. With `may_be_prompt` the
// message also says how to give a prompt.
Result<ModelSource> find_model(const std::string& given, const DownloadOptions& download,
                               bool may_be_prompt = false);
struct Opened {
  std::unique_ptr<Engine> engine;
  std::unique_ptr<LoadLine> line;  // null: it can't be shown
  // What a run did to the packed copy, for its figures; "": nothing new.
  std::function<std::string()> copy_news;
};
// LoadOptions::context_size for what the model was trained for (-c 0).
constexpr uint32_t kTrainedContext = UINT32_MAX;
// Replaces kTrainedContext by that context; by 0, the default, if the header doesn't tell it.
void resolve_context(const Gguf& header, LoadOptions& options);

// Changes options by what the model's header says, before its memory is planned. Null: nothing.
using Adjust = std::function<Status(const Gguf& header, LoadOptions& options)>;
// Downloads the files that aren't on the disk, then opens the engine. A model whose header tells
// that it can't run with the options isn't downloaded. The default budget is the memory that is
// free here. A terminal's stderr shows the progress of the download and the loading. Fails also
// with download_failed, download_corrupt, offline or storage_full.
Result<Opened> open(ModelSource& model, LoadOptions options, const Adjust& adjust = nullptr);
// The same, and waits for Engine::ready(). Without a line then.
Result<std::unique_ptr<Engine>> load(ModelSource& model, const LoadOptions& options,
                                     const Adjust& adjust = nullptr);
// Downloads the files that aren't on the disk, whatever their header says, so that paths has all of
// them. For what is done with files without running the model.
Status fetch(ModelSource& model);
// The engine's next event that isn't `waiting`.
Result<Event> next_event(Engine& engine);
// Waits until the engine is identified. False: a signal came before.
Result<bool> wait_identified(Engine& engine);

// Remembers how fast a text was written, for the estimates of sluice models.
void learn_from(const Stats& stats);

struct ModelHeader {
  Gguf gguf;
  uint64_t file_bytes = 0;  // 0: unknown
};
// Reads only the header, also of an address that isn't in the cache.
Result<ModelHeader> read_header(ModelSource& model);

// Puts the model's name before the message if the error is about a file but doesn't name it.
Error with_file_name(const ModelSource& model, Error error);

}  // namespace sluice::cli
