#include "files/quantize/mixes.h"

#include <algorithm>
#include <array>

#include "base/format.h"
#include "quant/quant.h"

namespace sluice {
namespace {

// The words of the table, in a namespace of their own: they are short.
namespace table {
using enum Role;
using enum When;

constexpr Rule kQ2K[] = {{v, Type::Q4_K, grouped},
                         {v, Type::Q3_K},
                         {down, Type::Q3_K},
                         {attn_output, Type::Q5_K, eight_experts},
                         {attn_output, Type::Q3_K}};
constexpr Rule kQ2KS[] = {{v, Type::Q4_K, grouped}, {down, Type::Q4_K, first_eighth}};
constexpr Rule kQ3KS[] = {{attn_output, Type::Q5_K, eight_experts}};
constexpr Rule kQ3KM[] = {{v, Type::Q5_K, first_two},
                          {v, Type::Q4_K},
                          {down, Type::Q5_K, first_sixteenth},
                          {down, Type::Q4_K},
                          {attn_output, Type::Q5_K, eight_experts},
                          {attn_output, Type::Q4_K}};
constexpr Rule kQ3KL[] = {{v, Type::Q5_K},
                          {down, Type::Q5_K},
                          {attn_output, Type::Q3_K, eight_experts},
                          {attn_output, Type::Q5_K}};
constexpr Rule kQ4KS[] = {{v, Type::Q5_K, first_four},
                          {down, Type::Q5_K, first_eighth},
                          {attn_output, Type::Q5_K, eight_experts}};
constexpr Rule kQ4KM[] = {
    {v, Type::Q6_K, more}, {down, Type::Q6_K, more}, {attn_output, Type::Q5_K, eight_experts}};
constexpr Rule kQ5KM[] = {{v, Type::Q6_K, more}, {down, Type::Q6_K, more}};
constexpr Rule kQ40[] = {{down, Type::Q4_1, first_eighth, Measured::yes}};
constexpr Rule kQ50[] = {{down, Type::Q5_1, first_eighth, Measured::yes}};
constexpr Rule kIQ4[] = {{v, Type::Q5_K, grouped},
                         {down, Type::Q5_K, first_eighth, Measured::no},
                         {attn_output, Type::Q5_K, eight_experts}};
constexpr Rule kIQ3S[] = {{v, Type::Q4_K, grouped}, {attn_output, Type::Q5_K, eight_experts}};
constexpr Rule kIQ3M[] = {{v, Type::Q4_K},
                          {down, Type::Q4_K, first_eighth},
                          {down, Type::Q4_K, more_of_eight},
                          {attn_output, Type::Q5_K, eight_experts},
                          {attn_output, Type::Q4_K}};
constexpr Rule kIQ3XS[] = {{v, Type::Q4_K, grouped},    {q, Type::IQ3_XXS},
                           {k, Type::IQ3_XXS},          {gate, Type::IQ3_XXS, middle},
                           {up, Type::IQ3_XXS, middle}, {attn_output, Type::Q5_K, eight_experts}};
constexpr Rule kIQ3XXS[] = {{v, Type::Q4_K, grouped},
                            {v, Type::IQ3_S, always, Measured::no},
                            {q, Type::IQ2_S},
                            {k, Type::IQ2_S},
                            {down, Type::Q4_K, first_eighth, Measured::no},
                            {down, Type::Q3_K, always, Measured::no},
                            {attn_output, Type::Q5_K, eight_experts},
                            {attn_output, Type::IQ3_S}};
constexpr Rule kIQ2XS[] = {{v, Type::Q4_K, grouped_or_experts},
                           {v, Type::Q2_K},
                           {k, Type::Q4_K, eight_experts},
                           {down, Type::Q2_K, first_eighth},
                           {attn_output, Type::Q5_K, eight_experts}};
constexpr Rule kIQ2S[] = {
    {v, Type::Q4_K, grouped_or_experts},      {v, Type::IQ3_S},
    {k, Type::Q4_K, eight_experts},           {down, Type::IQ3_S, first_eighth},
    {attn_output, Type::Q5_K, eight_experts}, {attn_output, Type::IQ3_S}};
constexpr Rule kIQ1[] = {{v, Type::Q4_K, grouped_or_experts},      {v, Type::Q2_K},
                         {k, Type::Q4_K, eight_experts},           {down, Type::Q2_K, first_eighth},
                         {attn_output, Type::Q5_K, eight_experts}, {attn_output, Type::IQ2_XXS}};

constexpr Mix kMixes[] = {
    {"F32", 0, Type::F32},
    {"F16", 1, Type::F16},
    {"BF16", 32, Type::BF16},
    {"Q8_0", 7, Type::Q8_0, {}, Type::Q8_0},
    {"Q4_0", 2, Type::Q4_0, kQ40},
    {"Q4_1", 3, Type::Q4_1},
    {"Q5_0", 8, Type::Q5_0, kQ50},
    {"Q5_1", 9, Type::Q5_1},
    {"Q2_K", 10, Type::Q2_K, kQ2K},
    {"Q2_K_S", 21, Type::Q2_K, kQ2KS},
    {"Q3_K_S", 11, Type::Q3_K, kQ3KS},
    {"Q3_K_M", 12, Type::Q3_K, kQ3KM},
    {"Q3_K_L", 13, Type::Q3_K, kQ3KL},
    {"Q4_K_S", 14, Type::Q4_K, kQ4KS},
    {"Q4_K_M", 15, Type::Q4_K, kQ4KM},
    {"Q5_K_S", 16, Type::Q5_K},
    {"Q5_K_M", 17, Type::Q5_K, kQ5KM},
    {"Q6_K", 18, Type::Q6_K},
    {"IQ4_NL", 25, Type::IQ4_NL, kIQ4},
    {"IQ4_XS", 30, Type::IQ4_XS, kIQ4},
    {"IQ3_S", 26, Type::IQ3_S, kIQ3S},
    {"IQ3_M", 27, Type::IQ3_S, kIQ3M},
    {"IQ3_XS", 22, Type::IQ3_S, kIQ3XS},
    {"IQ3_XXS", 23, Type::IQ3_XXS, kIQ3XXS, Type::Q5_K, Type::IQ3_S},
    {"IQ2_M", 29, Type::IQ2_S, kIQ2S, Type::Q5_K, Type::IQ3_S, true},
    {"IQ2_S", 28, Type::IQ2_XS, kIQ2S, Type::Q5_K, Type::IQ3_S, true},
    {"IQ2_XS", 20, Type::IQ2_XS, kIQ2XS, Type::Q5_K, Type::Q2_K, true},
    {"IQ2_XXS", 19, Type::IQ2_XXS, kIQ2XS, Type::Q5_K, Type::Q2_K, true},
    {"IQ1_M", 31, Type::IQ1_M, kIQ1, Type::Q5_K, Type::Q2_K, true},
    {"IQ1_S", 24, Type::IQ1_S, kIQ1, Type::Q5_K, Type::Q2_K, true},
    {"TQ1_0", 36, Type::TQ1_0, {}, Type::Q6_K, Type::Q4_K},
    {"TQ2_0", 37, Type::TQ2_0, {}, Type::Q6_K, Type::Q4_K},
    {"MXFP4_MOE", 38, Type::MXFP4, {}, Type::Q8_0},
    {"Q1_0", 40, Type::Q1_0},
    {"Q2_0", 41, Type::Q2_0, {}, Type::Q6_K, Type::Q4_K},
};
}  // namespace table

bool same_name(std::string_view a, std::string_view b) {
  const auto upper = [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - ('a' - 'A')) : c;
  };
  return std::ranges::equal(a, b, {}, upper, upper);
}

bool holds(const Rule& rule, const ModelFigures& model, uint64_t i, uint64_t n) {
  if (rule.measured != Measured::either && (rule.measured == Measured::yes) != model.measured)
    return false;
  const bool gets_more = i < n / 8 || i >= 7 * n / 8 || (i - n / 8) % 3 == 2;
  switch (rule.when) {
    case When::always:
      return true;
    case When::grouped:
      return model.heads_per_kv >= 4;
    case When::grouped_or_experts:
      return model.heads_per_kv >= 4 || model.n_experts >= 4;
    case When::eight_experts:
      return model.n_experts == 8;
    case When::first_two:
      return i < 2;
    case When::first_four:
      return i < 4;
    case When::first_eighth:
      return i < n / 8;
    case When::first_sixteenth:
      return i < n / 16;
    case When::middle:
      return i >= n / 8 && i < 7 * n / 8;
    case When::more:
      return gets_more;
    case When::more_of_eight:
      return gets_more && model.n_experts == 8;
  }
  return false;
}

}  // namespace

Role role_of(std::string_view tensor) {
  if (tensor == "output.weight") return Role::output;
  if (tensor == "token_embd.weight" || tensor == "per_layer_token_embd.weight")
    return Role::embedding;
  struct Part {
    std::string_view part;
    Role role;
  };
  // The first one that the name has.
  constexpr Part kParts[] = {
      {"attn_qkv.weight", Role::v}, {"attn_kv_b.weight", Role::v},
      {"attn_v.weight", Role::v},   {"attn_k.weight", Role::k},
      {"attn_q.weight", Role::q},   {"attn_output.weight", Role::attn_output},
      {"ffn_up", Role::up},         {"ffn_gate", Role::gate},
      {"ffn_down", Role::down},
  };
  for (const Part& part : kParts)
    if (tensor.find(part.part) != std::string_view::npos) return part.role;
  return Role::other;
}

const Mix* find_mix(std::string_view name) {
  for (const std::string_view alias : {"Q3_K", "Q4_K", "Q5_K"})
    if (same_name(name, alias)) return find_mix(concat(alias, "_M"));
  const auto mix =
      std::ranges::find_if(table::kMixes, [&](const Mix& m) { return same_name(m.name, name); });
  return mix == std::end(table::kMixes) ? nullptr : mix;
}

std::span<const Mix> all_mixes() { return table::kMixes; }

Type type_by_mix(const Mix& mix, const ModelFigures& model, Role role, uint64_t i, uint64_t columns,
                 uint64_t n_matrices) {
  if (role == Role::output || (role == Role::embedding && !model.has_output))
    return columns % file_type(static_cast<uint32_t>(mix.type)).block != 0 ? Type::Q8_0
                                                                           : mix.output;
  if (mix.type == Type::MXFP4) return n_matrices > 1 ? Type::MXFP4 : Type::Q8_0;
  if (role == Role::embedding) return mix.embedding.value_or(mix.type);
  if (!mix.low && model.n_experts == 8 && (role == Role::v || role == Role::k)) return Type::Q8_0;
  Type type = mix.type;
  for (const Rule& rule : mix.rules) {
    if (rule.role != role || !holds(rule, model, i, role == Role::v ? model.n_v : model.n_layers))
      continue;
    type = rule.type;
    break;
  }
  // Models that llama.cpp counts as 70B. Their values are small, as eight heads share them.
  const bool is_70b =
      model.n_layers == 80 && (model.architecture == "qwen2" || model.architecture == "deci" ||
                               (model.architecture == "llama" && model.heads_per_kv > 1));
  if (role == Role::v && !mix.low && is_70b && (type == Type::Q3_K || type == Type::Q4_K))
    return Type::Q5_K;
  return type;
}

std::optional<Type> type_instead_of(Type type, uint64_t columns) {
  if (type == Type::Q1_0) return std::nullopt;
  const auto divides = [columns](Type each) {
    const uint32_t block = file_type(static_cast<uint32_t>(each)).block;
    return block != 0 && columns % block == 0;
  };
  const Type next = [type] {
    switch (type) {
      case Type::Q2_K:
      case Type::Q3_K:
      case Type::Q2_0:
      case Type::TQ1_0:
      case Type::TQ2_0:
        return Type::Q4_0;
      case Type::Q4_K:
        return Type::Q5_0;
      case Type::Q5_K:
        return Type::Q5_1;
      case Type::Q6_K:
        return Type::Q8_0;
      case Type::IQ1_S:
      case Type::IQ1_M:
      case Type::IQ2_XXS:
      case Type::IQ2_XS:
      case Type::IQ2_S:
      case Type::IQ3_XXS:
      case Type::IQ3_S:
      case Type::IQ4_XS:
        return Type::IQ4_NL;
      default:
        return Type::F16;
    }
  }();
  return divides(next) ? next : Type::F16;
}

}  // namespace sluice
