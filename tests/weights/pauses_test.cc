// Sessions side by side under the least budget: one that pauses, wherever it is, holds up no other,
// and all have the tokens that they have alone.
#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <random>

#include "support/engine_fixture.h"
#include "support/sanitized.h"

namespace sluice {
namespace {

constexpr size_t kSessions = 7;

std::string many_layers(std::string_view name) {
  TinyModel model = tiny_model_named(name);
  model.n_layers = 8;
  return build_tiny_model(model);
}

// An engine with as little memory as possible, whose weights the test brings.
class Served {
 public:
  explicit Served(const std::string& file) : file_(file) {
    LoadOptions options = small(kKvChunk);
    options.sessions = kSessions;
    options.memory_budget = plan_memory(*parse_gguf(as_bytes(file), file.size()), options)->least;
    engine_ = std::move(*Engine::create(options, {file.size()}, Access::rereadable));
    while (!engine_->has_layout()) {
      const Want want = engine_->wants(1).front();
      const size_t n = std::min(want.place.size(), file.size() - want.offset);
      std::memcpy(want.place.data(), file.data() + want.offset, n);
      EXPECT_TRUE(engine_->filled(want.offset, n).has_value());
    }
    EXPECT_TRUE(engine_->build_tokenizer().has_value());
  }

  Engine& engine() { return *engine_; }
  // Takes down what is wanted now.
  void ask() {
    for (const Want& row : engine_->row_wants()) rows_.push_back(row);
    for (const Want& want : engine_->wants(UINT64_MAX)) pieces_.push_back(want);
  }
  // Brings one of what was wanted, in any order; or half of it, if it is larger than a byte. False:
  // nothing is on its way.
  bool bring(std::mt19937& random) {
    std::vector<Want>& from = rows_.empty() ? pieces_ : rows_;
    if (from.empty()) return false;
    const bool rows = !rows_.empty();
    const size_t index = random() % from.size();
    const Want want = from[index];
    size_t n = want.place.size();
    if (!rows && n > 1 && random() % 4 == 0) n = 1 + random() % (n - 1);
    std::memcpy(want.place.data(), file_.data() + want.offset, n);
    const Status status =
        rows ? engine_->rows_filled(want.offset, n) : engine_->filled(want.offset, n);
    EXPECT_TRUE(status.has_value()) << status.error().message;
    if (n == want.place.size()) {
      from.erase(from.begin() + static_cast<std::ptrdiff_t>(index));
    } else {
      from[index] = {want.offset + n, want.place.subspan(n), want.unit};
    }
    return true;
  }
  bool is_idle() const { return rows_.empty() && pieces_.empty(); }

 private:
  const std::string& file_;
  std::unique_ptr<Engine> engine_;
  std::vector<Want> rows_, pieces_;
};

struct Talker {
  Session session;
  std::vector<TokenId> prompt, ids;
  bool is_done = false;

  Talker(Served& served, uint32_t seed, size_t n, int64_t tokens)
      : session(served.engine()), prompt(some_ids(n, 500, seed)) {
    EXPECT_TRUE(session.start(prompt, greedy(tokens)).has_value());
  }
  Event::Kind step() {
    const auto event = session.step();
    EXPECT_TRUE(event.has_value()) << event.error().message;
    if (!event.has_value()) return Event::Kind::done;
    if (event->kind == Event::Kind::token) ids.push_back(event->id);
    is_done = event->kind == Event::Kind::done;
    return event->kind;
  }
};

class Pauses : public testing::TestWithParam<const char*> {
 protected:
  // The tokens that a session has alone, with all of the file in memory.
  const std::vector<TokenId>& alone(const Talker& one, int64_t tokens) {
    const auto [found, is_new] = alone_.try_emplace({one.prompt, tokens});
    if (is_new) {
      whole_->session().reset();
      found->second = generate(*whole_, one.prompt, greedy(tokens)).ids();
    }
    return found->second;
  }

  const std::string file_ = many_layers(GetParam());
  const std::unique_ptr<Engine> whole_ = load_bytes(file_, small(kKvChunk));
  std::map<std::pair<std::vector<TokenId>, int64_t>, std::vector<TokenId>> alone_;
};

// The first session is used no more after `steps` steps, for each number of them until it is done:
// in each layer, in the head, between tokens, and while it waits. Under sanitizers a quarter
// of these numbers.
TEST_P(Pauses, AtAnyStepHoldUpNobody) {
  std::mt19937 random(5);
  bool was_done = false;
  const auto more = [&] { return kSanitized ? 1 + static_cast<int>(random() % 7) : 1; };
  for (int steps = 0; !was_done; steps += more()) {
    SCOPED_TRACE(steps);
    Served served(file_);
    Talker first(served, 1, 20, 3), second(served, 2, 9, 3);
    for (int i = 0; i < steps && !first.is_done; ++i) {
      if (first.step() != Event::Kind::waiting) continue;
      served.ask();
      if (i % 3 > 0) served.bring(random);
    }
    was_done = first.is_done;
    int idle = 0;
    while (!second.is_done) {
      if (second.step() != Event::Kind::waiting) continue;
      served.ask();
      idle = served.bring(random) ? 0 : idle + 1;
      ASSERT_LT(idle, 4) << "it waits, and nothing is wanted";
    }
    EXPECT_EQ(second.ids, alone(second, 3));
    // The first goes on as if nothing had been.
    while (!first.is_done) {
      if (first.step() != Event::Kind::waiting) continue;
      served.ask();
      served.bring(random);
    }
    EXPECT_EQ(first.ids, alone(first, 3));
    if (testing::Test::HasFailure()) return;
  }
}

// A page steps a session that waits only when bytes have come. So something must be on its way
// whenever all that are used wait. There, sessions rest when they have written a token.
TEST_P(Pauses, BetweenTokensLeaveSomethingOnItsWay) {
  std::mt19937 random(6);
  for (int round = 0; round < 6; ++round) {
    SCOPED_TRACE(round);
    Served served(file_);
    std::vector<std::unique_ptr<Talker>> all;
    for (uint32_t i = 0; i < 5; ++i)
      all.push_back(std::make_unique<Talker>(served, i + 1, 3 + 4 * i, 4));
    std::vector<bool> rests(all.size(), false);
    const auto is_over = [&] {
      return std::ranges::all_of(all, [](const auto& one) { return one->is_done; });
    };
    while (!is_over()) {
      bool worked = false;
      for (size_t i = 0; i < all.size(); ++i) {
        if (all[i]->is_done || rests[i]) continue;
        const Event::Kind kind = all[i]->step();
        served.ask();
        worked = worked || kind != Event::Kind::waiting;
        rests[i] = kind == Event::Kind::token && random() % 2 == 0;
      }
      const bool all_rest = [&] {
        for (size_t i = 0; i < all.size(); ++i)
          if (!all[i]->is_done && !rests[i]) return false;
        return true;
      }();
      if (all_rest) rests.assign(all.size(), false);
      if (worked || all_rest) continue;
      ASSERT_FALSE(served.is_idle()) << "all wait, and nothing is wanted";
      served.bring(random);
      served.ask();
    }
    for (const auto& one : all) EXPECT_EQ(one->ids, alone(*one, 4));
  }
}

// More sessions than places, which begin one after the other, in turn or in any order.
TEST_P(Pauses, OfManySessionsChangeNoToken) {
  for (const bool in_turn : {true, false}) {
    std::mt19937 random(7);
    Served served(file_);
    std::vector<std::unique_ptr<Talker>> all;
    size_t turn = 0;
    for (;;) {
      if (all.size() < kSessions && turn % 40 == 0)
        all.push_back(std::make_unique<Talker>(served, static_cast<uint32_t>(all.size()) + 1,
                                               5 + all.size(), 3));
      Talker& one = *all[(in_turn ? turn : random()) % all.size()];
      ++turn;
      if (!one.is_done) one.step();
      served.ask();
      if (random() % 2 == 0) served.bring(random);
      const bool over = std::ranges::all_of(all, [](const auto& each) { return each->is_done; });
      if (over && all.size() == kSessions) break;
      ASSERT_LT(turn, 200000u) << "a session waits for ever";
    }
    for (const auto& one : all) EXPECT_EQ(one->ids, alone(*one, 3));
  }
}

INSTANTIATE_TEST_SUITE_P(Of, Pauses,
                         testing::Values("llama-q8_0", "qwen2-q4_0", "gemma3-q8_0", "lfm2-q8_0",
                                         "qwen35-q8_0", "gemma4-q8_0", "gemma4-odd-f32"),
                         [](const auto& each) { return test_name(each.param); });

}  // namespace
}  // namespace sluice
