// Tests of base/: numbers that must be the same everywhere, UTF-8, and the thread pool.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../../native/bench/together.h"
#include "base/aligned.h"
#include "base/decimal.h"
#include "base/format.h"
#include "base/half.h"
#include "base/math.h"
#include "base/order.h"
#include "base/threads.h"
#include "base/utf8.h"
#include "base/xxh64.h"
#include "support/no_more_threads.h"

namespace sluice {
namespace {

TEST(Half, EveryF16ValueSurvives) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const float value = f16_to_f32(static_cast<uint16_t>(bits));
    if (std::isnan(value)) continue;
    EXPECT_EQ(f32_to_f16(value), bits);
  }
}

TEST(Decimal, ReadsAsStrtodDoes) {
  std::vector<std::string> texts = {
      "0",
      "-0",
      "+1",
      "1.",
      ".5",
      "1e5",
      "1E+05",
      "12.5e-3x",
      "1e",
      "1e+",
      "1.5.5",
      "00012.50",
      // halfway between two doubles, and just beside it
      "9007199254740993",
      "9007199254740992.99999999999999999999",
      "9007199254740993.0000000000000001",
      "9007199254740995",
      "179769313486231580793728971405303415079934132710037826936173778980444968292764"
      "75094664901797758720709633028641669288791094655554785194040263065748867150582068190890200070"
      "8383676"
      "27385484581771153176447573027006985557136695962284291481986083493647529271907416844436551070"
      "4342711"
      "559699508093042880177904174497791.999",
      // the limits of what is finite and of what is normal, and less
      "1.7976931348623157e308",
      "1.7976931348623158e308",
      "1.7976931348623159e308",
      "1e309",
      "1e99999999999",
      "2.2250738585072014e-308",
      "2.2250738585072011e-308",
      "4.9e-324",
      "2.4703282292062327e-324",
      "2.4703282292062328e-324",
      "2.5e-324",
      "1e-400",
      "-1e-99999999999",
      "0e999999",
      "0." + std::string(400, '0') + "123e401",
      std::string(500, '7') + "e-200",
      "1" + std::string(900, '0') + "1e-900",
      "0.1" + std::string(1000, '0') + "1",
      // exactly between two doubles, with more digits than are kept
      "9007199254740993." + std::string(1000, '0'),
      "9007199254740993." + std::string(1000, '0') + "1",
  };
  uint64_t state = 1;
  const auto next = [&] { return state = state * 6364136223846793005u + 1442695040888963407u; };
  for (int i = 0; i < 20000; ++i) {
    const double value = std::bit_cast<double>(next());
    if (!std::isfinite(value)) continue;
    char text[64];
    std::snprintf(text, sizeof text, "%.*e", static_cast<int>(next() >> 32) % 20 + 1, value);
    texts.emplace_back(text);
    texts.push_back(std::to_string(next()) + "." + std::to_string(next()) + "e" +
                    std::to_string(static_cast<int>(next() >> 33) % 330));
  }
  for (const std::string& text : texts) {
    char* end = nullptr;
    const double expected = std::strtod(text.c_str(), &end);
    const char* behind = nullptr;
    const double value = read_decimal(text.c_str(), &behind);
    EXPECT_EQ(std::bit_cast<uint64_t>(value), std::bit_cast<uint64_t>(expected)) << text;
    EXPECT_EQ(behind, end) << text;
  }
}

TEST(Decimal, OtherTextsAreNoNumbers) {
  for (const std::string text : {"", "-", ".", "-.", "e5", ".e5", "inf", "nan", " 1", "++1", "x"}) {
    const char* end = nullptr;
    EXPECT_EQ(read_decimal(text.c_str(), &end), 0) << text;
    EXPECT_EQ(end, text.c_str()) << text;
  }
  const char* end = nullptr;
  const char* hexadecimal = "0x10";
  EXPECT_EQ(read_decimal(hexadecimal, &end), 0);
  EXPECT_EQ(end, hexadecimal + 1);
}

TEST(Decimal, WritesWhatPrintfWrites) {
  std::vector<double> values = {0,      -0.0, 1,      0.5,    1.5,      2.5,   0.05, 0.25,
                                0.125,  9.5,  9.9995, 99.995, 999999.5, 1e6,   1e-5, 1e-4,
                                123456, 0.1,  1e22,   1e23,   5e-324,   1e300, -2.5, 0.00099995};
  values.push_back(std::numeric_limits<double>::max());
  values.push_back(std::numeric_limits<double>::min());
  uint64_t state = 1;
  for (int i = 0; i < 3000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const double value = std::bit_cast<double>(state);
    if (std::isfinite(value)) values.push_back(value);
    values.push_back(static_cast<double>(static_cast<int64_t>(state) >> 34) / 1024);
  }
  for (const double value : values) {
    for (const char style : {'e', 'f', 'g'}) {
      for (const int precision : {0, 1, 2, 3, 6, 15, 17, 40}) {
        const char format[] = {'%', '.', '*', style, '\0'};
        char text[500];
        std::snprintf(text, sizeof text, format, precision, value);
        EXPECT_EQ(write_decimal(value, style, precision), text) << style << precision;
      }
    }
    // nlohmann-json finds nearly always the fewest digits.
    const std::string shortest = shortest_decimal(value, 15);
    EXPECT_EQ(std::bit_cast<uint64_t>(read_decimal(shortest.c_str())),
              std::bit_cast<uint64_t>(value));
    const std::string theirs = nlohmann::json(value).dump();
    if (shortest.size() >= theirs.size()) {
      EXPECT_EQ(shortest, theirs);
    }
  }
  EXPECT_EQ(shortest_decimal(1e15), "1000000000000000.0");
  EXPECT_EQ(shortest_decimal(1e16), "1e+16");
  EXPECT_EQ(shortest_decimal(-std::numeric_limits<double>::infinity()), "-inf");
  EXPECT_EQ(shortest_decimal(std::numeric_limits<double>::quiet_NaN()), "nan");
  EXPECT_EQ(write_decimal(std::numeric_limits<double>::infinity(), 'f', 3), "inf");
}

TEST(Half, RoundsToNearestEven) {
  EXPECT_EQ(f32_to_f16(1.0f + 0x1p-11f), 0x3c00);     // a tie goes to even
  EXPECT_EQ(f32_to_f16(1.0f + 0x3p-11f), 0x3c02);     // a tie goes to even
  EXPECT_EQ(f32_to_f16(1.0f + 0x1.02p-11f), 0x3c01);  // just above the tie
  EXPECT_EQ(f32_to_f16(65519.0f), 0x7bff);            // the largest that stays finite
  EXPECT_EQ(f32_to_f16(65520.0f), 0x7c00);            // infinity
  EXPECT_EQ(f32_to_f16(0x1p-25f), 0x0000);            // a tie below the smallest subnormal
  EXPECT_EQ(f32_to_f16(0x1.8p-25f), 0x0001);
  EXPECT_EQ(f32_to_f16(-0.0f), 0x8000);
  EXPECT_TRUE(std::isnan(f16_to_f32(f32_to_f16(std::nanf("")))));
  EXPECT_EQ(f32_to_bf16(1.0f + 0x1p-8f), 0x3f80);
  EXPECT_EQ(f32_to_bf16(1.0f + 0x3p-8f), 0x3f82);
  EXPECT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(std::nanf("")))));
}

TEST(Math, ExpIsCloseAndBounded) {
  for (int i = 0; i <= 100000; ++i) {
    const float x = -87.3f + 175.6f * static_cast<float>(i) / 100000.0f;
    EXPECT_NEAR(exp_f32(x) / std::exp(static_cast<double>(x)), 1.0, 2e-7) << x;
  }
  EXPECT_EQ(exp_f32(0.0f), 1.0f);
  EXPECT_EQ(exp_f32(-1e30f), 0.0f);
  EXPECT_EQ(exp_f32(-std::numeric_limits<float>::infinity()), 0.0f);
  EXPECT_EQ(exp_f32(1e30f), std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(exp_f32(std::nanf(""))));
}

// A float's last place: the distance to the next one away from 0.
double last_place(float x) {
  const float next = std::nextafter(std::abs(x), std::numeric_limits<float>::infinity());
  return static_cast<double>(next) - std::abs(static_cast<double>(x));
}

TEST(Math, TanhIsTheNearestFloatOrNearlySo) {
  double worst = 0;
  const auto check = [&](float x) {
    const double exact = std::tanh(static_cast<double>(x));
    const float got = tanh_f32(x);
    const double error = std::abs(static_cast<double>(got) - exact) / last_place(got);
    worst = std::max(worst, error);
    ASSERT_LT(error, 0.51) << x;
    ASSERT_EQ(std::bit_cast<uint32_t>(tanh_f32(-x)), std::bit_cast<uint32_t>(got) ^ 0x80000000u);
  };
  for (uint32_t bits = 0; bits < 0x7f800000u; bits += 9973) check(std::bit_cast<float>(bits));
  for (int i = 0; i <= 200000; ++i) check(9.5f * static_cast<float>(i) / 200000.0f);
  for (const float x : {0x1p-12f, 0x1.fffffep-13f, 9.0f, 9.1f, 9.1000004f, 1e30f, 0.0f}) check(x);
  EXPECT_GT(worst, 0.49);
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(tanh_f32(infinity), 1.0f);
  EXPECT_EQ(tanh_f32(-infinity), -1.0f);
  EXPECT_TRUE(std::isnan(tanh_f32(std::nanf(""))));
}

TEST(Math, SigmoidAndSoftplusAreClose) {
  for (int i = -4000; i <= 4000; ++i) {
    const float x = 0.025f * static_cast<float>(i);
    const double share = 1 / (1 + std::exp(static_cast<double>(-x)));
    EXPECT_NEAR(static_cast<double>(sigmoid_f32(x)), share, 3e-7 * share + 1e-38) << x;
    const double exact = std::log1p(std::exp(static_cast<double>(x)));
    EXPECT_NEAR(softplus_f32(x), exact, 3e-7 * exact + 1e-15) << x;
  }
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(sigmoid_f32(infinity), 1.0f);
  EXPECT_EQ(sigmoid_f32(-infinity), 0.0f);
  EXPECT_EQ(softplus_f32(infinity), infinity);
  EXPECT_EQ(softplus_f32(-infinity), 0.0f);
  EXPECT_TRUE(std::isnan(sigmoid_f32(std::nanf(""))));
  EXPECT_TRUE(std::isnan(softplus_f32(std::nanf(""))));
}

TEST(Math, DoublesAreClose) {
  for (int i = -2000; i <= 2000; ++i) {
    const double x = 0.35 * i;
    EXPECT_NEAR(exp_f64(x) / std::exp(x), 1.0, 1e-14) << x;
    EXPECT_NEAR(log_f64(std::exp(x)), std::log(std::exp(x)), 1e-14 * std::abs(x) + 1e-15) << x;
    const double angle = 499.7 * i;  // up to a million radians
    EXPECT_NEAR(sin_f64(angle), std::sin(angle), 1e-15) << angle;
    EXPECT_NEAR(cos_f64(angle), std::cos(angle), 1e-15) << angle;
  }
  EXPECT_NEAR(pow_f64(500000.0, -0.734375), std::pow(500000.0, -0.734375), 1e-18);
  EXPECT_EQ(log_f64(0.0), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(log_f64(-1.0)));
  EXPECT_NEAR(log_f64(0x1p-1070), std::log(0x1p-1070), 1e-12);
}

// Exact bits, so that a compiler or machine that gives others is noticed.
TEST(Math, BitsAreThoseOfEveryMachine) {
  EXPECT_EQ(std::bit_cast<uint32_t>(exp_f32(-1.2345f)), 0x3e94fb5bu);
  EXPECT_EQ(std::bit_cast<uint32_t>(exp_f32(3.75f)), 0x422a1596u);
  EXPECT_EQ(std::bit_cast<uint32_t>(tanh_f32(0.3f)), 0x3e9526eeu);
  EXPECT_EQ(std::bit_cast<uint32_t>(tanh_f32(-2.5f)), 0xbf7c92c1u);
  EXPECT_EQ(std::bit_cast<uint32_t>(sigmoid_f32(0.7f)), 0x3f2b0e5au);
  EXPECT_EQ(std::bit_cast<uint32_t>(softplus_f32(-1.3f)), 0x3e76caecu);
  EXPECT_EQ(std::bit_cast<uint64_t>(sin_f64(12345.678)), 0xbfe687d5890974a5u);
}

TEST(Utf8, DecodesAndRefuses) {
  const auto code_point = [](std::string_view text) { return utf8_decode(text).code_point; };
  EXPECT_EQ(code_point("a"), 0x61u);
  EXPECT_EQ(code_point("\xc3\xa9"), 0xe9u);
  EXPECT_EQ(code_point("\xe2\x82\xac"), 0x20acu);
  EXPECT_EQ(code_point("\xf0\x9f\x98\x80"), 0x1f600u);
  for (const std::string_view bad :
       {"\x80", "\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf0\x80\x80\x80",
        "\xf4\x90\x80\x80", "\xff", "\xc3", "\xe2\x82"}) {
    EXPECT_FALSE(utf8_decode(bad).valid);
    EXPECT_EQ(utf8_decode(bad).length, 1);
  }
}

TEST(Utf8, EveryCodePointSurvives) {
  for (uint32_t c = 0; c <= 0x10ffff; ++c) {
    if (c >= 0xd800 && c < 0xe000) continue;
    std::string text;
    utf8_append(text, c);
    const Utf8Char back = utf8_decode(text);
    ASSERT_TRUE(back.valid && back.code_point == c && back.length == text.size()) << c;
  }
}

TEST(Utf8, KnowsWhatMayStillBecomeACharacter) {
  EXPECT_EQ(utf8_incomplete_tail("abc"), 0u);
  EXPECT_EQ(utf8_incomplete_tail("ab\xc3"), 1u);
  EXPECT_EQ(utf8_incomplete_tail("\xe2\x82"), 2u);
  EXPECT_EQ(utf8_incomplete_tail("\xf0\x9f\x98"), 3u);
  EXPECT_EQ(utf8_incomplete_tail("\xf0\x9f\x98\x80"), 0u);
  EXPECT_EQ(utf8_incomplete_tail("\xe0\x80"), 0u);  // overlong, no matter what follows
  EXPECT_EQ(utf8_incomplete_tail("\xff"), 0u);
  EXPECT_EQ(utf8_sanitize("a\xff\xc3\xa9\xc3"), "a\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd");
}

TEST(Result, NothingOfOthersTextsControlsATerminal) {
  EXPECT_EQ(printable("a\033[31mb\x07\x7f\tc\r\nd"), "a?[31mb???c??d");
  EXPECT_EQ(printable("\u0080\u009b31m\u009f\u2028\u2029\u202a\u202e\u2066\u2069"), "??31m???????");
  EXPECT_EQ(printable("\u061c\u200e\u200f"), "???");
  EXPECT_EQ(safe_text("a\033[31mb\x07\x7f\tc\r\nd"), "a?[31mb??\tc\nd");
  EXPECT_EQ(safe_text("\u009b31m \u202e \u2066\u2028"), "?31m ? ??");
  EXPECT_EQ(safe_text("a\u200eb\x80\x9b"), "ab??");
  EXPECT_EQ(safe_json("{\"a\\n\":\"\x7f\u009b\u2028\u202e\u200f\"}"),
            "{\"a\\n\":\"\\u007f\\u009b\\u2028\\u202e\\u200f\"}");
  // What is harmless stays: letters, joiners, tags of flags.
  const std::string harmless =
      "caf\u00e9 \u65e5\u672c \u00a0\u00ad\u200b\u200d\u2027\u202f\u2065\u206a";
  EXPECT_EQ(printable(harmless), harmless);
  EXPECT_EQ(safe_text(harmless), harmless);
  EXPECT_EQ(safe_json(harmless), harmless);
}

TEST(Result, TextsAreSafeAndReadable) {
  EXPECT_EQ(concat("a ", 3, " b ", uint64_t{18446744073709551615u}, " c ", -7),
            "a 3 b 18446744073709551615 c -7");
  EXPECT_EQ(printable("ab\n\xff"), "ab??");
  EXPECT_EQ(printable(std::string(200, 'x'), 10), "xxxxxxxxxx...");
  EXPECT_EQ(concat(1.0000001f, " ", 0.1f, " ", 1048577.0, " ", 1.5, " ", 1e300),
            "1.0000001 0.1 1048577 1.5 1e+300");
  EXPECT_EQ(counted(0, "thread"), "0 threads");
  EXPECT_EQ(counted(1, "thread"), "1 thread");
  EXPECT_EQ(counted(2, "thread"), "2 threads");
  EXPECT_EQ(human_bytes(999), "999 B");
  EXPECT_EQ(human_bytes(2578944), "2.58 MB");
  EXPECT_EQ(human_bytes(120427136, true), "121 MB");
  EXPECT_EQ(human_bytes(13240000, true), "13.3 MB");
  EXPECT_EQ(human_bytes(2580000, true), "2.58 MB");
  EXPECT_EQ(human_duration(0.2), "1 s");
  EXPECT_EQ(human_duration(59.4), "59 s");
  EXPECT_EQ(human_duration(60.07), "1 min");  // a minute's patience, as it is told
  EXPECT_EQ(human_duration(90), "2 min");
  EXPECT_EQ(human_duration(3600), "1 h 0 min");
}

TEST(Xxh64, IsTheKnownOne) {
  // Computed with xxHash's own program.
  std::vector<uint8_t> bytes((1 << 20) + 17);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 7 + i / 3);
  const std::pair<size_t, uint64_t> known[] = {
      {0, 0xef46db3751d8e999},  {3, 0x9ff70a635a6209ab},  {14, 0x9cd9ca9931b67e76},
      {33, 0x87aa75789ca3ee82}, {64, 0xbbee50984cd3a30b}, {bytes.size(), 0x6370d9af01ce92cb}};
  for (const auto& [n, hash] : known) {
    EXPECT_EQ(xxh64(std::span(bytes).first(n)), hash) << n;
    for (const size_t piece : {5, 32, 1000}) {
      Xxh64 pieces;
      for (size_t at = 0; at < n; at += piece)
        pieces.update(std::span(bytes).subspan(at, std::min(piece, n - at)));
      EXPECT_EQ(pieces.value(), hash) << n << " by " << piece;
    }
  }
}

TEST(Order, IsThatOfTheNumbersBehindTheIndices) {
  std::vector<int> numbers;
  uint32_t state = 1;
  for (int i = 0; i < 1000; ++i) numbers.push_back(static_cast<int>((state *= 48271u) >> 20));
  const auto precedes = [&](uint32_t a, uint32_t b) {
    return std::pair(numbers[a], a) < std::pair(numbers[b], b);
  };
  std::vector<uint32_t> order = order_of(numbers.size(), precedes);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end(), precedes));
  std::sort(order.begin(), order.end());
  for (uint32_t i = 0; i < numbers.size(); ++i) ASSERT_EQ(order.at(i), i) << "each index once";
  EXPECT_TRUE(order_of(0, precedes).empty());

  std::vector<int> signed_ones = {3, -1, 2};
  sort_indices(signed_ones, [](int a, int b) { return a < b; });
  EXPECT_EQ(signed_ones, (std::vector<int>{-1, 2, 3}));
}

TEST(Aligned, AllocatesEachOrSaysWhatIsMissing) {
  AlignedBuffer one, other;
  ASSERT_TRUE(allocate_each({{one, 100}, {other, 7}}, "a test").has_value());
  EXPECT_EQ(one.size(), 100u);
  EXPECT_EQ(other.size(), 7u);
  const Status refused = allocate_each({{one, 1}, {other, UINT64_MAX}}, "a test");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::out_of_memory);
  EXPECT_EQ(refused.error().message.find("a test needs"), 0u) << refused.error().message;
}

TEST(Aligned, RefusesWhatDoesNotFit) {
  const auto huge = AlignedBuffer::allocate(~uint64_t{0} - 10, "a test");
  ASSERT_FALSE(huge.has_value());
  EXPECT_EQ(huge.error().code, Code::out_of_memory);
  const auto buffer = AlignedBuffer::allocate(1000, "a test");
  ASSERT_TRUE(buffer.has_value());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->data()) % kAlignment, 0u);
  EXPECT_EQ(std::accumulate(buffer->data(), buffer->data() + 1000, 0), 0);
}

TEST(Threads, SharesCoverEverythingOnce) {
  for (int n_workers = 1; n_workers < 9; ++n_workers) {
    for (int64_t n = 0; n < 40; ++n) {
      int64_t next = 0;
      for (int worker = 0; worker < n_workers; ++worker) {
        const Share part = share(n, worker, n_workers);
        EXPECT_EQ(part.begin, next);
        next = part.end;
      }
      EXPECT_EQ(next, n);
    }
  }
}

// With uneven work, more threads than cores, and sleep between jobs: every phase must see all that
// the phase before wrote, and every item is done once. Under TSan this checks that the pool orders
// memory.
class PoolTest : public testing::TestWithParam<int> {};

TEST_P(PoolTest, PhasesSeeWhatWasWrittenBefore) {
  constexpr int kPhases = 6;
  struct Work {
    std::vector<int> values[2];
    std::atomic<int> mistakes{0};
    std::atomic<int64_t> items{0};
    Pool* pool = nullptr;

    void phase(int worker, int64_t n, int number) {
      pool->parallel_for(worker, n, [&](Share part) {
        for (const int value : values[number % 2]) mistakes += value != number;
        volatile int busy = 0;
        for (int i = 0; i < (worker * 37 + number * 11) % 50; ++i) busy = busy + i;
        for (int64_t i = part.begin; i < part.end; ++i) {
          values[(number + 1) % 2][static_cast<size_t>(i)] = number + 1;
        }
        items += part.end - part.begin;
      });
    }
  };
  for (const int64_t n : {int64_t{1}, int64_t{2}, int64_t{7}, int64_t{100}}) {
    Work work;
    work.values[0].assign(static_cast<size_t>(n), 0);
    work.values[1].assign(static_cast<size_t>(n), 0);
    Pool pool(GetParam());
    ASSERT_EQ(pool.size(), GetParam());
    work.pool = &pool;
    for (int round = 0; round < 200; ++round) {
      if (round % 50 == 49)
        std::this_thread::sleep_for(std::chrono::milliseconds(2));  // workers fall asleep
      Work* const shared = &work;
      pool.run([shared, round, n](int worker) {
        for (int i = 0; i < kPhases; ++i) shared->phase(worker, n, round * kPhases + i);
      });
      ASSERT_EQ(work.mistakes.load(), 0) << "round " << round;
      ASSERT_EQ(work.items.load(), n * kPhases * (round + 1));
    }
  }
}

// What worker 0 does alone sees the phase before and is seen by the next one.
TEST_P(PoolTest, TheFirstWorkerDoesAPhaseAlone) {
  struct Work {
    std::vector<int> values = std::vector<int>(50);
    int sum = 0;
    std::atomic<int> mistakes{0};
  } work;
  Pool pool(GetParam());
  Work* const shared = &work;
  Pool* const workers = &pool;
  const std::thread::id caller = std::this_thread::get_id();
  for (int round = 1; round <= 300; ++round) {
    pool.run([shared, workers, round, caller](int worker) {
      workers->parallel_for(worker, 50, [&](Share part) {
        for (int64_t i = part.begin; i < part.end; ++i)
          shared->values[static_cast<size_t>(i)] = round;
      });
      workers->only_first(worker, [&] {
        shared->sum = std::accumulate(shared->values.begin(), shared->values.end(), 0);
        shared->mistakes += std::this_thread::get_id() != caller;
      });
      workers->parallel_for(worker, 50, [&](Share part) {
        for (int64_t i = part.begin; i < part.end; ++i)
          shared->mistakes += shared->sum != 50 * round;
      });
    });
  }
  EXPECT_EQ(work.mistakes.load(), 0);
}

INSTANTIATE_TEST_SUITE_P(Sizes, PoolTest, testing::Values(1, 2, 3, 8));

// run() returns although no other worker has reached the phase.
TEST(Threads, NobodyWaitsForAWorkerThatIsLate) {
  struct Work {
    std::atomic<bool> over{false};
    std::atomic<int> items{0};
  } work;
  Pool pool(3);
  for (int round = 0; round < 3; ++round) {
    Work* const shared = &work;
    Pool* const workers = &pool;
    pool.run([shared, workers](int worker) {
      while (worker != 0 && !shared->over.load()) std::this_thread::yield();
      workers->parallel_for(worker, 100, [&](Share part) {
        shared->items += static_cast<int>(part.end - part.begin);
      });
    });
    EXPECT_EQ(work.items.load(), 100 * (round + 1));
  }
  work.over = true;
}

TEST(Threads, ThatCantBeStartedAreDoneWithout) {
  {
    const NoMoreThreads now;
    Pool pool(4);
    EXPECT_EQ(pool.size(), 1);
    pool.limit(4);
    std::atomic<int> items{0};
    std::atomic<int>* const count = &items;
    Pool* const workers = &pool;
    pool.run([count, workers](int worker) {
      workers->parallel_for(worker, 10,
                            [&](Share part) { *count += static_cast<int>(part.end - part.begin); });
    });
    EXPECT_EQ(items.load(), 10);
  }
  EXPECT_EQ(Pool(4).size(), 4);
}

// sluice bench measures with these: an infinite time must not become a rate.
TEST(Threads, ThatCantBeStartedAreNotMeasured) {
  const auto measure = [](int rounds) { return rounds * cli::seconds_together(3, [](size_t) {}); };
  EXPECT_GT(cli::median_rate(1, measure), 0);
  const NoMoreThreads now;
  EXPECT_TRUE(std::isinf(cli::seconds_together(3, [](size_t) {})));
  EXPECT_EQ(cli::median_rate(1, measure), 0);
}

// A limit on the workers holds, and all of the work is done. Workers that sleep wake up again, or
// end with the pool.
TEST(Threads, LimitsWhoTakesPart) {
  // Lives longer than the pool, because a late worker still runs through a job that is over.
  struct Work {
    std::atomic<int> items{0};
    std::atomic<int> here{0};
  } work;
  for (const int last : {1, 3}) {
    Pool pool(3);
    for (const int limit : {3, 1, 2, 1, last}) {
      pool.limit(limit);
      for (int round = 0; round < 50; ++round) {
        work.items = 0;
        Work* const shared = &work;
        Pool* const workers = &pool;
        pool.run([shared, workers](int worker) {
          workers->parallel_for(worker, 64, [&](Share part) {
            shared->items += static_cast<int>(part.end - part.begin);
          });
        });
        ASSERT_EQ(work.items.load(), 64);
      }
    }
    if (last == 1) continue;
    // All workers take part again: this job waits for each of them.
    Work* const all = &work;
    Pool* const workers = &pool;
    pool.run([all, workers](int worker) {
      ++all->here;
      while (all->here.load() < 3) std::this_thread::yield();
      workers->parallel_for(worker, 1, [](Share) {});
    });
    EXPECT_EQ(work.here.load(), 3);
  }
}

TEST(Threads, PoolsComeAndGo) {
  for (int i = 0; i < 50; ++i) {
    std::atomic<int> items{0};
    Pool pool(1 + i % 4);
    std::atomic<int>* const count = &items;
    Pool* const workers = &pool;
    pool.run([count, workers](int worker) {
      workers->parallel_for(worker, 10,
                            [&](Share part) { *count += static_cast<int>(part.end - part.begin); });
    });
    EXPECT_EQ(items.load(), 10);
  }
}

}  // namespace
}  // namespace sluice
