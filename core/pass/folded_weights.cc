#include "pass/folded_weights.h"

#include <algorithm>
#include <bit>

#include "base/format.h"
#include "pass/config_reader.h"

namespace sluice {
namespace {

constexpr std::string_view kPrefix = "prism.hadamard.";
constexpr uint64_t kLeastBlock = 4;
// Real files have three widths, and 28,672 signs.
constexpr uint64_t kMaxSignWidths = 1024;
constexpr uint64_t kMaxSigns = uint64_t{1} << 22;

std::string_view text_of(const MetadataValue* value) {
  const bool text = value != nullptr && value->type == ValueType::string;
  return text ? value->text() : std::string_view();
}

// 0 if it is missing or no integer.
uint64_t number_of(const MetadataValue* value) {
  return value == nullptr || value->is_array() ? 0 : value->as_u64().value_or(0);
}

// A bool, false if it is missing; 2 if it is something else.
int flag_of(const MetadataValue* value) {
  if (value == nullptr) return 0;
  const auto flag = value->as_bool();
  return value->is_array() || !flag ? 2 : *flag;
}

bool is_array_of(const MetadataValue* value, bool texts) {
  return value != nullptr && value->is_array() && (value->element == ValueType::string) == texts;
}

}  // namespace

const MetadataValue* FoldedWeights::find(std::string_view key) const {
  return gguf_.find(concat(kPrefix, key));
}

// One function makes all errors: the code of each would add up in a page's modules.
std::unexpected<Error> FoldedWeights::refuse(const Problem& problem) const {
  const MetadataValue* value = find(problem.key);
  const std::string_view text = problem.entry.empty() ? text_of(value) : problem.entry;
  std::string found = value == nullptr ? "missing" : describe(*value);
  if (!text.empty()) found = concat(found, ": \"", printable(text), "\"");
  auto failure =
      fail(problem.code, kPrefix, problem.key, " is ", found, "; expected ", problem.expected);
  if (problem.code == Code::bad_file) return failure;
  return with_facts(std::move(failure),
                    {{"key", concat(kPrefix, problem.key)}, {"value", std::move(found)}});
}

Status FoldedWeights::read(Fold& fold) {
  if (std::ranges::none_of(gguf_.metadata, [](const auto& entry) {
        return std::string_view(entry.first).starts_with(kPrefix);
      }))
    return {};
  const Problem problem = find_problem(fold);
  if (problem.expected == nullptr) return {};
  return refuse(problem);
}

FoldedWeights::Problem FoldedWeights::find_problem(Fold& fold) {
  const auto unknown = [](const char* key, const char* expected) {
    return Problem{key, expected, {}, Code::unsupported_model};
  };
  const MetadataValue* const version = find("version");
  const uint64_t number = number_of(version);
  if (number != 1 && number != 2) {
    if (version == nullptr || !version->as_u64()) return {"version", "1 or 2"};
    return unknown("version", "1 or 2");
  }
  constexpr const char* kKnown[][2] = {{"transform", "normalized-sylvester-walsh-hadamard"},
                                       {"axis", "input-last-dimension"}};
  for (const auto& [key, known] : kKnown)
    if (text_of(find(key)) != known) return unknown(key, known);
  const std::string_view mode = text_of(find("sign_mode"));
  if (mode != "explicit" && mode != "identity") return unknown("sign_mode", "identity or explicit");
  const uint64_t block = number_of(find("block_size"));
  if (!std::has_single_bit(block) || block < kLeastBlock || block > kMaxWidth)
    return {"block_size", "a power of two from 4 to 1048576"};
  fold.block = block_ = static_cast<int64_t>(block);
  const int tied = flag_of(find("tied_output")), grouped = flag_of(find("gdn_v_grouped"));
  // Version 2 is there for readers that would take the stored embedding for the head.
  if (tied != static_cast<int>(number) - 1)
    return {"tied_output", "true in version 2 and false in version 1"};
  if (grouped > 1) return {"gdn_v_grouped", "true or false"};
  tied_output_ = tied == 1;
  heads_grouped_ = grouped == 1;
  if (mode == "explicit") {
    const Problem problem = read_signs(fold);
    if (problem.expected != nullptr) return problem;
  }
  return read_names();
}

FoldedWeights::Problem FoldedWeights::read_signs(Fold& fold) {
  const Problem wrong_widths{
      "sign_widths", "an array of at most 1024 integers from 1 to 1048576, 4194304 all together"};
  sign_widths_ = find("sign_widths");
  if (!is_array_of(sign_widths_, false) || sign_widths_->count > kMaxSignWidths)
    return wrong_widths;
  uint64_t total = 0;
  for (uint64_t i = 0; i < sign_widths_->count; ++i) {
    const uint64_t width = sign_widths_->as_u64(i).value_or(0);
    total += width;
    if (width < 1 || width > kMaxWidth || total > kMaxSigns) return wrong_widths;
  }
  const Problem wrong_signs{"sign_values", "as many of 1 and -1 as sign_widths add up to"};
  const MetadataValue* const values = find("sign_values");
  if (!is_array_of(values, false) || values->count != total) return wrong_signs;
  fold.signs = std::vector<float>(static_cast<size_t>(total));
  for (size_t i = 0; i < fold.signs.size(); ++i) {
    const int64_t sign = values->as_i64(i).value_or(0);
    if (sign != 1 && sign != -1) return wrong_signs;
    fold.signs[i] = static_cast<float>(sign);
  }
  return {};
}

FoldedWeights::Problem FoldedWeights::read_names() {
  const TensorInfo* const embedding = gguf_.find_tensor("token_embd.weight");
  const MetadataValue* const inverse = find("inverse_weight_names");
  if (inverse != nullptr && !is_array_of(inverse, true))
    return {"inverse_weight_names", "an array of names"};
  for (uint64_t i = 0; inverse != nullptr && i < inverse->count; ++i) {
    if (embedding == nullptr || gguf_.find_tensor(inverse->text(i)) != embedding)
      return {"inverse_weight_names", "token_embd.weight alone", inverse->text(i),
              Code::unsupported_model};
    embedding_ = true;
  }
  tensors_ = std::vector<uint8_t>(gguf_.tensors.size());
  const auto state_of = [&](const TensorInfo* tensor) -> uint8_t& {
    return tensors_[static_cast<size_t>(tensor - gguf_.tensors.data())];
  };
  const MetadataValue* const names = find("weight_names");
  if (!is_array_of(names, true) || names->count == 0) return {"weight_names", "an array of names"};
  for (uint64_t i = 0; i < names->count; ++i) {
    const TensorInfo* const tensor = gguf_.find_tensor(names->text(i));
    if (tensor == nullptr || tensor == embedding || state_of(tensor) == named)
      return {"weight_names", "matrices of the file, each once, without the embedding",
              names->text(i)};
    state_of(tensor) = named;
  }
  const bool own_head = gguf_.find_tensor("output.weight") != nullptr;
  if (tied_output_ && (own_head || !embedding_)) {
    return {"tied_output",
            "false, as the file has output.weight or doesn't name token_embd.weight as folded"};
  }
  if (embedding_ && !own_head && !tied_output_)
    return {"tied_output", "true, as the embedding is folded and the file has no output.weight"};
  if (tied_output_) state_of(embedding) = taken;
  return {};
}

bool FoldedWeights::take(size_t tensor) {
  if (tensors_.empty() || tensors_[tensor] == plain) return false;
  tensors_[tensor] = taken;
  return true;
}

int32_t FoldedWeights::signs_of(int64_t width) const {
  int32_t place = -1, at = 0;
  if (width % block_ != 0) return -1;
  if (sign_widths_ == nullptr) return 0;
  for (uint64_t i = 0; i < sign_widths_->count; ++i) {
    const auto of = static_cast<int32_t>(sign_widths_->as_u64(i).value_or(0));
    if (of == width && place >= 0) return -1;  // which ones?
    if (of == width) place = at;
    at += of;
  }
  return place;
}

std::unexpected<Error> FoldedWeights::refuse_width(int64_t width) const {
  const std::string expected = concat("what fits rows of ", width, " weights");
  return refuse({width % block_ != 0 ? "block_size" : "sign_widths", expected.c_str()});
}

Status FoldedWeights::check_all_found(const TensorManifest& manifest, bool groups_heads) const {
  if (tensors_.empty()) return {};
  if (heads_grouped_ && !groups_heads)
    return refuse({"gdn_v_grouped",
                   "false of a model without gated delta nets",
                   {},
                   Code::unsupported_model});
  for (const Piece& piece : manifest.pieces())
    if (tensors_[piece.tensor_index] == named)
      return refuse({"weight_names", "matrices that rows are multiplied by", piece.tensor});
  return {};
}

}  // namespace sluice
