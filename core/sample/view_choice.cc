#include "sample/view_choice.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "base/math.h"
#include "base/order.h"
#include "sample/candidates.h"

namespace sluice {

std::string_view choice_step_name(ChoiceStep step) {
  constexpr std::string_view kNames[] = {"penalties", "topNSigma", "topK", "typicalP",
                                         "topP",      "minP",      "xtc",  "temperature"};
  return kNames[static_cast<size_t>(step)];
}

namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

ChoiceView not_enough() {
  ChoiceView view;
  view.enough = false;
  return view;
}

// The probability of a log-probability; of one that is NaN 0.
double share(double logprob) { return logprob > 0 ? 1 : logprob > -700 ? exp_f64(logprob) : 0; }

// What the sampler sees of a vocabulary.
struct Seen {
  std::span<const float> logits;
  double log_sum;
  bool penalties;                     // some are on
  std::span<const TokenId> ids = {};  // of each logit, ascending; empty: its index
  uint64_t outside = 0;               // tokens that it doesn't see and that aren't banned
  double outside_weight = 0;          // the sum of their exp(logit - max), of the best raw logit
  size_t k = 0;  // the view is enough if the k-th best logit is above `limit`; 0: it is
  float limit = 0;
};

// Finds what is told of a token by what the sampler calls it.
class Places {
 public:
  explicit Places(std::span<const Candidate> tokens)
      : order_(order_of(tokens.size(), [tokens](uint32_t a, uint32_t b) {
          return tokens[a].second < tokens[b].second;
        })) {
    for (const uint32_t i : order_) ids_.push_back(tokens[i].second);
  }
  // Null if nothing is told of it.
  ChoiceView::Token* find(ChoiceView& view, int32_t id) const {
    const auto at = std::lower_bound(ids_.begin(), ids_.end(), id);
    if (at == ids_.end() || *at != id) return nullptr;
    return &view.candidates[order_[static_cast<size_t>(at - ids_.begin())]];
  }

 private:
  std::vector<uint32_t> order_;  // of the tokens, by their ids
  std::vector<int32_t> ids_;     // in that order
};

// Marks the candidates that a step left out, and adds it.
void add_step(ChoiceView& view, const Places& places, const ChoiceRecord::Step& step, float max,
              double total) {
  ChoiceView::Step added = {step.step, 0, 0};
  std::vector<bool> left(view.candidates.size());
  for (const Candidate& c : step.left) {
    if (c.first == kNever) continue;
    ++added.left;
    added.mass += static_cast<double>(weight(c, max));
    if (const auto* token = places.find(view, c.second))
      left[static_cast<size_t>(token - view.candidates.data())] = true;
  }
  added.mass = total > 0 ? added.mass / total : 0;
  for (size_t i = 0; i < left.size(); ++i) {
    ChoiceView::Token& token = view.candidates[i];
    if (!left[i] && token.cut < 0) token.cut = static_cast<int32_t>(view.steps.size());
  }
  view.steps.push_back(added);
}

// What a random number drew among.
void add_drawn(ChoiceView& view, const Places& places, const ChoiceRecord& record,
               const Seen& seen) {
  double total = 0;
  for (const Candidate& c : record.weighed) total += static_cast<double>(c.first);
  for (const Candidate& c : record.weighed) {
    if (c.first == 0) continue;
    ++view.nucleus;
    const float raw = tame(seen.logits[static_cast<size_t>(c.second)]);
    view.mass += share(static_cast<double>(raw) - seen.log_sum);
    if (auto* token = places.find(view, c.second))
      token->p = static_cast<float>(static_cast<double>(c.first) / total);
  }
  view.place = record.place;
}

ChoiceView view_seen(const Seen& seen, ChoiceSetting& setting) {
  ChoiceView view;
  ChoiceRecord record;
  Sampler sampler(setting.sampler, std::move(setting.penalties), std::move(setting.piece));
  const int32_t taken = sampler.sample(seen.logits, setting.before, &record);
  std::vector<Candidate> told;
  if (seen.k > 0) {
    select_best({seen.logits, record.changed}, seen.k, told);
    if (!(told.back().first > seen.limit)) return not_enough();
  }
  const auto id_of = [&seen](int32_t index) {
    return seen.ids.empty() ? index : seen.ids[static_cast<size_t>(index)];
  };
  view.taken = id_of(taken);

  const auto most = static_cast<size_t>(std::max(setting.most, 1));
  select_best({seen.logits, {}}, std::min(most, seen.logits.size()), told);
  const float raw_max = told.front().first;
  if (std::ranges::find(told, taken, &Candidate::second) == told.end())
    told.emplace_back(tame(seen.logits[static_cast<size_t>(taken)]), taken);

  std::vector<Candidate> changed;
  take_all({seen.logits, record.changed}, changed);
  const float max = best_of(changed).first;
  double total = 0;  // of weights relative to max
  if (max != kNever) {
    total = total_weight(changed, max);
    const double lost = static_cast<double>(raw_max) - static_cast<double>(max);
    if (seen.outside_weight > 0) total += seen.outside_weight * exp_f64(lost);
  }
  const double log_sum =
      record.changed.empty() ? seen.log_sum : static_cast<double>(max) + log_f64(total);
  for (const auto& [logit, index] : told) {
    const float after = changed[static_cast<size_t>(index)].first;
    view.candidates.push_back(
        {id_of(index), static_cast<float>(static_cast<double>(logit) - seen.log_sum),
         after == kNever ? after : static_cast<float>(static_cast<double>(after) - log_sum), -1,
         0});
  }

  const Places places(told);
  if (seen.penalties) {
    add_step(view, places, {ChoiceStep::penalties, changed}, max, total);
    view.steps[0].left += seen.outside;
    view.steps[0].mass = total > 0 ? 1 : 0;
  }
  for (const ChoiceRecord::Step& step : record.steps) add_step(view, places, step, max, total);
  if (!record.weighed.empty()) {
    add_drawn(view, places, record, seen);
  } else if (ChoiceView::Token* token = places.find(view, taken); token != nullptr) {
    token->p = 1;
    view.nucleus = 1;
    view.mass = share(static_cast<double>(token->logprob));
  }
  view.mass = std::min(view.mass, 1.0);  // of infinite logits several have all of it
  return view;
}

// The kept logits in the order of their ids. The sampler sees them as 0, 1, ..: that keeps all
// orders, and takes no memory for the others. Other tokens of the text get negative numbers, which
// differ where they differ.
struct Kept {
  Kept(const RawLogits& raw, int64_t n_vocab)
      : whole(raw.best.size() == static_cast<uint64_t>(n_vocab)) {
    const auto is_before = [&raw](uint32_t a, uint32_t b) {
      return raw.best[a].first < raw.best[b].first;
    };
    for (const uint32_t i : order_of(raw.best.size(), is_before)) {
      ids.push_back(raw.best[i].first);
      logits.push_back(tame(raw.best[i].second));
    }
    least = *std::ranges::min_element(logits);
    most = *std::ranges::max_element(logits);
  }
  bool has(TokenId id) const { return std::ranges::binary_search(ids, id); }
  int32_t index(TokenId id) const {
    const auto at = std::ranges::lower_bound(ids, id);
    return at != ids.end() && *at == id ? static_cast<int32_t>(at - ids.begin()) : -1 - id;
  }
  TokenId id(int32_t index) const {
    return index < 0 ? -1 - index : ids[static_cast<size_t>(index)];
  }

  bool whole;  // all of the vocabulary
  std::vector<TokenId> ids;
  std::vector<float> logits;
  float least = 0;
  float most = 0;
};

// No token that wasn't kept gets a higher logit, unless needs_others(): biases may raise the best
// of them, all else makes them less likely.
float most_of_others(const Kept& kept, const PenaltyOptions& penalties) {
  float most = kept.least;
  for (const auto& [id, bias] : penalties.logit_bias)
    if (!kept.has(id)) most = std::max(most, tame(kept.least + bias));
  return most;
}

// Whether penalties can raise a token that wasn't kept by more than is known, or a step looks at
// those.
bool needs_others(const Kept& kept, const ChoiceSetting& setting) {
  const SamplerOptions& s = setting.sampler;
  const PenaltyOptions& p = setting.penalties;
  if (s.temperature != 0 && s.top_n_sigma > 0) return true;
  const auto has_others = [&kept](std::span<const TokenId> tokens) {
    return !std::all_of(tokens.begin(), tokens.end(), [&](TokenId id) { return kept.has(id); });
  };
  const std::span<const TokenId> before = setting.before;
  if (p.repeat_on() && p.repeat_penalty < 1) {
    const size_t n = p.repeat_last_n < 0
                         ? before.size()
                         : std::min(before.size(), static_cast<size_t>(p.repeat_last_n));
    if (has_others(before.last(n))) return true;
  }
  return (p.presence_penalty < 0 || p.frequency_penalty < 0) &&
         has_others(before.subspan(std::min(p.prompt_tokens, before.size())));
}

// The first of the tokens before that penalties look at.
size_t looked_back_to(const ChoiceSetting& setting) {
  const PenaltyOptions& p = setting.penalties;
  const size_t n = setting.before.size();
  if (p.dry_on() || (p.repeat_on() && p.repeat_last_n < 0)) return 0;
  const size_t window = p.repeat_on() ? static_cast<size_t>(p.repeat_last_n) : 0;
  const size_t begin = n - std::min(n, window);
  return p.answer_on() ? std::min(begin, p.prompt_tokens) : begin;
}

}  // namespace

ChoiceView view_choice(std::span<const float> logits, double log_sum, ChoiceSetting setting) {
  if (logits.empty()) return not_enough();
  return view_seen({.logits = logits, .log_sum = log_sum, .penalties = setting.penalties.on()},
                   setting);
}

ChoiceView view_choice(const RawLogits& raw, int64_t n_vocab, ChoiceSetting setting) {
  if (raw.best.empty()) return not_enough();
  Kept kept(raw, n_vocab);
  const size_t n = kept.ids.size();
  const SamplerOptions& sampler = setting.sampler;
  const size_t k = sampler.temperature == 0 ? 1 : static_cast<size_t>(sampler.top_k);
  if (!kept.whole && (k == 0 || k > n || needs_others(kept, setting))) return not_enough();

  Seen seen = {.logits = {},
               .log_sum = raw.log_sum,
               .penalties = setting.penalties.on(),
               .ids = kept.ids,
               .outside = static_cast<uint64_t>(n_vocab) - n};
  if (!kept.whole) {
    seen.k = k;
    seen.limit = most_of_others(kept, setting.penalties);
    const double all = exp_f64(raw.log_sum - static_cast<double>(kept.most));
    double weights = 0;
    for (const float logit : kept.logits)
      weights += static_cast<double>(exp_f32(logit - kept.most));
    seen.outside_weight = std::max(0.0, all - weights);
    // One that is never taken stands for the others, so that the sampler doesn't take all there
    // are.
    kept.logits.push_back(kNever);
  }
  seen.logits = kept.logits;

  // The setting, with the numbers that the sampler sees.
  PenaltyOptions& penalties = setting.penalties;
  setting.most = static_cast<int32_t>(std::min(static_cast<size_t>(std::max(setting.most, 1)), n));
  const size_t begin = looked_back_to(setting);
  std::vector<TokenId> before;
  before.reserve(setting.before.size() - begin);
  for (const TokenId id : setting.before.subspan(begin)) before.push_back(kept.index(id));
  setting.before = before;
  penalties.prompt_tokens -= std::min(begin, penalties.prompt_tokens);
  std::vector<TokenId> suppressed;  // ascending as before
  for (const TokenId id : penalties.suppressed) {
    if (kept.has(id)) {
      suppressed.push_back(kept.index(id));
    } else if (id >= 0 && id < n_vocab) {
      --seen.outside;
    }
  }
  penalties.suppressed = suppressed;
  for (auto& bias : penalties.logit_bias) bias.first = kept.index(bias.first);
  const PieceOf piece = std::move(setting.piece);
  setting.piece = [&](int32_t index) { return piece(kept.id(index)); };
  return view_seen(seen, setting);
}

}  // namespace sluice
