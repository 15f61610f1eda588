#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "base/format.h"
#include "files/gguf_writer.h"
#include "files/quantize/mixes.h"
#include "files/quantize/name_pattern.h"
#include "files/quantize/quantize.h"
#include "files/quantize/quantize_rows.h"
#include "quant/quant.h"

namespace sluice {
namespace {

constexpr uint32_t kQuantizationVersion = 2;  // of ggml's formats
constexpr size_t kMaxKeyText = 127;           // bytes that llama-quantize keeps of a name

Type type_of(const TensorInfo& tensor) { return static_cast<Type>(tensor.type); }
const char* name_of(Type type) { return file_type(static_cast<uint32_t>(type)).name; }

// Dimensions of 1 at the end don't count.
uint32_t n_dims(const TensorInfo& tensor) {
  uint32_t n = 4;
  while (n > 1 && tensor.dims[n - 1] == 1) --n;
  return n;
}

// N of "blk.N."; -1 for other names.
int64_t layer_of(std::string_view name) {
  if (!name.starts_with("blk.")) return -1;
  int64_t layer = -1;
  for (size_t i = 4; i < name.size() && name[i] >= '0' && name[i] <= '9'; ++i) {
    layer = std::max<int64_t>(layer, 0) * 10 + (name[i] - '0');
    if (layer > std::numeric_limits<int32_t>::max()) return -1;
  }
  return layer;
}

// True of the matrices of the layers, of the embedding and of the output: what is small, or read
// as it is, keeps its type.
bool is_quantized(const TensorInfo& tensor, bool leave_output) {
  const std::string_view name = tensor.name;
  if (n_dims(tensor) < 2 || !name.ends_with("weight")) return false;
  if (name == "output.weight") return !leave_output;
  if (name == "position_embd.weight" || name == "token_types.weight") return false;
  constexpr std::string_view kKept[] = {
      "_norm.weight",
      // Routers of experts
      "ffn_gate_inp.weight",
      "ffn_gate_tid2eid.weight",
      // Gemma's small ones
      "altup",
      "laurel",
      "per_layer_model_proj",
      // Convolutions over positions
      "ssm_conv1d",
      "shortconv.conv.weight",
      "indexer.k_proj.weight",
      "indexer.q_proj.weight",
      // RWKV
      "time_mix_first.weight",
      "time_mix_w0.weight",
      "time_mix_w1.weight",
      "time_mix_w2.weight",
      "time_mix_v0.weight",
      "time_mix_v1.weight",
      "time_mix_v2.weight",
      "time_mix_a0.weight",
      "time_mix_a1.weight",
      "time_mix_a2.weight",
      "time_mix_g1.weight",
      "time_mix_g2.weight",
      "time_mix_decay_w1.weight",
      "time_mix_decay_w2.weight",
      "time_mix_lerp_fused.weight",
      // Biases by relative positions, T5
      "attn_rel_b.weight",
      // Images and sound
      ".position_embd",
      "sam.pos_embd",
      "sam.neck.",
      "sam.net_",
      ".rel_pos",
      ".patch_embd",
      ".patch_merger",
      "a.rvq.codebook",
      "mm.a.code_embd",
  };
  return std::ranges::none_of(
      kKept, [name](std::string_view part) { return name.find(part) != std::string_view::npos; });
}

// A number that the model's metadata tell; of a value for each layer that of the first.
uint64_t figure(const Gguf& source, const ModelFigures& model, std::string_view key,
                uint64_t otherwise) {
  const MetadataValue* value = source.find(concat(model.architecture, ".", key));
  return value == nullptr || value->count == 0 ? otherwise : value->as_u64(0).value_or(otherwise);
}

ModelFigures figures_of(const Gguf& source, bool measured) {
  ModelFigures model;
  if (const auto name = source.get_string("general.architecture"); name && *name)
    model.architecture = **name;
  constexpr uint64_t kMost = 1u << 20;
  model.n_layers = std::min(kMost, figure(source, model, "block_count", 0));
  model.n_experts = figure(source, model, "expert_count", 0);
  const uint64_t heads = figure(source, model, "attention.head_count", 0);
  const uint64_t kv_heads = figure(source, model, "attention.head_count_kv", heads);
  model.heads_per_kv = kv_heads == 0 ? 0 : heads / kv_heads;
  for (const TensorInfo& tensor : source.tensors) {
    model.n_v += role_of(tensor.name) == Role::v ? 1 : 0;
    model.has_output |= role_of(tensor.name) == Role::output;
  }
  model.measured = measured;
  return model;
}

// Chooses types tensor by tensor, in the order of the new file.
class Chooser {
 public:
  Chooser(const Gguf& source, const QuantizeOptions& options, const Mix& mix)
      : options_(options), mix_(mix), model_(figures_of(source, options.importance != nullptr)) {}

  Status compile() {
    for (const TensorTypeRule& rule : options_.tensor_types) {
      std::string pattern = rule.pattern;
      for (char& c : pattern)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
      SLUICE_ASSIGN(NamePattern compiled, NamePattern::compile(pattern));
      rules_.emplace_back(std::move(compiled), rule.type);
    }
    return {};
  }

  // A rule that changes nothing is a mistake.
  Status check_rules(const Gguf& source) const {
    if (rules_.empty()) return {};
    if (file_type(static_cast<uint32_t>(mix_.type)).block == 1)
      return fail(Code::invalid_argument, "with ", mix_.name,
                  " all tensors get that type; leave out the types of single tensors, or choose a "
                  "quantized type such as Q8_0");
    for (size_t i = 0; i < rules_.size(); ++i) {
      const TensorInfo* kept = nullptr;
      bool counts = false;
      for (const TensorInfo& tensor : source.tensors) {
        if (!rules_[i].first.found_in(tensor.name)) continue;
        counts = is_quantized(tensor, options_.leave_output);
        if (counts) break;
        kept = &tensor;
      }
      if (counts) continue;
      const std::string pattern = printable(options_.tensor_types[i].pattern);
      if (kept == nullptr)
        return fail(Code::invalid_argument, "the pattern '", pattern,
                    "' fits no tensor; sluice inspect --all lists their names");
      return fail(Code::invalid_argument, "the pattern '", pattern,
                  "' fits only tensors that stay as they are, such as ", printable(kept->name),
                  kept->name == "output.weight"
                      ? ", which is to be left"
                      : ": norms, biases, routers and other small ones do");
    }
    return {};
  }

  Status choose(const TensorInfo& tensor, QuantizePlan::Tensor& out) {
    out.from = out.to = type_of(tensor);
    if (!is_quantized(tensor, options_.leave_output)) return {};
    out.to = mix_.type;
    if (file_type(static_cast<uint32_t>(mix_.type)).block == 1) return {};
    SLUICE_ASSIGN(out.to, wanted(tensor));
    if (tensor.dims[0] % file_type(static_cast<uint32_t>(out.to)).block != 0) {
      const auto other = type_instead_of(out.to, tensor.dims[0]);
      if (!other)
        return with_facts(fail(Code::unsupported_type, "tensor ", printable(tensor.name),
                               " has rows of ", tensor.dims[0], " values, and ", name_of(out.to),
                               " has blocks of ", file_type(static_cast<uint32_t>(out.to)).block,
                               "; choose another type for it with --tensor-type, or for all"),
                          {{"tensor", tensor.name}, {"type", name_of(out.to)}});
      out.instead_of = out.to;
      out.to = *other;
    }
    out.needs_importance = needs_importance(tensor, out.to);
    return {};
  }

 private:
  Result<Type> wanted(const TensorInfo& tensor) {
    for (const auto& [pattern, type] : rules_)
      if (pattern.found_in(tensor.name)) return type;
    if (options_.pure) return mix_.type;
    const Role role = role_of(tensor.name);
    uint64_t i = n_seen_[static_cast<size_t>(role)]++;
    // The experts' tensors of a layer may be many; then its number counts.
    const bool by_name = model_.n_experts > 1 && !mix_.low &&
                         (role == Role::down || role == Role::gate || role == Role::up);
    if (by_name) {
      const int64_t layer = layer_of(tensor.name);
      if (layer < 0 || static_cast<uint64_t>(layer) >= model_.n_layers)
        return fail(Code::bad_file, "tensor ", printable(tensor.name),
                    " belongs to no layer; the model has ", model_.n_layers);
      i = static_cast<uint64_t>(layer);
    }
    return type_by_mix(mix_, model_, role, i, tensor.dims[0], tensor.dims[2]);
  }

  bool needs_importance(const TensorInfo& tensor, Type type) const {
    const Role role = role_of(tensor.name);
    if (role == Role::output || role == Role::embedding) return false;
    constexpr Type kFew[] = {Type::IQ1_S,  Type::IQ1_M, Type::IQ2_XXS,
                             Type::IQ2_XS, Type::IQ2_S, Type::IQ3_XXS};
    return std::ranges::find(kFew, type) != std::end(kFew) ||
           (type == Type::Q2_K && std::string_view(mix_.name) == "Q2_K_S");
  }

  const QuantizeOptions& options_;
  const Mix& mix_;
  const ModelFigures model_;
  std::vector<std::pair<NamePattern, Type>> rules_;
  std::array<uint64_t, 10> n_seen_ = {};  // by role, of those whose type the mix chose
};

MetadataValue u16_value(uint16_t value) {
  MetadataValue out;
  out.type = ValueType::u16;
  out.bytes.assign(reinterpret_cast<const char*>(&value), sizeof value);
  return out;
}

// Gives the key this value, behind all others.
void append_value(Gguf& gguf, std::string_view key, MetadataValue value) {
  remove_value(gguf, key);
  set_value(gguf, key, std::move(value));
}

void set_metadata(const Gguf& source, const QuantizeOptions& options, const Mix& mix, Gguf& out) {
  out.metadata = source.metadata;
  for (const char* key : {"split.no", "split.count", "split.tensors.count"}) remove_value(out, key);
  append_value(out, "general.quantization_version", u32_value(kQuantizationVersion));
  append_value(out, "general.file_type", u32_value(mix.file_type));
  if (options.importance == nullptr) return;
  const Importance& importance = *options.importance;
  const auto text = [](std::string_view all) { return text_value(all.substr(0, kMaxKeyText)); };
  append_value(out, "quantize.imatrix.file", text(options.importance_file));
  if (!importance.datasets.empty())
    append_value(out, "quantize.imatrix.dataset", text(importance.datasets[0]));
  append_value(out, "quantize.imatrix.entries_count",
               u32_value(static_cast<uint32_t>(importance.matrices.size())));
  if (importance.chunk_count > 0)
    append_value(out, "quantize.imatrix.chunks_count", u32_value(importance.chunk_count));
}

// The source's tensors in the order of the new file: those of no layer, then layer by layer, by
// name; of a model that stays split as they lie.
std::vector<size_t> order_of(const Gguf& source, bool as_they_lie) {
  std::vector<size_t> order(source.tensors.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, [&](size_t left, size_t right) {
    const TensorInfo& a = source.tensors[left];
    const TensorInfo& b = source.tensors[right];
    if (as_they_lie) return std::pair(a.offset, left) < std::pair(b.offset, right);
    const int64_t i = layer_of(a.name), j = layer_of(b.name);
    return i != j ? i < j : a.name < b.name;
  });
  return order;
}

// The file of a split source that has the tensor.
size_t file_of(const Gguf& source, const TensorInfo& tensor) {
  const auto after = std::ranges::upper_bound(source.files, source.data_offset + tensor.offset, {},
                                              &FilePlace::begin);
  return static_cast<size_t>(after - source.files.begin()) - 1;
}

uint64_t bytes_of_file(const Gguf& file) {
  const uint64_t rest = file.data_bytes % file.alignment;
  return file.data_offset + file.data_bytes + (rest == 0 ? 0 : file.alignment - rest);
}

}  // namespace

uint64_t QuantizePlan::bytes() const {
  uint64_t sum = 0;
  for (const Gguf& file : files) sum += bytes_of_file(file);
  return sum;
}

std::vector<std::string> quantize_types() {
  std::vector<std::string> names;
  for (const Mix& mix : all_mixes())
    if (can_quantize_to(mix.type)) names.emplace_back(mix.name);
  return names;
}

std::string quantize_type_names() {
  std::string out;
  for (const std::string& name : quantize_types()) out += concat(out.empty() ? "" : ", ", name);
  return out;
}

std::string_view name_of_file_type(uint64_t file_type) {
  const auto mix = std::ranges::find(all_mixes(), file_type, &Mix::file_type);
  return mix == all_mixes().end() ? "" : mix->name;
}

bool is_quantize_type(std::string_view name) { return find_mix(name) != nullptr; }

Result<TensorTypeRule> parse_tensor_type(std::string_view text) {
  const size_t sign = text.find('=');
  if (sign == std::string_view::npos || sign == 0 || sign + 1 == text.size())
    return fail(Code::invalid_argument, "expected PATTERN=TYPE, such as attn_v=Q6_K, found '",
                printable(text), "'");
  TensorTypeRule rule{.pattern = std::string(text.substr(0, sign))};
  std::string name(text.substr(sign + 1));
  for (char& c : name)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - ('a' - 'A'));
  const auto type =
      std::ranges::find_if(kTypes, [&](const TypeTraits& each) { return name == each.name; });
  const bool known =
      type != std::end(kTypes) && (can_quantize_to(type->type) || name.starts_with("IQ"));
  if (!known || type->block == 0) {
    std::string names;
    for (const TypeTraits& each : kTypes)
      if (can_quantize_to(each.type)) names += concat(names.empty() ? "" : ", ", each.name);
    const std::string_view given = text.substr(sign + 1);
    const bool several = given.find_first_of(",=") != std::string_view::npos;
    return fail(Code::invalid_argument, "'", printable(given),
                "' is no type for tensors; expected ", names,
                several ? ". For several patterns give the option several times" : "");
  }
  rule.type = type->type;
  SLUICE_TRY(NamePattern::compile(rule.pattern));
  return rule;
}

Result<QuantizePlan> plan_quantization(const Gguf& source, const QuantizeOptions& options) {
  const Mix* mix = find_mix(options.type);
  if (mix == nullptr)
    return fail(Code::invalid_argument, "'", printable(options.type), "' is no type; expected ",
                quantize_type_names());
  const bool split = options.keep_split && source.files.size() > 1;
  QuantizePlan plan;
  plan.type = mix->name;
  plan.file_type = mix->file_type;
  plan.files.resize(split ? source.files.size() : 1);
  set_metadata(source, options, *mix, plan.files[0]);
  plan.files[0].alignment = source.alignment;
  Chooser chooser(source, options, *mix);
  SLUICE_TRY(chooser.compile());
  SLUICE_TRY(chooser.check_rules(source));
  for (const size_t index : order_of(source, split)) {
    const TensorInfo& tensor = source.tensors[index];
    QuantizePlan::Tensor& planned =
        plan.tensors.emplace_back(index, split ? file_of(source, tensor) : 0);
    SLUICE_TRY(chooser.choose(tensor, planned));
    TensorInfo& placed = plan.files[planned.file].tensors.emplace_back(tensor);
    placed.type = static_cast<uint32_t>(planned.to);
    placed.n_dims = n_dims(tensor);
  }
  for (size_t i = 0; i < plan.files.size(); ++i) {
    Gguf& file = plan.files[i];
    if (split) {
      append_value(file, "split.no", u16_value(static_cast<uint16_t>(i)));
      append_value(file, "split.count", u16_value(static_cast<uint16_t>(plan.files.size())));
      append_value(file, "split.tensors.count",
                   i32_value(static_cast<int32_t>(source.tensors.size())));
    }
    SLUICE_TRY(place_tensors(file));
  }
  return plan;
}

Status check_quantization(const Gguf& source, const QuantizePlan& plan,
                          const QuantizeOptions& options) {
  for (const QuantizePlan::Tensor& planned : plan.tensors) {
    if (planned.from == planned.to) continue;
    const TensorInfo& tensor = source.tensors[planned.source];
    const std::string name = printable(tensor.name);
    const FileType from = file_type(tensor.type);
    const auto refuse = [&](Type type, std::string_view what, std::string_view todo) {
      return with_facts(fail(Code::unsupported_type, "tensor ", name, what, name_of(type), todo),
                        {{"tensor", tensor.name}, {"type", name_of(type)}});
    };
    if (!can_quantize_to(planned.to))
      return refuse(planned.to, " would be ", ", which Sluice can't write; choose another type");
    if (find_traits(tensor.type) == nullptr)
      return refuse(planned.from, " is ",
                    ", which Sluice can't read; quantize a file with the original weights");
    if (from.block > 1 && !options.allow_requantize)
      return fail(Code::invalid_argument, "tensor ", name, " is quantized already, as ", from.name,
                  ". That loses more than quantizing the original does; --allow-requantize does it "
                  "all the same");
    const Importance::Matrix* matrix =
        options.importance == nullptr ? nullptr : options.importance->find(tensor.name);
    if (matrix == nullptr && planned.needs_importance)
      return fail(Code::invalid_argument, plan.type, " is of no use without ",
                  options.importance == nullptr ? "an importance matrix; give one with --imatrix"
                                                : "importance, and the matrix has none",
                  " (tensor ", name, " would be ", name_of(planned.to), ")");
    if (matrix != nullptr && role_of(tensor.name) != Role::embedding &&
        matrix->in_sum2.size() != tensor.dims[0] * tensor.dims[2])
      return fail(Code::bad_file, "the importance matrix has ", matrix->in_sum2.size(),
                  " columns for tensor ", name, ", which has ", tensor.dims[0] * tensor.dims[2],
                  ". It belongs to another model");
  }
  return {};
}

}  // namespace sluice
