// The steps of a mixture of experts: which experts a token chooses, and what they add.
//
// All numbers here are computed one after the other, and each token adds its experts in ascending
// order, so that the bits don't depend on the threads, the block or what else is in the pass.
#include <algorithm>

#include "base/math.h"
#include "pass/pass.h"

namespace sluice {
namespace {

// Of the sum of the chosen experts' probabilities.
constexpr float kLeastSum = 0x1p-14f;

// Makes probabilities of one token's n products with the router, z, and takes the n_used largest.
// With a NaN it takes some: the pass fails then.
void choose_best(float* z, int64_t n, int64_t n_used, int32_t* experts, float* weights) {
  float largest = z[0], sum = 0;
  for (int64_t i = 1; i < n; ++i) largest = std::max(largest, z[i]);
  for (int64_t i = 0; i < n; ++i) {
    z[i] = exp_f32(z[i] - largest);
    sum = sum + z[i];
  }
  constexpr float kTaken = -1;  // no probability is below 0
  for (int64_t taken = 0; taken < n_used; ++taken) {
    int64_t best = -1;
    for (int64_t i = 0; i < n; ++i)
      if (z[i] != kTaken && (best < 0 || z[i] > z[best])) best = i;
    int64_t at = taken;
    for (; at > 0 && experts[at - 1] > best; --at) {
      experts[at] = experts[at - 1];
      weights[at] = weights[at - 1];
    }
    experts[at] = static_cast<int32_t>(best);
    weights[at] = z[best] / sum;
    z[best] = kTaken;
  }
  float chosen = 0;
  for (int64_t i = 0; i < n_used; ++i) chosen = chosen + weights[i];
  chosen = std::max(chosen, kLeastSum);
  for (int64_t i = 0; i < n_used; ++i) weights[i] = weights[i] / chosen;
}

}  // namespace

void Pass::choose_experts(const Work& work, const Norm& norm, const Linear& router) {
  const auto [n, n_used] = model_.experts();
  const int64_t width = model_.config().n_embd;
  multiply(Phase::router, work, {Buffer::residual, width, norm}, Epilogue::keep, {&router, 1});
  parallel_for(Phase::router, work.worker, work.n_tokens, [&](Share mine) {
    const ExpertChoice& choice = now_->choice;
    for (int64_t t = mine.begin; t < mine.end; ++t) {
      const int64_t at = (work.first_token + t) * n_used;
      choose_best(row(router.out, work, t, n), n, n_used, choice.experts + at, choice.weights + at);
      std::fill_n(row(Buffer::sum, work, t, width), width, 0.0f);
    }
  });
}

// Makes the stages after a layer's first one. The experts of a single token are one stage if all
// weights are here: it has fewer phases.
void Pass::group_by_expert(PassState& pass, int64_t layer) const {
  const auto [n_experts, n_used] = model_.experts();
  const ExpertChoice& choice = pass.choice;
  std::vector<Stage> experts(static_cast<size_t>(n_experts));
  for (int64_t i = 0; i < pass.n_tokens * n_used; ++i)
    ++experts[static_cast<size_t>(choice.experts[i])].n_tokens;
  int64_t end = 0;
  for (Stage& expert : experts) {
    expert.first = end;
    end += expert.n_tokens;
    expert.n_tokens = 0;
  }
  for (int64_t i = 0; i < pass.n_tokens * n_used; ++i) {
    Stage& expert = experts[static_cast<size_t>(choice.experts[i])];
    const int64_t at = expert.first + expert.n_tokens++;
    choice.tokens_by_expert[at] = i / n_used;
    choice.weights_by_expert[at] = choice.weights[i];
  }
  pass.stages.resize(1);
  if (pass.n_tokens == 1 && n_used <= kBlockTokens && weights_.slots_resident() &&
      !pass.points_of(layer).linear_input) {
    pass.stages.push_back({Work::kOwnExpert, 0, n_used});
    experts.clear();
  }
  for (size_t e = 0; e < experts.size(); ++e) {
    if (experts[e].n_tokens == 0) continue;
    experts[e].expert = static_cast<int>(e);
    pass.stages.push_back(experts[e]);
  }
  pass.stages.push_back({Work::kNoExpert, 0, pass.n_tokens});
}

void Pass::expert(const Work& work, const Norm& norm, Activation activation,
                  std::span<const Expert> all) {
  const Epilogue epilogue = epilogue_of(activation);
  if (work.expert == Work::kOwnExpert) {
    own_experts(work, norm, epilogue, all);
    return;
  }
  const Expert& expert = all[static_cast<size_t>(work.expert)];
  const Linear gate_up[] = {expert.gate_up.gate, expert.gate_up.up};
  multiply(Phase::gate_up, work, {Buffer::chosen, model_.config().n_embd, norm}, epilogue, gate_up);
  multiply(Phase::down, work, {Buffer::hidden, model_.layer(work.layer).n_ff, {}}, Epilogue::weigh,
           {&expert.down, 1});
}

// The same operations for all experts of one token: row i of each buffer is that of its i-th one.
void Pass::own_experts(const Work& work, const Norm& norm, Epilogue epilogue,
                       std::span<const Expert> all) {
  const int64_t width = model_.config().n_embd, n_ff = model_.layer(work.layer).n_ff;
  const int64_t strips = padded_rows(n_ff) / kStripRows;
  Work one = work;
  one.n_tokens = 1;
  const auto expert = [&](int64_t i) -> const Expert& {
    return all[static_cast<size_t>(now_->choice.experts[i])];
  };
  InputTransform made{-2};  // the row has this one; at first it is none
  parallel_for(Phase::gate_up, work.worker, work.n_tokens * strips, [&](Share mine) {
    const Input in = worker(work.worker).one.rows_of(width);
    const auto multiply_one = [&](const Linear& linear, Share of, int64_t i) {
      if (made != linear.transform)
        make_row(one, {Buffer::chosen, width, norm}, 0, in, linear.transform);
      made = linear.transform;
      multiply_strips(one, in, of, epilogue, linear, i);
    };
    for (int64_t i = mine.begin / strips; i * strips < mine.end; ++i) {
      const Share of{std::max<int64_t>(mine.begin - i * strips, 0),
                     std::min(mine.end - i * strips, strips)};
      const GateUp& gate_up = expert(i).gate_up;
      multiply_one(gate_up.gate, of, i);
      multiply_one(gate_up.up, of, i);
      activate(one, epilogue, true, n_ff, of, i);
    }
  });
  const Rows hidden{Buffer::hidden, n_ff, {}};
  parallel_for(Phase::rows, work.worker, work.n_tokens, [&](Share mine) {
    for (int64_t i = mine.begin; i < mine.end; ++i)
      make_row(work, hidden, i, shared_.rows_of(n_ff), expert(i).down.transform);
  });
  parallel_for(Phase::down, work.worker, padded_rows(width) / kStripRows, [&](Share mine) {
    for (int64_t i = 0; i < work.n_tokens; ++i)
      multiply_strips(one, shared_.rows_of(n_ff).from(i), mine, Epilogue::weigh, expert(i).down, i);
  });
}

void Pass::add_experts(const Work& work) {
  if (work.points.ffn_branch) show(work, Point::ffn_branch, Buffer::sum);
  parallel_for(Phase::branch, work.worker, work.n_tokens, [&](Share mine) {
    const int64_t n = model_.config().n_embd;
    for (int64_t t = mine.begin; t < mine.end; ++t) {
      float* x = row(Buffer::residual, work, t, n);
      kernels_.add(row(Buffer::sum, work, t, n), n, x);
      check(work.worker, x, n);
    }
  });
}

}  // namespace sluice
