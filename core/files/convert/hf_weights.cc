#include "files/convert/hf_weights.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/format.h"
#include "files/hub_json.h"

namespace sluice {
namespace {

constexpr std::string_view kSingle = "model.safetensors";
constexpr std::string_view kIndex = "model.safetensors.index.json";
constexpr uint64_t kMaxIndex = 64 << 20;
constexpr size_t kMaxFiles = 4096;

// Weights that aren't safetensors.
constexpr std::string_view kOthers[] = {"pytorch_model.bin", "pytorch_model.bin.index.json",
                                        "model.pt", "consolidated.00.pth"};

std::unexpected<Error> in_file(const std::string& file, Error error) {
  error.message = concat(printable(file), ": ", error.message);
  return std::unexpected(std::move(error));
}

}  // namespace

Result<HfWeights> HfWeights::open(Folder& folder) {
  HfWeights weights;
  const bool single = folder.has(std::string(kSingle));
  if (folder.has(std::string(kIndex))) {
    SLUICE_ASSIGN(const std::string index, read_whole(folder, std::string(kIndex), kMaxIndex));
    SLUICE_TRY(weights.open_shards(folder, index));
    if (single && std::ranges::find(weights.names_, kSingle) == weights.names_.end())
      return fail(Code::bad_file, "the folder has ", kSingle, " and an index of other files; ",
                  "remove what doesn't belong to the model");
    return weights;
  }
  if (single) {
    SLUICE_TRY(weights.add_file(folder, std::string(kSingle)));
    return weights;
  }
  for (const std::string_view other : kOthers)
    if (folder.has(std::string(other)))
      return fail(Code::unsupported_model, "the folder has its weights in ", other,
                  ", a form that can run programs when it is read; get the model in safetensors, "
                  "or save it so with transformers (save_pretrained)");
  return fail(Code::bad_file, "the folder has neither ", kSingle, " nor ", kIndex,
              "; a Hugging Face folder with weights is expected");
}

Status HfWeights::open_shards(Folder& folder, const std::string& index) {
  SLUICE_ASSIGN(const auto json, read_hub_json(kIndex, index));
  const auto map = json.find("weight_map");
  if (map == json.end() || !map->is_object())
    return fail(Code::bad_file, kIndex, " has no weight_map");
  std::map<std::string, size_t> count;  // tensors of each file
  for (const auto& [tensor, file] : map->items()) {
    if (!file.is_string())
      return fail(Code::bad_file, kIndex, " names no file for ", printable(tensor));
    const auto& name = file.get_ref<const std::string&>();
    if (!is_plain_name(name) || !name.ends_with(".safetensors"))
      return fail(Code::bad_file, kIndex, " names the file ", printable(name),
                  ", which can be none of the folder");
    ++count[name];
  }
  if (count.size() > kMaxFiles)
    return fail(Code::bad_file, kIndex, " names ", count.size(), " files; at most ", kMaxFiles,
                " are expected");
  for (const auto& [file, n] : count) {
    if (!folder.has(file))
      return fail(Code::bad_file, "the file ", printable(file), " is missing; ", kIndex, " has ",
                  counted(n, "tensor"), " in it");
    SLUICE_TRY(add_file(folder, file));
  }
  for (const SafeTensor& tensor : tensors_) {
    const auto entry = map->find(tensor.name);
    const std::string& file = names_[tensor.file];
    if (entry == map->end() || entry->get_ref<const std::string&>() != file)
      return fail(Code::bad_file, printable(file), " has the tensor ", printable(tensor.name),
                  entry == map->end() ? concat(", which ", kIndex, " doesn't name")
                                      : concat(", which ", kIndex, " has in ",
                                               printable(entry->get_ref<const std::string&>())));
  }
  if (tensors_.size() == map->size()) return {};
  for (const auto& [tensor, file] : map->items())
    if (find(tensor) < 0)
      return fail(Code::bad_file, "the tensor ", printable(tensor), " is missing in ",
                  printable(file.get_ref<const std::string&>()), ", where ", kIndex, " has it");
  return {};
}

Status HfWeights::add_file(Folder& folder, const std::string& file) {
  auto source = open_part(folder, file);
  if (!source) return in_file(file, source.error());
  auto tensors = read_safetensors(**source);
  if (!tensors) return in_file(file, tensors.error());
  for (SafeTensor& tensor : *tensors) {
    tensor.file = static_cast<uint32_t>(files_.size());
    const auto [at, is_new] = by_name_.emplace(tensor.name, static_cast<uint32_t>(tensors_.size()));
    if (!is_new)
      return fail(Code::bad_file, "the tensor ", printable(tensor.name), " is in ",
                  printable(names_[tensors_[at->second].file]), " and in ", printable(file));
    tensors_.push_back(std::move(tensor));
  }
  files_.push_back(std::move(*source));
  names_.push_back(file);
  return {};
}

int64_t HfWeights::find(const std::string& name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? -1 : static_cast<int64_t>(found->second);
}

Status HfWeights::read(const SafeTensor& tensor, uint64_t at, std::span<uint8_t> out) const {
  auto status = files_[tensor.file]->read(tensor.at + at, out);
  if (!status) return in_file(names_[tensor.file], status.error());
  return {};
}

}  // namespace sluice
