// sluice inspect: shows the header of a file.
#include "api/inspect.h"

#include "app/arguments.h"
#include "app/diagnostics.h"
#include "app/exit_status.h"
#include "app/help.h"
#include "app/model.h"
#include "app/option_flags.h"
#include "app/output.h"
#include "commands/commands.h"
#include "commands/inspect_text.h"
#include "engine/read_header.h"

namespace sluice::cli {
namespace {

struct InspectOptions {
  std::string model;
  DownloadOptions download;
  LoadOptions load;
  bool json = false;
};

constexpr char kInspectFooter[] =
    R"(Shows name, architecture, sizes, tokenizer, metadata, the tensors by layer, and
the memory that running it needs: at the start, with a full context, and the
least --memory-budget that does. With --memory-budget it shows what is read
again for each token. A valid file that can't be run here is shown as well, with
the reason.

Examples:
  sluice inspect model.gguf
  sluice inspect model.gguf -c 8192 --kv-type q8_0
  sluice inspect model.gguf --memory-budget 300M
  sluice inspect model.gguf --json)";

int inspect(const InspectOptions& options) {
  auto model = find_model(options.model, options.download);
  if (!model) return report(model.error(), options.json);
  const auto header = read_header(*model);
  if (!header) return report(with_file_name(*model, header.error()), options.json);
  LoadOptions load = options.load;
  resolve_context(header->gguf, load);
  const std::string json = inspect_json(header->gguf, load, header->file_bytes);
  if (options.json) {
    write_json(json + "\n");
  } else {
    write_shown(inspect_text(model->name, json));
  }
  return kDone;
}

}  // namespace

void add_inspect(CLI::App& program, int& status) {
  auto options = std::make_shared<InspectOptions>();
  CLI::App* app = add_command(program, "inspect", "show what a model file holds", kInspectFooter);
  add_model(*app, options->model);
  add_json(*app, options->json, "everything as one JSON object");
  add_options(*app, options->load);
  add_download_options(*app, options->download);
  app->callback([options, &status] { status = inspect(*options); });
}

}  // namespace sluice::cli
