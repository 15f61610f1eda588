// Tests of a past of which layers keep one state for all of it: what a pass reads and writes, where
// the past can be cut, and what memory it takes, over random passes, cuts, clones and files.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "state/timeline_rows.h"
#include "support/sanitized.h"
#include "support/written_timeline.h"

namespace sluice {
namespace {

LayerShape recurrent(int64_t layer, int64_t state) {
  LayerShape shape;
  shape.cache = layer;
  shape.state = state;
  return shape;
}

LayerShape windowed(int64_t layer, int64_t window) {
  LayerShape shape = written_layer(1, 4, layer);
  shape.window = window;
  return shape;
}

// The second state has more than one row in a file.
const std::vector<LayerShape> kAlone = {recurrent(0, 3), recurrent(1, kMostRowFloats + 5)};
const std::vector<LayerShape> kMixed = {recurrent(0, 3), windowed(1, 0), recurrent(2, 7),
                                        windowed(3, 300), windowed(4, 20)};
constexpr uint64_t kSmall = 0, kLarge = uint64_t{1} << 40;
constexpr uint64_t kStateBytes = 4 * (3 + kMostRowFloats + 5);  // of kAlone

// A timeline, and which text each of its tokens is of. A state sums up all of that.
struct Story {
  Story(std::span<const LayerShape> of, uint64_t allowance)
      : layers(of), timeline(of, KvType::f32, allowance) {}
  Story(std::span<const LayerShape> of, Timeline one, std::vector<int> past)
      : layers(of), timeline(std::move(one)), texts(std::move(past)) {}
  std::span<const LayerShape> layers;
  Timeline timeline;
  std::vector<int> texts;
};

// The first number of a state behind position p; the others are larger by their index. All are
// whole and below 2^24, so that they are exact.
float after(float before, int text, int64_t layer, int64_t p) {
  return std::fmod(before * 31 + static_cast<float>(text * 131 + layer * 17 + p % 1021), 65521.0f);
}

float told(const Story& story, int64_t layer, int64_t position) {
  float state = 0;
  for (int64_t p = 0; p < position; ++p)
    state = after(state, story.texts[static_cast<size_t>(p)], layer, p);
  return state;
}

bool has_right_state(const Story& story, int64_t position) {
  const RecurrentState& recurrent = story.timeline.recurrent();
  for (int64_t l = 0; l < recurrent.n_layers(); ++l) {
    if (recurrent.floats(l) == 0) continue;
    const float* state = recurrent.state(l, position);
    const float first = told(story, l, position);
    for (const int64_t i : {int64_t{0}, recurrent.floats(l) / 2, recurrent.floats(l) - 1})
      if (state[i] != first + static_cast<float>(i)) return false;
  }
  return true;
}

// A pass of n tokens of a text as the executor runs it: layer by layer, in blocks of any size. It
// ends in the middle if `layers` are fewer than all.
void run_pass(Story& story, int64_t n, int text, size_t layers = 99, int64_t block = 256) {
  const int64_t begin = story.timeline.positions(), all = begin + n;
  story.texts.resize(static_cast<size_t>(begin));
  story.texts.resize(static_cast<size_t>(all), text);
  const std::vector<TokenId> tokens(static_cast<size_t>(n), text);
  const uint64_t before = story.timeline.bytes(), own = story.timeline.own_bytes();
  const uint64_t growth = story.timeline.growth(begin, all);
  ASSERT_TRUE(story.timeline.begin(tokens).has_value());
  if (own == before) {
    EXPECT_LE(story.timeline.bytes(), before + growth);
  }
  const RecurrentState& recurrent = story.timeline.recurrent();
  for (size_t l = 0; l < std::min(layers, story.layers.size()); ++l) {
    const auto layer = static_cast<int64_t>(l);
    const int64_t floats = recurrent.floats(layer);
    if (floats == 0) continue;
    for (int64_t first = begin; first < all; first += block) {
      const int64_t end = std::min(first + block, all);
      RecurrentState::Stretch stretch;
      for (int64_t p = first; p < end; p += stretch.n) {
        stretch = recurrent.stretch(layer, p, end);
        ASSERT_GT(stretch.n, 0);
        ASSERT_LE(p + stretch.n, end);
        float state = stretch.from[0];
        for (int64_t i = 0; i < stretch.n; ++i) state = after(state, text, layer, p + i);
        for (int64_t i = 0; i < floats; ++i) stretch.to[i] = state + static_cast<float>(i);
      }
    }
  }
  if (layers >= story.layers.size()) {
    story.timeline.commit();
    EXPECT_TRUE(has_right_state(story, all));
    EXPECT_EQ(story.timeline.reach(all - 1), all - 1);
  } else {
    story.timeline.abandon();
    story.texts.resize(static_cast<size_t>(begin));
  }
}

// Whether a pass can go on behind the first n positions: all that its first token needs is there.
bool can_go_on(const Story& story, int64_t n) {
  if (story.timeline.reach(n) != n) return false;
  if (n > 0) {
    EXPECT_TRUE(has_right_state(story, n)) << "cut at " << n;
  }
  for (const KvCache& cache : story.timeline.caches()) {
    const int64_t begin = cache.window() == 0 ? 0 : std::max<int64_t>(n - cache.window() + 1, 0);
    for (int64_t c = begin / kKvChunk; c * kKvChunk < n; ++c)
      EXPECT_TRUE(cache.keeps(c)) << "window " << cache.window() << ", cut at " << n;
  }
  return true;
}

void go_back(Story& story, int64_t n) {
  const int64_t reached = story.timeline.reach(n);
  ASSERT_LE(reached, n);
  ASSERT_TRUE(can_go_on(story, reached));
  story.timeline.cut(reached);
  story.texts.resize(static_cast<size_t>(reached));
}

// The same timeline from its rows, in pieces or as a whole.
Timeline copied(const Story& story, bool pieces, uint64_t allowance = kSmall) {
  const Timeline& from = story.timeline;
  const Kernels& kernels = *choose_kernels("generic");
  Timeline to(story.layers, KvType::f32, allowance);
  const auto step = pieces ? static_cast<int64_t>(kRowPositions) : from.positions();
  std::vector<uint8_t> row;
  uint64_t all = 0, of_whole_piece = 0;
  for (int64_t begin = 0; begin < from.positions(); begin += step) {
    const int64_t end = std::min(begin + step, from.positions());
    const std::vector<uint8_t> kept = kept_of(from, begin, end, pieces);
    EXPECT_EQ(kept.size(), kept_size(from, begin, end));
    EXPECT_TRUE(can_be_kept(to, begin, end, pieces, kept));
    TimelineRows reading(from, begin, end, kept, pieces), writing(to, begin, end, kept, pieces);
    const auto tokens = from.tokens().subspan(static_cast<size_t>(begin));
    all = 0;
    while (!reading.done()) {
      const uint64_t grown = to.bytes() + writing.growth(to);
      EXPECT_TRUE(writing.restore_before(to, tokens).has_value());
      EXPECT_TRUE(writing.has_place(to));
      EXPECT_EQ(to.bytes(), grown);
      row.resize(reading.bytes());
      all += row.size();
      reading.read(from, kernels, row.data());
      EXPECT_TRUE(writing.write(to, kernels, row.data()));
    }
    EXPECT_TRUE(writing.done());
    EXPECT_EQ(all, writing.all_bytes());
    EXPECT_TRUE(writing.restore_before(to, tokens).has_value());
    // Whole pieces are as long as each other.
    if (pieces && end - begin == step) {
      EXPECT_EQ(all, of_whole_piece == 0 ? all : of_whole_piece);
      of_whole_piece = all;
    }
  }
  to.restore_prompt_ends(from.prompt_ends());
  return to;
}

TEST(Recurrent, StatesAreTheSameHoweverATextIsDivided) {
  std::vector<int64_t> first;
  for (const int64_t block : {1, 3, 128, 256, 5000}) {
    for (const int64_t pass : {1, 2, 255, 256, 257, 700, 2000}) {
      Story story(kAlone, kLarge);
      for (int64_t at = 0; at < 1400; at += pass)
        run_pass(story, std::min(pass, 1400 - at), 1, 99, block);
      const std::vector<int64_t> kept = story.timeline.recurrent().saved();
      for (const int64_t position : kept) EXPECT_TRUE(can_go_on(story, position));
      EXPECT_TRUE(can_go_on(story, 1399));
      if (first.empty()) first = kept;
      EXPECT_EQ(kept, first) << "passes of " << pass;
      EXPECT_GE(kept.size(), 4u);
    }
  }
}

TEST(Recurrent, CanBeCutBeforeTheLastTokensOfTheLastTwoPrompts) {
  Story story(kAlone, kSmall);
  std::vector<int64_t> ends;
  for (int turn = 0; turn < 5; ++turn) {
    run_pass(story, 300, turn);
    story.timeline.mark();
    ends.push_back(story.timeline.positions());
    for (int i = 0; i < 70; ++i) run_pass(story, 1, 10 + turn);
  }
  for (const int64_t end : {ends[3], ends[4]}) {
    EXPECT_TRUE(can_go_on(story, end - 1));
    EXPECT_EQ(story.timeline.reach(end + 30), end - 1);
  }
  EXPECT_EQ(story.timeline.reach(ends[3] - 2), 0);
  // The two, the end, and for now the one before.
  EXPECT_EQ(story.timeline.bytes(), 4 * kStateBytes);
  EXPECT_EQ(story.timeline.recurrent().saved().size(), 3u);
  go_back(story, ends[4]);
  EXPECT_EQ(story.timeline.positions(), ends[4] - 1);
  run_pass(story, 1, 20);  // its last token again
  story.timeline.mark();
  EXPECT_TRUE(can_go_on(story, ends[4] - 1));
  EXPECT_TRUE(can_go_on(story, ends[3] - 1));
}

// An end that makes place for that of the next prompt becomes one of the other marks.
TEST(Recurrent, CanBeCutAtEarlierPromptsIfThereIsRoom) {
  Story story(kMixed, kLarge);
  std::vector<int64_t> ends;
  for (int turn = 0; turn < 4; ++turn) {
    run_pass(story, 20, turn);
    story.timeline.mark();
    ends.push_back(story.timeline.positions());
    run_pass(story, 10, 10 + turn);
  }
  for (const int64_t end : ends) EXPECT_TRUE(can_go_on(story, end - 1)) << end;
  EXPECT_EQ(story.timeline.reach(ends[0] + 9), ends[0] - 1);
}

// A prompt of one token, and one that is a token more than the past.
TEST(Recurrent, PromptsMayHaveOneTokenMore) {
  Story story(kMixed, kSmall);
  run_pass(story, 1, 1);
  story.timeline.mark();
  EXPECT_EQ(story.timeline.reach(0), 0);
  run_pass(story, 1, 2);
  story.timeline.mark();
  EXPECT_TRUE(can_go_on(story, 1));
  run_pass(story, 1, 3);
  story.timeline.mark();
  run_pass(story, 50, 3);
  EXPECT_TRUE(can_go_on(story, 1));
  EXPECT_TRUE(can_go_on(story, 2));
}

TEST(Recurrent, APassThatIsAbandonedLeavesWhatWasBefore) {
  Story story(kMixed, kLarge);
  run_pass(story, 600, 1);
  story.timeline.mark();
  for (const size_t layers : {size_t{0}, size_t{1}, size_t{4}}) {
    run_pass(story, 700, 2, layers);
    for (const int64_t n : {256, 599, 600}) EXPECT_TRUE(can_go_on(story, n)) << n;
  }
  run_pass(story, 1, 3);
  EXPECT_TRUE(can_go_on(story, 601));
}

TEST(Recurrent, DecodingTakesTurnsWithTwoBuffers) {
  Story story(kAlone, kSmall);
  run_pass(story, 20, 1);
  story.timeline.mark();
  run_pass(story, 2, 1);
  const RecurrentState& recurrent = story.timeline.recurrent();
  const float* const ends[] = {recurrent.state(1, 21), recurrent.state(1, 22)};
  for (int64_t p = 23; p < 400; ++p) {
    run_pass(story, 1, 2);
    EXPECT_EQ(recurrent.state(1, p), ends[p % 2 == 0]);
    EXPECT_EQ(story.timeline.bytes(), 3 * kStateBytes);
  }
  // A clone keeps what it has; it shares all of that.
  const Timeline copy = story.timeline.clone();
  EXPECT_EQ(copy.own_bytes(), 0u);
  EXPECT_EQ(copy.bytes() + story.timeline.bytes(), 3 * kStateBytes);
  run_pass(story, 1, 2);
  EXPECT_EQ(copy.bytes() + story.timeline.bytes(), 4 * kStateBytes);
  EXPECT_TRUE(has_right_state({kAlone, copy.clone(), story.texts}, 399));
}

TEST(Recurrent, OtherMarksKeepToTheAllowance) {
  for (const uint64_t n : {0, 1, 2, 5, 1000}) {
    Story story(kAlone, n * kStateBytes);
    run_pass(story, 9000, 1);
    run_pass(story, 590, 2);
    for (int i = 0; i < 10; ++i) run_pass(story, 1, 2);
    const size_t marks = story.timeline.recurrent().saved().size() - 1;
    EXPECT_LE(marks, n);
    EXPECT_GE(marks, std::min<size_t>(n, 6));
    EXPECT_LE(story.timeline.bytes(), story.timeline.bytes_for(9600));
    const int64_t end = story.timeline.positions();
    for (int64_t back = 600; n == 1000 && back < end; back *= 2) {
      const int64_t reached = story.timeline.reach(end - back);
      EXPECT_GE(reached, end - 3 * back) << back;
      EXPECT_TRUE(can_go_on(story, reached)) << back;
      EXPECT_EQ(reached % 256, 0);
    }
  }
}

TEST(Recurrent, HoldsWhatItShouldOverRandomTurns) {
  std::mt19937 random(7);
  const auto below = [&](int64_t n) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(n));
  };
  for (const std::vector<LayerShape>& layers : {kMixed, kAlone}) {
    for (const uint64_t allowance : {kSmall, uint64_t{100'000}, kLarge}) {
      std::vector<Story> stories;
      stories.emplace_back(layers, allowance);
      for (int step = 0, text = 1; step < rounds(300); ++step, ++text) {
        const auto at = static_cast<size_t>(below(static_cast<int64_t>(stories.size())));
        Story& story = stories[at];
        if (story.timeline.positions() > 3000) go_back(story, below(2000));
        const int64_t positions = story.timeline.positions();
        switch (below(8)) {
          case 0:
          case 1:
            run_pass(story, 1 + below(900), text, 99, 1 + below(300));
            if (below(2) == 0) story.timeline.mark();
            break;
          case 2:
            for (int64_t n = below(300); n > 0; --n) run_pass(story, 1, text);
            break;
          case 3:
            run_pass(story, 1 + below(900), text, static_cast<size_t>(below(2)));
            break;
          case 4:
            go_back(story, below(positions + 1));
            break;
          case 5:
            go_back(story, positions - std::min(below(4), positions));
            break;
          case 6:
            if (stories.size() < 3)
              stories.emplace_back(layers, story.timeline.clone(), story.texts);
            else if (at > 0)
              stories.erase(stories.begin() + static_cast<ptrdiff_t>(at));
            break;
          default: {
            const bool pieces = below(2) == 0;
            Story copy(layers, copied(story, pieces), story.texts);
            ASSERT_EQ(copy.timeline.positions(), positions);
            ASSERT_TRUE(can_go_on(copy, positions));
            for (const int64_t n : {below(positions + 1), below(positions + 1)}) {
              const int64_t reached = copy.timeline.reach(n);
              ASSERT_TRUE(can_go_on(copy, reached));
              // What was kept only until the next pass is in no file.
              if (!pieces && n < positions - 1) {
                ASSERT_EQ(reached, story.timeline.reach(n));
              }
            }
            // It is written as it was read, and goes on.
            if (!pieces) {
              ASSERT_EQ(kept_of(copy.timeline, 0, positions, false),
                        kept_of(story.timeline, 0, positions, false));
            }
            if (below(3) == 0) story = std::move(copy);
          }
        }
        for (const Story& one : stories)
          ASSERT_TRUE(can_go_on(one, one.timeline.positions())) << "step " << step;
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

// One timeline alone is never refused memory: what it has and what its next pass takes is what the
// plan has for its context, at most.
TEST(Recurrent, TakesNoMoreThanIsPlanned) {
  constexpr int64_t kContext = 20'000;
  std::mt19937 random(3);
  const auto below = [&](int64_t n) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(n));
  };
  for (const auto& [layers, allowance] :
       {std::pair(kAlone, uint64_t{0}), std::pair(kAlone, uint64_t{100'000}),
        std::pair(kAlone, kLarge), std::pair(kMixed, uint64_t{100'000})}) {
    Timeline timeline(layers, KvType::f32, allowance);
    const auto pass_to = [&](int64_t end, bool well) {
      const std::vector<TokenId> tokens(static_cast<size_t>(end - timeline.positions()), 1);
      ASSERT_TRUE(timeline.begin(tokens).has_value());
      ASSERT_LE(timeline.bytes(), timeline.bytes_for(kContext));
      well ? timeline.commit() : timeline.abandon();
    };
    pass_to(kContext, true);  // the memory of layers without a window stays
    for (int turn = 0; turn < 500; ++turn) {
      const int64_t positions = timeline.positions();
      const int64_t kept = timeline.reach(below(3) == 0 ? below(positions + 1) : positions);
      const int64_t end = std::min(kept + below(below(2) == 0 ? 90 : kContext), kContext);
      if (end <= kept) {
        timeline.cut(timeline.reach(below(3000)));
        continue;
      }
      const uint64_t most = timeline.bytes() + timeline.growth(kept, end);
      ASSERT_LE(most, timeline.bytes_for(kContext)) << "from " << kept << " to " << end;
      timeline.cut(kept);
      pass_to(end, below(6) > 0);
      if (below(2) == 0) timeline.mark();
    }
  }
}

// --- files ---------------------------------------------------------------------------------------

TEST(Recurrent, ListsThatNoneCanHaveAreFound) {
  const Timeline alone(kAlone, KvType::f32, 0), mixed(kMixed, KvType::f32, 0);
  EXPECT_EQ(kept_size(alone, 0, 0), 0u);
  EXPECT_EQ(kept_size(alone, 256, 513), 64u);
  EXPECT_EQ(kept_size(mixed, 0, 256), 34u);
  const auto good = [](const Timeline& of, int64_t end, bool piece, std::vector<uint8_t> list) {
    list.resize(kept_size(of, 0, end));
    return can_be_kept(of, 0, end, piece, list);
  };
  EXPECT_TRUE(good(alone, 10, false, {0xff, 0x03}));
  EXPECT_FALSE(good(alone, 10, false, {0xff, 0x07}));
  EXPECT_FALSE(good(alone, 10, true, {0xff, 0x03}));
  EXPECT_TRUE(good(alone, 10, true, {0, 0x02}));
  EXPECT_FALSE(good(alone, 10, true, {0, 0x04}));
  EXPECT_TRUE(good(mixed, 10, false, {1, 1, 0x80, 2}));
  EXPECT_FALSE(good(mixed, 10, false, {1, 2, 0x80, 2}));
  // Before there were such lists there was no recurrent state.
  std::vector<uint8_t> all(68);
  for (const size_t i : {0, 1, 34, 35}) all[i] = 1;
  EXPECT_EQ(kept_without_list(mixed, 0, 300), all);
}

TEST(Recurrent, NumbersThatAreNotFiniteAreRefused) {
  Story story(kAlone, kSmall);
  run_pass(story, 20, 1);
  const std::vector<uint8_t> kept = kept_of(story.timeline, 0, 20, false);
  const Kernels& kernels = *choose_kernels("generic");
  for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity()}) {
    for (const size_t at : {size_t{0}, size_t{2}}) {
      Timeline to(kAlone, KvType::f32, 0);
      TimelineRows writing(to, 0, 20, kept, false);
      ASSERT_TRUE(writing.restore_before(to, story.timeline.tokens()).has_value());
      std::vector<float> row(writing.bytes() / 4);
      ASSERT_EQ(row.size(), 3u);
      row[at] = bad;
      EXPECT_EQ(writing.position(), 20);
      EXPECT_FALSE(writing.write(to, kernels, reinterpret_cast<const uint8_t*>(row.data())));
    }
  }
}

// A file may have a place for every position: memory is taken as its rows come.
TEST(Recurrent, MemoryIsTakenAsRowsCome) {
  Timeline to(kAlone, KvType::f32, 0);
  const std::vector<TokenId> tokens(200, 1);
  std::vector<uint8_t> every(32);
  std::fill_n(every.begin(), 25, uint8_t{0xff});
  TimelineRows writing(to, 0, 200, every, false);
  EXPECT_EQ(writing.all_bytes(), 200 * kStateBytes);
  std::vector<uint8_t> row(4 * kMostRowFloats);
  for (uint64_t n = 1; n <= 200; ++n) {
    for (int part = 0; part < 3; ++part) {
      ASSERT_TRUE(writing.restore_before(to, tokens).has_value());
      EXPECT_EQ(to.bytes(), n * kStateBytes);
      ASSERT_TRUE(writing.write(to, *choose_kernels("generic"), row.data()));
    }
  }
  EXPECT_TRUE(writing.done());
}

}  // namespace
}  // namespace sluice
