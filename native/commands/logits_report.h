// How logits compare with those of another program.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace sluice::cli {

// At one position. The distributions are the softmax of the logits.
struct LogitsDifference {
  size_t in_both = 0;  // of the `top` likeliest tokens of each; of equal ones the lower id counts
  bool same_best = false;  // the likeliest token
  double largest = 0;      // of the differences of two logits, without their sign
  double mean = 0;
  double kl = 0;  // Kullback-Leibler divergence of ours from the reference, in nats
};
// Both have the same size, at least 1, and finite numbers. `top`: at most that size.
LogitsDifference compare_logits(std::span<const float> ours, std::span<const double> reference,
                                size_t top);

// The report as a JSON object: figures over all positions, and of each.
std::string logits_report_json(const std::vector<LogitsDifference>& positions, size_t n_vocab,
                               size_t top);

}  // namespace sluice::cli
