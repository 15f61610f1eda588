// What sessions may take of the memory: the plan has one of them, and the others what is left.
#include <algorithm>

#include "support/engine_fixture.h"
#include "support/session_files.h"

namespace sluice {
namespace {

constexpr uint32_t kFourChunks = 1024;

LoadOptions planned(const std::string& bytes, LoadOptions options = small(kFourChunks)) {
  options.memory_budget = load_bytes(bytes, options)->memory_plan().total();
  return options;
}

std::unique_ptr<Engine> tight_engine(LoadOptions options = small(kFourChunks)) {
  auto engine = load_bytes(tiny_bytes(), planned(tiny_bytes(), std::move(options)));
  EXPECT_NE(engine, nullptr);
  return engine;
}

void expect_refused(const Status& status) {
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(code_name(status.error().code), code_name(Code::out_of_memory));
  for (const char* part : {"needs ", " of the budget only ", " are left", "close other sessions"})
    EXPECT_NE(status.error().message.find(part), std::string::npos) << status.error().message;
  ASSERT_EQ(status.error().facts.size(), 3u);
  EXPECT_EQ(status.error().facts[0].name, "neededBytes");
  EXPECT_EQ(status.error().facts[1].name, "availableBytes");
  EXPECT_EQ(status.error().facts[2].name, "tokens");
  EXPECT_GT(std::get<uint64_t>(status.error().facts[0].value),
            std::get<uint64_t>(status.error().facts[1].value));
}

// Of each kind of model and of numbers.
TEST(SessionMemory, OfAFullContextIsThatOfThePlan) {
  // Of gemma3's windows and of states the plan also has room for places to go back to.
  const std::pair<const char*, double> cases[] = {
      {"llama-odd-f32", 0.9}, {"qwen2-q8_0", 0.9},       {"gpt2-q4_0", 0.9},
      {"gemma3-f16", 0.7},    {"lfm2-f16", 0.5},         {"qwen35-f16", 0.15},
      {"gemma4-f16", 0.5},    {"qwen3moe-odd-bf16", 0.9}};
  for (const auto& [name, share] : cases) {
    SCOPED_TRACE(name);
    LoadOptions options = small(300);
    options.kv_type = "q8_0";
    const auto engine = load_bytes(build_tiny_model(tiny_model_named(name)), options);
    ASSERT_NE(engine, nullptr);
    generate(*engine, some_ids(299, engine->tokenizer().vocab_size()), greedy(1));
    EXPECT_LE(engine->session().held_bytes(), engine->memory_plan().session);
    EXPECT_GT(static_cast<double>(engine->session().held_bytes()),
              share * static_cast<double>(engine->memory_plan().session));
  }
}

TEST(SessionMemory, OneSessionMayFillTheContext) {
  const auto engine = tight_engine();
  EXPECT_EQ(engine->memory_left(), engine->memory_plan().session);
  EXPECT_EQ(generate(*engine, some_ids(1000, 512), greedy(-1)).finish, Finish::context);
  EXPECT_LE(engine->stats().resident_bytes, engine->memory_plan().total());
  EXPECT_LT(engine->memory_left(), engine->memory_plan().session / 10);
  engine->session().reset();
  EXPECT_EQ(generate(*engine, some_ids(1000, 512, 2), greedy(-1)).finish, Finish::context);
}

TEST(SessionMemory, AFurtherSessionGetsWhatIsLeft) {
  const auto engine = tight_engine();
  const std::vector<TokenId> half = some_ids(500, 512), all = some_ids(1000, 512, 2);
  const std::vector<TokenId> expected = generate(*tiny_engine(kFourChunks), half, greedy(3)).ids();
  {
    Session first(*engine), second(*engine);
    generate(first, half, greedy(2));
    EXPECT_EQ(generate(second, half, greedy(3)).ids(), expected);
    const uint64_t held = engine->stats().resident_bytes;
    expect_refused(second.start(all, greedy(1)));
    EXPECT_FALSE(second.running());
    expect_refused(second.start_logits(all, 0));
    Session third(*engine);
    expect_refused(third.start(half, greedy(1)));
    // Nothing was taken, and what they have is as before.
    EXPECT_EQ(engine->stats().resident_bytes, held);
    EXPECT_LE(held, engine->memory_plan().total());
    second.truncate(500);
    EXPECT_EQ(generate(second, half, greedy(3)).ids(), expected);
    EXPECT_EQ(second.stats().reused_tokens, 499);
  }
  EXPECT_EQ(engine->memory_left(), engine->memory_plan().session);
  EXPECT_EQ(generate(*engine, all, greedy(1)).ids().size(), 1u);
}

TEST(SessionMemory, ThatIsAskedForBeforehandIsPlanned) {
  LoadOptions options = small(kFourChunks);
  options.sessions = 2;
  const auto engine = tight_engine(options);
  Session other(*engine);
  for (Session* session : {&engine->session(), &other})
    EXPECT_EQ(generate(*session, some_ids(1000, 512), greedy(-1)).finish, Finish::context);
  EXPECT_LE(engine->stats().resident_bytes, engine->memory_plan().total());
  for (const int32_t wrong : {0, 65, -1}) {
    options.sessions = wrong;
    EXPECT_EQ(Engine::create(options, {0}).error().code, Code::invalid_argument);
  }
}

// A text that grows beyond what is left ends; the session has what it had.
TEST(SessionMemory, ATextThatGrowsBeyondItEnds) {
  const auto engine = tight_engine();
  generate(*engine, some_ids(760, 512), greedy(1));  // three chunks; there are four
  Session session(*engine);
  ASSERT_TRUE(session.start(some_ids(250, 512), greedy(-1)).has_value());
  std::vector<TokenId> written;
  const auto finish = drive(session, [&](const Event& event) {
    if (event.kind == Event::Kind::token) written.push_back(event.id);
    return written.size() <= 20;
  });
  ASSERT_FALSE(finish.has_value());
  expect_refused(std::unexpected(finish.error()));
  EXPECT_EQ(written.size(), 7u);  // the last one has no place for its state
  EXPECT_EQ(session.tokens().size(), 256u);
  EXPECT_EQ(session.written().size(), 257u);
  EXPECT_LE(engine->stats().resident_bytes, engine->memory_plan().total());
}

TEST(SessionMemory, OfAllPositionsLogitsCounts) {
  const std::vector<TokenId> ids = some_ids(900, 512);
  const auto engine = tight_engine();
  expect_refused(engine->session().start_logits(ids, 0, true));
  EXPECT_TRUE(engine->session().logits().empty());
  EXPECT_NE(hash_of(*engine, ids), "");

  LoadOptions options = small(kFourChunks);
  options.logit_positions = 900;
  const auto planned = tight_engine(options);
  ASSERT_TRUE(planned->session().start_logits(ids, 0, true).has_value());
  finish_run(*planned);
  EXPECT_EQ(planned->session().logits().size(), 900u * 512u);
  EXPECT_LE(planned->stats().resident_bytes, planned->memory_plan().total());
  const uint64_t held = planned->session().held_bytes();
  // The next run gives them back.
  generate(*planned, ids, greedy(1));
  EXPECT_TRUE(planned->session().logits().empty());
  EXPECT_EQ(planned->session().held_bytes(), held - 899u * 512u * 4u);
  for (const int64_t wrong : {int64_t{0}, (int64_t{1} << 20) + 1}) {
    options.logit_positions = wrong;
    EXPECT_EQ(Engine::create(options, {0}).error().code, Code::invalid_argument);
  }
}

// Another session takes what was left between a start and its first step.
TEST(SessionMemory, ThatIsRefusedAtAStepLeavesTheSessionAsItWas) {
  const auto engine = tight_engine();
  Session one(*engine), other(*engine);
  const std::vector<TokenId> text = some_ids(200, 512);
  generate(one, text, greedy(1));
  ASSERT_TRUE(one.start(some_ids(700, 512, 2), greedy(1)).has_value());
  generate(other, some_ids(500, 512, 3), greedy(1));
  const Result<Event> event = one.step();
  ASSERT_FALSE(event.has_value());
  expect_refused(std::unexpected(event.error()));
  EXPECT_TRUE(std::ranges::equal(one.tokens(), text));
  EXPECT_EQ(generate(one, text, greedy(1)).ids().size(), 1u);
  EXPECT_EQ(one.stats().reused_tokens, 199);
}

// The logits of many positions are freed by the next run before that takes memory.
TEST(SessionMemory, OfLogitsIsFreeForTheNextRun) {
  const auto engine = tight_engine();
  // So many rows fit as long as the text is short.
  ASSERT_TRUE(engine->session().start_logits(some_ids(20, 512), 0, true).has_value());
  finish_run(*engine);
  EXPECT_EQ(engine->session().logits().size(), 20u * 512u);
  EXPECT_EQ(generate(*engine, some_ids(1000, 512), greedy(-1)).finish, Finish::context);
  EXPECT_LE(engine->stats().resident_bytes, engine->memory_plan().total());
}

// Clones share; what they don't share counts.
TEST(SessionMemory, OfClonesIsCountedOnce) {
  const auto engine = tight_engine();
  Session session(*engine);
  const std::vector<TokenId> prompt = some_ids(500, 512);
  generate(session, prompt, greedy(1));
  const uint64_t left = engine->memory_left();
  const auto clone = session.clone();
  ASSERT_TRUE(clone.has_value());
  EXPECT_EQ(engine->memory_left(), left);
  std::vector<TokenId> other = some_ids(500, 512, 2);
  EXPECT_EQ(generate(**clone, other, greedy(1)).ids().size(), 1u);
  EXPECT_LT(engine->memory_left(), left);
  const auto third = session.clone();
  ASSERT_TRUE(third.has_value());
  expect_refused((*third)->start(some_ids(500, 512, 3), greedy(1)));
}

// Of layers with a window a session holds what tokens to come see, the same at the ends of the last
// two prompts, and what the allowance for other places to go back to permits. The figures are in
// the report: held bytes, those of them for such places, and those of all positions.
TEST(SessionMemory, OfWindowsIsThatOfWhatIsSeen) {
  constexpr int64_t kWindow = 512, kChunk = 256, kEnds[] = {1500, 3900, 4095};
  TinyModel tiny = tiny_model_named("gemma3-f32");
  tiny.n_layers = 26;
  tiny.window = kWindow;
  tiny.n_heads = tiny.n_kv_heads = 1;
  tiny.head_dim = 64;
  const std::string bytes = build_tiny_model(tiny);
  const uint64_t layer_chunk = 2 * 64 * 2 * kChunk;  // keys and values in f16
  const uint64_t all = 26 * 16 * layer_chunk;
  uint64_t chunks = 0, last = 0;  // of a layer with a window: all, and what the end needs
  for (int64_t begin = 0; begin < 4096; begin += kChunk) {
    const auto seen = [&](int64_t end) { return begin < end && begin + kChunk > end - kWindow; };
    chunks += std::ranges::any_of(kEnds, seen);
    last += seen(kEnds[2]);
  }
  const uint64_t least = 4 * 16 * layer_chunk + 22 * chunks * layer_chunk;
  const auto held_with = [&](uint64_t snapshot_memory) {
    LoadOptions options = with("", 2);
    options.context_size = 4096;
    options.snapshot_memory = snapshot_memory;
    const auto engine = load_bytes(bytes, options);
    std::vector<TokenId> text = some_ids(3900, 512);
    auto session = std::make_unique<Session>(*engine);
    generate(*session, std::span(text).first(1500), greedy(30));
    std::ranges::copy(session->written(), text.begin());
    EXPECT_EQ(generate(*session, text, greedy(-1)).finish, Finish::context);
    EXPECT_EQ(session->stats().reused_tokens, 1529);
    EXPECT_EQ(session->tokens().size(), 4095u);
    EXPECT_LE(session->held_bytes(), engine->memory_plan().session);
    // Of a clone there is neither a pass nor logits.
    const auto clone = session->clone();
    session.reset();
    return (*clone)->held_bytes();
  };
  const uint64_t few = held_with(0), some = held_with(5'000'000), many = held_with(64 << 20);
  EXPECT_EQ(few, least);
  EXPECT_GT(some, few);
  EXPECT_LE(some, few + 5'000'000);
  EXPECT_GT(many, few);
  EXPECT_LT(many, all);
  RecordProperty("held", std::to_string(few));
  RecordProperty("held_for_the_last_two_prompts",
                 std::to_string(22 * (chunks - last) * layer_chunk));
  RecordProperty("held_with_5_MB_for_marks", std::to_string(some));
  RecordProperty("held_with_64_MB_for_marks", std::to_string(many));
  RecordProperty("of_all_positions", std::to_string(all));
}

// What is being saved and restored is a session's, too.
TEST(SessionMemory, OfFilesCounts) {
  const auto engine = tight_engine();
  auto session = std::make_unique<Session>(*engine);
  generate(*session, some_ids(600, 512), greedy(1));
  const Bytes file = saved(*engine, *session);
  const uint64_t chunks = 3 * engine->memory_plan().kv / 4;
  const auto in_use = [&] { return engine->memory_plan().session - engine->memory_left(); };
  auto writer = *session->save();
  session.reset();
  EXPECT_EQ(in_use(), chunks);
  {
    SessionReader reader(*engine, file.size());
    ASSERT_TRUE(reader.push(file).has_value());
    EXPECT_EQ(in_use(), 2 * chunks);
  }
  writer.reset();
  EXPECT_EQ(in_use(), 0u);
  generate(*engine, some_ids(900, 512, 2), greedy(1));
  SessionReader reader(*engine, file.size());
  expect_refused(reader.push(file));
}

// A file may have more of layers with a window than a session keeps.
TEST(SessionMemory, OfAFileWithAllStateIsCheckedAsItComes) {
  constexpr uint32_t kTokens = 4000, kSteps = (kTokens + 255) / 256;
  LoadOptions options = small(4096);
  options.kv_type = "f32";
  options.snapshot_memory = 0;
  const std::string bytes = build_tiny_model(tiny_model_named("gemma3-f32"));
  const auto roomy = load_bytes(bytes, options);
  generate(*roomy, some_ids(kTokens, 512), greedy(0));
  const Bytes now = saved(*roomy, roomy->session());
  Bytes file(now.begin(), now.begin() + kSessionHeaderBytes + 4 * kTokens);
  file.resize(file.size() + kPromptEndBytes);  // no ends of prompts
  file.resize(file.size() + kSteps, 1);        // all state is there
  const uint64_t chunk =
      Session(*roomy).piece_bytes() - (kSessionHeaderBytes + 4 * 256) - (kPromptEndBytes + 1) - 8;
  file.resize(file.size() + chunk / 256 * kTokens + 8);
  put<uint64_t>(file, 16, file.size());
  hash_again(file);
  EXPECT_NE(restored(*roomy, file), nullptr);
  const auto engine = load_bytes(bytes, planned(bytes, options));
  identify(*engine);
  SessionReader reader(*engine, file.size());
  Status pushed;
  for (size_t at = 0; pushed && at < file.size(); at += 100'000) {
    pushed = reader.push(std::span(file).subspan(at, std::min(file.size() - at, size_t{100'000})));
    EXPECT_LE(engine->stats().resident_bytes, engine->memory_plan().total());
  }
  expect_refused(pushed);
  EXPECT_EQ(engine->memory_left(), engine->memory_plan().session);
}

// Of recurrent layers a session holds four states: two for the last prompts, one at its end and one
// before that. A file may have one for each position.
TEST(SessionMemory, OfRecurrentStatesIsThatOfThePlacesToGoBackTo) {
  constexpr uint64_t kState = 4 * 4 * 128;  // four layers
  constexpr size_t kTokens = 1000;
  LoadOptions options = small(kFourChunks);
  options.snapshot_memory = 0;
  const std::string bytes = build_tiny_model(tiny_model_named("lfm2-f32"));
  const auto roomy = load_bytes(bytes, options);
  const uint64_t chunk = 4 * 16 * 2 * uint64_t{kKvChunk};  // of two KV heads, in f16
  auto session = std::make_unique<Session>(*roomy);
  for (const size_t n : {300, 600, 1000}) {
    std::vector<TokenId> text = session->written();
    std::ranges::copy(some_ids(n - text.size(), 512), std::back_inserter(text));
    generate(*session, text, greedy(9));
  }
  const auto clone = session->clone();
  session.reset();
  EXPECT_EQ((*clone)->held_bytes(), 4 * chunk + 4 * kState);
  (*clone)->truncate(kTokens);

  options.memory_budget = load_bytes(bytes, options)->memory_plan().total();
  const auto engine = load_bytes(bytes, options);
  identify(*engine);
  Bytes file = saved(*roomy, **clone);
  const auto list = file.begin() + kSessionHeaderBytes + 4 * kTokens + kPromptEndBytes;
  std::fill_n(list, kTokens / 8, uint8_t{0xff});
  file.resize(kSessionHeaderBytes + 4 * kTokens + kPromptEndBytes + 4 * 32 +
              kTokens * (chunk / kKvChunk + kState) + 8);
  std::fill(file.begin() + kSessionHeaderBytes + 4 * kTokens + kPromptEndBytes + 4 * 32, file.end(),
            uint8_t{0});
  put<uint64_t>(file, 16, file.size());
  hash_again(file);
  EXPECT_NE(restored(*roomy, file), nullptr);
  SessionReader reader(*engine, file.size());
  Status pushed;
  for (size_t at = 0; pushed && at < file.size(); at += 10'000) {
    pushed = reader.push(std::span(file).subspan(at, std::min(file.size() - at, size_t{10'000})));
    EXPECT_LE(engine->stats().resident_bytes, engine->memory_plan().total());
  }
  expect_refused(pushed);
  EXPECT_EQ(engine->memory_left(), engine->memory_plan().session);
}

}  // namespace
}  // namespace sluice
