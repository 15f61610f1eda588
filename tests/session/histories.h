// Random histories of sessions of a model whose past can't be cut anywhere: whatever came before,
// and from wherever a run goes on, it computes the same numbers as a new session does.
#pragma once

#include <algorithm>
#include <array>
#include <random>

#include "support/sanitized.h"
#include "support/session_files.h"

namespace sluice {

inline constexpr uint32_t kContext = 3000;

struct Setting {
  std::string kv_type;
  int32_t threads;
  uint32_t window;
  uint64_t snapshot_memory;
  bool least = false;  // streamed, under the least budget; one session
  bool recurrent = false;
};

// A session, and what the test knows of it.
struct Guest {
  std::unique_ptr<Session> session;
  std::vector<TokenId> prompt;     // the last one
  std::vector<size_t> ends;        // of the last two prompts, in the past
  size_t whole = 0;                // a run can go on behind so many tokens
  std::vector<Bytes> pieces;       // as a page keeps them
  std::vector<TokenId> of_pieces;  // their tokens
  bool recurrent = false;

  void forget_behind(size_t n) {
    std::erase_if(ends, [n](size_t end) { return end > n; });
    whole = std::min(whole, n);
  }
  void prompt_ended(size_t end) {
    forget_behind(end - 1);
    ends.push_back(end);
    if (ends.size() > 2) ends.erase(ends.begin());
  }
  // The least that a prompt must reuse of which the past has `same` tokens. A recurrent state is
  // kept before a prompt's last token.
  size_t least_reused(size_t same) const {
    size_t least = 0;
    for (const size_t end : ends)
      if (same + 1 >= end) least = recurrent ? end - 1 : std::min(end, same);
    return same >= whole ? std::max(least, whole) : least;
  }
};

class Histories {
 public:
  Histories(const std::string& file, const Setting& setting, uint32_t seed)
      : setting_(setting), random_(seed) {
    LoadOptions options = with("", 1, setting.kv_type);
    options.context_size = kContext;
    options.snapshot_memory = setting.snapshot_memory;
    afresh_ = load_bytes(file, options);
    options.threads = setting.threads;
    engine_ = load_bytes(file, options);
    if (setting.least) {
      options.memory_budget = engine_->memory_plan().least;
      const TemporaryFile on_disk(file);
      engine_ = open_file(on_disk.path(), options);
    }
    guests_.resize(setting.least ? 1 : 2);
    for (Guest& guest : guests_) {
      guest.session = std::make_unique<Session>(*engine_);
      guest.recurrent = setting.recurrent;
    }
  }

  void step() {
    Guest& guest = guests_[below(guests_.size())];
    switch (below(12)) {
      case 0:
        truncate(guest);
        break;
      case 1:
        cancelled_turn(guest);
        break;
      case 2:
        clone(guest);
        break;
      case 3:
        save_whole(guest);
        break;
      case 4:
      case 5:
        save_pieces(guest);
        break;
      case 6:
        compute_logits(guest);
        break;
      default:
        turn(guest);
    }
  }
  int64_t reused() const { return reused_; }

 private:
  size_t below(size_t n) { return static_cast<size_t>(random_() % n); }
  std::vector<TokenId> new_ids(size_t n) {
    return some_ids(n, engine_->tokenizer().vocab_size(), static_cast<uint32_t>(random_()));
  }

  // A next message, the last one again, the last one changed, an earlier one, or another text.
  std::vector<TokenId> next_prompt(const Guest& guest) {
    const std::vector<TokenId> past = guest.session->written();
    size_t kept = past.size();
    switch (below(8)) {
      case 0:
        if (!guest.prompt.empty()) return guest.prompt;
        break;
      case 1:
        if (guest.ends.size() == 2) kept = guest.ends[0] + below(past.size() - guest.ends[0] + 1);
        break;
      case 2:
        kept = below(past.size() + 1);
        break;
      case 3:
        kept -= std::min<size_t>(below(30), kept);
        break;
      case 4:
        if (below(4) == 0) kept = 0;
    }
    constexpr size_t kMost = kContext - 40;
    if (kept + 1 > kMost) kept = kMost / 3;
    const size_t room = kMost - kept;
    const size_t more = 1 + below(below(3) == 0 ? room : std::min<size_t>(room, 300));
    std::vector<TokenId> prompt(past.begin(), past.begin() + static_cast<ptrdiff_t>(kept));
    std::ranges::copy(new_ids(more), std::back_inserter(prompt));
    return prompt;
  }

  // Steps to the end, or cancels after some steps. Returns the tokens.
  std::vector<Event> run(Session& session, size_t steps = SIZE_MAX) {
    std::vector<Event> tokens;
    const auto finish = drive(session, [&](Event& event) {
      if (event.kind == Event::Kind::waiting) {
        EXPECT_TRUE(engine_->wait().has_value());
        return true;
      }
      if (event.kind == Event::Kind::token) tokens.push_back(std::move(event));
      return --steps > 0;
    });
    EXPECT_TRUE(finish.has_value()) << finish.error().message;
    return tokens;
  }

  // What the run that was begun reuses.
  void check_reused(const Guest& guest, std::span<const TokenId> past,
                    std::span<const TokenId> prompt) {
    const auto shared = std::ranges::mismatch(past, prompt.first(prompt.size() - 1)).in1;
    const auto same = static_cast<size_t>(shared - past.begin());
    const auto reused = static_cast<size_t>(guest.session->stats().reused_tokens);
    EXPECT_LE(reused, same);
    EXPECT_GE(reused, guest.least_reused(same)) << "of " << same;
    reused_ += guest.session->stats().reused_tokens;
  }

  void turn(Guest& guest) {
    const std::vector<TokenId> prompt = next_prompt(guest);
    const std::vector<TokenId> past(guest.session->tokens().begin(), guest.session->tokens().end());
    GenerateOptions options = drawing(1 + static_cast<int64_t>(below(30)), random_());
    options.top_logprobs = 3;
    const Status started = guest.session->start(prompt, options);
    ASSERT_TRUE(started.has_value()) << started.error().message;
    check_reused(guest, past, prompt);
    guest.forget_behind(static_cast<size_t>(guest.session->stats().reused_tokens));
    const std::vector<Event> found = run(*guest.session);
    Session afresh(*afresh_);
    const std::vector<Event> expected = generate(afresh, prompt, options).tokens;
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) {
      ASSERT_EQ(found[i].id, expected[i].id) << i;
      ASSERT_EQ(found[i].logprob, expected[i].logprob) << i;
      ASSERT_EQ(found[i].top, expected[i].top) << i;
    }
    guest.prompt = prompt;
    guest.prompt_ended(prompt.size());
    guest.whole = guest.session->tokens().size();
  }

  void cancelled_turn(Guest& guest) {
    const std::vector<TokenId> prompt = next_prompt(guest);
    const std::vector<TokenId> past(guest.session->tokens().begin(), guest.session->tokens().end());
    const Status started = guest.session->start(prompt, greedy(5));
    ASSERT_TRUE(started.has_value()) << started.error().message;
    check_reused(guest, past, prompt);
    const auto reused = static_cast<size_t>(guest.session->stats().reused_tokens);
    run(*guest.session, 1 + below(25));
    const size_t n = guest.session->tokens().size();
    guest.forget_behind(reused);
    if (n >= prompt.size()) {
      guest.prompt = prompt;
      guest.prompt_ended(prompt.size());
    } else {
      EXPECT_EQ(n, reused);
    }
    guest.whole = n;
  }

  void truncate(Guest& guest) {
    const size_t tokens = guest.session->tokens().size();
    const size_t n =
        below(2) == 0 ? below(tokens + 1) : tokens - std::min<size_t>(below(9), tokens);
    guest.session->truncate(n);
    EXPECT_EQ(guest.session->tokens().size(), n);
    if (n < guest.whole) guest.whole = 0;
    guest.forget_behind(n);
  }

  // A clone takes the place of the other session.
  void clone(Guest& guest) {
    if (guests_.size() == 1) return turn(guest);
    auto copy = guest.session->clone();
    ASSERT_TRUE(copy.has_value()) << copy.error().message;
    Guest& other = guests_[&guest == &guests_[0] ? 1 : 0];
    other = {std::move(*copy), guest.prompt, guest.ends, guest.whole, {}, {}, setting_.recurrent};
  }

  void save_whole(Guest& guest) {
    const Bytes file = saved(*engine_, *guest.session);
    guest.session.reset();
    guest.session = restored(*engine_, file, 5000);
    ASSERT_NE(guest.session, nullptr);
    EXPECT_EQ(saved(*engine_, *guest.session), file);
  }

  // A store keeps whole pieces as they were when it wrote them. Some may be missing at the end.
  void save_pieces(Guest& guest) {
    identify(*engine_);
    const std::vector<TokenId> written = guest.session->written();
    const auto same =
        static_cast<size_t>(std::ranges::mismatch(written, guest.of_pieces).in1 - written.begin());
    if (setting_.least || below(2) == 0) guest.pieces.clear();
    guest.pieces.resize(std::min(guest.pieces.size(), same / kPiecePositions));
    // One that was written without its state lacks it, though the session may have it again.
    const bool older = !guest.pieces.empty();
    for (size_t i = guest.pieces.size(); i < guest.session->pieces(); ++i) {
      const auto writer = guest.session->save_piece(i);
      ASSERT_TRUE(writer.has_value()) << writer.error().message;
      Bytes& piece = guest.pieces.emplace_back((*writer)->bytes());
      ASSERT_EQ((*writer)->next(piece), piece.size());
    }
    guest.of_pieces = written;
    if (below(2) == 0) return;
    const bool all = below(3) > 0;
    if (!all) guest.pieces.resize(below(guest.pieces.size() + 1));
    guest.session = std::make_unique<Session>(*engine_);
    for (const Bytes& piece : guest.pieces) {
      SessionReader reader(*engine_, piece.size(), guest.session.get());
      const Status pushed = reader.push(piece);
      ASSERT_TRUE(pushed.has_value()) << pushed.error().message;
      ASSERT_TRUE(reader.finish().has_value());
    }
    if (all) {
      EXPECT_EQ(guest.session->written(), written);
    }
    // A piece has one recurrent state.
    if (setting_.recurrent) guest.ends.clear();
    if (all && !older) return;
    guest.of_pieces = guest.session->written();
    guest.ends.clear();
    guest.whole = 0;
  }

  void compute_logits(Guest& guest) {
    const std::vector<TokenId> past = guest.session->written();
    // Singly, in odd batches, and at once.
    const int64_t batch = std::to_array<int64_t>({1, 17, 300, 0})[below(4)];
    std::vector<TokenId> ids = new_ids(1 + below(batch == 1 ? 700 : 1500));
    std::ranges::copy(std::span(past).first(std::min(past.size(), ids.size())), ids.begin());
    const Status started = guest.session->start_logits(ids, batch);
    ASSERT_TRUE(started.has_value()) << started.error().message;
    run(*guest.session);
    EXPECT_EQ(logits_hash(guest.session->logits()), hash_of(*afresh_, ids));
    guest.ends = {ids.size()};
    guest.prompt = ids;
    guest.whole = ids.size();
  }

  Setting setting_;
  std::mt19937 random_;
  std::unique_ptr<Engine> afresh_, engine_;
  std::vector<Guest> guests_;
  int64_t reused_ = 0;
};

inline void play(const std::string& file, const Setting& setting, uint32_t seed, int steps) {
  Histories histories(file, setting, seed);
  for (int i = 0; i < rounds(steps); ++i) {
    SCOPED_TRACE(testing::Message()
                 << "window " << setting.window << ", seed " << seed << ", step " << i);
    histories.step();
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(histories.reused(), 0);
}

inline constexpr uint64_t kDefaultMarks = 64 << 20;

}  // namespace sluice
