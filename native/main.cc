// sluice: GGUF language models on the CPU, at a terminal. Each command is in a file of its name.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <new>
#include <span>
#include <utility>

#include "app/diagnostics.h"
#include "app/exit_status.h"
#include "app/habits.h"
#include "app/help.h"
#include "app/output.h"
#include "app/signals.h"
#include "app/usage.h"
#include "base/format.h"
#include "commands/commands.h"

namespace sluice::cli {
namespace {

constexpr char kProgramFooter[] = R"(Examples:
  sluice run                                a story by the bundled model
  sluice run -p "Once upon a time" -n 100   goes on from a prompt
  sluice run model.gguf "Once upon a time"  another model
  sluice run model.gguf -f prompt.txt       a prompt from a file
  sluice run hf:OWNER/REPO:Q4_0 -p "Once"   a model of a hub; the cache keeps it
  sluice models                             models to begin with, by name
  sluice run -p "Once" --trace story.jsonl  also writes what it chose from
  sluice replay story.jsonl                 shows that, token by token
  sluice chat qwen3-0.6b                    a conversation with one of them
  sluice chat model.gguf                    or with a file
  sluice similar minilm.gguf -p "Who ran?" -f lines.txt
                                            the lines that are about a question
  sluice inspect model.gguf                 what a file holds and needs
  sluice convert hf:OWNER/REPO model.gguf   a GGUF file of a model that has none
  sluice quantize model.gguf small.gguf --type Q4_K_M
                                            the same in a quarter of the size
  sluice edit in.gguf out.gguf --set general.name=New
                                            another name, template, ..
  sluice diff a.gguf b.gguf                 what differs between two files
  sluice bench model.gguf -t 1,2,4          how fast it is here

`sluice COMMAND --help` explains a command. Standard output has
what was asked for: run's text, the others' tables. Notes, run's figures and
errors go to standard error; with --json errors are on both.

Exit status:
  0  done (also when the reader of the output goes away)
  1  failed while running: the prompt doesn't fit, the output can't be written,
     a download failed, no room for it
  2  wrong usage: an unknown option, a value out of range, no prompt
  3  a file can't be used: not there, not GGUF, damaged, not supported, not what
     its sha256 promises
  4  not enough memory
  130, 143  ended by Ctrl-C or SIGTERM, after printing what was done; likewise
     129 by SIGHUP and 131 by SIGQUIT where a text or a chat was under way

Environment:
  SLUICE_KERNELS    the kernels to use instead of the best: generic, avx2,
                    avxvnni, avx512, neon or i8mm, where the machine has them
  SLUICE_MODEL_DIR  where the bundled model stories-q8_0.gguf is looked for
                    first
  XDG_CACHE_HOME    downloaded models are in its folder sluice (default
                    ~/.cache)
  XDG_STATE_HOME    the history of chats is in its folder sluice (default
                    ~/.local/state)
  NO_COLOR          where it is set, no text is dimmed, and no Markdown rendered
  SOURCE_DATE_EPOCH
                    the time that chat templates see, in seconds since 1970
  HF_ENDPOINT       the hub of hf:OWNER/REPO (default https://huggingface.co)
  HF_TOKEN          a token for that hub, sent to no other server
  https_proxy, http_proxy, no_proxy, SSL_CERT_FILE  as libcurl takes them

Files:
  ~/.cache/sluice  the models that were downloaded, each as KEY.gguf with a
                   KEY.journal (sluice list shows them); KEY.part is unfinished
  ~/.local/state/sluice/chat_history  what was typed in chats
  FILE, FILE.chat.json  of --session FILE: the model's state, a chat's messages)";

int usage_error(const std::string& message, bool json, const std::string& command = "") {
  return report(
      {Code::invalid_argument, concat(message, message.ends_with('?') ? " See" : "; see",
                                      " sluice ", command, command.empty() ? "" : " ", "--help")},
      json);
}

int run_program(const std::vector<std::string>& given) {
  CLI::App program("sluice - GGUF language models on the CPU", "sluice");
  program.formatter(help_formatter());
  program.footer(kProgramFooter);
  program.set_help_flag("-h,--help", "this help")->group("Options");
  program.set_version_flag("-v,--version", "sluice " SLUICE_VERSION, "the version");
  program.require_subcommand(1);
  int status = kDone;
  add_run(program, status);
  add_replay(program, status);
  add_chat(program, status);
  add_inspect(program, status);
  add_convert(program, status);
  add_tokenize(program, status);
  add_detokenize(program, status);
  add_template(program, status);
  add_logits(program, status);
  add_embed(program, status);
  add_similar(program, status);
  add_probe(program, status);
  add_fill_mask(program, status);
  add_imatrix(program, status);
  add_quantize(program, status);
  add_bench(program, status);
  add_edit(program, status);
  add_diff(program, status);
#ifdef SLUICE_PULL
  add_pull(program, status);
  add_cache(program, status);
  add_models(program, status);
#endif
  add_completion(program, status);
  add_manual(program, status);

  const bool json = std::ranges::find(given, "--json") != given.end();
  const auto read = read_habits(program, given);
  if (!read) return report(read.error(), json);
  const std::span<const std::string> arguments = *read;
  if (const auto wrong = check_first_argument(program, arguments)) return usage_error(*wrong, json);
  const CLI::App* command = nullptr;
  for (const CLI::App* each : std::as_const(program).get_subcommands({})) {
    if (each->get_name() == arguments.front()) command = each;
  }
  const std::string name = command != nullptr ? command->get_name() : "";
  if (command != nullptr) {
    if (const auto wrong = check_arguments(*command, arguments.subspan(1)))
      return usage_error(*wrong, json, name);
  }
  try {
    // CLI11 takes them from the end.
    program.parse(std::vector<std::string>(read->rbegin(), read->rend()));
    return status;
  } catch (const CLI::CallForHelp&) {
    const auto chosen = program.get_subcommands();
    write_out(chosen.empty() ? program.help() : chosen.front()->help("sluice"));
    return kDone;
  } catch (const CLI::CallForVersion& version) {
    write_out(concat(version.what(), "\n"));
    return kDone;
  } catch (const CLI::ParseError& error) {
    return usage_error(describe_error(error, command != nullptr ? *command : program), json, name);
  }
}

}  // namespace
}  // namespace sluice::cli

namespace {

constexpr char kOutOfMemory[] = "sluice: error: out of memory\n";

// Memory may also run out in a thread of the core, which catches no exceptions.
[[noreturn]] void end_thread() {
  try {
    if (const auto thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
    sluice::cli::write_err(kOutOfMemory);
    _exit(sluice::cli::kNoMemory);
  } catch (...) {  // a defect
  }
  std::abort();
}

}  // namespace

int main(int argc, char** argv) {
  using namespace sluice::cli;
  prepare_standard_streams();
  install_signal_handlers();
  std::set_terminate(end_thread);
  try {
    return run_program({argv + std::min(argc, 1), argv + argc});
  } catch (const std::bad_alloc&) {
    write_err(kOutOfMemory);
    return kNoMemory;
  }
}
