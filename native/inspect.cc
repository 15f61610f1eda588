// sluice inspect: shows the header of a file.
#include "arguments.h"
#include "engine_inside.h"
#include "inspect_text.h"

namespace sluice::cli {
namespace {

struct InspectOptions {
  std::string model;
  LoadOptions load;
  bool json = false;
};

constexpr char kInspectFooter[] =
    R"(Shows name, architecture, sizes, tokenizer, metadata, the tensors by layer, and
the memory that running it needs: at the start, and with a full context. A valid
file that can't be run here is shown as well, with the reason.

Examples:
  sluice inspect model.gguf
  sluice inspect model.gguf -c 8192 --kv-type q8_0
  sluice inspect model.gguf --json)";

int inspect(const InspectOptions& options) {
  const auto path = find_model(options.model);
  if (!path) return report(path.error(), options.json);
  const auto files = ModelFiles::open(*path);
  if (!files) return report(with_file_name(*path, files.error()), options.json);
  const auto header = read_header(*files);
  if (!header) return report(with_file_name(*path, header.error()), options.json);
  const std::string json = inspect_json(*header, options.load, files->size());
  write_out(options.json ? json + "\n" : inspect_text(*path, json));
  return kDone;
}

}  // namespace

void add_inspect(CLI::App& program, int& status) {
  auto options = std::make_shared<InspectOptions>();
  CLI::App* app = add_command(program, "inspect", "show what a model file holds", kInspectFooter);
  add_model(*app, options->model);
  add_json(*app, options->json, "everything as one JSON object");
  add_options(*app, options->load);
  app->callback([options, &status] { status = inspect(*options); });
}

}  // namespace sluice::cli
