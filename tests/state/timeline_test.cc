// Tests of a session's past: passes that end and that don't, cuts, clones, and the rows of a file.
#include "state/timeline.h"

#include <algorithm>

#include "state/timeline_rows.h"
#include "support/written_timeline.h"

namespace sluice {
namespace {

Timeline empty(KvType type = KvType::f32) { return Timeline(kWrittenLayers, type, 0); }

TEST(Timeline, TakesAChunkAtATimeAndNothingForLayersThatReadAnothers) {
  Timeline timeline = empty();
  EXPECT_EQ(timeline.bytes(), 0u);
  const uint64_t chunk = timeline.bytes_for(1);
  EXPECT_EQ(chunk, 4u * kKvChunk * (2 * (8 + 16) + (20 + 32) + 3 * (6 + 16)));
  EXPECT_EQ(timeline.bytes_for(256), chunk);
  EXPECT_EQ(timeline.bytes_for(257), 2 * chunk);
  EXPECT_EQ(timeline.growth(0, 257), 2 * chunk);
  write(timeline, 256, 1);
  EXPECT_EQ(timeline.bytes(), chunk);
  EXPECT_EQ(timeline.growth(255, 256), 0u);
  write(timeline, 300, 1);
  EXPECT_EQ(timeline.bytes(), 2 * chunk);
  EXPECT_EQ(timeline.positions(), 300);
  EXPECT_TRUE(holds(timeline, 0, 300, 1));
}

TEST(Timeline, IsCutAnywhereAndWrittenOn) {
  Timeline timeline = empty();
  write(timeline, 300, 1);
  EXPECT_EQ(timeline.reach(400), 300);
  EXPECT_EQ(timeline.reach(-1), 0);
  timeline.cut(400);
  EXPECT_EQ(timeline.positions(), 300);
  for (const int64_t n : {299, 260, 256, 255, 17, 1}) {
    EXPECT_EQ(timeline.reach(n), n);
    timeline.cut(n);
    EXPECT_EQ(timeline.positions(), n);
    write(timeline, 300, 2);
    EXPECT_TRUE(holds(timeline, 0, n, 1));
    EXPECT_TRUE(holds(timeline, n, 300, 2));
  }
  const uint64_t bytes = timeline.bytes();
  timeline.cut(0);
  EXPECT_EQ(timeline.positions(), 0);
  EXPECT_EQ(timeline.bytes(), bytes);
}

TEST(Timeline, APassCountsOnlyWhenItHasRun) {
  Timeline timeline = empty();
  write(timeline, 250, 1);
  write_pass(timeline, 600, 2);
  EXPECT_EQ(timeline.positions(), 250);
  timeline.abandon();
  EXPECT_EQ(timeline.positions(), 250);
  EXPECT_TRUE(holds(timeline, 0, 250, 1));
  timeline.abandon();
  timeline.commit();  // of no pass
  EXPECT_EQ(timeline.positions(), 250);
  write(timeline, 300, 3);
  EXPECT_TRUE(holds(timeline, 0, 250, 1));
  EXPECT_TRUE(holds(timeline, 250, 300, 3));
}

TEST(Timeline, ACloneOfAPassUnderWayHasThePastAlone) {
  Timeline timeline = empty();
  write(timeline, 200, 1);
  write_pass(timeline, 300, 2);
  Timeline clone = timeline.clone();
  timeline.commit();
  write(clone, 300, 3);
  EXPECT_TRUE(holds(timeline, 0, 200, 1) && holds(timeline, 200, 300, 2));
  EXPECT_TRUE(holds(clone, 0, 200, 1) && holds(clone, 200, 300, 3));
}

TEST(Timeline, AClonesFutureIsItsOwn) {
  Timeline timeline = empty();
  write(timeline, 260, 1);
  Timeline clone = timeline.clone();
  EXPECT_EQ(clone.positions(), 260);
  // A clone owns only the chunks that it has written to since.
  const uint64_t chunk = timeline.bytes_for(1);
  EXPECT_EQ(clone.own_bytes(), 0u);
  EXPECT_EQ(clone.bytes() + timeline.bytes(), 2 * chunk);
  EXPECT_EQ(clone.growth(200, 310), 2 * chunk);
  clone.cut(200);
  write(clone, 310, 2);
  EXPECT_EQ(clone.own_bytes(), 2 * chunk);
  EXPECT_EQ(timeline.own_bytes(), 2 * chunk);
  write(timeline, 310, 3);
  EXPECT_TRUE(holds(clone, 0, 200, 1) && holds(clone, 200, 310, 2));
  EXPECT_TRUE(holds(timeline, 0, 260, 1) && holds(timeline, 260, 310, 3));
}

TEST(Timeline, AClonesCloneSharesWhatAllHave) {
  Timeline timeline = empty(KvType::q8_0);
  write(timeline, 600, 1);
  const uint64_t chunk = timeline.bytes_for(1);
  Timeline one = timeline.clone();
  Timeline other = one.clone();
  // A third of each chunk, rounded down.
  EXPECT_EQ(timeline.bytes(), 3 * (chunk / 3));
  EXPECT_EQ(one.bytes(), other.bytes());
  // This writes to the third chunk; the first two stay shared.
  write(other, 601, 2);
  EXPECT_EQ(other.own_bytes(), chunk);
  timeline = empty();
  EXPECT_EQ(one.own_bytes(), chunk);
  one = empty();
  EXPECT_EQ(other.own_bytes(), 3 * chunk);
}

// A copy of the positions [begin, end), by their rows, onto a timeline that has those before.
void copy_rows(const Timeline& from, Timeline& to, int64_t begin, int64_t end) {
  const Kernels& kernels = *choose_kernels("generic");
  TimelineRows reading(from, begin, end, kept_of(from, begin, end, false), false);
  TimelineRows writing(to, begin, end, kept_of(from, begin, end, false), false);
  const auto first = static_cast<size_t>(begin), n = static_cast<size_t>(end - begin);
  const std::span<const TokenId> tokens = from.tokens().subspan(first, n);
  uint64_t bytes = 0;
  std::vector<uint8_t> row;
  while (!reading.done()) {
    ASSERT_FALSE(writing.done());
    ASSERT_EQ(reading.bytes(), writing.bytes());
    ASSERT_TRUE(writing.restore_before(to, tokens).has_value());
    row.resize(reading.bytes());
    bytes += row.size();
    reading.read(from, kernels, row.data());
    ASSERT_TRUE(writing.write(to, kernels, row.data()));
  }
  EXPECT_TRUE(writing.done());
  EXPECT_EQ(reading.all_bytes(), bytes);
}

TEST(TimelineRows, BringAPastToAnotherTimeline) {
  for (const int64_t end : {0, 1, 255, 256, 257, 700}) {
    Timeline from = empty(), to = empty();
    write(from, end, 1);
    copy_rows(from, to, 0, end);
    EXPECT_EQ(to.positions(), end);
    EXPECT_TRUE(holds(to, 0, end, 1)) << end;
  }
}

TEST(TimelineRows, BringPiecesInTheirOrder) {
  Timeline from = empty(), to = empty();
  write(from, 600, 1);
  for (const int64_t begin : {0, 256, 512})
    copy_rows(from, to, begin, std::min<int64_t>(begin + 256, 600));
  EXPECT_TRUE(holds(to, 0, 600, 1));
}

TEST(TimelineRows, RefuseNumbersThatAreNotFinite) {
  const Kernels& kernels = *choose_kernels("generic");
  for (const KvType type : {KvType::f32, KvType::f16, KvType::q8_0}) {
    Timeline timeline = empty(type);
    write(timeline, 3, 1);
    TimelineRows rows(timeline, 0, 3, {}, false);
    std::vector<uint8_t> row(rows.bytes());
    EXPECT_TRUE(rows.write(timeline, kernels, row.data()));
    EXPECT_EQ(rows.position(), 1);
    std::ranges::fill(row, uint8_t{0xff});  // a NaN, in q8_0 as the scale
    EXPECT_FALSE(rows.write(timeline, kernels, row.data()));
  }
}

}  // namespace
}  // namespace sluice
