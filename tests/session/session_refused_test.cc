// Files of sessions that are refused: damaged, hostile, newer, of another model.
#include <bit>
#include <cmath>

#include "base/xxh64.h"
#include "support/session_files.h"

namespace sluice {
namespace {

class BadSession : public testing::Test {
 protected:
  void SetUp() override {
    engine_ = tiny_engine(64);
    ASSERT_NE(engine_, nullptr);
    generate(*engine_, some_ids(2, 512), drawing(2, 3));
    file_ = saved(*engine_, engine_->session());
    held_ = engine_->stats().resident_bytes;
  }
  // Nothing is left behind.
  void TearDown() override { EXPECT_EQ(engine_->stats().resident_bytes, held_); }
  Code code_of(std::span<const uint8_t> file) {
    const auto session = read(*engine_, file);
    EXPECT_FALSE(session.has_value());
    if (session.has_value()) return Code::aborted;
    EXPECT_FALSE(session.error().message.empty());
    return session.error().code;
  }
  // With a number that was changed and hashes that are right again.
  template <typename T>
  Error error_with(size_t at, T number) {
    Bytes changed = file_;
    put(changed, at, number);
    hash_again(changed);
    auto session = read(*engine_, changed);
    EXPECT_FALSE(session.has_value()) << "at " << at;
    return session.has_value() ? Error{Code::aborted, ""} : session.error();
  }

  std::unique_ptr<Engine> engine_;
  Bytes file_;
  uint64_t held_ = 0;
};

TEST_F(BadSession, FlippedBitsAreFound) {
  for (size_t at = 0; at < file_.size(); ++at) {
    Bytes changed = file_;
    changed[at] ^= static_cast<uint8_t>(1u << at % 8);
    ASSERT_EQ(code_of(changed), Code::bad_file) << "byte " << at;
  }
}

TEST_F(BadSession, ShortenedAndLongerFilesAreFound) {
  for (size_t n = 0; n < file_.size(); ++n) {
    ASSERT_EQ(code_of(std::span(file_).first(n)), Code::bad_file) << n << " bytes";
  }
  Bytes longer = file_;
  longer.push_back(0);
  EXPECT_EQ(code_of(longer), Code::bad_file);
  EXPECT_EQ(read(*engine_, file_, SIZE_MAX, file_.size() + 1).error().code, Code::bad_file);
  EXPECT_EQ(code_of(Bytes(100, 0)), Code::bad_file);
}

TEST_F(BadSession, NumbersAreCheckedBehindARightHash) {
  const size_t tokens = kSessionHeaderBytes, kept = tokens + 4 * 4;
  const size_t state = kept + kPromptEndBytes;
  EXPECT_EQ(error_with<uint32_t>(12, 96).code, Code::bad_file);  // bytes of the header
  EXPECT_EQ(error_with<uint32_t>(8, 0).code, Code::bad_file);    // version
  EXPECT_EQ(error_with<uint64_t>(16, UINT64_MAX).code, Code::bad_file);
  EXPECT_EQ(error_with<uint32_t>(40, 7).code, Code::bad_file);  // KV type
  EXPECT_EQ(error_with<uint32_t>(44, 2).code, Code::bad_file);  // kind of state
  EXPECT_EQ(error_with<uint32_t>(48, 3).code, Code::bad_file);  // tokens
  EXPECT_EQ(error_with<uint32_t>(48, 5).code, Code::bad_file);
  EXPECT_EQ(error_with<uint32_t>(52, 4).code, Code::bad_file);  // computed
  EXPECT_EQ(error_with<uint32_t>(52, 2).code, Code::bad_file);
  EXPECT_EQ(error_with<uint32_t>(56, 2).code, Code::bad_file);           // has a seed
  EXPECT_EQ(error_with<uint32_t>(56, 0).code, Code::bad_file);           // but its numbers stay
  EXPECT_EQ(error_with<uint32_t>(60, 5).code, Code::bad_file);           // begin of the answer
  EXPECT_EQ(error_with<uint64_t>(72, UINT64_MAX).code, Code::bad_file);  // draws
  EXPECT_EQ(error_with<int32_t>(tokens, 512).code, Code::bad_file);
  EXPECT_EQ(error_with<int32_t>(tokens + 12, -1).code, Code::bad_file);
  EXPECT_EQ(error_with<uint32_t>(kept, 3).code, Code::bad_file);      // ends of prompts
  EXPECT_EQ(error_with<uint32_t>(kept, 0).code, Code::bad_file);      // but there is one
  EXPECT_EQ(error_with<uint32_t>(kept, 2).code, Code::bad_file);      // and no second one
  EXPECT_EQ(error_with<uint32_t>(kept + 4, 4).code, Code::bad_file);  // 3 are computed
  EXPECT_EQ(error_with<uint32_t>(kept + 4, 0).code, Code::bad_file);
  EXPECT_EQ(error_with<uint32_t>(kept + 8, 1).code, Code::bad_file);
  EXPECT_EQ(error_with<uint16_t>(state, 0x7c00).code, Code::bad_file);
  EXPECT_EQ(error_with<uint16_t>(state + 2, 0xfe00).code, Code::bad_file);
  EXPECT_EQ(error_with<uint16_t>(file_.size() - 10, 0xfc00).code, Code::bad_file);
}

TEST_F(BadSession, TokensThatTheContextCannotHoldTakeNoMemory) {
  for (const uint32_t n : {65u, 1u << 20, UINT32_MAX}) {
    Bytes changed = file_;
    put(changed, 48, n);
    put(changed, 52, n);
    hash_again(changed);
    EXPECT_EQ(code_of(changed), Code::context_full) << n;
  }
}

TEST_F(BadSession, ANewerVersionIsNamed) {
  const Error error = error_with<uint32_t>(8, kSessionVersion + 1);
  EXPECT_EQ(error.code, Code::invalid_argument);
  EXPECT_NE(error.message.find("a newer version of Sluice wrote this"), std::string::npos);
  // Its header may be longer.
  Bytes newer = file_;
  newer.insert(newer.begin() + 80, 40, 1);
  put<uint32_t>(newer, 8, kSessionVersion + 1);
  put<uint32_t>(newer, 12, 128);
  put(newer, 120, xxh64(std::span(newer).first(120)));
  EXPECT_EQ(code_of(newer), Code::invalid_argument);
}

TEST(BadWindows, NumbersOfWhatWasKeptAreChecked) {
  const auto engine = load_bytes(build_tiny_model(tiny_model_named("gemma3-f32")), small(1024));
  ASSERT_NE(engine, nullptr);
  generate(*engine, some_ids(600, engine->tokenizer().vocab_size()), greedy(1));
  const Bytes file = saved(*engine, engine->session());
  const size_t kept = kSessionHeaderBytes + 4 * 601 + kPromptEndBytes;
  // 600 positions have three chunks, of which a window needs the last.
  EXPECT_EQ(file[kept + 2], 1);
  for (size_t i = 0; i < 3; ++i) {
    for (const uint8_t other : {uint8_t{2}, static_cast<uint8_t>(1 - file[kept + i])}) {
      Bytes changed = file;
      changed[kept + i] = other;
      hash_again(changed);
      EXPECT_EQ(read(*engine, changed).error().code, Code::bad_file) << i << ": " << int{other};
    }
  }
}

// 301 positions of a model with recurrent layers. Behind the list of what was kept, of each chunk
// the keys and values and then the states.
class BadRecurrent : public testing::Test {
 protected:
  static constexpr size_t kKept = kSessionHeaderBytes + 4 * 302 + kPromptEndBytes;
  static constexpr size_t kRow = 2 * 2 * 16 * 2;  // keys and values of a position, in f16
  static constexpr size_t kState = 4 * 128 * 4;   // four layers
  void SetUp() override {
    engine_ = load_bytes(build_tiny_model(tiny_model_named("lfm2-f32")), small(1024));
    ASSERT_NE(engine_, nullptr);
    generate(*engine_, prompt_, greedy(2));
    file_ = saved(*engine_, engine_->session());
    ASSERT_EQ(engine_->session().tokens().size(), 301u);
    ASSERT_EQ(file_.size(), kKept + 64 + 301 * kRow + 3 * kState + 8);
  }
  // The file that this change makes, with right hashes.
  template <typename Change>
  Code code_of(Change&& change) {
    Bytes changed = file_;
    change(changed);
    put<uint64_t>(changed, 16, changed.size());
    hash_again(changed);
    const auto session = read(*engine_, changed);
    return session.has_value() ? Code::aborted : session.error().code;
  }
  const std::vector<TokenId> prompt_ = some_ids(300, 512);
  std::unique_ptr<Engine> engine_;
  Bytes file_;
};

TEST_F(BadRecurrent, ListsOfWhatWasKeptAreChecked) {
  // The states behind 256, 299 and 301 positions.
  EXPECT_EQ(file_[kKept + 31], 0x80);
  EXPECT_EQ(file_[kKept + 32 + 5], 1 << 2 | 1 << 4);
  const auto with_bits = [&](size_t at, uint8_t bits, int more_states) {
    return code_of([&](Bytes& file) {
      file[at] = bits;
      if (more_states < 0) file.erase(file.end() - 8 - kState, file.end() - 8);
      for (; more_states > 0; --more_states) file.insert(file.end() - 8, kState, 0);
    });
  };
  EXPECT_EQ(with_bits(kKept + 37, 1 << 2 | 1 << 4, 0), Code::aborted);
  EXPECT_EQ(with_bits(kKept + 37, 1 << 2 | 1 << 4 | 1 << 5, 1), Code::bad_file);  // 302
  EXPECT_EQ(with_bits(kKept + 63, 0x80, 1), Code::bad_file);
  EXPECT_EQ(with_bits(kKept + 37, 1 << 2 | 1 << 4, 1), Code::bad_file);
  EXPECT_EQ(with_bits(kKept + 37, 1 << 2, 0), Code::bad_file);
  // Less or more than a session keeps is good.
  EXPECT_EQ(with_bits(kKept + 37, 1 << 2, -1), Code::aborted);
  EXPECT_EQ(with_bits(kKept + 37, 1 << 2 | 1 << 3 | 1 << 4, 1), Code::aborted);
  EXPECT_EQ(with_bits(kKept + 36, 0xff, 8), Code::aborted);
}

TEST_F(BadRecurrent, NumbersThatAreNotFiniteAreRefused) {
  const size_t first = kKept + 64 + 256 * kRow;
  for (const size_t at :
       {first, first + kState - 4, file_.size() - 8 - 2 * kState, file_.size() - 12})
    for (const float bad : {INFINITY, -INFINITY, NAN})
      EXPECT_EQ(code_of([&](Bytes& file) { put(file, at, bad); }), Code::bad_file) << at;
  EXPECT_EQ(code_of([&](Bytes& file) { put(file, first, 1e30f); }), Code::aborted);
}

// As a version without recurrent states would have had it.
TEST_F(BadRecurrent, AFileWithoutStatesIsComputedAgain) {
  Bytes file = file_;
  file.erase(file.end() - 8 - 2 * kState, file.end() - 8);
  const auto first = file.begin() + kKept + 64 + 256 * kRow;
  file.erase(first, first + kState);
  const auto list = file.begin() + kKept;
  file.erase(list, list + 64);
  const auto old = restored(*engine_, without_kept(file, 2));
  ASSERT_NE(old, nullptr);
  EXPECT_EQ(old->tokens().size(), 301u);
  EXPECT_EQ(old->reusable(prompt_), 0u);
  Session afresh(*engine_);
  EXPECT_EQ(generate(*old, prompt_, greedy(5)).ids(), generate(afresh, prompt_, greedy(5)).ids());
  EXPECT_EQ(generate(*old, prompt_, greedy(5)).tokens.size(), 5u);
  EXPECT_EQ(old->stats().reused_tokens, 299);
}

TEST_F(BadRecurrent, APieceHasOneState) {
  identify(*engine_);
  const auto writer = engine_->session().save_piece(1);
  ASSERT_TRUE(writer.has_value());
  Bytes piece((*writer)->bytes());
  ASSERT_EQ((*writer)->next(piece), piece.size());
  const size_t kept = kSessionHeaderBytes + 4 * 46 + kPromptEndBytes;
  ASSERT_EQ(piece.size(), kept + 32 + 45 * kRow + kState + 8);
  EXPECT_EQ(piece[kept + 5], 1 << 4);
  Session session(*engine_);
  const auto first = engine_->session().save_piece(0);
  Bytes before((*first)->bytes());
  ASSERT_EQ((*first)->next(before), before.size());
  EXPECT_EQ(before.size(), session.piece_bytes());
  const auto give = [&](const Bytes& bytes) -> Status {
    SessionReader reader(*engine_, bytes.size(), &session);
    SLUICE_TRY(reader.push(bytes));
    const auto none = reader.finish();
    return none ? Status() : Status(std::unexpected(none.error()));
  };
  ASSERT_TRUE(give(before).has_value());
  EXPECT_EQ(session.reusable(prompt_), 256u);
  Bytes two = piece;
  two[kept + 5] |= 1 << 2;
  hash_again(two);
  EXPECT_EQ(give(two).error().code, Code::bad_file);
  ASSERT_TRUE(give(piece).has_value());
  EXPECT_EQ(session.reusable(some_ids(302, 512)), 256u);
  std::vector<TokenId> longer = session.written();
  longer.push_back(3);
  EXPECT_EQ(session.reusable(longer), 301u);
}

TEST_F(BadSession, AnotherModelIsNamed) {
  TinyModel model = tiny_model_named("qwen2-q8_0");
  model.n_ff = 64;
  const auto other = load_bytes(build_tiny_model(model), small(64));
  const auto refused = read(*other, file_);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::invalid_argument);
  EXPECT_NE(refused.error().message.find("another model"), std::string::npos);
  // One number of one tensor is another.
  std::string changed = tiny_bytes();
  changed[changed.size() - 40] = static_cast<char>(changed[changed.size() - 40] ^ 1);
  const auto similar = load_bytes(changed, small(64));
  EXPECT_EQ(read(*similar, file_).error().code, Code::invalid_argument);
}

TEST_F(BadSession, AnotherKvTypeOrRopeIsNamed) {
  LoadOptions options = small(64);
  options.kv_type = "q8_0";
  const auto other = load_bytes(tiny_bytes(), options);
  const auto refused = read(*other, file_);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::invalid_argument);
  EXPECT_NE(refused.error().message.find("are f16, but this model was loaded with q8_0"),
            std::string::npos);
  const Error rope = error_with<uint64_t>(32, 1);
  EXPECT_EQ(rope.code, Code::invalid_argument);
  EXPECT_NE(rope.message.find("RoPE"), std::string::npos);
}

TEST_F(BadSession, ALongerSessionThanTheContextIsNamed) {
  const auto other = load_bytes(tiny_bytes(), small(3));
  EXPECT_EQ(read(*other, file_).error().code, Code::context_full);
  const auto enough = load_bytes(tiny_bytes(), small(4));
  EXPECT_TRUE(read(*enough, file_).has_value());
}

TEST_F(BadSession, ScalesOfQ8AreChecked) {
  LoadOptions options = small(64);
  options.kv_type = "q8_0";
  const auto engine = load_bytes(tiny_bytes(), options);
  generate(*engine, some_ids(2, 512), greedy(2));
  const Bytes file = saved(*engine, engine->session());
  const int64_t head_dim = 16;  // one scale for each row
  for (const float scale : {-1.f, INFINITY, NAN}) {
    Bytes changed = file;
    put(changed, kSessionHeaderBytes + 4 * 4 + kPromptEndBytes + head_dim, scale);
    hash_again(changed);
    EXPECT_EQ(read(*engine, changed).error().code, Code::bad_file) << scale;
  }
}

}  // namespace
}  // namespace sluice
