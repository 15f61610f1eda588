#include "pass/shapes.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/format.h"
#include "base/math.h"
#include "pass/config_reader.h"

namespace sluice {
namespace {

constexpr int64_t kMaxHeadDim = 1024;
constexpr int64_t kMaxExperts = 1024;       // of a layer
constexpr int64_t kMaxExpertSlots = 32768;  // of all layers: each costs about a kilobyte

// The elements of a head, by attention.key_length with this end of its name. It is `fallback` if
// the key is missing, and required if that is below 0.
Result<int64_t> read_head_dim(ConfigReader& reader, std::string_view end, int64_t fallback) {
  const std::string values = concat("attention.value_length", end);
  const int64_t head_dim =
      reader.integer(concat("attention.key_length", end), fallback, kMaxHeadDim);
  const int64_t value_dim = reader.integer(values, head_dim, kMaxHeadDim);
  SLUICE_TRY(reader.status());
  if (value_dim != head_dim) {
    return with_facts(
        fail(Code::unsupported_model, "keys have ", head_dim, " elements a head and values ",
             value_dim, "; Sluice computes only models where both are the same"),
        {{"key", reader.key(values)}, {"value", concat(value_dim)}});
  }
  if (head_dim > kMaxHeadDim || head_dim % 2 != 0) {
    return fail(Code::bad_file, "a head has ", head_dim, " elements; an even number up to ",
                kMaxHeadDim, " is expected");
  }
  return head_dim;
}

Status set_head_dim(LayerShape& layer, int64_t head_dim) {
  if (layer.n_heads * head_dim > kMaxWidth) {
    return fail(Code::bad_file, layer.n_heads, " heads of ", head_dim, " elements are wider than ",
                kMaxWidth);
  }
  layer.head_dim = head_dim;
  layer.scale = 1.0f / std::sqrt(static_cast<float>(head_dim));
  return {};
}

}  // namespace

Result<ExpertCounts> read_experts(ConfigReader& reader, const Config& config) {
  const auto refuse = [&](std::string_view name, std::string value, std::string_view problem) {
    return with_facts(fail(Code::unsupported_model, reader.key(name), " is ", value, problem,
                           ", which Sluice doesn't compute; use another model"),
                      {{"key", reader.key(name)}, {"value", value}});
  };
  ExpertCounts experts;
  experts.n = reader.integer("expert_count", -1, kMaxExperts);
  const MetadataValue* used = reader.find("expert_used_count");
  if (used != nullptr && used->is_array()) {
    return refuse("expert_used_count", "an array", ": layers choose different numbers of experts");
  }
  experts.n_used = reader.integer("expert_used_count", -1, std::max<int64_t>(experts.n, 1));
  const uint64_t groups = reader.count("expert_group_count");
  SLUICE_TRY(reader.status());
  if (groups > 1)
    return refuse("expert_group_count", concat(groups), ": groups of experts are chosen first");
  if (experts.n * config.n_layers > kMaxExpertSlots) {
    return refuse("expert_count", concat(experts.n),
                  concat(", in ", config.n_layers, " layers: more than ", kMaxExpertSlots,
                         " experts in all"));
  }
  return experts;
}

Result<std::vector<LayerShape>> read_layers(ConfigReader& reader, const Config& config,
                                            const LayerKinds& kinds) {
  const ExpertCounts& mixture = kinds.experts;
  const int64_t n = config.n_blocks;
  const uint64_t experts = mixture.n > 0 ? 0 : reader.count("expert_count");
  constexpr std::string_view kWidth = "feed_forward_length";
  constexpr std::string_view kOfExpert = "expert_feed_forward_length";
  const bool own_width = mixture.n > 0 && reader.find(kOfExpert) != nullptr;
  auto n_ff = reader.per_layer(own_width ? kOfExpert : kWidth, n, -1, kMaxWidth);
  if (!own_width)
    for (int64_t& width : n_ff) width = std::max<int64_t>(width / kinds.experts_in_width, 1);
  const auto n_heads = reader.per_layer("attention.head_count", n, -1, kMaxWidth);
  const bool grouped = reader.find("attention.head_count_kv") != nullptr;
  const int64_t least = kinds.attention == Attention::some_layers ? 0 : 1;
  const auto n_kv_heads =
      grouped ? reader.per_layer("attention.head_count_kv", n, -1, kMaxWidth, least) : n_heads;
  SLUICE_TRY(reader.status());
  if (experts > 0) {
    return with_facts(fail(Code::unsupported_model, "the model is a mixture of ", experts,
                           " experts, which Sluice doesn't compute"),
                      {{"key", reader.key("expert_count")}, {"value", concat(experts)}});
  }
  size_t attending = 0;  // the first layer with attention
  while (attending + 1 < static_cast<size_t>(config.n_layers) && n_kv_heads[attending] == 0)
    ++attending;
  const int64_t first_heads = n_heads[attending];
  if (reader.find("attention.key_length") == nullptr && config.n_embd % first_heads != 0) {
    return fail(Code::bad_file, "the width ", config.n_embd, " is not a multiple of the ",
                first_heads, " heads");
  }
  SLUICE_ASSIGN(const int64_t head_dim, read_head_dim(reader, "", config.n_embd / first_heads));
  std::vector<LayerShape> layers(static_cast<size_t>(config.n_layers));
  for (size_t i = 0; i < layers.size(); ++i) {
    LayerShape& layer = layers[i];
    layer.n_ff = n_ff[i];
    layer.cache = static_cast<int64_t>(i);
    if (n_kv_heads[i] == 0) continue;
    if (n_heads[i] % n_kv_heads[i] != 0) {
      return fail(Code::bad_file, "layer ", i, " has ", n_heads[i], " query heads over ",
                  n_kv_heads[i], " key heads; the first must be a multiple of the second");
    }
    layer.n_heads = n_heads[i];
    layer.n_kv_heads = n_kv_heads[i];
    SLUICE_TRY(set_head_dim(layer, head_dim));
  }
  return layers;
}

Status read_short_convs(ConfigReader& reader, const Config& config,
                        std::vector<LayerShape>& layers) {
  const int64_t tokens = reader.integer("shortconv.l_cache", -1, kMaxConvTokens, 2);
  SLUICE_TRY(reader.status());
  for (LayerShape& layer : layers) {
    if (layer.n_kv_heads > 0) continue;
    if (layer.both_ways && tokens % 2 == 0) {
      return fail(Code::bad_file, reader.key("shortconv.l_cache"), " is ", tokens,
                  "; an odd number is expected where layers see both ways");
    }
    layer.conv_channels = config.n_embd;
    layer.conv_tokens = tokens;
    layer.state = layer.both_ways ? 0 : (tokens - 1) * config.n_embd;
  }
  return {};
}

namespace {

// Which of the n layers are recurrent.
Result<std::vector<uint8_t>> read_recurrent(ConfigReader& reader, const Config& config,
                                            int64_t period) {
  constexpr std::string_view kEach = "attention.recurrent_layers";
  std::vector<uint8_t> recurrent(static_cast<size_t>(config.n_layers));
  const MetadataValue* each = reader.find(kEach);
  period = reader.integer("full_attention_interval", period, int64_t{1} << 20);
  SLUICE_TRY(reader.status());
  if (each != nullptr && (!each->is_array() || each->element != ValueType::boolean ||
                          each->count != static_cast<uint64_t>(config.n_blocks))) {
    return fail(Code::bad_file, reader.key(kEach),
                " is no array of true and false, one for each of ", config.n_blocks, " blocks");
  }
  for (size_t i = 0; i < recurrent.size(); ++i) {
    recurrent[i] = each != nullptr ? each->as_bool(i).value_or(false)
                                   : (static_cast<int64_t>(i) + 1) % period != 0;
  }
  return recurrent;
}

}  // namespace

// Of widths and heads that are in bounds, no product overflows 64 bits.
Status read_delta_nets(ConfigReader& reader, const Config& config, int64_t period,
                       std::vector<LayerShape>& layers) {
  DeltaShape shape;
  shape.head_dim = reader.integer("ssm.state_size", -1, kMaxWidth);
  shape.n_key_heads = reader.integer("ssm.group_count", -1, kMaxWidth);
  shape.n_value_heads = reader.integer("ssm.time_step_rank", -1, kMaxWidth);
  shape.conv_tokens = reader.integer("ssm.conv_kernel", -1, kMaxDeltaTaps, 2);
  const int64_t inner = reader.integer("ssm.inner_size", -1, kMaxWidth);
  SLUICE_ASSIGN(const auto recurrent, read_recurrent(reader, config, period));
  if (inner != shape.value_rows()) {
    return fail(Code::bad_file, reader.key("ssm.inner_size"), " is ", inner, ", but ",
                shape.n_value_heads, " value heads have ", shape.head_dim, " elements each");
  }
  if (shape.n_value_heads % shape.n_key_heads != 0) {
    return fail(Code::bad_file, shape.n_value_heads, " value heads share ", shape.n_key_heads,
                " key heads; the first must be a multiple of the second");
  }
  if (shape.head_dim % 16 != 0 || shape.head_dim > kMaxDeltaDim) {
    return with_facts(
        fail(Code::unsupported_model, reader.key("ssm.state_size"), " is ", shape.head_dim,
             "; Sluice computes multiples of 16 up to ", kMaxDeltaDim),
        {{"key", reader.key("ssm.state_size")}, {"value", concat(shape.head_dim)}});
  }
  for (size_t i = 0; i < layers.size(); ++i) {
    if (!recurrent[i]) continue;
    layers[i] = {.n_ff = layers[i].n_ff, .cache = layers[i].cache, .delta = shape};
    layers[i].state = shape.state();
  }
  return {};
}

void see_both_ways(std::vector<LayerShape>& layers) {
  for (LayerShape& layer : layers) layer.both_ways = true;
}

Status read_windows(ConfigReader& reader, int64_t period, std::vector<LayerShape>& layers,
                    int64_t global) {
  constexpr std::string_view kPattern = "attention.sliding_window_pattern";
  constexpr std::string_view kWindow = "attention.sliding_window";
  const bool must = period == 0;
  const int64_t window =
      must ? reader.integer(kWindow, -1, kMaxWindow) : reader.integer_or_0(kWindow, 0, kMaxWindow);
  const MetadataValue* pattern = reader.find(kPattern);
  const bool each = pattern != nullptr && pattern->is_array();
  SLUICE_TRY(reader.status());
  if (must && !each) {
    return fail(Code::bad_file, reader.key(kPattern),
                pattern == nullptr ? " is missing" : " is no array",
                "; an array of true and false, one a layer, is expected");
  }
  if (!each) period = reader.integer(kPattern, period, int64_t{1} << 20);
  SLUICE_TRY(reader.status());
  if (each && pattern->count != layers.size()) {
    return fail(Code::bad_file, reader.key(kPattern), " has ", pattern->count,
                " entries, but the model has ", layers.size(), " layers");
  }
  for (size_t i = 0; i < layers.size(); ++i) {
    const uint64_t entry =
        each ? pattern->as_u64(i).value_or(2) : (static_cast<int64_t>(i) - global) % period != 0;
    if (entry > 1) {
      return fail(Code::bad_file, reader.key(kPattern), " is no array of true and false");
    }
    layers[i].window = entry == 1 ? window : 0;
  }
  return {};
}

Status read_local_heads(ConfigReader& reader, std::vector<LayerShape>& layers) {
  SLUICE_ASSIGN(const int64_t head_dim, read_head_dim(reader, "_swa", -1));
  for (LayerShape& layer : layers)
    if (layer.window > 0) SLUICE_TRY(set_head_dim(layer, head_dim));
  return {};
}

Status read_shared_caches(ConfigReader& reader, std::vector<LayerShape>& layers) {
  constexpr std::string_view kShared = "attention.shared_kv_layers";
  const auto n = static_cast<int64_t>(layers.size());
  const int64_t first = n - reader.integer_or_0(kShared, 0, n - 1);
  SLUICE_TRY(reader.status());
  for (int64_t l = first; l < n; ++l) {
    LayerShape& layer = layers[static_cast<size_t>(l)];
    int64_t of = first - 1;
    while (of >= 0 && layers[static_cast<size_t>(of)].window != layer.window) --of;
    const LayerShape* const from = of < 0 ? nullptr : &layers[static_cast<size_t>(of)];
    if (from == nullptr || from->n_kv_heads != layer.n_kv_heads ||
        from->head_dim != layer.head_dim) {
      return fail(Code::bad_file, reader.key(kShared), " is ", n - first, ", but layer ", l,
                  from == nullptr
                      ? concat(" has none before layer ", first,
                               " that sees as far back, whose keys and values it could read")
                      : concat(" has ", layer.n_kv_heads, " key heads of ", layer.head_dim,
                               " elements, and layer ", of, ", whose it would read, ",
                               from->n_kv_heads, " of ", from->head_dim));
    }
    layer.cache = of;
  }
  return {};
}

Result<int64_t> read_input_width(ConfigReader& reader, const Config& config) {
  const int64_t width =
      reader.integer_or_0("embedding_length_per_layer_input", 0, kMaxWidth / config.n_layers);
  SLUICE_TRY(reader.status());
  return width;
}

Result<float> read_cap(ConfigReader& reader, std::string_view name) {
  constexpr double kLeast = 0.001, kMost = 1e6;
  const double cap = reader.number(name, 0);
  SLUICE_TRY(reader.status());
  if (cap == 0 || (cap >= kLeast && cap <= kMost)) return static_cast<float>(cap);
  return fail(Code::bad_file, reader.key(name), " is ", cap, "; expected 0, which means none, or ",
              kLeast, " to ", kMost);
}

Result<double> read_freq_base(ConfigReader& reader, std::string_view name, double fallback) {
  const double base = reader.number(name, fallback);
  SLUICE_TRY(reader.status());
  if (base > 0) return base;
  return fail(Code::bad_file, reader.key(name), " is ", base, "; a number above 0 is expected");
}

namespace {

// Real ones are below 2. With this one a score stays finite.
constexpr double kMaxMagnitude = 1024;

// rope.scaling.factor; 1 if that is missing or 0. Old files have only rope.scale_linear.
Result<double> read_scale(ConfigReader& reader) {
  const double old_factor = reader.number("rope.scale_linear", 1.0);
  const double factor = reader.number("rope.scaling.factor", old_factor);
  SLUICE_TRY(reader.status());
  if (factor >= 0) return factor == 0 ? 1 : factor;
  return fail(Code::bad_file, reader.key("rope.scaling.factor"), " is ", factor,
              "; a positive number is expected");
}

// YaRN's numbers that a file may give. beta_fast and beta_slow aren't among them: the engines that
// the files were made for read these keys in no family here.
Result<Yarn> read_yarn(const ConfigReader& reader, const RopeShape& rope) {
  if (rope.original_context == 0) {
    return fail(Code::bad_file, reader.key("rope.scaling.original_context_length"),
                " is 0; YaRN needs 1 or more");
  }
  if (!(rope.numbers.freq_base > 1)) {
    return fail(Code::bad_file, reader.key("rope.freq_base"), " is ", rope.numbers.freq_base,
                "; YaRN needs a number above 1");
  }
  if (!(rope.numbers.scale >= 1)) {
    return fail(Code::bad_file, reader.key("rope.scaling.factor"), " is ", rope.numbers.scale,
                "; YaRN needs 1 or more");
  }
  Yarn yarn;
  yarn.original_context = static_cast<double>(rope.original_context);
  yarn.magnitude = 1 + 0.1 * log_f64(rope.numbers.scale);
  return yarn;
}

}  // namespace

Result<RopeShape> read_rope(ConfigReader& reader, const Config& config, int64_t head_dim,
                            RopePairs pairs) {
  RopeShape rope;
  rope.pairs = pairs;
  RopeNumbers& numbers = rope.numbers;
  numbers.dims = reader.integer("rope.dimension_count", head_dim, head_dim);
  const std::string_view scaling = reader.text("rope.scaling.type");
  numbers.magnitude = reader.number("rope.scaling.attn_factor", 1);
  rope.original_context = reader.integer_or_0("rope.scaling.original_context_length",
                                              config.context_length, kMaxContext);
  SLUICE_ASSIGN(numbers.freq_base, read_freq_base(reader, "rope.freq_base", 10000));
  if (scaling != "none") {
    SLUICE_ASSIGN(numbers.scale, read_scale(reader));
  }
  if (numbers.dims % 2 != 0) {
    return fail(Code::bad_file, reader.key("rope.dimension_count"), " is ", numbers.dims,
                "; an even number is expected");
  }
  constexpr std::string_view kUniform[] = {"", "none", "linear", "longrope"};
  if (scaling == "yarn") {
    SLUICE_ASSIGN(numbers.yarn, read_yarn(reader, rope));
  } else if (std::ranges::find(kUniform, scaling) == std::end(kUniform)) {
    return with_facts(
        fail(Code::unsupported_model, "the model's positions are scaled by the method \"",
             printable(scaling),
             "\", which Sluice doesn't compute; expected none, linear, yarn or longrope"),
        {{"key", reader.key("rope.scaling.type")}, {"value", printable(scaling)}});
  }
  const double magnitude = numbers.magnitude * (numbers.yarn ? numbers.yarn->magnitude : 1);
  if (!(numbers.magnitude > 0 && magnitude <= kMaxMagnitude)) {
    return fail(Code::bad_file, reader.key("rope.scaling.attn_factor"), " is ", numbers.magnitude,
                "; expected a number above 0 and, with what YaRN multiplies it by, at most ",
                kMaxMagnitude);
  }
  return rope;
}

Result<RopeShape> read_local_rope(ConfigReader& reader, const RopeShape& global, int64_t head_dim) {
  RopeShape local = global;
  local.factors = local.long_factors = -1;
  local.numbers.scale = 1;
  local.numbers.yarn.reset();
  local.numbers.dims = reader.integer("rope.dimension_count_swa", head_dim, head_dim);
  SLUICE_ASSIGN(local.numbers.freq_base, read_freq_base(reader, "rope.freq_base_swa", 10000));
  if (local.numbers.dims % 2 == 0) return local;
  return fail(Code::bad_file, reader.key("rope.dimension_count_swa"), " is ", local.numbers.dims,
              "; an even number is expected");
}

}  // namespace sluice
