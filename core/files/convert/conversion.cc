#include "files/convert/conversion.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>

#include "base/format.h"
#include "files/gguf_writer.h"
#include "quant/types.h"

namespace sluice {
namespace {

bool is_float(SafeType type) {
  return type == SafeType::f32 || type == SafeType::f16 || type == SafeType::bf16 ||
         type == SafeType::f64 || type == SafeType::f8_e4m3 || type == SafeType::f8_e5m2;
}
bool is_fp8(SafeType type) { return type == SafeType::f8_e4m3 || type == SafeType::f8_e5m2; }

std::string shown(std::span<const uint64_t> shape) {
  std::string out = "[";
  for (const uint64_t n : shape) out += concat(out.size() > 1 ? ", " : "", n);
  return out + "]";
}

// What the config says of numbers of few bits. Of FP8, the rows and columns that share a scale.
std::vector<uint64_t> read_quantization(HfConfig& config) {
  std::vector<uint64_t> block;
  const nlohmann::json* given = config.find({"quantization_config"});
  if (given == nullptr) return block;
  const auto text = [&](const char* name) {
    const auto found = given->is_object() ? given->find(name) : given->end();
    return found != given->end() && found->is_string() ? found->get<std::string>() : "";
  };
  const std::string method = text("quant_method"), format = text("format");
  const bool compressed = method == "compressed-tensors" && format == "float-quantized";
  if (method != "fp8" && !compressed) {
    const std::string what = concat(method.empty() ? "without a quant_method" : printable(method),
                                    format.empty() ? "" : concat(", ", printable(format)));
    config.cannot_express("quantization_config", what);
    return block;
  }
  if (compressed) return block;
  const auto size = given->find("weight_block_size");
  if (size == given->end() || size->is_null()) return block;
  if (size->is_array() && size->size() == 2) {
    for (const auto& n : *size)
      if (n.is_number_unsigned() && n.get<uint64_t>() >= 1 && n.get<uint64_t>() <= (1u << 20))
        block.push_back(n.get<uint64_t>());
    if (block.size() == 2) return block;
  }
  config.refuse(Code::bad_file, "config.json has a weight_block_size that is no two whole numbers");
  return {};
}

}  // namespace

Conversion::Conversion(HfConfig given, const HfWeights& weights, std::string architecture_,
                       std::vector<std::string> starts)
    : config(std::move(given)), architecture(std::move(architecture_)), weights_(weights) {
  scale_block_ = read_quantization(config);
  for (uint32_t i = 0; i < weights.tensors().size(); ++i) {
    const std::string& whole = weights.tensors()[i].name;
    std::string_view name = whole;
    const auto start =
        std::ranges::find_if(starts, [&](const std::string& s) { return name.starts_with(s); });
    if (start != starts.end()) name.remove_prefix(start->size());
    if (!names_.emplace(name, Source{i}).second)
      config.refuse(Code::bad_file, "the weights have two tensors for ", printable(name), "; ",
                    printable(whole), " is one of them");
  }
}

void Conversion::set(std::string_view name, MetadataValue value) {
  set_value(gguf, key(name), std::move(value));
}
void Conversion::set(std::string_view name, uint64_t value) {
  set(name, u32_value(static_cast<uint32_t>(value)));
}
void Conversion::set(std::string_view name, double value) {
  if (!(value >= 0 && value <= std::numeric_limits<float>::max()))
    return config.refuse(Code::bad_file, "config.json gives ", key(name), " the value ", value,
                         "; a number from 0 to 3.4e38 is expected");
  set(name, f32_value(static_cast<float>(value)));
}

// The tensor of this name, which counts as taken then. Null: there is none, or it is refused.
const SafeTensor* Conversion::take(const std::string& name, bool optional, Piece& piece) {
  const auto found = names_.find(name);
  if (found == names_.end()) {
    if (!optional)
      config.refuse(Code::bad_file, "the weights have no tensor ", printable(name),
                    ", which the config needs; the folder is incomplete");
    return nullptr;
  }
  found->second.taken = true;
  piece.tensor = found->second.tensor;
  const SafeTensor& tensor = weights_.tensors()[piece.tensor];
  if (is_float(tensor.type)) return &tensor;
  if (config.status())
    config.refuse(Code::unsupported_type, "tensor ", printable(tensor.name), " has the type ",
                  safe_type_name(tensor.type),
                  "; floating-point weights are expected (packed ones can't be converted)");
  return nullptr;
}

// Finds the scales of FP8 numbers: X.weight_scale_inv, a number for each block, or
// X.weight_scale, one for each row or one for all.
bool Conversion::find_scale(const std::string& name, const SafeTensor& tensor, Recipe& recipe,
                            Piece& piece) {
  if (!is_fp8(tensor.type)) return true;
  const bool blocks = names_.contains(name + "_scale_inv");
  const std::string scale_name = name + (blocks ? "_scale_inv" : "_scale");
  if (!blocks && !names_.contains(scale_name)) {
    if (!config.has("quantization_config")) return true;  // plain numbers of 8 bits
    config.refuse(Code::bad_file, "the FP8 tensor ", printable(tensor.name), " has no scales");
    return false;
  }
  Piece scale;
  const SafeTensor* const scales = take(scale_name, false, scale);
  if (scales == nullptr) return false;
  if (tensor.shape.size() != 2 || is_fp8(scales->type)) {
    config.refuse(Code::bad_file, "the FP8 tensor ", printable(tensor.name),
                  " is no matrix, or its scales are FP8 themselves");
    return false;
  }
  const uint64_t rows = tensor.shape[0], columns = tensor.shape[1];
  uint64_t scale_rows = rows, scale_columns = columns;
  if (scales->elements() != 1) {
    const bool by_block = blocks && scale_block_.size() == 2;
    scale_rows = by_block ? scale_block_[0] : 1;
    scale_columns = by_block ? scale_block_[1] : columns;
    const uint64_t down = (rows + scale_rows - 1) / scale_rows;
    const uint64_t across = (columns + scale_columns - 1) / scale_columns;
    const std::vector<uint64_t> expected = {down, across};
    const bool vector = across == 1 && scales->shape == std::vector<uint64_t>{down};
    if (scales->shape != expected && !vector) {
      config.refuse(Code::bad_file, "the scales ", printable(scales->name), " have the shape ",
                    shown(scales->shape), "; ", shown(expected), " is expected");
      return false;
    }
  }
  // Experts become one tensor, and turned matrices are read by columns.
  const bool like_others = recipe.scale_rows == 0 || (recipe.scale_rows == scale_rows &&
                                                      recipe.scale_columns == scale_columns);
  if (!like_others || recipe.transposed) {
    config.refuse(Code::unsupported_model, "the scales ", printable(scales->name),
                  " have the shape ", shown(scales->shape),
                  like_others ? ", of a matrix that is stored transposed; that can't be converted"
                              : "; those of the expert before it have another");
    return false;
  }
  recipe.scale_rows = scale_rows;
  recipe.scale_columns = scale_columns;
  piece.scale = scale.tensor;
  return true;
}

void Conversion::push(const std::string& to, const std::vector<uint64_t>& dims, Recipe recipe) {
  TensorInfo info;
  info.name = to;
  info.type = static_cast<uint32_t>(Type::F32);  // until the plan knows the type
  info.n_dims = static_cast<uint32_t>(dims.size());
  std::ranges::copy(dims, info.dims);
  gguf.tensors.push_back(std::move(info));
  recipes.push_back(std::move(recipe));
}

bool Conversion::add(const std::string& to, const std::string& from, std::vector<uint64_t> shape,
                     How how) {
  Recipe recipe;
  Piece piece;
  const SafeTensor* const tensor = take(from, how.optional, piece);
  if (tensor == nullptr) return false;
  const bool vector = shape.size() == 1;
  recipe.rows = vector ? 1 : shape[0];
  recipe.columns = shape.back();
  std::vector<uint64_t> expected = shape;
  if (how.transposed) std::ranges::reverse(expected);
  if (how.squeezed) expected.insert(expected.begin() + 1, 1);
  std::vector<uint64_t> found = tensor->shape;
  // A vector of one number may be a scalar.
  if (vector && found.empty()) found = {1};
  if (how.cut && found.size() == expected.size() && found[0] > expected[0]) found[0] = expected[0];
  if (found != expected) {
    config.refuse(Code::bad_file, "tensor ", printable(tensor->name), " has the shape ",
                  shown(tensor->shape), "; by config.json it would be ", shown(expected));
    return false;
  }
  if (std::ranges::find(shape, 0u) != shape.end()) {
    config.refuse(Code::bad_file, "tensor ", printable(tensor->name), " is empty");
    return false;
  }
  recipe.transposed = how.transposed;
  if (!find_scale(from, *tensor, recipe, piece)) return false;
  recipe.pieces = {piece};
  recipe.change = how.change;
  recipe.row_order = std::move(how.row_order);
  recipe.column_order = std::move(how.column_order);
  std::ranges::reverse(shape);
  push(to, shape, std::move(recipe));
  return true;
}

void Conversion::add_experts(const std::string& to, const std::vector<std::string>& from,
                             uint64_t rows, uint64_t columns) {
  Recipe recipe;
  recipe.rows = rows;
  recipe.columns = columns;
  for (const std::string& name : from) {
    Piece piece;
    const SafeTensor* const tensor = take(name, false, piece);
    if (tensor == nullptr) return;
    if (tensor->shape != std::vector<uint64_t>{rows, columns})
      return config.refuse(Code::bad_file, "tensor ", printable(tensor->name), " has the shape ",
                           shown(tensor->shape), "; by config.json it would be [", rows, ", ",
                           columns, "]");
    if (!find_scale(name, *tensor, recipe, piece)) return;
    recipe.pieces.push_back(piece);
  }
  push(to, {columns, rows, from.size()}, std::move(recipe));
}

void Conversion::add_experts(const std::string& to, const std::string& from, uint64_t experts,
                             uint64_t source_rows, uint64_t first, uint64_t rows,
                             uint64_t columns) {
  Recipe recipe;
  recipe.rows = rows;
  recipe.columns = columns;
  Piece piece;
  const SafeTensor* const tensor = take(from, false, piece);
  if (tensor == nullptr) return;
  const std::vector<uint64_t> expected = {experts, source_rows, columns};
  if (tensor->shape != expected || is_fp8(tensor->type))
    return config.refuse(Code::bad_file, "tensor ", printable(tensor->name), " has the type ",
                         safe_type_name(tensor->type), " and the shape ", shown(tensor->shape),
                         "; by config.json it would be ", shown(expected), " of 16 or 32 bits");
  for (uint64_t e = 0; e < experts; ++e) {
    piece.first_row = e * source_rows + first;
    recipe.pieces.push_back(piece);
  }
  push(to, {columns, rows, experts}, std::move(recipe));
}

void Conversion::add_values(const std::string& to, std::vector<float> values) {
  Recipe recipe;
  recipe.columns = values.size();
  recipe.values = std::move(values);
  push(to, {recipe.columns}, recipe);
}

bool Conversion::drop_starts(std::string_view start) {
  bool some = false;
  for (auto& [name, source] : names_)
    if (name.starts_with(start)) some = source.taken = true;
  return some;
}
bool Conversion::drop_ends(std::string_view end) {
  bool some = false;
  for (auto& [name, source] : names_)
    if (name.ends_with(end)) some = source.taken = true;
  return some;
}

Result<bool> Conversion::are_equal(const std::string& a, const std::string& b) {
  const SafeTensor& first = weights_.tensors()[names_.find(a)->second.tensor];
  const SafeTensor& second = weights_.tensors()[names_.find(b)->second.tensor];
  if (first.type != second.type || first.bytes != second.bytes) return false;
  std::vector<uint8_t> left(1 << 20), right(1 << 20);
  for (uint64_t at = 0; at < first.bytes; at += left.size()) {
    const auto n = static_cast<size_t>(std::min<uint64_t>(left.size(), first.bytes - at));
    SLUICE_TRY(weights_.read(first, at, std::span(left).first(n)));
    SLUICE_TRY(weights_.read(second, at, std::span(right).first(n)));
    if (std::memcmp(left.data(), right.data(), n) != 0) return false;
  }
  return true;
}

Status Conversion::finish() {
  SLUICE_TRY(config.finish());
  for (const auto& [name, source] : names_) {
    if (source.taken) continue;
    // Of FP8: the scales of activations, which nobody needs to unpack weights.
    if (config.has("quantization_config") &&
        (name.ends_with(".input_scale") || name.ends_with(".activation_scale")))
      continue;
    const std::string& whole = weights_.tensors()[source.tensor].name;
    return with_facts(fail(Code::unsupported_model, "the weights have the tensor ",
                           printable(whole), ", which has no place in a model of the class ",
                           printable(*config.class_name()), "; nothing is converted by guessing"),
                      {{"tensor", printable(whole)}});
  }
  return {};
}

}  // namespace sluice
