#include "pass/shapes.h"

#include <cmath>

#include "base/format.h"
#include "pass/config_reader.h"

namespace sluice {
namespace {

constexpr int64_t kMaxHeadDim = 1024;

Result<int64_t> read_head_dim(ConfigReader& reader, int64_t n_embd, int64_t n_heads) {
  const bool given = reader.find("attention.key_length") != nullptr;
  if (!given && n_embd % n_heads != 0) {
    return fail(Code::bad_file, "the width ", n_embd, " is not a multiple of the ", n_heads,
                " heads");
  }
  const int64_t head_dim = reader.integer("attention.key_length", n_embd / n_heads, kMaxHeadDim);
  const int64_t value_dim = reader.integer("attention.value_length", head_dim, kMaxHeadDim);
  SLUICE_TRY(reader.status());
  if (value_dim != head_dim) {
    return with_facts(
        fail(Code::unsupported_model, "keys have ", head_dim, " elements a head and values ",
             value_dim, "; Sluice computes only models where both are the same"),
        {{"key", reader.key("attention.value_length")}, {"value", concat(value_dim)}});
  }
  if (head_dim > kMaxHeadDim || head_dim % 2 != 0) {
    return fail(Code::bad_file, "a head has ", head_dim, " elements; an even number up to ",
                kMaxHeadDim, " is expected");
  }
  return head_dim;
}

}  // namespace

Result<std::vector<LayerShape>> read_layers(ConfigReader& reader, const Config& config) {
  const int64_t n = config.n_layers;
  const uint64_t experts = reader.count("expert_count");
  const auto n_ff = reader.per_layer("feed_forward_length", n, -1, kMaxWidth);
  const auto n_heads = reader.per_layer("attention.head_count", n, -1, kMaxWidth);
  const bool grouped = reader.find("attention.head_count_kv") != nullptr;
  const auto n_kv_heads =
      grouped ? reader.per_layer("attention.head_count_kv", n, -1, kMaxWidth) : n_heads;
  SLUICE_TRY(reader.status());
  if (experts > 0) {
    return with_facts(fail(Code::unsupported_model, "the model is a mixture of ", experts,
                           " experts, which Sluice doesn't compute"),
                      {{"key", reader.key("expert_count")}, {"value", concat(experts)}});
  }
  SLUICE_ASSIGN(const int64_t head_dim, read_head_dim(reader, config.n_embd, n_heads[0]));
  std::vector<LayerShape> layers(static_cast<size_t>(n));
  for (size_t i = 0; i < layers.size(); ++i) {
    if (n_heads[i] % n_kv_heads[i] != 0) {
      return fail(Code::bad_file, "layer ", i, " has ", n_heads[i], " query heads over ",
                  n_kv_heads[i], " key heads; the first must be a multiple of the second");
    }
    if (n_heads[i] * head_dim > kMaxWidth) {
      return fail(Code::bad_file, n_heads[i], " heads of ", head_dim, " elements are wider than ",
                  kMaxWidth);
    }
    LayerShape& layer = layers[i];
    layer.n_heads = n_heads[i];
    layer.n_kv_heads = n_kv_heads[i];
    layer.head_dim = head_dim;
    layer.n_ff = n_ff[i];
    layer.cache = static_cast<int64_t>(i);
    layer.scale = 1.0f / std::sqrt(static_cast<float>(head_dim));
  }
  return layers;
}

Result<double> read_freq_base(ConfigReader& reader, std::string_view name, double fallback) {
  const double base = reader.number(name, fallback);
  SLUICE_TRY(reader.status());
  if (base > 0) return base;
  return fail(Code::bad_file, reader.key(name), " is ", base, "; a number above 0 is expected");
}

Result<RopeShape> read_rope(ConfigReader& reader, int64_t head_dim, RopePairs pairs) {
  RopeShape rope;
  rope.pairs = pairs;
  rope.dims = reader.integer("rope.dimension_count", head_dim, head_dim);
  const std::string_view scaling = reader.text("rope.scaling.type");
  // Old files have only rope.scale_linear.
  const double old_factor = reader.number("rope.scale_linear", 1.0);
  const double factor = reader.number("rope.scaling.factor", old_factor);
  SLUICE_ASSIGN(rope.freq_base, read_freq_base(reader, "rope.freq_base", 10000));
  if (rope.dims % 2 != 0) {
    return fail(Code::bad_file, reader.key("rope.dimension_count"), " is ", rope.dims,
                "; an even number is expected");
  }
  if (scaling == "none") return rope;
  if (scaling != "" && scaling != "linear") {
    return with_facts(
        fail(Code::unsupported_model, "the model's positions are scaled by the method \"",
             printable(scaling), "\", which Sluice doesn't compute; expected none or linear"),
        {{"key", reader.key("rope.scaling.type")}, {"value", printable(scaling)}});
  }
  if (!(factor >= 0)) {
    return fail(Code::bad_file, reader.key("rope.scaling.factor"), " is ", factor,
                "; a positive number is expected");
  }
  if (factor != 0) rope.scale = factor;
  return rope;
}

}  // namespace sluice
