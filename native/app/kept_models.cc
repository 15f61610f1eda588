#include "app/kept_models.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "app/usage.h"
#include "base/format.h"
#include "pull/address.h"
#include "pull/repository.h"
#include "pull/text.h"

namespace sluice::cli {
namespace {

constexpr std::string_view kSuffix = ".gguf";

// A file's name without the ending, and without the number of a part.
std::string stem_of(const std::string& file) {
  const std::string small = pull::lower(file);
  if (pull::split_of(small)) return file.substr(0, file.size() - 20);
  return small.ends_with(kSuffix) ? file.substr(0, file.size() - kSuffix.size()) : file;
}

// The names of a model, in small letters.
std::vector<std::string> titles_of(const Kept& model) {
  if (!model.unreadable().empty()) return {};
  std::vector<std::string> titles = {pull::lower(stem_of(model.file()))};
  if (model.is_source()) {  // hf:OWNER/REPO
    const std::string repo = titles[0].substr(titles[0].rfind('/') + 1);
    titles.push_back(repo.substr(0, repo.find('@')));
    return titles;
  }
  // https://hub/OWNER/REPO/resolve/..
  const size_t end = model.source.find("/resolve/");
  const size_t begin = model.source.rfind('/', end == std::string::npos ? 0 : end - 1);
  if (end != std::string::npos && begin != std::string::npos)
    titles.push_back(pull::lower(model.source.substr(begin + 1, end - begin - 1)));
  return titles;
}

}  // namespace

uint64_t Kept::bytes() const {
  uint64_t total = 0;
  for (const pull::Cached& entry : entries) {
    if (entry.meta.total_bytes == 0) return 0;
    total += entry.meta.total_bytes;
  }
  return entries.size() == static_cast<size_t>(meta().parts) ? total : 0;
}

uint64_t Kept::stored() const {
  return std::accumulate(entries.begin(), entries.end(), uint64_t{0},
                         [](uint64_t sum, const auto& e) { return sum + e.stored; });
}

uint64_t Kept::packed() const {
  return std::accumulate(entries.begin(), entries.end(), uint64_t{0},
                         [](uint64_t sum, const auto& e) { return sum + e.packed; });
}

bool Kept::packed_fits() const {
  return std::ranges::all_of(entries, [](const auto& e) { return e.packed == 0 || e.packed_fits; });
}

bool Kept::complete() const {
  return entries.size() == static_cast<size_t>(meta().parts) &&
         std::ranges::all_of(entries, &pull::Cached::complete);
}

bool Kept::verified() const {
  return std::ranges::all_of(entries, [](const auto& e) { return e.meta.verified; });
}

bool Kept::pinned() const {
  return std::ranges::any_of(entries, [](const auto& e) { return e.meta.pinned; });
}

bool Kept::in_use() const { return std::ranges::any_of(entries, &pull::Cached::in_use); }

int64_t Kept::used() const {
  int64_t last = 0;
  for (const pull::Cached& entry : entries) last = std::max(last, entry.meta.used);
  return last;
}

std::string Kept::file() const {
  if (!unreadable().empty()) return source;
  if (!is_source()) return pull::file_name(source);
  for (const std::string& name : meta().names) {
    if (const std::string shown = pull::shown_source(source, name); !shown.empty()) return shown;
  }
  return source;
}

Result<std::vector<Kept>> kept_models(const std::string& directory) {
  SLUICE_ASSIGN(const auto entries, pull::list_cache(directory));
  std::vector<Kept> models;
  std::map<std::string, size_t> of_set;
  for (const pull::Cached& entry : entries) {
    const pull::Meta& meta = entry.meta;
    const std::string source = !entry.unreadable.empty() ? entry.key
                               : meta.set.empty()        ? meta.address
                                                         : meta.set;
    const auto [found, fresh] = of_set.emplace(source, models.size());
    if (fresh) models.push_back({source, {}});
    models[found->second].entries.push_back(entry);
  }
  for (Kept& model : models)
    std::ranges::sort(model.entries, {}, [](const auto& e) { return e.meta.part; });
  return models;
}

std::vector<const Kept*> named(const std::vector<Kept>& models, std::string_view word) {
  const std::string wanted = pull::lower(stem_of(std::string(word)));
  std::vector<const Kept*> whole, beginning;
  if (wanted.empty()) return whole;
  for (const Kept& model : models) {
    const std::vector<std::string> titles = titles_of(model);
    if (std::ranges::find(titles, wanted) != titles.end()) {
      whole.push_back(&model);
    } else if (std::ranges::any_of(titles, [&](const auto& t) { return t.starts_with(wanted); })) {
      beginning.push_back(&model);
    }
  }
  return whole.empty() ? beginning : whole;
}

std::string shortest_name(const std::vector<Kept>& models, const Kept& model) {
  if (model.is_source()) {
    const auto same = std::ranges::count_if(models, [&](const Kept& other) {
      return other.unreadable().empty() && other.is_source() && other.file() == model.file();
    });
    return same == 1 ? model.file() : model.source;
  }
  std::string name = stem_of(model.file());
  // A server chooses it, so it may look like an option or a path, or not be fit to be shown.
  if (name.starts_with('-') || name.starts_with('.') || name.find('/') != std::string::npos ||
      printable(name, name.size()) != name)
    return model.source;
  const auto meant = named(models, name);
  return meant.size() == 1 && meant[0]->source == model.source ? name : model.source;
}

Error ambiguous(const std::vector<Kept>& models, const std::vector<const Kept*>& meant,
                std::string_view word) {
  std::string message = concat(printable(word, 300), " may mean ", counted(meant.size(), "model"),
                               " in the cache; name one of them:");
  for (const Kept* model : meant)
    message += concat("\n  ", printable(shortest_name(models, *model), 4096));
  return {Code::invalid_argument, std::move(message)};
}

std::string near_name(const std::vector<Kept>& models, std::string_view word) {
  // Names are long, and people type their beginning: it is compared with as much of each.
  std::vector<std::string> names, whole, beginnings;
  for (const Kept& model : models) {
    if (!model.unreadable().empty() || model.is_source()) continue;
    names.push_back(shortest_name(models, model));
    whole.push_back(pull::lower(names.back()));
    beginnings.push_back(whole.back().substr(0, word.size()));
  }
  const std::string small = pull::lower(word);
  auto found = nearest(small, whole);
  if (!found) found = nearest(small, beginnings);
  return found ? concat("; did you mean ", printable(names[*found], 200), "?") : "";
}

}  // namespace sluice::cli
