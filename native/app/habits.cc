#include "app/habits.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "app/diagnostics.h"
#include "base/format.h"

namespace sluice::cli {
namespace {

struct Word {
  std::string_view name;
  std::string_view here;  // what it is here: arguments with spaces between them; "": see `why`
  std::string_view why;
};

constexpr std::string_view kNoServer =
    "there is no server: pages use the library (web/engine), programs sluice --json";

// Commands of other programs. This program's own commands have precedence.
constexpr Word kCommands[] = {
    {"version", "--version", ""},
    {"list", "cache list", ""},
    {"ls", "cache list", ""},
    {"rm", "cache delete", ""},
    {"show", "inspect", ""},
    {"serve", "", kNoServer},
    {"server", "", kNoServer},
    {"ps", "", "no model stays loaded between two runs, so there is nothing to list"},
    {"stop", "", "no model stays loaded between two runs; Ctrl-C ends one"},
    {"create", "", "there are no Modelfiles: give --system and options to sluice chat"},
    {"cp", "", "models have no other names; copy the file that sluice pull prints"},
    {"push", "", "models can't be uploaded"},
    {"perplexity", "", "sluice logits shows what a model expects after a text"},
};

enum class Takes : uint8_t { nothing, value, perhaps };  // perhaps: on, off, auto, 0 or 1

struct Flag {
  std::string_view names;  // with spaces between them
  Takes takes;
  // What it is here, before its value: "-m hf:"; "": it is left out with a note, or refused.
  std::string_view here;
  std::string_view why;
  bool refused = false;
  std::string_view command = "";  // of which it is an option there; "": of any
};

constexpr std::string_view kNoGpu = "Sluice computes on the CPU";
constexpr std::string_view kChosen = "Sluice chooses that itself";
constexpr std::string_view kAlwaysSo = "it is always so here";
constexpr std::string_view kThinking = "thinking is shown on a terminal alone, dimmed";
constexpr std::string_view kNoLog = "there is no log; -q hides figures and notes";

// Options of other programs. A command's own option of the same name has precedence.
constexpr Flag kFlags[] = {
    {"-ngl --gpu-layers --n-gpu-layers --num-gpu", Takes::value, "", kNoGpu},
    {"-dev --device -mg --main-gpu -sm --split-mode -ts --tensor-split", Takes::value, "", kNoGpu},
    {"-nkvo --no-kv-offload --no-op-offload", Takes::nothing, "", kNoGpu},
    {"-fa --flash-attn", Takes::perhaps, "", "attention is always computed in one sweep"},
    {"-b --batch-size -ub --ubatch-size -tb --threads-batch --prio --poll", Takes::value, "",
     kChosen},
    {"--mlock --no-mmap --mmap --numa --no-warmup --no-repack", Takes::nothing, "", kChosen},
    {"--jinja", Takes::nothing, "", "templates are always Jinja"},
    {"--no-jinja", Takes::nothing, "", "templates are always Jinja", true},
    {"--host --port", Takes::value, "", kNoServer, true},
    {"-co --color --colors", Takes::perhaps, "", "a terminal has colours, unless NO_COLOR is set"},
    {"--log-disable --perf --no-perf --simple-io --verbose --verbose-prompt --nowordwrap",
     Takes::nothing, "", kNoLog},
    {"-lv --verbosity --log-verbosity --log-file", Takes::value, "", kNoLog},
    {"-C --cpu-mask -Cr --cpu-range --cpu-strict -np --parallel --keep", Takes::value, "", kChosen},
    {"--rope-scaling --rope-scale --rope-freq-base --rope-freq-scale --yarn-orig-ctx", Takes::value,
     "", "the model's file says it", true},
    {"-ot --override-tensor -ncmoe --n-cpu-moe", Takes::value, "", kNoGpu},
    {"-cb --cont-batching -cmoe --cpu-moe -kvu --kv-unified --swa-full --offline --insecure",
     Takes::nothing, "", kChosen},
    {"--ids --show-count --stdin --no-bos --no-parse-special", Takes::nothing, "", kAlwaysSo},
    {"--keepalive", Takes::value, "", "no model stays loaded between two runs"},
    {"-no-cnv --no-conversation --no-escape --no-context-shift", Takes::nothing, "", kAlwaysSo},
    {"-hf -hfr --hf-repo", Takes::value, "-m hf:", ""},
    {"-mu --model-url", Takes::value, "-m ", ""},
    {"--predict --max-tokens --num-predict", Takes::value, "-n ", ""},
    {"--num-ctx --context-size --context", Takes::value, "-c ", ""},
    {"--num-thread", Takes::value, "-t ", ""},
    {"-s", Takes::value, "--seed ", ""},
    {"-r --reverse-prompt", Takes::value, "--stop ", ""},
    {"-sys --system-prompt", Takes::value, "--system ", ""},
    {"--chat-template-file", Takes::value, "--chat-template ", ""},
    {"--chat-template-kwargs", Takes::value, "--kwargs ", ""},
    {"--prompt-cache", Takes::value, "--session ", ""},
    {"-d --n-depth", Takes::value, "--depth ", ""},
    {"--outtype", Takes::value, "--type ", "", false, "convert"},
    {"--model-name", Takes::value, "--name ", "", false, "convert"},
    {"-o --output --outfile", Takes::value, "",
     "the file stands behind the folder: sluice convert FOLDER OUT.gguf", true, "convert"},
    {"--remote", Takes::nothing, "", "a repository of a hub is hf:OWNER/REPO", true, "convert"},
    {"--embd-normalize", Takes::value, "",
     "vectors are divided by their length, as with 2; --no-normalize is -1", true, "embed"},
    {"--embd-output-format", Takes::value, "",
     "--json prints an object for each text, --npy FILE writes an array", true, "embed"},
    {"--embd-separator", Takes::value, "", "-f FILE has a text on each line", true, "embed"},
    {"--output-format", Takes::value, "", "OUT is GGUF, as llama-imatrix writes it", false,
     "imatrix"},
    {"--output-frequency -ofreq --save-frequency", Takes::value, "",
     "OUT is written once, when all is done", false, "imatrix"},
    {"--no-ppl", Takes::nothing, "", kAlwaysSo, false, "imatrix"},
    {"--in-file", Takes::value, "", "matrices can't be added up; measure over one longer text",
     true, "imatrix"},
    {"-o --output -oe", Takes::value, "", "--json prints JSON, and nothing prints Markdown", true},
    {"--output-tensor-type", Takes::value, "", "write --tensor-type '^output.weight=TYPE'", true},
    {"--token-embedding-type", Takes::value, "", "write --tensor-type '^token_embd=TYPE'", true},
    {"-pg", Takes::value, "", "-p and --depth measure a prompt, and decoding behind a text", true},
    {"--no-display-prompt", Takes::nothing, "-q", ""},
    {"-ctk --cache-type-k -ctv --cache-type-v", Takes::value, "",
     "--kv-type f32, f16 or q8_0 sets both", true},
    {"-hff --hf-file", Takes::value, "", "name the file in MODEL: hf:OWNER/REPO:FILE", true},
    {"-cnv --conversation -i --interactive --interactive-first -if", Takes::nothing, "",
     "sluice chat MODEL is a conversation", true},
    {"-st --single-turn", Takes::nothing, "", "sluice chat MODEL -p TEXT answers once"},
    {"--hidethinking", Takes::nothing, "", kThinking},
    {"--reasoning-format", Takes::value, "", kThinking},
    {"--reasoning-budget", Takes::value, "--think-tokens ", ""},
    {"-e --escape", Takes::nothing, "",
     "a text is taken as it is; the shell's $'..' knows escapes like \\n", true},
    {"-sysf --system-prompt-file", Takes::value, "", "write --system \"$(cat FILE)\"", true},
    {"--context-shift", Takes::nothing, "",
     "sluice chat --context-full drop leaves out the oldest turns", true},
    {"--grammar --grammar-file -j --json-schema --format", Takes::value, "",
     "answers can't be held to a form yet", true},
    {"--lora --lora-scaled --control-vector -mm --mmproj -md --model-draft", Takes::value, "",
     "only the model's own file is used", true},
    {"--samplers --sampler-seq --sampling-seq --mirostat --dynatemp-range", Takes::value, "",
     "the samplers have one order, and --help lists them", true},
};

bool has_word(std::string_view words, std::string_view word) {
  for (size_t at = 0; at < words.size();) {
    const size_t end = std::min(words.find(' ', at), words.size());
    if (words.substr(at, end - at) == word) return true;
    at = end + 1;
  }
  return false;
}

// The option of a command; of any, without a name of one.
const Flag* find_flag(std::string_view name, std::string_view command = "") {
  const auto* const found = std::ranges::find_if(kFlags, [&](const Flag& flag) {
    const bool its = flag.command.empty() || command.empty() || flag.command == command;
    return its && has_word(flag.names, name);
  });
  return found == std::end(kFlags) ? nullptr : found;
}

const CLI::App* find_command(const CLI::App& program, const std::string& name) {
  for (const CLI::App* command : program.get_subcommands({}))
    if (command->get_name() == name) return command;
  return nullptr;
}

bool is_switch(std::string_view text) {
  constexpr std::array kSwitches = {"on", "off", "auto", "0", "1", "always", "never"};
  return std::ranges::find(kSwitches, text) != kSwitches.end();
}

// Appends this program's arguments for a command of another. Returns how many arguments it has
// read.
Result<size_t> take_command(const CLI::App& program, std::span<const std::string> arguments,
                            std::vector<std::string>& out) {
  const std::string& name = arguments.front();
  if (find_command(program, name) != nullptr) return 0;
  if (name == "help") {
    // help COMMAND is COMMAND --help.
    if (arguments.size() > 1 && arguments[1] != "help") {
      SLUICE_ASSIGN(const size_t taken, take_command(program, arguments.subspan(1), out));
      if (taken == 0) out.push_back(arguments[1]);
    }
    out.emplace_back("--help");
    return arguments.size();
  }
  for (const Word& word : kCommands) {
    if (word.name != name) continue;
    if (word.here.empty())
      return fail(Code::invalid_argument, "sluice has no command ", name, ": ", word.why);
    for (size_t at = 0; at < word.here.size();) {
      const size_t end = std::min(word.here.find(' ', at), word.here.size());
      out.emplace_back(word.here.substr(at, end - at));
      at = end + 1;
    }
    return 1;
  }
  return 0;
}

// Fails if the command has no option `here`, this program's name for `name`.
Status check_flag(const CLI::App& program, const CLI::App& command, const std::string& name,
                  const std::string& here) {
  if (command.get_option_no_throw(here) != nullptr) return {};
  const CLI::App* chat = find_command(program, "chat");
  const bool in_chat = chat != nullptr && chat->get_option_no_throw(here) != nullptr;
  return fail(Code::invalid_argument, name, " is ", here, " here, which sluice ",
              command.get_name(), " doesn't have", in_chat ? "; sluice chat does" : "");
}

// Appends this program's option for one of another program. `value`: the option's. A note names an
// option that is left out, unless `quiet`.
Status take_flag(const Flag& flag, const std::string& name, const std::optional<std::string>& value,
                 bool quiet, std::vector<std::string>& out) {
  if (flag.refused) return fail(Code::invalid_argument, name, ": ", flag.why);
  if (flag.here.empty()) {
    const std::string said = value ? concat(" ", printable(*value)) : "";
    if (!quiet) note(concat(name, said, " is left out: ", flag.why));
    return {};
  }
  const size_t space = std::min(flag.here.find(' '), flag.here.size());
  out.emplace_back(flag.here.substr(0, space));
  if (flag.takes == Takes::value)
    out.push_back(concat(flag.here.substr(std::min(space + 1, flag.here.size())), *value));
  return {};
}

}  // namespace

bool is_habit(std::string_view option) {
  return find_flag(option.substr(0, option.find('='))) != nullptr;
}

Result<std::vector<std::string>> read_habits(const CLI::App& program,
                                             const std::vector<std::string>& arguments) {
  std::vector<std::string> out;
  if (arguments.empty()) return out;
  SLUICE_ASSIGN(size_t at, take_command(program, arguments, out));
  if (at == 0) out.push_back(arguments[at++]);
  const CLI::App* command = find_command(program, out.front());
  if (command == nullptr) {
    out.insert(out.end(), arguments.begin() + static_cast<std::ptrdiff_t>(at), arguments.end());
    return out;
  }
  const auto has = [&](const char* flag) {
    return std::ranges::find(arguments, flag) != arguments.end();
  };
  const bool quiet = has("-q") || has("--quiet");
  while (at < arguments.size()) {
    const std::string& argument = arguments[at++];
    if (argument == "--") {
      out.insert(out.end(), arguments.begin() + static_cast<std::ptrdiff_t>(at) - 1,
                 arguments.end());
      break;
    }
    const size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    const CLI::Option* known = command->get_option_no_throw(name);
    const Flag* flag =
        known == nullptr && name.starts_with('-') ? find_flag(name, command->get_name()) : nullptr;
    if (flag == nullptr) {
      out.push_back(argument);
      const bool has_value = known != nullptr && known->nonpositional() &&
                             known->get_items_expected_min() > 0 && equals == std::string::npos;
      if (has_value && at < arguments.size()) out.push_back(arguments[at++]);
      continue;
    }
    if (!flag->here.empty()) {
      SLUICE_TRY(check_flag(program, *command, name,
                            std::string(flag->here.substr(0, flag->here.find(' ')))));
    }
    std::optional<std::string> value;
    if (equals != std::string::npos) value = argument.substr(equals + 1);
    if (!value && at < arguments.size() &&
        (flag->takes == Takes::value ||
         (flag->takes == Takes::perhaps && is_switch(arguments[at]))))
      value = arguments[at++];
    if (flag->takes == Takes::value && !value && !flag->refused)
      return fail(Code::invalid_argument, name, " needs a value");
    SLUICE_TRY(take_flag(*flag, name, value, quiet, out));
  }
  return out;
}

}  // namespace sluice::cli
