#include "files/convert/hf_rope.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/format.h"
#include "base/math.h"
#include "files/gguf_writer.h"

namespace sluice {

HfRope read_rope_config(Conversion& c) {
  HfConfig& config = c.config;
  HfRope rope;
  const nlohmann::json* given = config.find({"rope_parameters", "rope_scaling"});
  const nlohmann::json* local = nullptr;
  if (given != nullptr && !given->is_object()) {
    config.refuse(Code::bad_file, "config.json has rope_parameters that are no object");
    given = nullptr;
  }
  if (given != nullptr &&
      (given->contains("full_attention") || given->contains("sliding_attention"))) {
    const auto part = [&](const char* name) -> const nlohmann::json* {
      const auto found = given->find(name);
      return found != given->end() && found->is_object() ? &*found : nullptr;
    };
    local = part("sliding_attention");
    given = part("full_attention");
  }
  // Of an object: its type. Fields that no type has are refused.
  const auto type_of = [&](const nlohmann::json& object) {
    std::string type = "default";
    constexpr std::string_view kFields[] = {"rope_theta",
                                            "rope_type",
                                            "type",
                                            "factor",
                                            "original_max_position_embeddings",
                                            "attention_factor",
                                            "beta_fast",
                                            "beta_slow",
                                            "low_freq_factor",
                                            "high_freq_factor",
                                            "partial_rotary_factor",
                                            "long_factor",
                                            "short_factor",
                                            "mrope_section",
                                            "mrope_interleaved",
                                            "long_mscale",
                                            "short_mscale"};
    for (const auto& [name, value] : object.items()) {
      if (value.is_null()) continue;
      if (std::ranges::find(kFields, name) == std::end(kFields))
        config.cannot_express(concat("rope_parameters.", name), value.dump());
    }
    for (const char* name : {"type", "rope_type"})
      if (const auto found = object.find(name); found != object.end() && found->is_string())
        type = found->get<std::string>();
    return type;
  };
  rope.theta = config.number({"rope_theta"});
  rope.local_theta = config.number({"rope_local_base_freq"});
  rope.partial = config.number({"partial_rotary_factor"});
  rope.type = "default";
  if (given != nullptr) {
    rope.type = type_of(*given);
    if (const auto theta = config.number_in(*given, "rope_theta")) rope.theta = theta;
    if (const auto partial = config.number_in(*given, "partial_rotary_factor"))
      rope.partial = partial;
    rope.scaling = given;
  }
  if (local != nullptr) {
    const std::string type = type_of(*local);
    if (type != "default") config.cannot_express("rope_parameters.sliding_attention", type);
    if (const auto theta = config.number_in(*local, "rope_theta")) rope.local_theta = theta;
    if (config.number_in(*local, "partial_rotary_factor").value_or(1) != 1)
      config.cannot_express("rope_parameters.sliding_attention", "a partial_rotary_factor");
  }
  return rope;
}

namespace {

// A positive number of the scaling's object.
double needed(Conversion& c, const HfRope& rope, std::string_view name) {
  const auto value = c.config.number_in(*rope.scaling, name);
  if (value && *value > 0 && *value < 1e12) return *value;
  c.config.refuse(Code::bad_file, "config.json has no usable ", name, " for RoPE of the type ",
                  printable(rope.type));
  return 1;
}

// The context that the model had before it was made longer.
double original_context(Conversion& c, const HfRope& rope, double fallback) {
  constexpr const char* kName = "original_max_position_embeddings";
  const auto value = c.config.number_in(*rope.scaling, kName);
  if (!value) return fallback;
  if (*value >= 1 && *value <= static_cast<double>(HfConfig::kMostContext)) return *value;
  c.config.refuse(Code::bad_file, "config.json has ", kName, " ", *value, "; a number from 1 to ",
                  HfConfig::kMostContext, " is expected");
  return 1;
}

// llama3: what divides the frequency of each pair. In f32, as transformers computes them.
std::vector<float> llama3_factors(Conversion& c, const HfRope& rope, uint64_t head_dim) {
  const auto factor = static_cast<float>(needed(c, rope, "factor"));
  const double low = needed(c, rope, "low_freq_factor");
  const double high = needed(c, rope, "high_freq_factor");
  const double before = needed(c, rope, "original_max_position_embeddings");
  const auto theta = static_cast<float>(rope.theta.value_or(10000));
  if (low >= high || !(theta > 0)) {
    c.config.refuse(Code::bad_file, "config.json has factors for RoPE that can't be");
    return {};
  }
  std::vector<float> factors(static_cast<size_t>(head_dim / 2));
  for (size_t i = 0; i < factors.size(); ++i) {
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(head_dim);
    const float f = 1.0f / static_cast<float>(pow_f64(theta, exponent));
    const float wavelength = 6.2831853071795864769f / f;
    if (wavelength < static_cast<float>(before / high)) {
      factors[i] = 1;
    } else if (wavelength > static_cast<float>(before / low)) {
      factors[i] = factor;
    } else {
      const float smooth = (static_cast<float>(before) / wavelength - static_cast<float>(low)) /
                           static_cast<float>(high - low);
      factors[i] = 1.0f / ((1.0f - smooth) / factor + smooth);
    }
  }
  return factors;
}

// An array of numbers, one for each pair.
std::vector<float> factors_of(Conversion& c, const HfRope& rope, const char* name, uint64_t n) {
  std::vector<float> out;
  const auto found = rope.scaling->find(name);
  if (found != rope.scaling->end() && found->is_array() && found->size() == n)
    for (const auto& each : *found)
      if (each.is_number() && each.get<double>() > 0) out.push_back(each.get<float>());
  if (out.size() != n)
    c.config.refuse(Code::bad_file, "config.json has a ", name, " that is no array of ", n,
                    " numbers");
  return out;
}

void set_longrope(Conversion& c, const HfRope& rope, const ModelSizes& s) {
  HfConfig& config = c.config;
  const double before =
      original_context(c, rope,
                       static_cast<double>(config.integer({"original_max_position_embeddings"},
                                                          HfConfig::kMostContext, s.context)));
  const auto longer = static_cast<double>(s.context) / before;
  const double factor =
      config.number_in(*rope.scaling, "attention_factor")
          .value_or(longer <= 1 ? 1.0 : std::sqrt(1 + log_f64(longer) / log_f64(before)));
  c.set("rope.scaling.type", text_value("longrope"));
  c.set("rope.scaling.attn_factor", factor);
  c.set("rope.scaling.original_context_length", static_cast<uint64_t>(before));
  c.add_values("rope_factors_long.weight", factors_of(c, rope, "long_factor", s.head_dim / 2));
  c.add_values("rope_factors_short.weight", factors_of(c, rope, "short_factor", s.head_dim / 2));
}

}  // namespace

std::vector<float> set_rope(Conversion& c, const HfRope& rope, const ModelSizes& sizes,
                            std::string_view allowed) {
  HfConfig& config = c.config;
  std::vector<float> factors;
  const std::string type = rope.type == "su" ? "longrope" : rope.type;
  if (type != "default" && allowed.find(type) == allowed.npos) {
    config.cannot_express("rope_type", type);
  } else if (type == "linear") {
    c.set("rope.scaling.type", text_value("linear"));
    c.set("rope.scaling.factor", needed(c, rope, "factor"));
  } else if (type == "yarn") {
    const double factor = needed(c, rope, "factor");
    c.set("rope.scaling.type", text_value("yarn"));
    c.set("rope.scaling.factor", factor);
    const double before = original_context(c, rope, static_cast<double>(sizes.context));
    c.set("rope.scaling.original_context_length", static_cast<uint64_t>(before));
    // The factor of a config is the whole one. Readers of GGUF multiply theirs with
    // 1 + 0.1 ln(factor).
    if (config.number_in(*rope.scaling, "attention_factor"))
      c.set("rope.scaling.attn_factor",
            needed(c, rope, "attention_factor") / (factor > 1 ? 1 + 0.1 * log_f64(factor) : 1.0));
    // Only some architectures' readers know these two, and not all of theirs are the usual ones.
    for (const auto& [name, usual] : {std::pair{"beta_fast", 32.0}, std::pair{"beta_slow", 1.0}}) {
      const double value = config.number_in(*rope.scaling, name).value_or(usual);
      if (value != usual) config.cannot_express(name, concat(value));
    }
  } else if (type == "llama3") {
    factors = llama3_factors(c, rope, sizes.head_dim);
  } else if (type == "longrope") {
    set_longrope(c, rope, sizes);
  }
  if (rope.theta && !(*rope.theta > 0))
    config.refuse(Code::bad_file, "config.json has a rope_theta of ", *rope.theta);
  if (rope.theta) c.set("rope.freq_base", *rope.theta);
  return factors;
}

}  // namespace sluice
