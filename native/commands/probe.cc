// sluice probe: writes the hidden states of texts as NumPy's arrays.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/arguments.h"
#include "app/diagnostics.h"
#include "app/exit_status.h"
#include "app/file_bytes.h"
#include "app/file_progress.h"
#include "app/help.h"
#include "app/npy.h"
#include "app/output.h"
#include "app/output_files.h"
#include "app/signals.h"
#include "base/format.h"
#include "commands/commands.h"
#include "commands/stimuli.h"
#include "commands/text_vectors.h"
#include "kernels/choose.h"
#include "session/states.h"
#include "text/tokenizer.h"

namespace sluice::cli {
namespace {

using Json = nlohmann::ordered_json;

struct ProbeOptions : TextOptions {
  std::string stimuli;  // the file
  std::string out;
  StatesWanted wanted;  // no layers: all
  bool special = false;
};

constexpr char kProbeFooter[] =
    R"(Hidden states are what a text is inside the model: the residual stream after
each layer, before the final norm. Layer 0 is the first one; the embedding isn't
among them. --at attention and --at ffn take what a branch of the layer adds.

The stimuli are a text on each line of a file or, in a file whose name ends with
.json, a list of texts or of objects {"text":"..", ..}, whose other fields are
kept. Each becomes tokens as the prompt of sluice logits does, or as a text of
sluice embed does where the model writes no text. They are computed side by
side, and each gives the same bits as it does alone.

FILE.npy has 32-bit floats [stimuli, layers, numbers], of each text's last token
or the mean of all. With --positions all it is FILE.npz, with an array [layers,
tokens, numbers] for each stimulus, named 0, 1, .. Beside it FILE.json says of
which model, layers and tokens they are, and has the stimuli. Both appear when
all is done. With --json prints {"out","sidecar","shape","tokens"}.

Examples:
  sluice probe gemma.gguf --stimuli words.json --out words.npy
  sluice probe gemma.gguf --stimuli lines.txt --out lines.npz --positions all
  sluice probe gemma.gguf --stimuli words.json --out ffn.npy --layers 0,5,11 \
    --at ffn)";

std::string_view name_of(StatesAt at) {
  return at == StatesAt::residual ? "residual" : at == StatesAt::attention ? "attention" : "ffn";
}
std::string_view name_of(StatesOf of) {
  return of == StatesOf::last ? "last" : of == StatesOf::mean ? "mean" : "all";
}

// The file beside the array.
std::string sidecar_of(const std::string& out) { return out.substr(0, out.size() - 4) + ".json"; }

// Finds wrong outputs before a long download or load.
Status check_outputs(const ProbeOptions& options, const ModelSource& model) {
  const bool all = options.wanted.of == StatesOf::all;
  const std::string_view ending = all ? ".npz" : ".npy";
  if (!options.out.ends_with(ending) || options.out.size() == ending.size())
    return fail(Code::invalid_argument, "--out: expected the name of a file that ends with ",
                ending, all ? ", which has an array for each stimulus" : "", ", found '",
                printable(options.out, kMaxShownPath), "'");
  std::vector<std::string> read = model.paths;
  read.push_back(options.stimuli);
  SLUICE_TRY(check_other_files({options.out, sidecar_of(options.out)}, read));
  SLUICE_TRY(
      OutputFile::create(options.out, all ? OutputFile::Replaces::npz : OutputFile::Replaces::npy));
  SLUICE_TRY(OutputFile::create(sidecar_of(options.out), OutputFile::Replaces::sidecar));
  return {};
}

// The layers of the model that are wanted, of which there are so many.
Status choose_layers(int64_t n_layers, std::vector<int64_t>& layers) {
  if (layers.empty())
    for (int64_t layer = 0; layer < n_layers; ++layer) layers.push_back(layer);
  if (layers.back() < n_layers) return {};
  return fail(Code::invalid_argument, "--layers: there is no layer ", layers.back(),
              "; the model has those from 0 to ", n_layers - 1);
}

Result<std::vector<VectorText>> encode(const Engine& engine, const ProbeOptions& options,
                                       const std::vector<Stimulus>& stimuli) {
  const Tokenizer& tokenizer = engine.tokenizer();
  std::vector<VectorText> texts;
  for (const Stimulus& stimulus : stimuli) {
    std::vector<TokenId> ids = tokenizer.encode(stimulus.text, options.special);
    ids = engine.makes().text ? tokenizer.with_prefix(std::move(ids))
                              : tokenizer.framed(std::move(ids));
    texts.push_back({stimulus.name, std::move(ids)});
    SLUICE_TRY(fit_text(engine, options, texts.back()));
  }
  return texts;
}

// The numbers of texts that are done, as they go to the array's file.
class StatesFile {
 public:
  // `bytes`: of all numbers. Fails with storage_full and as OutputFile does.
  static Result<StatesFile> create(const ProbeOptions& options, int64_t width,
                                   const std::vector<VectorText>& texts) {
    const bool all = options.wanted.of == StatesOf::all;
    const uint64_t row = options.wanted.layers.size() * static_cast<uint64_t>(width);
    uint64_t bytes = NpzWriter::kEndBytes;
    for (size_t i = 0; i < texts.size(); ++i)
      bytes += all ? 4 * row * texts[i].ids.size() + NpzWriter::entry_bytes(concat(i).size()) + 128
                   : 4 * row;
    SLUICE_TRY(check_room(options.out, bytes));
    SLUICE_ASSIGN(OutputFile out, OutputFile::create(options.out, all ? OutputFile::Replaces::npz
                                                                      : OutputFile::Replaces::npy));
    StatesFile file(std::move(out));
    if (all) {
      for (const VectorText& text : texts)
        file.shapes_.push_back(
            {options.wanted.layers.size(), text.ids.size(), static_cast<uint64_t>(width)});
    } else {
      const uint64_t shape[] = {texts.size(), options.wanted.layers.size(),
                                static_cast<uint64_t>(width)};
      SLUICE_TRY(file.out_.append(npy_bytes(npy_header(shape))));
    }
    return file;
  }
  Status add(size_t text, std::span<const float> numbers) {
    if (shapes_.empty()) return out_.append(npy_bytes(numbers));
    return archive().add(concat(text), shapes_[text], numbers);
  }
  Status finish() {
    if (!shapes_.empty()) SLUICE_TRY(archive().finish());
    return {};
  }
  Status commit() { return out_.commit(); }

 private:
  explicit StatesFile(OutputFile out) : out_(std::move(out)) {}
  NpzWriter& archive() {
    if (!archive_) archive_.emplace(out_);
    return *archive_;
  }
  OutputFile out_;
  std::optional<NpzWriter> archive_;           // of all positions; made once it doesn't move
  std::vector<std::vector<uint64_t>> shapes_;  // its arrays'
};

std::string dumped(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Writes what tells what the numbers are.
Status write_sidecar(const Engine& engine, const ModelSource& model, const ProbeOptions& options,
                     const std::vector<Stimulus>& stimuli,
                     const std::vector<std::vector<TokenId>>& tokens, OutputFile& out) {
  const auto text_at = [&](std::string_view key) -> Json {
    const auto found = engine.header().get_string(key);
    return found && *found ? Json(**found) : Json();
  };
  const Json whole = {{"version", 1},
                      {"program", "sluice " SLUICE_VERSION},
                      {"model",
                       {{"name", text_at("general.name")},
                        {"architecture", text_at("general.architecture")},
                        {"file", model.file},
                        {"bytes", engine.file_bytes()},
                        {"identity", hexadecimal(engine.identity())}}},
                      {"at", name_of(options.wanted.at)},
                      {"positions", name_of(options.wanted.of)},
                      {"layers", options.wanted.layers},
                      {"dim", engine.state_width()}};
  std::string text = dumped(whole);
  text.pop_back();
  text += ",\"stimuli\":[\n";
  for (size_t i = 0; i < stimuli.size(); ++i) {
    Json stimulus = {{"text", stimuli[i].text}, {"tokens", tokens[i]}};
    stimulus.update(stimuli[i].fields);
    text += concat(i == 0 ? "" : ",\n", dumped(stimulus));
    if (text.size() < 1 << 20) continue;
    SLUICE_TRY(out.append(npy_bytes(text)));
    text.clear();
  }
  text += "\n]}\n";
  return out.append(npy_bytes(text));
}

int probe(ProbeOptions& options) {
  const auto fail_with = [&](const Error& error) { return report_work(error, options.json); };
  if (options.quiet) be_quiet();
  if (const auto kernels = check_kernels(); !kernels) return fail_with(kernels.error());
  if (options.stimuli.empty())
    return fail_with({Code::invalid_argument,
                      "no stimuli; name a file with --stimuli: a text on each line, or JSON"});
  if (options.out.empty())
    return fail_with(
        {Code::invalid_argument, "it isn't said where to write; name a file with --out"});
  auto model = find_model(options.model, options.download);
  if (!model) return fail_with(model.error());
  if (const auto good = check_outputs(options, *model); !good) return fail_with(good.error());
  const auto stimuli = read_stimuli(options.stimuli);
  if (!stimuli) return fail_with(stimuli.error());
  options.load.vectors_only = true;
  const auto engine = load(*model, options.load);
  if (!engine) return fail_with(with_file_name(*model, engine.error()));
  warn((*engine)->notes());
  const auto layers = choose_layers((*engine)->progress().layers_total, options.wanted.layers);
  if (!layers) return fail_with(layers.error());
  auto texts = encode(**engine, options, *stimuli);
  if (!texts) return fail_with(texts.error());

  defer_signals();
  const int64_t width = (*engine)->state_width();
  auto file = StatesFile::create(options, width, *texts);
  if (!file) return fail_with(file.error());
  auto sidecar = OutputFile::create(sidecar_of(options.out), OutputFile::Replaces::sidecar);
  if (!sidecar) return fail_with(sidecar.error());
  const auto identified = wait_identified(**engine);
  if (!identified) return fail_with(with_file_name(*model, identified.error()));
  if (!*identified) return fail_with({Code::aborted, "ended by a signal"});
  std::vector<std::vector<TokenId>> tokens;
  for (const VectorText& text : *texts) tokens.push_back(text.ids);
  if (const auto written = write_sidecar(**engine, *model, options, *stimuli, tokens, *sidecar);
      !written)
    return fail_with(written.error());

  const StatesWanted& wanted = options.wanted;
  const TextWork work = {[&](Session& session, std::vector<std::vector<TokenId>> ids) {
                           return session.start_states(std::move(ids), wanted);
                         },
                         &Session::states,
                         [&](size_t n_tokens) {
                           const size_t positions = wanted.of == StatesOf::all ? n_tokens : 1;
                           return positions * wanted.layers.size() * static_cast<size_t>(width);
                         }};
  const auto figures = compute_texts(
      **engine, work, std::move(*texts),
      [&](size_t text, std::span<const float> numbers) { return file->add(text, numbers); });
  erase_status();
  if (!figures) return fail_with(with_file_name(*model, figures.error()));
  if (const auto done = file->finish(); !done) return fail_with(done.error());
  if (const auto kept = sidecar->commit(); !kept) return fail_with(kept.error());
  if (const auto kept = file->commit(); !kept) return fail_with(kept.error());
  const uint64_t n_texts = figures->texts, n_layers = wanted.layers.size();
  if (options.json) {
    Json shape = {n_texts, n_layers, width};
    if (wanted.of == StatesOf::all) shape[2] = nullptr, shape.push_back(width);
    write_json(dumped({{"out", options.out},
                       {"sidecar", sidecar_of(options.out)},
                       {"shape", shape},
                       {"tokens", figures->tokens}}) +
               "\n");
  } else {
    write_shown(concat("hidden states of ", counted(n_texts, "text"), ", ",
                       counted(n_layers, "layer"), " of ",
                       counted(static_cast<uint64_t>(width), "number"), ": ",
                       printable(options.out, kMaxShownPath), ", ",
                       printable(sidecar_of(options.out), kMaxShownPath), "\n"));
  }
  if (!options.json && !options.quiet)
    write_err(figures_line(
        **engine, *figures,
        concat("states at ", name_of(wanted.at), ", of positions: ", name_of(wanted.of))));
  return kDone;
}

}  // namespace

void add_probe(CLI::App& program, int& status) {
  auto options = std::make_shared<ProbeOptions>();
  CLI::App* app = add_command(program, "probe", "write hidden states of texts", kProbeFooter);
  add_model(*app, options->model);
  add_text(*app, "--stimuli", "FILE", options->stimuli,
           "the texts: one a line, or a list in a file whose name ends with .json; - is standard "
           "input, with lines")
      ->group(kNeededOption);
  add_text(*app, "--out", "FILE", options->out,
           "the array, FILE.npy or FILE.npz, and FILE.json beside it; older ones are replaced")
      ->group(kNeededOption);
  add_value(*app, "--positions", "WHICH:{last,mean,all}",
            "last: each text's last token (the default); mean: the mean of all; or all",
            [options](const std::string& text) {
              StatesOf& of = options->wanted.of;
              for (const StatesOf each : {StatesOf::last, StatesOf::mean, StatesOf::all})
                if (name_of(each) == text) {
                  of = each;
                  return;
                }
              refuse("--positions", "last, mean or all", text);
            })
      ->group("Output");
  add_value(*app, "--layers", "0,5,..", "these layers, ascending from 0 (default: all)",
            [options](const std::string& text) {
              std::vector<int64_t> layers = read_integers("--layers", text, 0, INT32_MAX);
              if (std::ranges::adjacent_find(layers, std::greater_equal()) != layers.end())
                refuse("--layers", "ascending numbers, each once", text);
              options->wanted.layers = std::move(layers);
            })
      ->group("Output");
  add_value(*app, "--at", "WHERE:{residual,attention,ffn}",
            "residual: the stream after the layer (the default); attention or ffn: what that "
            "branch of the layer adds to it",
            [options](const std::string& text) {
              for (const StatesAt each : {StatesAt::residual, StatesAt::attention, StatesAt::ffn})
                if (name_of(each) == text) {
                  options->wanted.at = each;
                  return;
                }
              refuse("--at", "residual, attention or ffn", text);
            })
      ->group("Output");
  add_flag(*app, "--special", options->special,
           "recognize special tokens that are written out in the texts")
      ->group("Input");
  add_json(*app, options->json, "what was written as JSON");
  add_flag(*app, "-q,--quiet", options->quiet, "no figures, no notes")->group("Output");
  add_text_options(*app, *options);
  app->callback([options, &status] { status = probe(*options); });
}

}  // namespace sluice::cli
