// What becomes of a text's vector (Session::start_vectors): its length, its cut, and which of many
// is nearest. Each sum has one order, so the bits are the same on every machine.
#pragma once  // face

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/makes.h"
#include "base/result.h"

namespace sluice {

// mean, cls or last, as options and JSON have it.
std::string_view pooling_name(Pooling pooling);
// Pooling::none if there is none of this name.
Pooling find_pooling(std::string_view name);

// How many numbers a vector of `width` numbers has when it is cut to `dimensions`; 0: all. Fails
// with invalid_argument if it doesn't have so many.
Result<size_t> vector_size(int64_t width, int64_t dimensions);

// Writes the first out.size() numbers of `vector` to `out`, with `normalize` divided by their
// length. `out` may be the beginning of `vector`. Returns the length of what was cut, before it was
// divided. A vector without length stays as it is. Fails with bad_file if a number isn't finite:
// the model's own numbers overflow.
Result<double> finish_vector(std::span<const float> vector, bool normalize, std::span<float> out);

// The sum of the products of two vectors of one size: of unit vectors the cosine of their angle.
float dot_product(std::span<const float> a, std::span<const float> b);

struct Similar {
  size_t row = 0;
  float score = 0;  // dot_product() with the query
};
// The `top` rows that are most similar to the query, best first; of equal ones the first goes
// first. `rows` has vectors of query.size() numbers, one after the other; all are finite.
std::vector<Similar> most_similar(std::span<const float> query, std::span<const float> rows,
                                  size_t top);

}  // namespace sluice
