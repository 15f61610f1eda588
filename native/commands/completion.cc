// sluice completion: writes completion scripts for bash, zsh and fish from CLI11's options.
#include <algorithm>
#include <map>

#include "app/exit_status.h"
#include "app/help.h"
#include "app/output.h"
#include "base/format.h"
#include "commands/commands.h"

namespace sluice::cli {
namespace {

constexpr char kCompletionFooter[] =
    R"(Prints the script that completes commands, options and their values. Put the
first line into ~/.bashrc; the folders of the others must exist.

Examples:
  source <(sluice completion bash)
  sluice completion zsh > ~/.zfunc/_sluice     with ~/.zfunc in $fpath
  sluice completion fish > ~/.config/fish/completions/sluice.fish)";

using Options = std::vector<const CLI::Option*>;

std::vector<const CLI::App*> commands_of(const CLI::App& program) {
  return program.get_subcommands({});
}

// "continue a text from a prompt"
std::string purpose_of(const CLI::App& command) {
  const std::string text = command.get_description();
  return text.substr(text.find(" - ") + 3);
}

std::vector<std::string> names_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

// The values of an option, separated by spaces; "" if they can't be listed.
std::string choices_of(const CLI::Option& option) {
  if (option.get_positional() && option.get_name(true) == "SHELL") return "bash fish zsh";
  if (option.get_positional() && option.get_name(true) == "ACTION") return "delete list verify";
  if (option.check_lname("context-full")) return "drop stop";
  const std::string type = option.get_type_name();  // TYPE:{f32,f16,q8_0}
  const size_t open = type.find('{');
  if (open == std::string::npos) return "";
  std::string choices = type.substr(open + 1, type.find('}', open) - open - 1);
  std::replace(choices.begin(), choices.end(), ',', ' ');
  return choices;
}

bool takes_file(const CLI::Option& option) { return value_of(option) == "FILE"; }
// A folder, or the file to write: any path.
bool takes_path(const CLI::Option& option) {
  return option.get_positional() && (value_of(option) == "FOLDER" || value_of(option) == "OUT");
}
// A path, or a name of the cache or the shelf.
bool takes_model(const CLI::Option& option) {
  return option.get_positional() ? option.get_name(true) == "MODEL" : option.check_lname("model");
}
// A name of the cache, or also of the shelf where a model may still be fetched.
bool takes_name(const CLI::Option& option) {
  return option.get_positional() && option.get_name(true) == "ADDRESS";
}
bool fetches(const CLI::App& command) { return command.get_name() != "cache"; }

// Commands that print names, one a line. Names of the cache are from files and servers: each script
// takes the lines unchanged, and the shell quotes the text that it inserts.
constexpr char kListKept[] = "command sluice cache list --names 2> /dev/null";
constexpr char kListShelf[] = "command sluice models --names 2> /dev/null";

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : std::string(between)) + word;
  return out;
}

// Escapes a text for single quotes; the same in all three shells.
std::string within_quotes(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out;
}

std::string in_quotes(const std::string& text) { return concat("'", within_quotes(text), "'"); }

// --- bash ----------------------------------------------------------------------------------------

// The action that completes an option's value; "" if there is none.
std::string bash_values(const CLI::Option& option) {
  if (takes_model(option)) return "_sluice_models; ";
  if (takes_file(option)) return "_sluice_files '*'; ";
  const std::string choices = choices_of(option);
  return choices.empty() ? "" : concat("_sluice_words ", in_quotes(choices), "; ");
}

std::string bash(const CLI::App& program) {
  std::string commands, options;
  std::map<std::string, std::vector<std::string>> values;  // by action: the words before it
  for (const CLI::App* command : commands_of(program)) {
    commands += command->get_name() + " ";
    std::string all, positional, rest = ":";  // what is completed first, and then
    for (const CLI::Option* option : command->get_options()) {
      if (option->get_positional()) positional += choices_of(*option);
      if (takes_path(*option)) rest = "_sluice_paths";
      if (takes_model(*option)) rest = "_sluice_models";
      if (takes_name(*option)) rest = fetches(*command) ? "_sluice_names" : "_sluice_kept";
      for (const std::string& name : names_of(*option)) {
        all += name + " ";
        if (option->get_items_expected_min() > 0)
          values[bash_values(*option)].push_back(in_quotes(command->get_name() + " " + name));
      }
    }
    options += concat("    ", command->get_name(), ") options=", in_quotes(all),
                      "; words=", in_quotes(positional), "; rest=", rest, " ;;\n");
  }
  std::string cases;
  for (const auto& [action, words] : values)
    cases += concat("    ", joined(words, " | "), ") ", action, "return ;;\n");
  return concat(R"(# bash completion of sluice, written by: sluice completion bash
_sluice_files() {
  compopt -o filenames
  mapfile -t COMPREPLY < <(compgen -f -X "!$1" -- "$cur"; compgen -d -- "$cur")
}
_sluice_paths() {
  _sluice_files '*'
}
_sluice_words() {
  COMPREPLY=($(compgen -W "$1" -- "$cur"))
}
_sluice_lines() {
  local name
  compopt -o filenames
  while IFS= read -r name; do
    # Of other characters bash doesn't quote all, and a colon begins another word.
    [[ ${name,,} == "${cur,,}"* && $name != *[^A-Za-z0-9._+\ -]* ]] && COMPREPLY+=("$name")
  done
}
_sluice_kept() {
  _sluice_lines < <()",
                kListKept, R"()
}
_sluice_names() {
  _sluice_kept
  _sluice_lines < <()",
                kListShelf, R"()
}
_sluice_models() {
  _sluice_files '*.gguf'
  _sluice_names
}
_sluice() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} options words rest word
  if (( COMP_CWORD == 1 )); then
    COMPREPLY=($(compgen -W ')",
                commands, R"(--help --version' -- "$cur"))
    return
  fi
  case "${COMP_WORDS[1]} $prev" in
)",
                cases, R"(  esac
  case "${COMP_WORDS[1]}" in
)",
                options, R"(    rm) options='--all --json --help'; rest=_sluice_kept ;;
    *) return ;;
  esac
  for word in "${COMP_WORDS[@]:2:COMP_CWORD-2}"; do
    [[ " $words " == *" $word "* ]] && words=
  done
  if [[ $cur == -* ]]; then
    _sluice_words "$options"
  elif [[ -n $words ]]; then
    _sluice_words "$words"
  else
    $rest
  fi
}
complete -F _sluice sluice
)");
}

// --- zsh -----------------------------------------------------------------------------------------

// Escapes a text for an _arguments specification.
std::string zsh_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return within_quotes(out);
}

std::string zsh_values(const CLI::App& command, const CLI::Option& option) {
  if (takes_model(option)) return "_sluice_models";
  if (takes_name(option)) return fetches(command) ? "_sluice_names" : "_sluice_kept";
  if (takes_path(option)) return "_files";
  if (takes_file(option)) return option.get_positional() ? "_files -g \"*.gguf(-.)\"" : "_files";
  const std::string choices = choices_of(option);
  return choices.empty() ? " " : concat("(", choices, ")");
}

std::string zsh(const CLI::App& program) {
  std::string commands, cases;
  for (const CLI::App* command : commands_of(program)) {
    commands +=
        concat("    ", in_quotes(concat(command->get_name(), ":", purpose_of(*command))), "\n");
    std::string specs;
    int position = 0;
    for (const CLI::Option* option : command->get_options()) {
      const std::string value = value_of(*option);
      const std::string behind =
          value.empty() ? "" : concat(":", value, ":", zsh_values(*command, *option));
      const std::string text = zsh_text(option->get_description());
      if (option->get_positional()) {
        ++position;
        const bool repeats = option->get_items_expected_max() > 1;
        specs += concat(" \\\n        '", repeats ? "*" : concat(position), behind, "'");
        continue;
      }
      const std::vector<std::string> names = names_of(*option);
      const bool repeats = option->get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
      const std::string others = repeats ? "*" : concat("(", joined(names, " "), ")");
      for (const std::string& name : names)
        specs += concat(" \\\n        '", others, name, "[", text, "]", behind, "'");
    }
    cases += concat("      ", command->get_name(), ")\n        _arguments -S", specs, " ;;\n");
  }
  return concat(R"(#compdef sluice
# zsh completion of sluice, written by: sluice completion zsh
_sluice_lines() {
  compadd -M 'm:{[:lower:][:upper:]}={[:upper:][:lower:]}' -- ${@:#}
}
_sluice_kept() {
  _sluice_lines "${(@f)$()",
                kListKept, R"()}"
}
_sluice_names() {
  _sluice_kept
  _sluice_lines "${(@f)$()",
                kListShelf, R"()}"
}
_sluice_models() {
  _sluice_names
  _files -g '*.gguf(-.)'
}
_sluice() {
  local -a commands=(
)",
                commands, R"(  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  shift words
  (( CURRENT-- ))
  case $words[1] in
)",
                cases, R"(      rm)
        _arguments -S '--all[all models]' '*:NAME:_sluice_kept' ;;
  esac
}
if [[ $funcstack[1] == _sluice ]]; then _sluice "$@"; else compdef _sluice sluice; fi
)");
}

// --- fish ----------------------------------------------------------------------------------------

std::string fish(const CLI::App& program) {
  std::string out = R"(# fish completion of sluice, written by: sluice completion fish
complete -c sluice -f
complete -c sluice -n __fish_use_subcommand -s h -l help -d 'this help'
complete -c sluice -n __fish_use_subcommand -s v -l version -d 'the version'
complete -c sluice -n '__fish_seen_subcommand_from rm' -a '()";
  out += concat(kListKept, ")'\n");
  for (const CLI::App* command : commands_of(program)) {
    out += concat("complete -c sluice -n __fish_use_subcommand -a ", command->get_name(), " -d ",
                  in_quotes(purpose_of(*command)), "\n");
    for (const CLI::Option* option : command->get_options()) {
      std::string line =
          concat("complete -c sluice -n '__fish_seen_subcommand_from ", command->get_name(), "'");
      for (const std::string& name : option->get_snames()) line += " -s " + name;
      for (const std::string& name : option->get_lnames()) line += " -l " + name;
      const std::string choices = choices_of(*option);
      if (takes_model(*option)) {  // besides the files below
        out += concat(line, option->get_positional() ? "" : " -x", " -a '(", kListKept, "; ",
                      kListShelf, ")'\n");
      } else if (takes_name(*option)) {
        const bool fetched = fetches(*command);
        out += concat("complete -c sluice -n '__fish_seen_subcommand_from ", command->get_name(),
                      fetched ? "" : "; and __fish_seen_subcommand_from delete list verify",
                      "' -a '(", kListKept, fetched ? concat("; ", kListShelf) : "", ")'\n");
      }
      if (!choices.empty()) {
        line += concat(option->get_positional() ? " -a " : " -x -a ", in_quotes(choices));
      } else if (takes_file(*option)) {
        line += option->get_positional() ? " -k -a '(__fish_complete_suffix .gguf)'" : " -r -F";
      } else if (takes_path(*option)) {
        line += " -F";
      } else if (option->get_positional()) {
        continue;
      } else if (option->get_items_expected_min() > 0) {
        line += " -x";
      }
      out += concat(line, " -d ", in_quotes(option->get_description()), "\n");
    }
  }
  return out;
}

}  // namespace

void add_completion(CLI::App& program, int& status) {
  CLI::App* app =
      add_command(program, "completion", "print a script of completions", kCompletionFooter);
  auto shell = std::make_shared<std::string>();
  app->add_option("SHELL", *shell, "bash, zsh or fish")
      ->type_name("NAME")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  app->callback([&program, shell, &status] {
    write_out(*shell == "bash" ? bash(program) : *shell == "zsh" ? zsh(program) : fish(program));
    status = kDone;
  });
}

}  // namespace sluice::cli
