// sluice edit: changes a file's metadata.
#include "files/edit.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/inspect.h"
#include "app/arguments.h"
#include "app/diagnostics.h"
#include "app/exit_status.h"
#include "app/file_bytes.h"
#include "app/file_progress.h"
#include "app/header_rewrite.h"
#include "app/help.h"
#include "app/model.h"
#include "app/output.h"
#include "app/output_files.h"
#include "app/private_file.h"
#include "app/signals.h"
#include "app/template_input.h"
#include "app/text.h"
#include "app/usage.h"
#include "base/format.h"
#include "commands/commands.h"
#include "engine/memory_plan.h"
#include "files/compare.h"
#include "files/value_text.h"
#include "jinja/template.h"
#include "text/tokenizer.h"

namespace sluice::cli {
namespace {

using Json = nlohmann::ordered_json;

struct EditOptions {
  std::string model;
  std::string out;
  DownloadOptions download;
  MetadataEdit edit;
  std::string template_file;
  bool in_place = false;
  bool force = false;
  bool json = false;
};

constexpr char kEditFooter[] =
    R"(Changes what the header says; the tensors and their data stay. Keys are removed
first, then set. A key that exists keeps its type. A new one needs a type, as in
KEY=u32:7, unless its name tells it or its value is a JSON array: u8, i8, u16,
i16, u32, i32, u64, i64, f32, f64, bool, str, and arrays of these, as in
KEY=i32[]:[1,2]. Keys that say how the file is laid out can't be changed.

The file is written whole to OUT, or not at all; OUT may be the file itself.
With --in-place only the header is written, if the new one has room in the place
of the old: a key edit.padding fills what is left over, and the next edit may
use it. However that ends, the file is the old or the new one: FILE.edit keeps
both headers meanwhile, and the next command that opens the file finishes what
was broken off. Of a split model the first file is edited, and OUT, which ends
with -00001-of-0000N.gguf as well, gets copies of the others.

An edit after which the model doesn't run here any more, also by another
architecture, one that names a token that the vocabulary doesn't have, or a chat
template that can't be parsed needs --force. Prints what has changed.

Examples:
  sluice edit in.gguf out.gguf --set general.name="My model"
  sluice edit in.gguf out.gguf --template chat.jinja
  sluice edit model.gguf --in-place --set tokenizer.ggml.eos_token_id=2
  sluice edit in.gguf out.gguf --set general.license=MIT --set my.list='["a"]')";

// The header of one file, also of the first of a split model.
Result<Gguf> header_of_file(DiskFile& file) {
  GgufParser parser;
  parser.set_file_size(file.size());
  std::vector<uint8_t> buffer(size_t{1} << 20);
  for (uint64_t at = 0; at < file.size() && !parser.done();) {
    const std::span<uint8_t> piece(buffer.data(),
                                   std::min<uint64_t>(buffer.size(), file.size() - at));
    SLUICE_TRY(file.read(at, piece));
    SLUICE_ASSIGN(const size_t taken, parser.push(piece));
    at += taken;
  }
  SLUICE_TRY(parser.finish());
  return parser.take();
}

// Fails as loading would.
Status runs(const Gguf& header) {
  SLUICE_TRY(plan_memory(header, LoadOptions()));
  SLUICE_ASSIGN(const Tokenizer tokenizer, Tokenizer::from_gguf(header));
  const TensorInfo* embedding = header.find_tensor("token_embd.weight");
  const auto n_tokens = static_cast<uint64_t>(tokenizer.vocab_size());
  if (embedding == nullptr || embedding->dims[1] == n_tokens) return {};
  return fail(Code::bad_file, "the vocabulary has ", counted(n_tokens, "token"),
              ", but token_embd.weight has ", counted(embedding->dims[1], "row"));
}

Notes vocabulary_notes(const Gguf& header) {
  const auto tokenizer = Tokenizer::from_gguf(header);
  return tokenizer ? tokenizer->warnings() : Notes();
}

// A message without "; it is damaged or incomplete: get it again": here the edit does that.
std::string without_advice(const std::string& message) {
  return message.substr(0, message.find("; it is damaged"));
}

// Refuses what makes a model useless that was of use.
Status check_use(const Gguf& before, const Gguf& after, bool force) {
  const auto refuse_or_warn = [force](std::string_view what, const std::string& why) -> Status {
    const std::string text = concat(what, ": ", why);
    if (!force) return fail(Code::invalid_argument, text, " (--force does it anyway)");
    warn(text);
    return {};
  };
  const auto old_template = before.get_string("tokenizer.chat_template");
  const auto new_template = after.get_string("tokenizer.chat_template");
  if (new_template && *new_template && (!old_template || *old_template != *new_template)) {
    if (const auto made = jinja::Template::parse(**new_template); !made)
      SLUICE_TRY(refuse_or_warn("the chat template can't be parsed", made.error().message));
  }
  if (!runs(before)) return {};
  if (const Status after_runs = runs(after); !after_runs) {
    return refuse_or_warn("by this edit the model wouldn't run here any more",
                          without_advice(after_runs.error().message));
  }
  const Notes old_notes = vocabulary_notes(before);
  for (const Note& each : vocabulary_notes(after)) {
    if (each.code != NoteCode::token_not_in_vocabulary) continue;
    const auto is_same = [&](const Note& old) { return old.message == each.message; };
    if (std::ranges::none_of(old_notes, is_same))
      SLUICE_TRY(refuse_or_warn("the model would lose a token", each.message));
  }
  return {};
}

// Where the files of the model go; one, unless it is split.
Result<std::vector<std::string>> output_paths(const std::string& out, size_t n_files) {
  const std::vector<std::string> paths = model_paths(out);
  if (paths.size() == n_files && paths.front() == out) return paths;
  if (n_files > 1) {
    return fail(Code::invalid_argument, "the model is split into ", n_files,
                " files; OUT must be the name of the first of as many: it ends with ",
                format("-00001-of-%05zu.gguf", n_files));
  }
  return fail(Code::invalid_argument, printable(out, kMaxShownPath),
              " is the name of a split model's file, and the model is one file; give OUT another");
}

// Copies what follows `at` of the file.
Status copy_rest(DiskFile& file, uint64_t at, OutputFile& out, FileProgress& progress,
                 const OnFileProgress& on_progress) {
  std::vector<uint8_t> buffer(size_t{4} << 20);
  while (at < file.size()) {
    const std::span<uint8_t> piece(buffer.data(),
                                   std::min<uint64_t>(buffer.size(), file.size() - at));
    SLUICE_TRY(file.read(at, piece));
    SLUICE_TRY(out.append(piece));
    at += piece.size();
    progress.done += piece.size();
    if (!on_progress(progress)) return fail(Code::aborted, "interrupted");
  }
  return {};
}

std::span<const uint8_t> header_span(const std::string& header) {
  return {reinterpret_cast<const uint8_t*>(header.data()), header.size()};
}

// A value, or what stands of it where two long texts differ first.
std::string changed_text(const FieldDifference& each, const MetadataValue* value, size_t width) {
  if (value == nullptr) return "";
  const size_t most = width / 3;
  constexpr size_t kBefore = 12;  // bytes that show where it is
  const bool is_long = each.a != nullptr && each.b != nullptr && each.first &&
                       *each.first > most / 2 && !value->is_array();
  if (!is_long) return value_text(*value, most);
  return element_text(*value, 0, most, static_cast<size_t>(*each.first) - kBefore);
}

class Editor {
 public:
  Editor(const EditOptions& options, ModelSource model)
      : options_(options), model_(std::move(model)) {}

  Status read() {
    SLUICE_TRY(fetch(model_));
    SLUICE_ASSIGN(const DiskModel whole, DiskModel::open(model_.paths));
    SLUICE_ASSIGN(DiskFile first, DiskFile::open(model_.paths.front()));
    file_.emplace(std::move(first));
    SLUICE_ASSIGN(before_, header_of_file(*file_));
    after_ = before_;
    return edit(whole.header());
  }

  // In the place of the old header.
  Status write_in_place() {
    const std::string& path = model_.paths.front();
    written_ = path;
    if (compare_fields(before_, after_).empty()) return {};
    if (before_.tensors.empty()) {  // the file is nothing but its header
      SLUICE_ASSIGN(const std::string header, edited_header(after_));
      SLUICE_ASSIGN(OutputFile out, OutputFile::create(path));
      SLUICE_TRY(out.append(header_span(header)));
      return out.commit();
    }
    SLUICE_ASSIGN(const std::string header, edited_header(after_, before_.data_offset));
    std::string old(header.size(), '\0');
    SLUICE_TRY(file_->read(0, {reinterpret_cast<uint8_t*>(old.data()), old.size()}));
    return rewrite_header(path, old, header);
  }

  Status write_out(const OnFileProgress& on_progress) {
    SLUICE_ASSIGN(const auto paths, output_paths(options_.out, model_.paths.size()));
    SLUICE_ASSIGN(const std::string header, edited_header(after_));
    written_ = paths.front();
    std::vector<DiskFile> others;
    FileProgress progress{0, file_->size(), ""};
    for (size_t i = 1; i < paths.size(); ++i) {
      SLUICE_ASSIGN(DiskFile other, DiskFile::open(model_.paths[i]));
      progress.total += other.size();
      others.push_back(std::move(other));
    }
    if (!options_.template_file.empty())
      SLUICE_TRY(check_other_files(paths, {options_.template_file}));
    SLUICE_TRY(check_room(paths.front(), progress.total));
    // The first file comes last: without it there is no model.
    for (size_t i = 1; i < paths.size(); ++i) {
      if (target_of(paths[i]) == target_of(model_.paths[i])) continue;
      SLUICE_ASSIGN(OutputFile out, OutputFile::create(paths[i]));
      SLUICE_TRY(copy_rest(others[i - 1], 0, out, progress, on_progress));
      SLUICE_TRY(out.commit());
    }
    SLUICE_ASSIGN(OutputFile out, OutputFile::create(paths.front()));
    SLUICE_TRY(out.append(header_span(header)));
    if (!before_.tensors.empty())
      SLUICE_TRY(copy_rest(*file_, before_.data_offset, out, progress, on_progress));
    return out.commit();
  }

  // What has changed, as text or as one JSON object.
  void show() const {
    const size_t width = std::max<size_t>(terminal_columns(STDOUT_FILENO), 40);
    Json changes = Json::array();
    const auto json_of = [](const MetadataValue* value) {
      return value == nullptr ? Json() : Json::parse(metadata_json(*value), nullptr, false);
    };
    for (const FieldDifference& each : compare_fields(before_, after_)) {
      if (options_.json) {
        changes.push_back(
            {{"key", each.key}, {"before", json_of(each.a)}, {"after", json_of(each.b)}});
        continue;
      }
      const auto text = [&](const MetadataValue* value) {
        return changed_text(each, value, width);
      };
      std::string line = concat(printable(each.key, width), ": ");
      if (each.b == nullptr) {
        line += concat("removed, was ", text(each.a));
      } else if (each.a == nullptr) {
        line += concat("new, ", text(each.b));
      } else {
        line += concat(text(each.a), " -> ", text(each.b));
      }
      write_shown(line + "\n");
    }
    if (options_.json) {
      const Json out = {{"file", written_}, {"changes", std::move(changes)}};
      return write_json(out.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
    }
    const bool same = compare_fields(before_, after_).empty();
    const std::string_view done = same && options_.in_place ? " says that already"
                                  : same                    ? " is written; nothing differs"
                                                            : " is written";
    note(concat(printable(written_, kMaxShownPath), done));
  }

 private:
  Status edit(const Gguf& whole) {
    const MetadataEdit& edit = options_.edit;
    std::vector<std::string> keys;
    for (const auto& [key, value] : before_.metadata) keys.push_back(key);
    for (const std::string& key : edit.remove) {
      if (before_.find(key) == nullptr) {
        return fail(Code::not_found, "the file has no key '", printable(key), "' to remove",
                    did_you_mean(key, keys));
      }
    }
    if (Status edited = edit_metadata(after_, edit); !edited) {
      // A new key without a type may be a known one that is mistyped.
      const std::vector<std::string> known = well_known_keys();
      keys.insert(keys.end(), known.begin(), known.end());
      Error error = std::move(edited).error();
      for (const auto& [key, value] : edit.set) {
        if (!error.message.starts_with(concat(printable(key), " is new"))) continue;
        error.message += did_you_mean(key, keys);
        break;
      }
      return std::unexpected(std::move(error));
    }
    Gguf edited = whole;
    edited.metadata = after_.metadata;
    return check_use(whole, edited, options_.force);
  }

  const EditOptions& options_;
  ModelSource model_;
  std::optional<DiskFile> file_;  // the first
  Gguf before_, after_;           // its own header
  std::string written_;
};

Status take_template(EditOptions& options) {
  const std::string& file = options.template_file;
  if (file.empty()) return {};
  SLUICE_ASSIGN(options.edit.chat_template,
                options.force ? contents_of(file) : read_template(file, "--template"));
  return {};
}

int edit(EditOptions& options) {
  const auto refuse_usage = [&](std::string_view message) {
    return report({Code::invalid_argument, concat(message, "; see sluice edit --help")},
                  options.json);
  };
  if (options.model.empty()) return refuse_usage("no file is named");
  if (options.edit.remove.empty() && options.edit.set.empty() && options.template_file.empty())
    return refuse_usage("nothing is to be changed: give --set, --remove or --template");
  if (options.in_place && !options.out.empty())
    return refuse_usage("OUT and --in-place exclude each other");
  if (!options.in_place && options.out.empty())
    return refuse_usage("it isn't said where to write: give OUT, or --in-place");
  if (const Status taken = take_template(options); !taken)
    return report(taken.error(), options.json);
  auto model = find_model(options.model, options.download);
  if (!model) return report(model.error(), options.json);
  if (options.in_place && !model->address.empty()) {
    return report({Code::invalid_argument,
                   concat(printable(options.model), " is a model of the cache, whose bytes are ",
                          "checked by their hashes; give OUT instead of --in-place")},
                  options.json);
  }
  const ModelSource named = *model;
  defer_signals();
  Editor editor(options, std::move(*model));
  Status done = editor.read();
  if (done)
    done = options.in_place ? editor.write_in_place() : editor.write_out(shown_progress("writing"));
  if (!done) return report_work(with_file_name(named, done.error()), options.json);
  erase_status();
  editor.show();
  return kDone;
}

CLI::Option* add_repeated(CLI::App& app, const std::string& name, const std::string& type,
                          const std::string& description,
                          const std::function<void(const std::string&)>& read) {
  const auto take = [read](const CLI::results_t& results) {
    for (const std::string& each : results) read(each);
    return true;
  };
  return app.add_option(name, take, description)
      ->type_name(type)
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group("Changes");
}

}  // namespace

void add_edit(CLI::App& program, int& status) {
  auto options = std::make_shared<EditOptions>();
  CLI::App* app = add_command(program, "edit", "change a model file's metadata", kEditFooter);
  const auto take_out = [options](const std::string& text) {
    if (!options->out.empty()) throw CLI::ValidationError(too_many_arguments(text, false));
    options->out = text;
  };
  // Values are read in this order.
  add_text(*app, "-m,--model", "FILE", options->model, "the same as IN")->group("Input");
  add_value(*app, "IN", "FILE", "a GGUF file, or a name or an address as for sluice inspect",
            [options, take_out](const std::string& text) {
              if (options->model.empty()) {
                options->model = text;
              } else {
                take_out(text);
              }
            })
      ->option_text("IN");
  add_value(*app, "OUT", "FILE", "the file to write; an older GGUF file of that name is replaced",
            take_out)
      ->option_text("(OUT | --in-place)");
  add_repeated(*app, "--set", "KEY=VALUE", "give the key this value; may be given several times",
               [options](const std::string& text) {
                 const size_t at = text.find('=');
                 if (at == std::string::npos || at == 0)
                   refuse("--set", "KEY=VALUE, like general.name=Tiny", text);
                 options->edit.set.emplace_back(text.substr(0, at), text.substr(at + 1));
               });
  add_repeated(*app, "--remove", "KEY", "remove the key; may be given several times",
               [options](const std::string& text) { options->edit.remove.push_back(text); });
  add_text(*app, "--template,--chat-template", "FILE", options->template_file,
           "make this Jinja file the chat template; - is standard input")
      ->group("Changes");
  add_flag(*app, "--in-place", options->in_place, "change the file itself")->group("Output");
  add_flag(*app, "--force", options->force, "also what makes the model unusable here")
      ->group("Output");
  add_json(*app, options->json, "the changes as one JSON object");
  add_download_options(*app, options->download);
  app->callback([options, &status] { status = edit(*options); });
}

}  // namespace sluice::cli
