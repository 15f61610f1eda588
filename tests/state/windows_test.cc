// Tests of a past of which layers see a window only: what a pass can see while it runs, where the
// past can be cut, and what memory it takes, over random passes, cuts, clones and files.
#include <algorithm>
#include <random>

#include "state/timeline_rows.h"
#include "support/sanitized.h"
#include "support/written_timeline.h"

namespace sluice {
namespace {

LayerShape windowed(int64_t n_kv_heads, int64_t head_dim, int64_t cache, int64_t window) {
  LayerShape layer = written_layer(n_kv_heads, head_dim, cache);
  layer.window = window;
  return layer;
}

// Layers that see all, 300 positions and 20; of the last two one reads the other's.
const std::vector<LayerShape> kLayers = {windowed(1, 4, 0, 0), windowed(1, 3, 1, 300),
                                         windowed(2, 5, 2, 300), windowed(1, 4, 3, 20),
                                         windowed(1, 4, 3, 20)};
constexpr uint64_t kSmall = 0, kLarge = uint64_t{1} << 40;

// A timeline, and which text each of its tokens is of. The keys and values say both.
struct Story {
  explicit Story(uint64_t allowance) : timeline(kLayers, KvType::f32, allowance) {}
  Story(Timeline of, std::vector<int> past) : timeline(std::move(of)), texts(std::move(past)) {}
  Timeline timeline;
  std::vector<int> texts;
};

float told(int text, int64_t layer, int64_t head, int64_t p, int64_t i) {
  return static_cast<float>(text * 131 + layer * 17 + head * 5 + p % 1021 + i);
}

void store(Story& story, int64_t layer, int64_t p) {
  const LayerShape& at = kLayers[static_cast<size_t>(layer)];
  std::vector<float> k, v;
  for (int64_t head = 0; head < at.n_kv_heads; ++head) {
    k.clear(), v.clear();
    for (int64_t i = 0; i < at.head_dim; ++i) {
      k.push_back(told(story.texts[static_cast<size_t>(p)], layer, head, p, i));
      v.push_back(-k.back());
    }
    story.timeline.keys_values(layer).store(*choose_kernels("generic"), layer, head, p, k.data(),
                                            v.data());
  }
}

// Whether a layer sees the right keys and values at the positions [begin, end).
bool sees(const Story& story, int64_t layer, int64_t begin, int64_t end) {
  const int64_t owner = kLayers[static_cast<size_t>(layer)].cache;
  const LayerShape& at = kLayers[static_cast<size_t>(owner)];
  for (int64_t p = std::max<int64_t>(begin, 0); p < end; ++p) {
    for (int64_t head = 0; head < at.n_kv_heads; ++head) {
      const KvChunk chunk = story.timeline.keys_values(owner).chunk(owner, head, p / kKvChunk);
      const int64_t last = at.head_dim - 1;
      const float is = told(story.texts[static_cast<size_t>(p)], owner, head, p, last);
      if (written_key(chunk, at.head_dim, p % kKvChunk, last) != is) return false;
      if (written_value(chunk, p % kKvChunk, last) != -is) return false;
    }
  }
  return true;
}

// A pass of n tokens of a text as the executor runs it: layer by layer, block by block. It ends in
// the middle if `layers` are fewer than all.
void run_pass(Story& story, int64_t n, int text, size_t layers = kLayers.size()) {
  const int64_t begin = story.timeline.positions();
  story.texts.resize(static_cast<size_t>(begin));
  story.texts.resize(static_cast<size_t>(begin + n), text);
  const std::vector<TokenId> tokens(static_cast<size_t>(n), text);
  const uint64_t before = story.timeline.bytes();
  const uint64_t growth = story.timeline.growth(begin, begin + n);
  ASSERT_TRUE(story.timeline.begin(tokens).has_value());
  // What clones share counts in part, so this says something only without them.
  if (story.timeline.own_bytes() == story.timeline.bytes()) {
    EXPECT_LE(story.timeline.bytes(), before + growth);
  }
  for (size_t l = 0; l < layers; ++l) {
    const auto layer = static_cast<int64_t>(l);
    const LayerShape& at = kLayers[l];
    for (int64_t first = begin; first < begin + n; first += kMostBlockTokens) {
      const int64_t end = std::min(first + kMostBlockTokens, begin + n);
      for (int64_t p = first; at.cache == layer && p < end; ++p) store(story, layer, p);
      const int64_t seen = at.window == 0 ? 0 : first - at.window + 1;
      ASSERT_TRUE(sees(story, layer, seen, end)) << "layer " << l << ", block at " << first;
    }
  }
  if (layers == kLayers.size()) {
    story.timeline.commit();
  } else {
    story.timeline.abandon();
    story.texts.resize(static_cast<size_t>(begin));
  }
}

// Whether a pass can go on behind the first n positions: all that its first token sees is there.
bool can_go_on(const Story& story, int64_t n) {
  if (story.timeline.reach(n) != n) return false;
  for (size_t l = 0; l < kLayers.size(); ++l) {
    const int64_t window = kLayers[l].window;
    EXPECT_TRUE(sees(story, static_cast<int64_t>(l), window == 0 ? 0 : n - window + 1, n))
        << "layer " << l << ", cut at " << n;
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
Timeline copied(const Timeline& from, bool pieces, uint64_t allowance = kSmall) {
  const Kernels& kernels = *choose_kernels("generic");
  Timeline to(kLayers, KvType::f32, allowance);
  const auto step = pieces ? static_cast<int64_t>(kRowPositions) : from.positions();
  std::vector<uint8_t> row;
  for (int64_t begin = 0; begin < from.positions(); begin += step) {
    const int64_t end = std::min(begin + step, from.positions());
    TimelineRows reading(from, begin, end, kept_of(from, begin, end, pieces), pieces);
    TimelineRows writing(to, begin, end, kept_of(from, begin, end, pieces), pieces);
    EXPECT_EQ(kept_of(from, begin, end, pieces).size(), kept_size(from, begin, end));
    const auto tokens = from.tokens().subspan(static_cast<size_t>(begin));
    while (!reading.done()) {
      const uint64_t grown = to.bytes() + writing.growth(to);
      EXPECT_TRUE(writing.restore_before(to, tokens).has_value());
      EXPECT_EQ(to.bytes(), grown);
      row.resize(reading.bytes());
      reading.read(from, kernels, row.data());
      EXPECT_TRUE(writing.write(to, kernels, row.data()));
    }
    EXPECT_TRUE(writing.done());
    EXPECT_TRUE(writing.restore_before(to, tokens).has_value());
  }
  to.restore_prompt_ends(from.prompt_ends());
  return to;
}

TEST(Windows, AreThoseOfAllLayersThatReadACache) {
  EXPECT_EQ(windows_of(kLayers), (std::vector<int64_t>{0, 300, 300, 20, 20}));
  std::vector<LayerShape> layers = kLayers;
  layers[4].window = 50;
  EXPECT_EQ(windows_of(layers), (std::vector<int64_t>{0, 300, 300, 50, 50}));
  layers[4].window = 0;
  EXPECT_EQ(windows_of(layers), (std::vector<int64_t>{0, 300, 300, 0, 0}));
  layers[2].both_ways = true;
  EXPECT_EQ(windows_of(layers), (std::vector<int64_t>{0, 300, 0, 0, 0}));
}

TEST(Windows, TakeTheMemoryOfTheWindowAlone) {
  Story story(kSmall);
  run_pass(story, 5000, 1);
  const auto& caches = story.timeline.caches();
  ASSERT_EQ(caches.size(), 3u);
  // 5000 positions end in chunk 19; 300 of them lie in the last two or three chunks, 20 in one.
  EXPECT_EQ(story.timeline.bytes(),
            20 * caches[0].chunk_bytes() + caches[1].chunk_bytes() + 2 * caches[2].chunk_bytes());
  for (int i = 0; i < 700; ++i) {
    run_pass(story, 1, 2);
    const auto chunks = static_cast<uint64_t>((story.timeline.positions() + 255) / 256);
    EXPECT_LE(story.timeline.bytes(), chunks * caches[0].chunk_bytes() +
                                          2 * caches[1].chunk_bytes() +
                                          3 * caches[2].chunk_bytes());
  }
  EXPECT_LE(story.timeline.bytes(), story.timeline.bytes_for(story.timeline.positions()));
}

TEST(Windows, CanBeCutAtTheLastTwoPromptsEndsAndJustBefore) {
  Story story(kSmall);
  std::vector<int64_t> ends;
  for (int turn = 0; turn < 5; ++turn) {
    run_pass(story, 1200, turn);
    story.timeline.mark();
    ends.push_back(story.timeline.positions());
    for (int i = 0; i < 700; ++i) run_pass(story, 1, 10 + turn);
  }
  EXPECT_TRUE(can_go_on(story, ends[4]));
  EXPECT_TRUE(can_go_on(story, ends[4] - 1));  // for its last token's logits
  EXPECT_TRUE(can_go_on(story, ends[3]));
  EXPECT_FALSE(can_go_on(story, ends[2]));
  EXPECT_EQ(story.timeline.reach(ends[3] - 400), 0);
  go_back(story, ends[3]);
  run_pass(story, 300, 20);
  story.timeline.mark();
  EXPECT_TRUE(can_go_on(story, ends[3]));
}

TEST(Windows, CanBeCutAtDoublingDistancesBackIfThereIsRoom) {
  Story story(kLarge);
  run_pass(story, 9000, 1);
  for (int i = 0; i < 600; ++i) run_pass(story, 1, 2);
  const int64_t end = story.timeline.positions();
  for (int64_t back = 600; back < end; back *= 2) {
    const int64_t reached = story.timeline.reach(end - back);
    EXPECT_GE(reached, end - 3 * back) << back;
    EXPECT_TRUE(can_go_on(story, reached)) << back;
  }
  // All of them take a number of chunks that grows with the logarithm.
  const KvCache& window = story.timeline.caches()[2];
  int64_t n = 0;
  for (int64_t c = 0; c * kKvChunk < end; ++c) n += window.keeps(c);
  EXPECT_LE(n, 26);
  EXPECT_GE(n, 8);
}

TEST(Windows, AllowanceIsKept) {
  const Story any(kSmall);
  uint64_t chunks = 0;
  for (const KvCache& cache : any.timeline.caches())
    if (cache.window() > 0) chunks += cache.chunk_bytes();
  for (const uint64_t n : {0, 1, 2, 4}) {
    Story story(n * chunks);
    run_pass(story, 6000, 1);
    for (int i = 0; i < 300; ++i) run_pass(story, 1, 2);
    uint64_t held = 0, needed = 0;
    for (const KvCache& cache : story.timeline.caches()) {
      for (int64_t c = 0; cache.window() > 0 && c < 25; ++c)
        held += cache.keeps(c) ? cache.chunk_bytes() : 0;
      if (cache.window() > 0)
        needed += static_cast<uint64_t>(cache.window_chunks(6300)) * cache.chunk_bytes();
    }
    EXPECT_LE(held, needed + n * chunks) << n;
  }
}

TEST(Windows, HoldWhatTheyShouldOverRandomTurns) {
  std::mt19937 random(7);
  const auto below = [&](int64_t n) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(n));
  };
  for (const uint64_t allowance : {kSmall, uint64_t{400'000}, kLarge}) {
    std::vector<Story> stories;
    stories.emplace_back(allowance);
    for (int step = 0, text = 1; step < rounds(400); ++step, ++text) {
      const auto at = static_cast<size_t>(below(static_cast<int64_t>(stories.size())));
      Story& story = stories[at];
      if (story.timeline.positions() > 6000) go_back(story, below(3000));
      const int64_t positions = story.timeline.positions();
      switch (below(8)) {
        case 0:
        case 1:
          run_pass(story, 1 + below(1500), text);
          if (below(2) == 0) story.timeline.mark();
          break;
        case 2:
          for (int64_t n = below(400); n > 0; --n) run_pass(story, 1, text);
          break;
        case 3:
          run_pass(story, 1 + below(900), text, static_cast<size_t>(below(5)));
          break;
        case 4:
          go_back(story, below(positions + 1));
          break;
        case 5:
          go_back(story, positions - std::min(below(40), positions));
          break;
        case 6:
          if (stories.size() < 3)
            stories.emplace_back(story.timeline.clone(), story.texts);
          else if (at > 0)
            stories.erase(stories.begin() + static_cast<ptrdiff_t>(at));
          break;
        default: {
          Story copy(copied(story.timeline, below(2) == 0), story.texts);
          ASSERT_EQ(copy.timeline.positions(), positions);
          for (int64_t n : {positions, below(positions + 1), below(positions + 1)}) {
            ASSERT_EQ(copy.timeline.reach(n), story.timeline.reach(n));
            ASSERT_TRUE(can_go_on(copy, copy.timeline.reach(n)));
          }
        }
      }
      for (const Story& one : stories) {
        ASSERT_TRUE(can_go_on(one, one.timeline.positions())) << "step " << step;
      }
      if (testing::Test::HasFailure()) return;
    }
  }
}

// One timeline alone is never refused memory: what it has and what its next pass takes is what the
// plan has for its context, at most.
TEST(Windows, TakeNoMoreThanIsPlanned) {
  constexpr int64_t kContext = 20'000;
  std::mt19937 random(3);
  const auto below = [&](int64_t n) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(n));
  };
  std::vector<LayerShape> twelve;
  for (int64_t l = 0; l < 12; ++l) twelve.push_back(windowed(1, 16, l, l % 6 == 5 ? 0 : 300));
  for (const auto& [layers, allowance] :
       {std::pair(twelve, uint64_t{0}), std::pair(twelve, uint64_t{1'000'000}),
        std::pair(twelve, uint64_t{3'000'000}), std::pair(kLayers, uint64_t{500'000})}) {
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
      int64_t end = kept + below(below(2) == 0 ? 2000 : kContext);
      end = std::min(end / kKvChunk * kKvChunk + 20, kContext);  // windows reach into most chunks
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

// A layer that reads another's keys and values needs all that a pass writes, once.
TEST(Windows, OfLayersThatReadAnothersArePlannedWhole) {
  const std::vector<LayerShape> layers = {windowed(1, 4, 0, 0), windowed(1, 4, 1, 20),
                                          windowed(1, 4, 1, 20)};
  Timeline timeline(layers, KvType::f32, kLarge);
  uint64_t all = 0;
  for (const KvCache& cache : timeline.caches()) all += 16 * cache.chunk_bytes();
  EXPECT_EQ(timeline.bytes_for(4096), all);
  ASSERT_TRUE(timeline.begin(std::vector<TokenId>(4096, 1)).has_value());
  EXPECT_EQ(timeline.bytes(), all);
}

TEST(Windows, CanBeCutFarBackAfterAFileAndAPass) {
  Story story(kLarge);
  run_pass(story, 9000, 1);
  story.timeline.mark();
  const uint64_t held = story.timeline.bytes();
  for (const bool pieces : {false, true}) {
    Story copy(copied(story.timeline, pieces, kLarge), story.texts);
    run_pass(copy, 1, 2);
    EXPECT_LE(copy.timeline.bytes(), held);
    for (const int64_t back : {600, 1200, 2400, 4800}) {
      const int64_t reached = copy.timeline.reach(9000 - back);
      EXPECT_GE(reached, 9000 - 3 * back) << back;
      EXPECT_TRUE(can_go_on(copy, reached)) << back;
    }
    // Without the allowance there is none of that.
    Story bare(copied(story.timeline, pieces, kSmall), story.texts);
    run_pass(bare, 1, 2);
    EXPECT_EQ(bare.timeline.reach(9000 - 600), 0);
  }
}

TEST(Windows, APastOfWhichSomeIsMissingIsReachedUpToThere) {
  Story story(kSmall);
  run_pass(story, 2000, 1);
  // Without its first state in the windows, which a file of it doesn't have, and of a cut in it.
  Timeline copy = copied(story.timeline, true);
  EXPECT_EQ(copy.reach(2000), 2000);
  copy.cut(1000);
  EXPECT_EQ(copy.positions(), 1000);
  EXPECT_EQ(copy.tokens().size(), 1000u);
  EXPECT_EQ(copy.reach(1000), 0);
}

}  // namespace
}  // namespace sluice
