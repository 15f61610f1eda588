#include "pull/hub.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>

#include "base/format.h"
#include "base/parse_json.h"
#include "pull/text.h"

namespace sluice::pull {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxFiles = 100000;
constexpr size_t kListed = 20;  // files in a message
constexpr size_t kOthers = 6;   // in a note
constexpr std::array kUsualTypes = {"Q4_K_M", "Q4_0", "Q8_0"};

std::string text_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

uint64_t number_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_unsigned() ? found->get<uint64_t>() : 0;
}

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// False of a path outside of its repository.
bool stays_inside(std::string_view path) {
  return concat("/", path, "/").find("/../") == std::string::npos;
}

// True of a model's file; of a split model's only the first.
bool is_model(const HubFile& file) {
  const std::string name = lower(base_name(file.path));
  const auto split = split_of(name);
  return name.ends_with(".gguf") && !name.starts_with("mmproj") && (!split || split->part == 1);
}

bool is_of_type(const HubFile& file, std::string_view type) {
  std::string name = lower(base_name(file.path));
  const std::string end = lower(type);
  name.resize(name.size() - (split_of(name) ? 20 : 5));
  if (!name.ends_with(end)) return false;
  const size_t at = name.size() - end.size();
  return at == 0 || std::string_view("-._").find(name[at - 1]) != std::string_view::npos;
}

// Fewer folders first, then by name.
bool comes_first(const HubFile* a, const HubFile* b) {
  const auto depth = [](const HubFile* f) { return std::ranges::count(f->path, '/'); };
  return depth(a) != depth(b) ? depth(a) < depth(b) : a->path < b->path;
}

std::string list_of(std::vector<const HubFile*> files, size_t most = kListed) {
  std::ranges::sort(files, comes_first);
  std::string out;
  for (size_t i = 0; i < std::min(files.size(), most); ++i) {
    out += concat(i == 0 ? "" : ", ", printable(files[i]->path, 120));
  }
  return out + (files.size() > most ? ", ..." : "");
}

std::vector<const HubFile*> models_of(const std::vector<HubFile>& files, const Address& of) {
  std::vector<const HubFile*> models;
  for (const HubFile& file : files) {
    if (is_model(file) && file.path.starts_with(of.folder)) models.push_back(&file);
  }
  return models;
}

// The size of a model, all files of a split one; 0: unknown.
uint64_t bytes_of(const std::vector<HubFile>& files, const HubFile& model) {
  const auto split = split_of(model.path);
  if (!split) return model.bytes;
  uint64_t bytes = 0;
  for (const HubFile& file : files) {
    const auto part = split_of(file.path);
    if (part && shard(file.path, 1) == shard(model.path, 1)) bytes += file.bytes;
  }
  return bytes;
}

}  // namespace

bool is_sha256(std::string_view text) {
  return text.size() == 64 && std::ranges::all_of(text, [](char c) {
           return std::isxdigit(static_cast<unsigned char>(c)) != 0;
         });
}

std::string list_url(const std::string& hub, const Address& of) {
  // The revision is encoded as in the address of a file.
  const std::string file = hub_file(hub, of, "x");
  const size_t revision = file.find("/resolve/") + 9;
  return concat(hub, "/api/models/", of.owner, "/", of.repo, "/tree/",
                file.substr(revision, file.rfind('/') - revision), "?recursive=true");
}

Result<std::vector<HubFile>> read_list(std::string_view text) {
  const Status sound = check_json(text);
  const Json json = sound ? Json::parse(text, nullptr, false) : Json();
  if (!json.is_array()) {
    return fail(Code::download_failed, "the hub's list of files is not what was expected (",
                sound ? "" : sound.error().message + ": ", printable(text), ")");
  }
  std::vector<HubFile> files;
  for (const Json& entry : json) {
    if (!entry.is_object() || text_at(entry, "type") != "file") continue;
    HubFile file{text_at(entry, "path"), number_at(entry, "size"), ""};
    if (file.path.empty() || !stays_inside(file.path)) continue;
    if (const auto lfs = entry.find("lfs"); lfs != entry.end() && lfs->is_object()) {
      if (const std::string oid = text_at(*lfs, "oid"); is_sha256(oid)) file.sha256 = lower(oid);
      if (file.bytes == 0) file.bytes = number_at(*lfs, "size");
    }
    files.push_back(std::move(file));
    if (files.size() > kMaxFiles) {
      return fail(Code::download_failed, "the hub lists more than ", kMaxFiles, " files");
    }
  }
  return files;
}

std::string next_page(std::string_view link) {
  while (!link.empty()) {
    const size_t open = link.find('<');
    const size_t close = link.find('>', open == std::string_view::npos ? 0 : open);
    if (open == std::string_view::npos || close == std::string_view::npos) return "";
    const size_t end = std::min(link.find('<', close), link.size());
    const std::string_view about = link.substr(close, end - close);
    if (about.find("rel=\"next\"") != std::string_view::npos ||
        about.find("rel=next") != std::string_view::npos) {
      return std::string(link.substr(open + 1, close - open - 1));
    }
    link.remove_prefix(end);
  }
  return "";
}

Result<HubFile> choose_file(const std::vector<HubFile>& files, const Address& of) {
  const std::string repo = concat(of.owner, "/", of.repo);
  if (!of.path.empty()) {
    for (const HubFile& file : files) {
      if (file.path == of.path) return file;
    }
  }
  const std::vector<const HubFile*> models = models_of(files, of);
  if (models.empty()) {
    const bool convertible =
        of.folder.empty() && std::ranges::any_of(files, [](const HubFile& file) {
          return file.path == "model.safetensors" || file.path == "model.safetensors.index.json";
        });
    const std::string revision = of.revision == "main" ? "" : concat("@", printable(of.revision));
    return fail(Code::invalid_argument, repo, " at ", printable(of.revision), " has no .gguf file",
                of.folder.empty() ? "" : concat(" in ", printable(of.folder)),
                convertible ? concat(", but safetensors: sluice convert hf:", repo, revision,
                                     " OUT.gguf makes one of them; or look")
                            : "; look",
                " for a repository with GGUF files");
  }
  if (!of.path.empty()) {
    return fail(Code::invalid_argument, repo, " at ", printable(of.revision), " has no file ",
                printable(of.path, 200), "; there are ", list_of(models));
  }
  const auto of_type = [&](std::string_view type) -> const HubFile* {
    std::vector<const HubFile*> fitting;
    for (const HubFile* file : models) {
      if (is_of_type(*file, type)) fitting.push_back(file);
    }
    return fitting.empty() ? nullptr : *std::ranges::min_element(fitting, comes_first);
  };
  if (!of.type.empty()) {
    if (const HubFile* file = of_type(of.type)) return *file;
    return fail(Code::invalid_argument, repo, " has no file of type ", printable(of.type),
                "; there are ", list_of(models));
  }
  for (const char* type : kUsualTypes) {
    if (const HubFile* file = of_type(type)) return *file;
  }
  if (models.size() == 1) return *models[0];
  return fail(Code::invalid_argument, repo, " has several models; name one of them, like hf:", repo,
              ":", printable(models[0]->path, 120), "; there are ", list_of(models));
}

std::string choice_text(const std::vector<HubFile>& files, const Address& of,
                        const HubFile& chosen) {
  std::vector<const HubFile*> others = models_of(files, of);
  std::erase_if(others, [&](const HubFile* file) { return file->path == chosen.path; });
  const uint64_t bytes = bytes_of(files, chosen);
  return concat("takes ", printable(chosen.path, 120),
                bytes > 0 ? concat(" (", human_bytes(bytes), ")") : "",
                others.empty() ? "" : concat("; others: ", list_of(others, kOthers)));
}

}  // namespace sluice::pull
