// Which slots are wanted, and which give up their places for them: random runs over random places,
// compared with the rule (weights/weights.h) written down plainly. Some slots are optional: a run
// chooses some of those that follow the slot where it is.
#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <random>

#include "support/model_test.h"
#include "weights/weights.h"

namespace sluice {
namespace {

constexpr uint64_t kSlotBytes = 16 * 16 * 4;

struct OneRun {
  std::unique_ptr<Weights::Cursor> cursor;
  int slot = 0;
  std::vector<int> chosen;
  // What the rule knows of it:
  bool asked = false, holds = false, waits = false, paused = false;
  int last_use = 0;
  int slots_run = 0;
};

// A slot is one tensor of kSlotBytes.
class Simulation {
 public:
  explicit Simulation(unsigned seed) : random_(seed) {
    n_ = 3 + pick(10);
    GgufBuilder file;
    file.kv_string("general.architecture", "none");
    for (int slot = 0; slot < n_; ++slot)
      file.tensor("slot" + std::to_string(slot), Type::F32, {16, 16},
                  bytes_of(std::vector<float>(16 * 16, static_cast<float>(slot))));
    bytes_ = file.build();
    header_ = std::move(*parse_gguf(as_bytes(bytes_), bytes_.size()));
    TensorManifest manifest(n_);
    optional_.assign(static_cast<size_t>(n_), false);
    for (int slot = 1; seed % 2 == 0 && slot + 1 < n_; ++slot) {
      if (pick(3) == 0) continue;
      optional_[static_cast<size_t>(slot)] = true;
      manifest.make_optional(slot, slot + 1);
    }
    for (int slot = 0; slot < n_; ++slot)
      handles_.push_back(
          *manifest.add_matrix(header_, "slot" + std::to_string(slot), slot, 16, 16));
    SharedPlaces shared;
    for (int slot = 1; slot < n_; ++slot)
      if (pick(4) > 0) shared.slots.push_back(slot);
    shared.places = 1 + pick(4);
    own_.assign(static_cast<size_t>(n_), true);
    if (shared.enabled()) {
      for (const int slot : shared.slots) own_[static_cast<size_t>(slot)] = false;
      free_ = shared.places;
    }
    state_.assign(static_cast<size_t>(n_), SlotState::absent);
    is_asked_.assign(static_cast<size_t>(n_), false);
    weights_.emplace(manifest, shared);
    EXPECT_TRUE(weights_->allocate().has_value());
  }

  int pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  std::vector<OneRun>& runs() { return runs_; }
  int slots() const { return n_; }

  void begin_run() {
    OneRun run;
    run.cursor = std::make_unique<Weights::Cursor>(*weights_);
    do run.slot = pick(n_);
    while (is_optional(run.slot));
    runs_.push_back(std::move(run));
  }
  void end_run(size_t index) {
    if (current_ == runs_[index].cursor.get()) current_ = nullptr;
    runs_.erase(runs_.begin() + static_cast<std::ptrdiff_t>(index));
  }

  // A slice: uses its slot and goes to the next one, as a run does.
  bool step(OneRun& run) {
    const bool here = run.cursor->move_to(run.slot);
    EXPECT_EQ(here, state_at(run.slot) == SlotState::resident);
    if (!here && run.waits)
      for (OneRun& other : runs_)
        if (other.last_use < run.last_use) other.paused = true;
    if (!is_optional(run.slot)) run.chosen.clear();
    run.asked = true;
    run.paused = false;
    run.holds = here;
    run.waits = !here;
    run.last_use = ++uses_;
    run.slots_run += here;
    current_ = run.cursor.get();
    at_ = run.slot;
    front_ = here && run.slot == n_ - 1 ? 0 : run.slot;
    if (here) {
      float first = -1;
      weights_->read_row(handles_[static_cast<size_t>(run.slot)], pick(16), &row_[0]);
      first = row_[0];
      EXPECT_EQ(first, static_cast<float>(run.slot));
    }
    return here;
  }
  void go_on(OneRun& run) {
    int next = run.slot + 1;
    if (!is_optional(run.slot)) {
      for (int slot = next; slot < n_ && is_optional(slot); ++slot)
        if (pick(2) == 0) run.chosen.push_back(slot);
      run.cursor->choose(run.chosen);
    }
    while (next < n_ && is_optional(next) && !std::ranges::count(run.chosen, next)) ++next;
    run.slot = next % n_;
  }

  // Asks for `n` slots, and expects those of the rule.
  void ask(int n) {
    const std::vector<int> expected = expected_wants(n);
    std::vector<int> wanted;
    for (const Want& want : weights_->wants(static_cast<uint64_t>(n) * kSlotBytes)) {
      const auto slot = static_cast<int>((want.offset - header_.data_offset) / kSlotBytes);
      wanted.push_back(slot);
      std::memcpy(want.place.data(), bytes_.data() + want.offset, want.place.size());
      coming_.push_back(slot);
    }
    EXPECT_EQ(wanted, expected);
    for (int slot = 0; slot < n_; ++slot) EXPECT_EQ(weights_->state(slot), state_at(slot)) << slot;
  }
  // Brings one of the slots that are on their way.
  void bring_one() {
    if (coming_.empty()) return;
    const size_t index = static_cast<size_t>(pick(static_cast<int>(coming_.size())));
    const int slot = coming_[index];
    coming_.erase(coming_.begin() + static_cast<std::ptrdiff_t>(index));
    const uint64_t begin = header_.data_offset + static_cast<uint64_t>(slot) * kSlotBytes;
    const uint64_t part = 4 * static_cast<uint64_t>(1 + pick(200));
    EXPECT_TRUE(weights_->filled(begin + part, kSlotBytes - part).has_value());
    EXPECT_NE(weights_->state(slot), SlotState::resident);
    EXPECT_TRUE(weights_->filled(begin, part).has_value());
    state_[static_cast<size_t>(slot)] = SlotState::resident;
  }
  bool is_idle() const { return coming_.empty(); }

 private:
  SlotState state_at(int slot) const { return state_[static_cast<size_t>(slot)]; }
  bool is_here_or_coming(int slot) const {
    return state_at(slot) == SlotState::resident ||
           (state_at(slot) == SlotState::arriving && is_asked_[static_cast<size_t>(slot)]);
  }

  static bool is_used(const OneRun& run, int slot) {
    const int at = run.cursor->slot();
    return slot == at || (slot > at && std::ranges::count(run.chosen, slot) > 0);
  }
  // What a run uses from a slot on, up to where it is known, and not beyond `end` slots.
  std::vector<int> path(const OneRun* run, int from, int end) const {
    std::vector<int> slots;
    bool is_chosen = run != nullptr && !run->chosen.empty();
    for (int i = 0; i < end; ++i) {
      const int slot = (from + i) % n_;
      if (i > 0 && is_optional(slot)) {
        if (!is_chosen) return slots;
        if (!is_used(*run, slot)) continue;
      }
      if (i > 0 && !is_optional(slot)) is_chosen = false;
      slots.push_back(slot);
    }
    return slots;
  }

  // From the nearest run that counts, or from where one was last. Optional slots that no run uses
  // come after all others.
  int next_use(int slot, bool keeps) const {
    int nearest = 2 * n_;
    bool any = false;
    for (const OneRun& run : runs_) {
      if (!run.asked || run.paused) continue;
      any = true;
      const bool passed = run.holds && run.cursor->slot() == n_ - 1;
      const int from = passed ? 0 : run.cursor->slot();
      const int distance = (slot - from + n_) % n_;
      const std::vector<int> way = path(&run, from, distance + 1);
      const bool in_reach =
          keeps && !passed && !way.empty() && way.back() == slot &&
          std::ranges::all_of(way, [&](int on_it) { return is_here_or_coming(on_it); });
      const bool used = !is_optional(slot) || is_used(run, slot);
      nearest = std::min(nearest, in_reach ? 0 : used ? distance : n_ + distance);
    }
    if (any) return nearest;
    return (slot - front_ + n_) % n_ + (is_optional(slot) ? n_ : 0);
  }
  // Whether it is known what some run uses up to a slot.
  bool is_known(int slot) const {
    bool any = false;
    for (const OneRun& run : runs_) {
      if (!run.asked || run.paused) continue;
      any = true;
      const bool passed = run.holds && run.cursor->slot() == n_ - 1;
      const std::vector<int> way = path(&run, passed ? 0 : run.cursor->slot(), n_);
      if (std::ranges::count(way, slot) > 0) return true;
    }
    return !any && std::ranges::count(path(nullptr, front_, n_), slot) > 0;
  }

  std::vector<int> expected_wants(int n) {
    std::vector<std::pair<int, int>> missing;
    std::vector<int> keep;
    for (int slot = 0; slot < n_; ++slot) {
      keep.push_back(next_use(slot, true));
      if (state_at(slot) == SlotState::resident) continue;
      const int use = next_use(slot, false);
      const bool unknown = state_at(slot) == SlotState::absent && !is_known(slot);
      // Those with places of their own come all the same: at last in their order.
      if (use < n_ && (is_own(slot) || !unknown))
        missing.emplace_back(use, slot);
      else if (use >= n_ && is_own(slot))
        missing.emplace_back(2 * n_, slot);
    }
    std::ranges::sort(missing);
    std::vector<int> wanted;
    for (const auto& [use, slot] : missing) {
      const auto index = static_cast<size_t>(slot);
      if (state_[index] == SlotState::absent) {
        if (!own_[index]) {
          if (free_ == 0) {
            int loser = -1;
            for (int other = 0; other < n_; ++other) {
              const bool pinned = current_ != nullptr && at_ == other && holds_current();
              const bool loading = state_at(other) == SlotState::arriving && is_asked_at(other);
              if (is_own(other) || state_at(other) == SlotState::absent || pinned || loading)
                continue;
              if (keep_of(keep, other) > (loser < 0 ? use : keep_of(keep, loser))) loser = other;
            }
            if (loser < 0) continue;
            state_[static_cast<size_t>(loser)] = SlotState::absent;
            ++free_;
          }
          --free_;
        }
        state_[index] = SlotState::arriving;
        is_asked_[index] = false;
      }
      if (is_asked_[index]) continue;
      if (static_cast<int>(wanted.size()) == n) return wanted;
      is_asked_[index] = true;
      wanted.push_back(slot);
    }
    return wanted;
  }
  static int keep_of(const std::vector<int>& keep, int slot) {
    return keep[static_cast<size_t>(slot)];
  }
  bool is_own(int slot) const { return own_[static_cast<size_t>(slot)]; }
  bool is_optional(int slot) const { return optional_[static_cast<size_t>(slot)]; }
  bool is_asked_at(int slot) const { return is_asked_[static_cast<size_t>(slot)]; }
  bool holds_current() const {
    return std::ranges::any_of(
        runs_, [&](const OneRun& run) { return run.cursor.get() == current_ && run.holds; });
  }

  std::mt19937 random_;
  int n_ = 0;
  std::string bytes_;
  Gguf header_;
  std::vector<int> handles_;
  std::optional<Weights> weights_;
  std::vector<OneRun> runs_;
  float row_[16] = {};
  // As the rule has it:
  std::vector<bool> own_, optional_, is_asked_;
  std::vector<SlotState> state_;
  std::vector<int> coming_;
  int free_ = 0, uses_ = 0, front_ = 0, at_ = -1;
  const Weights::Cursor* current_ = nullptr;
};

TEST(NextUse, DecidesWhatIsWantedAndWhatIsGivenUp) {
  for (unsigned seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE(seed);
    Simulation all(seed);
    for (int turn = 0; turn < 300 && !testing::Test::HasFailure(); ++turn) {
      const int what = all.pick(20);
      std::vector<OneRun>& runs = all.runs();
      if (what == 0 && runs.size() < 5) {
        all.begin_run();
      } else if (what == 1 && !runs.empty()) {
        all.end_run(static_cast<size_t>(all.pick(static_cast<int>(runs.size()))));
      } else if (what < 9 && !runs.empty()) {
        // Some runs are used less than others.
        OneRun& run = runs[static_cast<size_t>(std::min(all.pick(5), all.pick(5))) % runs.size()];
        if (all.step(run) && all.pick(3) > 0) all.go_on(run);
      } else if (what < 14) {
        all.ask(1 + all.pick(all.slots()));
      } else {
        all.bring_one();
      }
    }
    if (testing::Test::HasFailure()) return;
  }
}

// Whatever others stand where, the runs that are used come to their ends.
TEST(NextUse, LetsEachRunGoOnThatIsUsed) {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Simulation all(seed);
    const int n = 2 + all.pick(5);
    for (int i = 0; i < n; ++i) all.begin_run();
    const auto slice = [&](OneRun& run) {
      while (all.step(run) && all.pick(4) > 0) all.go_on(run);
      all.ask(all.slots());
      if (all.pick(2) == 0) all.bring_one();
    };
    for (int i = 0; i < 40; ++i) slice(all.runs()[static_cast<size_t>(all.pick(n))]);
    // Some of them are used no more.
    const auto used = static_cast<size_t>(1 + all.pick(n));
    for (OneRun& run : all.runs()) run.slots_run = 0;
    const int enough = 3 * all.slots();
    int rounds = 0;
    const auto is_done = [&](const OneRun& run) { return run.slots_run >= enough; };
    while (!std::all_of(all.runs().begin(), all.runs().begin() + static_cast<int>(used), is_done)) {
      for (size_t i = 0; i < used; ++i) slice(all.runs()[i]);
      if (++rounds > 200 * all.slots()) {
        ADD_FAILURE() << "a run waits for ever";
        return;
      }
    }
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace sluice
