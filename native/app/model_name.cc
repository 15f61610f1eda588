#include "app/model_name.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <system_error>

#include "app/text.h"
#include "base/format.h"
#include "pull/address.h"
#include "pull/text.h"
#ifdef SLUICE_PULL
#include "app/kept_models.h"
#include "app/usage.h"
#include "pull/cache.h"
#endif

namespace sluice::cli {
namespace {

namespace fs = std::filesystem;

#ifdef SLUICE_PULL
constexpr std::string_view kExpected =
    "; expected the path of a GGUF model, a name of one in the cache or of sluice models, or an "
    "address like hf:OWNER/REPO";
#else
constexpr std::string_view kExpected = "; expected the path of a GGUF model";
#endif

// OWNER/REPO[:FILE or TYPE][@REVISION]. What ends in .gguf is a path that isn't there.
bool is_repository(std::string_view text) {
  const std::string_view pair = text.substr(0, text.find_first_of(":@"));
  const size_t slash = pair.find('/');
  return slash != std::string_view::npos && pull::is_name(pair.substr(0, slash)) &&
         pull::is_name(pair.substr(slash + 1)) && !pull::lower(pair).ends_with(".gguf");
}

// OWNER/REPO/blob/main/m.gguf, as it is copied from a page of the hub.
bool is_page(std::string_view text) {
  const auto next = [&text] {
    const std::string_view part = text.substr(0, text.find('/'));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    return part;
  };
  if (!pull::is_name(next()) || !pull::is_name(next())) return false;
  constexpr std::array<std::string_view, 4> kKinds = {"blob", "raw", "resolve", "tree"};
  return std::ranges::find(kKinds, next()) != kKinds.end() && !text.empty();
}

// A folder of Hugging Face, or a file of one, is no model yet. "": it is neither.
std::string conversion_hint(const std::string& given, bool is_directory) {
  std::error_code error;
  const fs::path path(given);
  const auto command = [](const std::string& folder) {
    return concat("; sluice convert ", shell_word(printable(folder, kMaxShownPath)),
                  " OUT.gguf makes a GGUF file of it");
  };
  const std::string name = printable(given, kMaxShownPath);
  if (is_directory && fs::exists(path / "config.json", error))
    return concat(name, " is a folder of Hugging Face", command(given));
  if (is_directory || !pull::lower(given).ends_with(".safetensors")) return "";
  const std::string folder = path.parent_path().string();
  return concat(name, " has weights of a folder of Hugging Face",
                command(folder.empty() ? "." : folder));
}

// How a text is given as a prompt: -p "Hello world".
std::string prompt_hint(const std::string& text) {
  const bool plain = text.find_first_of("\"\\$`!\n") == std::string::npos && text.size() <= 100;
  const bool word = text.find_first_of(" \t'*?&|;<>()#~") == std::string::npos;
  return concat("; a prompt goes after -p: -p ", !plain ? "TEXT"
                                                 : word ? printable(text)
                                                        : concat("\"", printable(text, 100), "\""));
}

#ifdef SLUICE_PULL

// For a name that means only files that were downloaded for a conversion.
std::unexpected<Error> not_converted(const Kept& source) {
  const std::string name = printable(source.file(), 300);
  return fail(
      Code::bad_file, name,
      " is the source of a conversion, which can't be run; make a model of it first: sluice "
      "convert ",
      name, " OUT.gguf");
}

// The address of the model of this name in the cache; nothing if there is none. `source`: what else
// the name means, a conversion's source.
Result<std::optional<std::string>> find_kept(const std::string& word, std::string& near,
                                             std::optional<Kept>& source) {
  if (word.find('/') != std::string::npos) return std::nullopt;
  const auto directory = pull::cache_directory();
  if (!directory) return std::nullopt;
  const auto models = kept_models(*directory);
  if (!models) return std::nullopt;
  auto meant = named(*models, word);
  std::erase_if(meant, [&](const Kept* kept) {
    if (kept->is_source()) source = *kept;
    return kept->is_source();
  });
  if (meant.size() == 1) return meant[0]->source;
  if (meant.size() > 1) {
    // Several files of one model of the shelf are cached: the shelf tells which one the name means.
    SLUICE_ASSIGN(const auto offered, find_on_shelf(word));
    if (offered) return std::nullopt;
    return std::unexpected(ambiguous(*models, meant, word));
  }
  near = near_name(*models, word);
  return std::nullopt;
}

// "; did you mean NAME?" of a name on the shelf, or "".
std::string near_on_shelf(std::string_view word) {
  std::vector<std::string> ids;
  for (const ShelfModel& model : shelf()) ids.push_back(model.id);
  const auto found = nearest(pull::lower(word.substr(0, word.find(':'))), ids);
  return found ? concat("; did you mean ", ids[*found], "?") : "";
}

// What a name in the cache or on the shelf means, or an address. Nothing if it is neither; `near`
// is then "; did you mean ..?" or "".
Result<std::optional<Meaning>> find_name(const std::string& given, std::string& near) {
  std::optional<Kept> source;
  SLUICE_ASSIGN(auto kept, find_kept(given, near, source));
  if (kept) return Meaning{std::move(*kept)};
  SLUICE_ASSIGN(const auto offered, find_on_shelf(pull::trimmed(given)));
  if (offered) return Meaning{offered->file->address, false, offered};
  if (std::string address = as_address(given); !address.empty()) return Meaning{address};
  if (source) return not_converted(*source);
  if (near.empty()) near = near_on_shelf(given);
  return std::nullopt;
}

// The address of the model whose file in the cache a path names, links resolved.
Result<std::optional<std::string>> find_path(const std::string& path) {
  const auto directory = pull::cache_directory();
  const std::string key = directory ? pull::key_at(*directory, path) : "";
  if (key.empty()) return std::nullopt;
  auto meta = pull::meta_of(*directory, key);
  if (!meta) {
    return fail(meta.error().code, printable(path, kMaxShownPath), ": ", meta.error().message);
  }
  if (!*meta) return std::nullopt;
  if ((*meta)->source) {
    Kept source{(*meta)->set, {{}}};
    source.entries[0].meta = **meta;
    return not_converted(source);
  }
  return (*meta)->set.empty() ? (*meta)->address : (*meta)->set;
}

#else

Result<std::optional<Meaning>> find_name(const std::string& given, std::string&) {
  std::string address = as_address(given);
  if (address.empty()) return std::nullopt;
  return Meaning{std::move(address)};
}
Result<std::optional<std::string>> find_path(const std::string&) { return std::nullopt; }

#endif

}  // namespace

std::string as_address(std::string_view given) {
  std::string_view text = pull::trimmed(given);
  if (pull::lower(text.substr(0, 5)) == "hf://") return concat("hf:", text.substr(5));
  if (pull::is_address(text)) return std::string(text);
  while (text.ends_with('/')) text.remove_suffix(1);
  constexpr std::array kHosts = {"hf.co/", "huggingface.co/", "www.huggingface.co/"};
  const std::string small = pull::lower(text);
  for (const std::string_view host : kHosts) {
    if (!small.starts_with(host)) continue;
    const std::string_view page = text.substr(host.size());
    const bool named = page.find('/') < page.size() - 1;
    return named ? concat("https://", text) : concat("hf:", page);
  }
  if (is_page(text)) return concat("https://huggingface.co/", text);
  return is_repository(text) ? concat("hf:", text) : "";
}

Result<Meaning> meaning_of(const std::string& given, bool may_be_prompt) {
  SLUICE_ASSIGN(auto in_cache, find_path(given));
  if (in_cache) return Meaning{std::move(*in_cache), true};
  std::error_code error;
  const fs::file_status status = fs::status(given, error);
  if (const std::string hint = conversion_hint(given, fs::is_directory(status));
      fs::exists(status) && !hint.empty())
    return fail(Code::bad_file, hint);
  if (fs::is_directory(status)) {
    return fail(Code::bad_file, printable(given, kMaxShownPath), " is a directory", kExpected);
  }
  if (fs::exists(status)) return Meaning{};
  std::string near;
  SLUICE_ASSIGN(auto meaning, find_name(given, near));
  if (meaning) return std::move(*meaning);
  if (!near.empty()) {
    return fail(Code::bad_file,
                "no file, no model of sluice models and none in the cache is named ",
                printable(given, kMaxShownPath), near);
  }
  return fail(Code::bad_file, "can't open ", printable(given, kMaxShownPath), ": ",
              error ? error.message() : "No such file or directory", kExpected,
              may_be_prompt && !pull::lower(given).ends_with(".gguf") ? prompt_hint(given) : "");
}

Result<Meaning> download_of(const std::string& given) {
  std::string near;
  SLUICE_ASSIGN(auto meaning, find_name(given, near));
  if (meaning) return std::move(*meaning);
  return fail(
      Code::invalid_argument,
      "ADDRESS: expected an http: or https: address, hf:OWNER/REPO or a name of sluice models, "
      "found '",
      printable(given), "'", near);
}

}  // namespace sluice::cli
