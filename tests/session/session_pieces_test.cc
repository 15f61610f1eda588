// Sessions in pieces: what a page keeps of a conversation.
#include <algorithm>

#include "support/session_files.h"

namespace sluice {
namespace {

std::vector<Bytes> pieces_of(Engine& engine, const Session& session) {
  identify(engine);
  std::vector<Bytes> pieces;
  for (size_t i = 0; i < session.pieces(); ++i) {
    const auto writer = session.save_piece(i);
    if (!writer.has_value()) {
      ADD_FAILURE() << writer.error().message;
      return pieces;
    }
    Bytes& piece = pieces.emplace_back((*writer)->bytes());
    EXPECT_EQ((*writer)->next(piece), piece.size());
    EXPECT_LE(piece.size(), session.piece_bytes());
  }
  return pieces;
}

Status give(Engine& engine, Session& session, std::span<const uint8_t> piece,
            size_t part = SIZE_MAX) {
  SessionReader reader(engine, piece.size(), &session);
  for (size_t at = 0; at < piece.size();) {
    const size_t n = std::min(part, piece.size() - at);
    SLUICE_TRY(reader.push(piece.subspan(at, n)));
    at += n;
  }
  const auto none = reader.finish();
  if (!none) return std::unexpected(none.error());
  EXPECT_EQ(*none, nullptr);
  EXPECT_FALSE(reader.finish().has_value());
  return {};
}

TEST_P(EveryModel, ComesBackFromItsPieces) {
  for (const std::string kv_type : {"f32", "f16", "q8_0"}) {
    SCOPED_TRACE(kv_type);
    const auto engine = load_bytes(bytes_, with("", 2, kv_type));
    ASSERT_NE(engine, nullptr);
    const std::vector<TokenId> prompt = some_ids(300, engine->tokenizer().vocab_size());
    Session session(*engine);
    generate(session, prompt, drawing(9, 5));
    const std::vector<Bytes> pieces = pieces_of(*engine, session);
    ASSERT_EQ(pieces.size(), 2u);
    EXPECT_EQ(pieces[0].size(), session.piece_bytes());
    Session copy(*engine);
    for (const Bytes& piece : pieces) ASSERT_TRUE(give(*engine, copy, piece, 1000).has_value());
    EXPECT_TRUE(std::ranges::equal(copy.tokens(), session.tokens()));
    EXPECT_EQ(copy.written(), session.written());
    EXPECT_EQ(pieces_of(*engine, copy), pieces);
    // The same logits as computed afresh.
    std::vector<TokenId> longer = session.written();
    longer.push_back(3);
    Session afresh(*engine);
    const Generated expected = generate(afresh, longer, greedy(3));
    const Generated found = generate(copy, longer, greedy(3));
    EXPECT_EQ(copy.stats().reused_tokens, 308);
    EXPECT_EQ(found.ids(), expected.ids());
    for (size_t i = 0; i < found.tokens.size(); ++i)
      EXPECT_EQ(found.tokens[i].logprob, expected.tokens[i].logprob);
    // A whole piece stays what it was, if no window lets go of what is in it.
    if (GetParam() != "gemma3-f32") {
      EXPECT_EQ(pieces_of(*engine, copy)[0], pieces[0]);
    }
  }
}

TEST(SessionPieces, HaveTheTokenThatIsNotComputedYet) {
  const auto engine = tiny_engine(1024);
  for (const int64_t n : {1, 255, 256, 257, 511, 512}) {
    SCOPED_TRACE(n);
    Session session(*engine);
    generate(session, some_ids(n, 512), greedy(1));
    ASSERT_EQ(session.tokens().size(), static_cast<size_t>(n));
    const std::vector<Bytes> pieces = pieces_of(*engine, session);
    EXPECT_EQ(pieces.size(), static_cast<size_t>(n / 256 + 1));
    Session copy(*engine);
    for (const Bytes& piece : pieces) ASSERT_TRUE(give(*engine, copy, piece).has_value());
    EXPECT_EQ(copy.written(), session.written());
    // Nothing may follow the last.
    EXPECT_EQ(give(*engine, copy, pieces.back()).error().code, Code::bad_file);
    EXPECT_EQ(session.save_piece(pieces.size()).error().code, Code::invalid_argument);
  }
  Session empty(*engine);
  EXPECT_EQ(empty.pieces(), 0u);
  EXPECT_EQ(empty.save_piece(0).error().code, Code::invalid_argument);
}

TEST(SessionPieces, OfAnotherTextAreRefused) {
  const auto engine = tiny_engine(1024);
  const auto pieces_after = [&](uint32_t seed) {
    Session session(*engine);
    generate(session, some_ids(600, 512, seed), greedy(1));
    return pieces_of(*engine, session);
  };
  const std::vector<Bytes> one = pieces_after(1), other = pieces_after(2);
  Session session(*engine);
  EXPECT_EQ(give(*engine, session, one[1]).error().code, Code::bad_file);
  ASSERT_TRUE(give(*engine, session, one[0]).has_value());
  EXPECT_EQ(give(*engine, session, one[0]).error().code, Code::bad_file);
  EXPECT_EQ(give(*engine, session, one[2]).error().code, Code::bad_file);
  EXPECT_EQ(give(*engine, session, other[1]).error().code, Code::bad_file);
  EXPECT_EQ(session.tokens().size(), 256u);
  ASSERT_TRUE(give(*engine, session, one[1]).has_value());
  EXPECT_EQ(give(*engine, session, other[2]).error().code, Code::bad_file);
  ASSERT_TRUE(give(*engine, session, one[2]).has_value());
  // Those of the version before are read.
  Session old(*engine);
  ASSERT_TRUE(give(*engine, old, without_kept(one[0], 1)).has_value());
  ASSERT_TRUE(give(*engine, old, one[1]).has_value());
  // Whole sessions and pieces are not taken for each other.
  Session fresh(*engine);
  Bytes newer = one[0];
  put<uint32_t>(newer, 8, kPieceVersion + 1);  // no version of pieces, though one of sessions
  hash_again(newer);
  EXPECT_EQ(give(*engine, fresh, newer).error().code, Code::invalid_argument);
  EXPECT_EQ(read(*engine, one[0]).error().code, Code::bad_file);
  EXPECT_EQ(give(*engine, fresh, saved(*engine, session)).error().code, Code::bad_file);
  // Nor are those of another KV type or model.
  const auto f32 = load_bytes(tiny_bytes(), with("", 1, "f32"));
  identify(*f32);
  Session of_f32(*f32);
  EXPECT_EQ(give(*f32, of_f32, one[0]).error().code, Code::invalid_argument);
  TinyModel changed = tiny_model_named("qwen2-q8_0");
  changed.n_ff = 64;
  const auto other_model = load_bytes(build_tiny_model(changed), small(1024));
  identify(*other_model);
  Session of_other(*other_model);
  EXPECT_EQ(give(*other_model, of_other, one[0]).error().code, Code::invalid_argument);
  // A session that runs takes none.
  ASSERT_TRUE(session.start(some_ids(3, 512), greedy(2)).has_value());
  EXPECT_EQ(give(*engine, session, one[0]).error().code, Code::busy);
  EXPECT_EQ(session.save_piece(0).error().code, Code::busy);
}

TEST(SessionPieces, DamageLeavesWhatCameBefore) {
  const auto engine = tiny_engine(1024);
  Session session(*engine);
  const std::vector<TokenId> prompt = some_ids(259, 512);
  generate(session, prompt, greedy(2));
  const std::vector<Bytes> pieces = pieces_of(*engine, session);
  ASSERT_EQ(pieces.size(), 2u);
  Session copy(*engine);
  ASSERT_TRUE(give(*engine, copy, pieces[0]).has_value());
  const Bytes& good = pieces[1];
  for (size_t at = 0; at < good.size(); ++at) {
    Bytes changed = good;
    changed[at] ^= static_cast<uint8_t>(1u << at % 8);
    ASSERT_EQ(give(*engine, copy, changed).error().code, Code::bad_file) << "byte " << at;
    ASSERT_EQ(copy.tokens().size(), 256u);
  }
  for (size_t n = 0; n < good.size(); n += 7)
    ASSERT_EQ(give(*engine, copy, std::span(good).first(n)).error().code, Code::bad_file) << n;
  // Hostile numbers behind right hashes.
  const auto refused = [&]<typename T>(size_t at, T number) {
    Bytes changed = good;
    put(changed, at, number);
    hash_again(changed);
    const Status status = give(*engine, copy, changed);
    return !status.has_value() && copy.tokens().size() == 256;
  };
  const size_t tokens = kSessionHeaderBytes;
  for (const uint32_t first : {0u, 1u, 255u, 257u, 512u, UINT32_MAX - 255u, UINT32_MAX})
    EXPECT_TRUE(refused(60, first)) << first;
  for (const uint32_t n : {0u, 2u, 257u, 1u << 20, UINT32_MAX}) {
    EXPECT_TRUE(refused(48, n)) << n;
    EXPECT_TRUE(refused(52, n)) << n;
  }
  EXPECT_TRUE(refused(56, 1u));
  EXPECT_TRUE(refused(64, uint64_t{7}));
  EXPECT_TRUE(refused(72, uint64_t{1}));
  EXPECT_TRUE(refused(tokens, 512));
  EXPECT_TRUE(refused(tokens, -1));
  EXPECT_TRUE(refused(good.size() - 10, uint16_t{0xfc00}));
  // After all of that the right piece follows, and a run goes on with the right bits.
  ASSERT_TRUE(give(*engine, copy, good).has_value());
  std::vector<TokenId> longer = session.written();
  longer.push_back(9);
  EXPECT_EQ(generate(copy, longer, greedy(4)).ids(), generate(session, longer, greedy(4)).ids());
}

// A run after a piece that was refused in its middle doesn't see what that has left.
TEST(SessionPieces, GoOnAfterAPieceThatWasCutShort) {
  const auto engine = tiny_engine(1024);
  Session session(*engine);
  const std::vector<TokenId> prompt = some_ids(400, 512);
  const std::vector<TokenId> expected = generate(session, prompt, greedy(5)).ids();
  const std::vector<Bytes> pieces = pieces_of(*engine, session);
  Session copy(*engine);
  ASSERT_TRUE(give(*engine, copy, pieces[0]).has_value());
  {
    SessionReader reader(*engine, 0, &copy);
    ASSERT_TRUE(reader.push(std::span(pieces[1]).first(pieces[1].size() - 9)).has_value());
    EXPECT_EQ(reader.finish().error().code, Code::bad_file);
  }
  EXPECT_EQ(generate(copy, prompt, greedy(5)).ids(), expected);
  EXPECT_EQ(copy.stats().reused_tokens, 256);
}

// A session of 300 tokens and one that has its first piece: the second is about to follow.
class HalfGiven : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(engine_, nullptr);
    Session session(*engine_);
    expected_ = generate(session, prompt_, greedy(5)).ids();
    session.truncate(prompt_.size());
    pieces_ = pieces_of(*engine_, session);
    ASSERT_EQ(pieces_.size(), 2u);
    ASSERT_TRUE(give(*engine_, *copy_, pieces_[0]).has_value());
    ASSERT_TRUE(reader_.push(std::span(pieces_[1]).first(half())).has_value());
  }
  size_t half() const { return pieces_[1].size() / 2; }
  // The rest of the piece, and its end.
  Status give_rest() {
    SLUICE_TRY(reader_.push(std::span(pieces_[1]).subspan(half())));
    const auto none = reader_.finish();
    return none ? Status() : std::unexpected(none.error());
  }
  void expect_code(const Status& status, Code code) {
    ASSERT_FALSE(status.has_value());
    EXPECT_EQ(code_name(status.error().code), code_name(code)) << status.error().message;
  }
  void expect_the_same_text() { EXPECT_EQ(generate(*copy_, prompt_, greedy(5)).ids(), expected_); }

  const std::unique_ptr<Engine> engine_ = tiny_engine(1024);
  const std::vector<TokenId> prompt_ = some_ids(300, 512);
  std::vector<TokenId> expected_;
  std::vector<Bytes> pieces_;
  std::unique_ptr<Session> copy_ = std::make_unique<Session>(*engine_);
  SessionReader reader_{*engine_, 0, copy_.get()};
};

TEST_F(HalfGiven, TakesTheRest) {
  EXPECT_EQ(copy_->tokens().size(), 256u);
  ASSERT_TRUE(give_rest().has_value());
  EXPECT_EQ(copy_->tokens().size(), 300u);
  expect_the_same_text();
  EXPECT_EQ(copy_->stats().reused_tokens, 299);
}

TEST_F(HalfGiven, MayBeCut) {
  copy_->truncate(100);
  expect_code(give_rest(), Code::bad_file);
  EXPECT_EQ(copy_->tokens().size(), 100u);
  expect_the_same_text();
  EXPECT_EQ(copy_->stats().reused_tokens, 100);
}

TEST_F(HalfGiven, MayGetTheSamePieceFromAnother) {
  ASSERT_TRUE(give(*engine_, *copy_, pieces_[1]).has_value());
  expect_code(give_rest(), Code::bad_file);
  EXPECT_EQ(copy_->tokens().size(), 300u);
  expect_the_same_text();
}

// As many tokens as before, but others.
TEST_F(HalfGiven, MayGetAnotherText) {
  generate(*copy_, some_ids(256, 512, 2), greedy(0));
  ASSERT_EQ(copy_->tokens().size(), 256u);
  expect_code(give_rest(), Code::bad_file);
  EXPECT_EQ(copy_->tokens().size(), 256u);
  expect_the_same_text();
  EXPECT_EQ(copy_->stats().reused_tokens, 0);
}

TEST_F(HalfGiven, MayRun) {
  ASSERT_TRUE(copy_->start(prompt_, greedy(5)).has_value());
  ASSERT_TRUE(copy_->step().has_value());
  expect_code(give_rest(), Code::busy);
  EXPECT_EQ(finish_run(*copy_).ids(), expected_);
}

// A run begins after the last byte, before the end.
TEST_F(HalfGiven, MayRunBeforeTheEnd) {
  ASSERT_TRUE(reader_.push(std::span(pieces_[1]).subspan(half())).has_value());
  ASSERT_TRUE(copy_->start(prompt_, greedy(5)).has_value());
  const auto none = reader_.finish();
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().code, Code::busy);
  EXPECT_EQ(finish_run(*copy_).ids(), expected_);
}

TEST_F(HalfGiven, MayGo) {
  copy_.reset();
  expect_code(give_rest(), Code::invalid_argument);
}

TEST_F(HalfGiven, MayGoBeforeTheEnd) {
  ASSERT_TRUE(reader_.push(std::span(pieces_[1]).subspan(half())).has_value());
  copy_.reset();
  const auto none = reader_.finish();
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().code, Code::invalid_argument);
}

TEST_F(HalfGiven, MayNotBeAnotherEngines) {
  TinyModel larger = tiny_model_named("qwen2-q8_0");
  larger.n_layers = 3;
  const auto other = load_bytes(build_tiny_model(larger), small(1024));
  ASSERT_NE(other, nullptr);
  Session session(*other);
  EXPECT_EQ(give(*engine_, session, pieces_[0]).error().code, Code::invalid_argument);
}

}  // namespace
}  // namespace sluice
