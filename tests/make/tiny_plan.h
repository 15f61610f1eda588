// The tensors of a tiny model, before they are made.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gguf_builder.h"
#include "tiny_models.h"

namespace sluice {

struct Plan {
  std::string name;
  Type type;
  uint64_t columns;
  uint64_t rows;    // 0: a vector; of all matrices
  float deviation;  // of a matrix
  float mean;       // of a vector
  uint64_t matrices = 1;
};

// A matrix, of the wanted type if its rows are whole blocks of that; and a vector.
Plan plan_matrix(const TinyModel& model, const std::string& name, uint64_t columns, uint64_t rows,
                 Type wanted);
Plan plan_vector(const std::string& name, uint64_t n, float mean);

// The tensors of BERT's forms, in the order in which converters write them.
std::vector<Plan> plan_bert(const TinyModel& model);
// Adds the dense layers behind a pooled vector, if the model has them.
void plan_dense(const TinyModel& model, std::vector<Plan>& plans);
// The keys that encoders have beside those of other models.
void add_encoder_keys(GgufBuilder& file, const TinyModel& model);

}  // namespace sluice
