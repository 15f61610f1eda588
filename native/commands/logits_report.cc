#include "commands/logits_report.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "base/format.h"

namespace sluice::cli {
namespace {

// The ids of the `top` largest numbers, ascending; the largest of all is `best`.
template <typename T>
std::vector<size_t> largest(std::span<const T> numbers, size_t top, size_t& best) {
  std::vector<size_t> ids(numbers.size());
  std::iota(ids.begin(), ids.end(), size_t{0});
  const auto before = [&](size_t a, size_t b) {
    return numbers[a] != numbers[b] ? numbers[a] > numbers[b] : a < b;
  };
  best = *std::ranges::min_element(ids, before);
  if (top < ids.size())
    std::ranges::nth_element(ids, ids.begin() + static_cast<std::ptrdiff_t>(top), before);
  ids.resize(top);
  std::ranges::sort(ids);
  return ids;
}

template <typename T>
double log_sum(std::span<const T> numbers) {
  const auto most = static_cast<double>(*std::ranges::max_element(numbers));
  double sum = 0;
  for (const T x : numbers) sum += std::exp(static_cast<double>(x) - most);
  return most + std::log(sum);
}

}  // namespace

LogitsDifference compare_logits(std::span<const float> ours, std::span<const double> reference,
                                size_t top) {
  LogitsDifference found;
  size_t our_best = 0, its_best = 0;
  const std::vector<size_t> mine = largest(ours, top, our_best);
  const std::vector<size_t> its = largest(reference, top, its_best);
  std::vector<size_t> both;
  std::ranges::set_intersection(mine, its, std::back_inserter(both));
  found.in_both = both.size();
  found.same_best = our_best == its_best;
  const double our_sum = log_sum(ours), its_sum = log_sum(reference);
  for (size_t i = 0; i < ours.size(); ++i) {
    const auto our = static_cast<double>(ours[i]);
    const double difference = std::abs(our - reference[i]);
    found.largest = std::max(found.largest, difference);
    found.mean += difference / static_cast<double>(ours.size());
    const double logprob = reference[i] - its_sum, p = std::exp(logprob);
    if (p > 0) found.kl += p * (logprob - (our - our_sum));
  }
  found.kl = std::max(found.kl, 0.0);  // it is never less; the sum may be by its rounding
  return found;
}

std::string logits_report_json(const std::vector<LogitsDifference>& positions, size_t n_vocab,
                               size_t top) {
  const auto n = static_cast<double>(positions.size());
  LogitsDifference sum;  // of the figures, or their means
  double same = 0, most_kl = 0;
  for (const LogitsDifference& each : positions) {
    sum.in_both += each.in_both;
    same += each.same_best ? 1 : 0;
    sum.largest = std::max(sum.largest, each.largest);
    sum.mean += each.mean / n;
    sum.kl += each.kl / n;
    most_kl = std::max(most_kl, each.kl);
  }
  const auto share = [&](size_t in_both) {
    return static_cast<double>(in_both) / static_cast<double>(top);
  };
  std::string out =
      concat("{\"positions\":", positions.size(), ",\"vocab\":", n_vocab, ",\"top\":", top,
             ",\"topOverlap\":", share(sum.in_both) / n, ",\"sameBest\":", same / n,
             ",\"largestDifference\":", sum.largest, ",\"meanDifference\":", sum.mean,
             ",\"kl\":{\"mean\":", sum.kl, ",\"max\":", most_kl, "},\"each\":[");
  for (size_t i = 0; i < positions.size(); ++i) {
    const LogitsDifference& each = positions[i];
    out += concat(i == 0 ? "" : ",", "{\"topOverlap\":", share(each.in_both),
                  ",\"sameBest\":", each.same_best ? "true" : "false",
                  ",\"largestDifference\":", each.largest, ",\"meanDifference\":", each.mean,
                  ",\"kl\":", each.kl, "}");
  }
  return out + "]}";
}

}  // namespace sluice::cli
