// The mixes that llama-quantize knows by names such as "Q4_K_M": which type each tensor of a model
// gets. All of it is a table (mixes.cc).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "quant/types.h"

namespace sluice {

// What a tensor does in its model, as far as mixes tell tensors apart.
enum class Role : uint8_t { other, embedding, output, q, k, v, attn_output, gate, up, down };
Role role_of(std::string_view tensor);

// Where a rule holds. i is the tensor's place among the n of its role.
enum class When : uint8_t {
  always,
  grouped,             // four or more heads share their keys and values
  grouped_or_experts,  // or there are four experts or more
  eight_experts,
  first_two,  // i < 2
  first_four,
  first_eighth,     // i < n / 8
  first_sixteenth,  // i < n / 16
  middle,           // n / 8 <= i < 7 n / 8
  more,             // the first and the last eighth, and every third of the others
  more_of_eight,    // the same, if there are eight experts
};
// Whether it holds with an importance matrix.
enum class Measured : uint8_t { either, yes, no };

// Tensors of this role get this type. Of a mix's rules the first one that holds counts.
struct Rule {
  Role role;
  Type type;
  When when = When::always;
  Measured measured = Measured::either;
};

struct Mix {
  const char* name;
  uint32_t file_type;  // general.file_type
  Type type;           // of tensors without a rule
  std::span<const Rule> rules = {};
  // Of the matrix that gives the logits: output, or the embedding if that is both.
  Type output = Type::Q6_K;
  std::optional<Type> embedding = std::nullopt;  // of the embedding beside an output
  // A mix of one or two bits: models with eight experts get no Q8_0, those of 70B nothing besides.
  bool low = false;
};

// Without regard to capitals; Q3_K, Q4_K and Q5_K mean those with _M. Null: there is none.
const Mix* find_mix(std::string_view name);
// All of them, in the order in which people read them.
std::span<const Mix> all_mixes();

// What a mix looks at in a model.
struct ModelFigures {
  std::string_view architecture;
  uint64_t n_layers = 0;
  uint64_t n_experts = 0;
  uint64_t heads_per_kv = 1;
  uint64_t n_v = 0;  // tensors of Role::v
  bool has_output = false;
  bool measured = false;  // there is an importance matrix
};

// The type by the mix alone, for the i-th tensor of its role. `columns`: the row's length;
// `n_matrices`: the third dimension.
Type type_by_mix(const Mix& mix, const ModelFigures& model, Role role, uint64_t i, uint64_t columns,
                 uint64_t n_matrices);

// The type that rows of this length get in place of `type`, whose blocks don't divide them. F16 is
// the last resort. Nothing: there is none for this type.
std::optional<Type> type_instead_of(Type type, uint64_t columns);

}  // namespace sluice
