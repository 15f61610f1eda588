#include "app/arguments.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/format.h"

namespace sluice::cli {
CLI::Option* add_value(CLI::App& app, const std::string& name, const std::string& type,
                       const std::string& description,
                       std::function<void(const std::string&)> read) {
  // Reads the raw argument, because CLI11's conversions would read "[a,b]" and "nan" as something
  // else.
  return app
      .add_option(
          name,
          [read = std::move(read)](const CLI::results_t& results) {
            read(results.back());
            return true;
          },
          description)
      ->type_name(type)
      ->expected(1)
      ->take_last();
}

CLI::Option* add_text(CLI::App& app, const std::string& name, const std::string& type,
                      std::string& target, const std::string& description) {
  return app.add_option(name, target, description)->type_name(type)->take_last();
}

std::string too_many_arguments(const std::string& argument, bool prompt) {
  return concat("'", printable(argument), "' is one argument too many",
                prompt ? "; a prompt of several words stands in quotes" : "");
}

std::string file_hint(const std::string& text) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(text, error)) return "";
  return concat(printable(text, kMaxShownPath), " is a file; -f reads it");
}

namespace {

constexpr std::string_view kPromptArgument = "the argument PROMPT";

// Records the prompt's source; `argument` is the text of that argument, if it is one. Throws if
// there is a source already.
void take_prompt(const CLI::App& app, Prompt& prompt, const std::string& source,
                 const std::string& argument = "") {
  if (!prompt.source.empty()) {
    const bool first = prompt.source == kPromptArgument && prompt.text;
    const std::string hint = file_hint(first ? *prompt.text : argument);
    const bool by_file = prompt.source == "-f" || source == "-f";
    if (!hint.empty() && !by_file && app.get_option_no_throw("-f") != nullptr)
      throw CLI::ValidationError(concat("there are two prompts, but ", hint));
    throw CLI::ValidationError(concat("the prompt is given twice, by ", prompt.source, " and by ",
                                      source, "; leave one of them out"));
  }
  prompt.source = source;
}

void take_argument(const CLI::App& app, Prompt& prompt, const std::string& text) {
  const std::string source(kPromptArgument);
  if (prompt.source == source) throw CLI::ValidationError(too_many_arguments(text, true));
  take_prompt(app, prompt, source, text);
  prompt.text = text;
}

}  // namespace

void add_model(CLI::App& app, std::string& model,
               const std::function<void(const std::string&)>& other) {
  const auto name_model = [&model](const std::string& text) {
    if (text.empty()) refuse("MODEL", "the path of a GGUF file, or an address", text);
    model = text;
  };
  // Values are read in this order.
  add_value(app, "-m,--model", "FILE", "the same as MODEL", name_model)->group("Input");
  add_value(app, "MODEL", "FILE",
            "a GGUF file: its path, the name of one in the cache, an https: address, or "
            "[hf:]OWNER/REPO[:FILE or TYPE][@REVISION], which the cache keeps; without one, the "
            "bundled model",
            [=, &model](const std::string& text) {
              if (model.empty()) {
                name_model(text);
              } else {
                other(text);
              }
            });
}

namespace {

[[noreturn]] void refuse_second_model(const std::string& text, std::string_view more) {
  throw CLI::ValidationError(concat("the model is named twice, by -m and by the argument '",
                                    printable(text), "'; leave one of them out", more));
}

}  // namespace

void add_model(CLI::App& app, std::string& model) {
  add_model(app, model, [](const std::string& text) { refuse_second_model(text, ""); });
}

void add_model_and_prompt(CLI::App& app, std::string& model, Prompt& prompt) {
  const auto take = [&](const std::string& text) {
    std::error_code error;
    if (text == model || (text.ends_with(".gguf") && std::filesystem::is_regular_file(text, error)))
      refuse_second_model(text, " (a prompt that reads like this goes behind -p)");
    take_argument(app, prompt, text);
  };
  add_model(app, model, take);
  add_value(app, "PROMPT", "TEXT", "the text, in quotes; or -p", take);
  add_value(app, "-p,--prompt", "TEXT", "the text", [&app, &prompt](const std::string& text) {
    take_prompt(app, prompt, "-p");
    prompt.text = text;
  })->group("Input");
}

void add_prompt_file(CLI::App& app, Prompt& prompt, const std::string& description) {
  add_value(app, "-f,--file", "FILE", description, [&app, &prompt](const std::string& text) {
    if (text.empty()) refuse("-f", "the path of a file", text);
    take_prompt(app, prompt, "-f");
    prompt.file = text;
  })->group("Input");
}

void add_prompt_tokens(CLI::App& app, Prompt& prompt) {
  add_value(app, "--tokens", "IDS", "token ids, like 1,2,3; taken as they are, without BOS",
            [&app, &prompt](const std::string& text) {
              const auto ids = read_integers("--tokens", text, 0, INT32_MAX);
              take_prompt(app, prompt, "--tokens");
              prompt.tokens.emplace(ids.begin(), ids.end());
            })
      ->group("Input");
}

void add_download_options(CLI::App& app, DownloadOptions& options) {
  const auto take_sums = [&options](const std::string& text) {
    for (size_t at = 0; at <= text.size();) {
      const size_t comma = std::min(text.find(',', at), text.size());
      options.sha256.push_back(text.substr(at, comma - at));
      at = comma + 1;
    }
  };
  add_value(app, "--sha256", "HEX",
            "the hash that a file at an address must have; of a split model one for each file, "
            "with commas between them",
            take_sums)
      ->group("Download");
  add_flag(app, "--accept-terms", options.accept_terms,
           "accept the terms of a model of sluice models, where they bind whoever uses it")
      ->group("Download");
  add_transfer_options(app, options);
}

void add_transfer_options(CLI::App& app, DownloadOptions& options) {
  constexpr int64_t kDay = 24 * 3600;
  add_flag(app, "--refresh", options.refresh,
           "ask the server whether the cached file is current (without it a cached model needs no "
           "network)")
      ->group("Download");
  add_integer(app, "--retry-timeout", options.retry_timeout, 1, kDay, "SECONDS",
              "give a download up after so long without a new byte (default 60); a server that is "
              "never reached after 5")
      ->group("Download");
  add_integer(app, "--stall-timeout", options.stall_timeout, 1, kDay, "SECONDS",
              "a connection without a byte for so long is lost (default 30)")
      ->group("Download");
}

CLI::Option* add_flag(CLI::App& app, const std::string& name, bool& target,
                      const std::string& description) {
  const auto takes_none = [](const std::string& value) {
    return value == "true" ? "" : concat("takes no value, found '", printable(value), "'");
  };
  return app.add_flag(name, target, description)->check(takes_none);
}

void add_json(CLI::App& app, bool& json, const std::string& description) {
  add_flag(app, "--json", json, description)->group("Output");
}

}  // namespace sluice::cli
