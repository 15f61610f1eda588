#include "api/vectors.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "base/format.h"

namespace sluice {
namespace {

struct NamedPooling {
  std::string_view name;
  Pooling pooling;
};
constexpr NamedPooling kPoolings[] = {
    {"mean", Pooling::mean}, {"cls", Pooling::first}, {"last", Pooling::last}};

// Four partial sums in f64, each of every fourth product: exact products, one order.
double sum_of_products(std::span<const float> a, std::span<const float> b) {
  std::array<double, 4> sums = {};
  for (size_t i = 0; i < a.size(); ++i)
    sums[i % 4] += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

}  // namespace

std::string_view pooling_name(Pooling pooling) {
  const auto* found = std::ranges::find(kPoolings, pooling, &NamedPooling::pooling);
  return found != std::end(kPoolings) ? found->name : "none";
}

Pooling find_pooling(std::string_view name) {
  const auto* found = std::ranges::find(kPoolings, name, &NamedPooling::name);
  return found != std::end(kPoolings) ? found->pooling : Pooling::none;
}

Result<size_t> vector_size(int64_t width, int64_t dimensions) {
  if (dimensions == 0) return static_cast<size_t>(width);
  if (dimensions < 1 || dimensions > width)
    return fail(Code::invalid_argument, "the model's vectors have ", width,
                " numbers, so they can't be cut to ", dimensions);
  return static_cast<size_t>(dimensions);
}

Result<double> finish_vector(std::span<const float> vector, bool normalize, std::span<float> out) {
  const std::span<const float> kept = vector.first(out.size());
  // f64 holds the square of any f32, and the sum of 2^64 of them.
  const double length = std::sqrt(sum_of_products(kept, kept));
  if (!std::isfinite(length))
    return fail(Code::bad_file,
                "a text's vector has numbers that are not finite: the model's weights are damaged");
  const double divisor = normalize && length > 0 ? length : 1;
  for (size_t i = 0; i < kept.size(); ++i)
    out[i] = static_cast<float>(static_cast<double>(kept[i]) / divisor);
  return length;
}

float dot_product(std::span<const float> a, std::span<const float> b) {
  return static_cast<float>(sum_of_products(a, b));
}

std::vector<Similar> most_similar(std::span<const float> query, std::span<const float> rows,
                                  size_t top) {
  std::vector<Similar> all;
  if (query.empty()) return all;
  for (size_t row = 0; row < rows.size() / query.size(); ++row)
    all.push_back({row, dot_product(query, rows.subspan(row * query.size(), query.size()))});
  const auto better = [](const Similar& a, const Similar& b) {
    return a.score != b.score ? a.score > b.score : a.row < b.row;
  };
  const auto end = all.begin() + static_cast<std::ptrdiff_t>(std::min(top, all.size()));
  std::partial_sort(all.begin(), end, all.end(), better);
  all.erase(end, all.end());
  return all;
}

}  // namespace sluice
