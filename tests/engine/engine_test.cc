// Tests of an engine's behaviour: ends, errors, arriving weights, memory. engine_text_test.cc tests
// the text, and hash_test.cc the numbers.
#include <chrono>
#include <functional>
#include <limits>
#include <set>
#include <thread>

#include "base/format.h"
#include "base/stopwatch.h"
#include "engine/decode_rate.h"
#include "ops/rope.h"
#include "reply/format.h"
#include "support/engine_fixture.h"
#include "support/no_more_threads.h"

namespace sluice {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

const std::vector<TokenId> kIds = {5, 80, 17};

void expect_error(const Status& status, Code code) {
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(code_name(status.error().code), code_name(code)) << status.error().message;
  EXPECT_GT(status.error().message.size(), 20u);
}

// --- ends ------------------------------------------------------------------------------

TEST(Ends, WithNothingStartedStepIsDone) {
  const auto engine = tiny_engine();
  const auto event = engine->session().step();
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->kind, Event::Kind::done);
  EXPECT_FALSE(engine->session().running());
}

TEST(Ends, MaxTokensCountsTokens) {
  const auto engine = tiny_engine();
  for (const int n : {0, 1, 2, 7}) {
    const Generated got = generate(*engine, kIds, greedy(n));
    EXPECT_EQ(got.tokens.size(), static_cast<size_t>(n));
    EXPECT_EQ(got.finish, Finish::length);
    EXPECT_EQ(engine->stats().tokens, n);
    EXPECT_FALSE(engine->session().running());
  }
}

TEST(Ends, TheContextIsFull) {
  const auto engine = tiny_engine(32);
  EXPECT_EQ(engine->context_size(), 32u);
  const std::vector<TokenId> prompt = some_ids(10, 512);
  const Generated got = generate(*engine, prompt, greedy(-1));
  EXPECT_EQ(got.finish, Finish::context);
  EXPECT_EQ(got.tokens.size(), 22u);  // prompt and text together are never more than the context
  expect_error(engine->session().start(some_ids(32, 512), greedy(1)), Code::context_full);
  const Status longer = engine->session().start_logits(some_ids(33, 512), 0);
  expect_error(longer, Code::context_full);
  EXPECT_EQ(std::get<uint64_t>(longer.error().facts.at(0).value), 33u);  // tokens
  EXPECT_EQ(std::get<uint64_t>(longer.error().facts.at(1).value), 32u);  // room
  EXPECT_EQ(generate(*engine, some_ids(31, 512), greedy(5)).tokens.size(), 1u);
  EXPECT_EQ(generate(*engine, some_ids(10, 512), greedy(22)).finish, Finish::length);
  EXPECT_NE(hash_of(*engine, some_ids(32, 512)), "");
}

// A model whose end token always wins.
TEST(Ends, AtAnEndTokenUnlessItIsIgnored) {
  TinyModel model = tiny_model_named("qwen2-f32");
  model.n_layers = 1;
  std::string bytes = build_tiny_model(model);
  const auto header = parse_gguf(as_bytes(bytes), bytes.size());
  ASSERT_TRUE(header.has_value());
  const TokenId eos = 510;
  const TensorInfo* embedding = header->find_tensor("token_embd.weight");
  const TensorInfo* norm = header->find_tensor("output_norm.weight");
  const auto floats = [&](const TensorInfo* t, size_t row) {
    return bytes.data() + header->data_offset + t->offset + row * 4 * t->dims[0];
  };
  // The embeddings (tied) have the same direction, and that of the end token is the longest.
  std::vector<float> direction(model.n_embd, 0.25f);
  for (TokenId id = 0; id < 512; ++id) {
    for (float& value : direction) value = id == eos ? 8.0f : 0.25f;
    std::memcpy(floats(embedding, static_cast<size_t>(id)), direction.data(), 4 * model.n_embd);
  }
  for (float& value : direction) value = 1.0f;
  std::memcpy(floats(norm, 0), direction.data(), 4 * model.n_embd);
  for (const char* branch : {"blk.0.attn_output.weight", "blk.0.ffn_down.weight"}) {
    const TensorInfo* t = header->find_tensor(branch);
    std::memset(floats(t, 0), 0, static_cast<size_t>(t->bytes));
  }
  const auto engine = load_bytes(bytes, small());
  ASSERT_NE(engine, nullptr);
  ASSERT_TRUE(engine->tokenizer().is_end(eos));
  GenerateOptions options = greedy(5);
  options.ignore_eos = false;
  const Generated got = generate(*engine, kIds, options);
  EXPECT_EQ(got.finish, Finish::eos);
  EXPECT_TRUE(got.tokens.empty());
  const Generated ignored = generate(*engine, kIds, greedy(5));
  EXPECT_EQ(ignored.finish, Finish::length);
  EXPECT_EQ(ignored.ids(), std::vector<TokenId>(5, eos));
  EXPECT_EQ(ignored.text, "");
}

TEST(Ends, CancelledAtEveryStep) {
  const auto engine = tiny_engine();
  for (int steps = 0; steps < 9; ++steps) {
    ASSERT_TRUE(engine->session().start(some_ids(5, 512), greedy(50)).has_value());
    EXPECT_TRUE(engine->session().running());
    for (int i = 0; i < steps; ++i) ASSERT_TRUE(engine->session().step().has_value());
    engine->session().cancel();
    const auto event = engine->session().step();
    ASSERT_TRUE(event.has_value());
    EXPECT_EQ(event->kind, Event::Kind::done);
    EXPECT_EQ(event->finish, Finish::aborted);
    EXPECT_EQ(event->text, "");
    EXPECT_FALSE(engine->session().running());
    engine->session().reset();
  }
  engine->session().cancel();  // with nothing running it does nothing
  EXPECT_EQ(generate(*engine, kIds, greedy(3)).tokens.size(), 3u);
}

TEST(Ends, LogitsCanBeCancelledToo) {
  const auto engine = tiny_engine();
  const std::string expected = hash_of(*engine, kIds);
  ASSERT_TRUE(engine->session().start_logits(some_ids(40, 512), 1).has_value());
  for (int i = 0; i < 7; ++i) ASSERT_TRUE(engine->session().step().has_value());
  engine->session().cancel();
  EXPECT_EQ(finish_run(*engine).finish, Finish::aborted);
  EXPECT_EQ(hash_of(*engine, kIds), expected);
}

// --- errors ----------------------------------------------------------------------------

TEST(Errors, ASecondStartIsBusyAndDisturbsNothing) {
  const auto engine = tiny_engine();
  const std::vector<TokenId> expected = generate(*engine, kIds, greedy(4)).ids();
  engine->session().reset();
  ASSERT_TRUE(engine->session().start(kIds, greedy(4)).has_value());
  expect_error(engine->session().start(kIds, greedy(4)), Code::busy);
  expect_error(engine->session().start("text", greedy(4)), Code::busy);
  expect_error(engine->session().start_logits(kIds, 0), Code::busy);
  EXPECT_EQ(finish_run(*engine).ids(), expected);
}

TEST(Errors, PromptsThatCannotBe) {
  const auto engine = tiny_engine();
  const std::vector<TokenId> bad[] = {{}, {-1}, {512}, {3, 511, 512}, {INT32_MAX}, {INT32_MIN, 4}};
  for (const std::vector<TokenId>& ids : bad) {
    expect_error(engine->session().start(ids, greedy(1)), Code::invalid_argument);
    expect_error(engine->session().start_logits(ids, 0), Code::invalid_argument);
    EXPECT_FALSE(engine->session().running());
  }
  expect_error(engine->session().start("", greedy(1)),
               Code::invalid_argument);  // no BOS in this vocabulary
  expect_error(engine->session().start_logits(kIds, -1), Code::invalid_argument);
  EXPECT_EQ(generate(*engine, std::vector<TokenId>{511}, greedy(2)).tokens.size(), 2u);
}

// This text has one token per byte, but tokens may have up to 8 bytes: only encoding shows how many
// tokens there are.
TEST(LongTexts, AreEncodedInSlicesAndCanBeCancelled) {
  const auto engine = tiny_engine(250000);
  const std::string text(200000, '\x01');
  ASSERT_TRUE(engine->session().start(text, greedy(1)).has_value());
  EXPECT_TRUE(engine->session().running());
  EXPECT_EQ(engine->stats().prompt_tokens, 0);  // not encoded yet
  expect_error(engine->session().start(text, greedy(1)), Code::busy);
  const auto event = engine->session().step();
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->kind, Event::Kind::working);
  engine->session().cancel();
  EXPECT_EQ(finish_run(*engine).finish, Finish::aborted);
  EXPECT_FALSE(engine->session().running());
  EXPECT_EQ(generate(*engine, "the", greedy(2)).tokens.size(), 2u);

  ASSERT_TRUE(engine->session().start(text, greedy(1)).has_value());
  while (engine->stats().prompt_tokens != 200000) {
    const auto next = engine->session().step();
    ASSERT_TRUE(next.has_value());
    ASSERT_EQ(next->kind, Event::Kind::working);
  }
  engine->session().cancel();
  EXPECT_EQ(finish_run(*engine).finish, Finish::aborted);
}

TEST(LongTexts, AreRefusedAsSoonAsTheContextIsSurelyExceeded) {
  const auto engine = tiny_engine(100000);
  expect_error(engine->session().start(std::string(1000000, '\x01'), greedy(1)),
               Code::context_full);
  EXPECT_FALSE(engine->session().running());
  // The length is not enough to refuse this one, but a part of its ids is.
  ASSERT_TRUE(engine->session().start(std::string(300000, '\x01'), greedy(1)).has_value());
  Result<Event> event = engine->session().step();
  while (event && event->kind == Event::Kind::working) event = engine->session().step();
  ASSERT_FALSE(event.has_value());
  EXPECT_EQ(event.error().code, Code::context_full);
  EXPECT_NE(event.error().message.find("tokens or more"), std::string::npos)
      << event.error().message;
  EXPECT_FALSE(engine->session().running());
  EXPECT_EQ(generate(*engine, "the", greedy(2)).tokens.size(), 2u);
}

TEST(Errors, AnEmptyTextIsFineWhereTheModelHasABeginning) {
  const auto engine = stories();
  ASSERT_NE(engine, nullptr);
  const Generated got = generate(*engine, std::string_view(), greedy(5));
  EXPECT_EQ(got.tokens.size(), 5u);
  EXPECT_EQ(engine->stats().prompt_tokens, 1);
}

TEST(Errors, AbsurdOptionsAreRefused) {
  const auto engine = tiny_engine();
  using Change = std::function<void(GenerateOptions&)>;
  const Change absurd[] = {
      [](auto& o) { o.temperature = kNan; },
      [](auto& o) { o.temperature = -0.5f; },
      [](auto& o) { o.temperature = kInfinity; },
      [](auto& o) { o.top_k = -1; },
      [](auto& o) { o.top_p = kNan; },
      [](auto& o) { o.top_p = -0.1f; },
      [](auto& o) { o.top_p = 1.5f; },
      [](auto& o) { o.min_p = kNan; },
      [](auto& o) { o.min_p = -1; },
      [](auto& o) { o.min_p = 1.5f; },
      [](auto& o) { o.repeat_penalty = kNan; },
      [](auto& o) { o.repeat_penalty = 0; },
      [](auto& o) { o.repeat_penalty = -1; },
      [](auto& o) { o.repeat_penalty = kInfinity; },
      [](auto& o) { o.max_tokens = -2; },
      [](auto& o) { o.max_tokens = INT64_MIN; },
      [](auto& o) { o.top_logprobs = -1; },
      [](auto& o) { o.top_logprobs = 101; },
      [](auto& o) {
        o.stop = {"fine", ""};
      },
      [](auto& o) { o.stop = {"\xff"}; },
      [](auto& o) { o.presence_penalty = kNan; },
      [](auto& o) { o.frequency_penalty = kInfinity; },
      [](auto& o) { o.typical_p = -0.1f; },
      [](auto& o) { o.top_n_sigma = kNan; },
      [](auto& o) { o.xtc_probability = 1.1f; },
      [](auto& o) { o.dry_base = 0.5f; },
      [](auto& o) { o.dry_allowed_length = 0; },
      [](auto& o) { o.dry_penalty_last_n = INT32_MIN; },
      [](auto& o) { o.dry_sequence_breakers = {std::string(65, 'x')}; },
      [](auto& o) {
        o.logit_bias = {{0, kNan}};
      },
      [](auto& o) {
        o.logit_bias = {{-1, 1.f}};
      },
      [](auto& o) {
        o.logit_bias = {{512, 1.f}};
      },  // not in the vocabulary
  };
  for (size_t i = 0; i < std::size(absurd); ++i) {
    SCOPED_TRACE(i);
    GenerateOptions options = greedy(2);
    absurd[i](options);
    expect_error(engine->session().start(kIds, options), Code::invalid_argument);
  }
  EXPECT_EQ(generate(*engine, kIds, greedy((int64_t{1} << 53) - 1)).finish, Finish::context);
}

TEST(Errors, AbsurdLoadOptionsAreRefused) {
  using Change = std::function<void(LoadOptions&)>;
  const Change absurd[] = {
      [](auto& o) { o.threads = -1; },
      [](auto& o) { o.threads = 100000; },
      [](auto& o) { o.threads = INT32_MIN; },
      [](auto& o) { o.context_size = (1u << 20) + 1; },
      [](auto& o) { o.context_size = ~0u; },
      [](auto& o) { o.kernels = "abacus"; },
      [](auto& o) { o.kernels = std::string(5000, 'x'); },
  };
  const auto header = parse_gguf(as_bytes(tiny_bytes()), tiny_bytes().size());
  ASSERT_TRUE(header.has_value());
  for (size_t i = 0; i < std::size(absurd); ++i) {
    SCOPED_TRACE(i);
    LoadOptions options;
    absurd[i](options);
    const auto engine = Engine::create(options, {0});
    ASSERT_FALSE(engine.has_value());
    EXPECT_EQ(engine.error().code, Code::invalid_argument);
    EXPECT_LT(engine.error().message.size(), 400u);
    if (!options.kernels.empty()) {
      EXPECT_EQ(engine.error().message.find("the option kernels is '"), 0u);
    }
    EXPECT_FALSE(plan_memory(*header, options).has_value());
  }
}

// --- arriving weights ------------------------------------------------------------------

TEST(Arriving, ThePromptIsComputedAsTheLayersCome) {
  const auto whole = tiny_engine();
  ASSERT_NE(whole, nullptr);
  const std::vector<TokenId> prompt = some_ids(20, 512);
  const std::vector<TokenId> expected = generate(*whole, prompt, greedy(8)).ids();

  const std::string& bytes = tiny_bytes();
  auto created = Engine::create(small(), {bytes.size()});
  ASSERT_TRUE(created.has_value());
  Engine& engine = **created;
  Stream stream(engine);
  size_t at = 0;
  const auto bring = [&](size_t n) {
    n = std::min(n, bytes.size() - at);
    ASSERT_TRUE(stream.push(as_bytes(std::string_view(bytes).substr(at, n))).has_value());
    at += n;
  };
  while (!engine.has_tokenizer()) bring(1000);
  EXPECT_FALSE(engine.loaded());
  ASSERT_TRUE(engine.session().start(prompt, greedy(8)).has_value());
  size_t worked_early = 0;
  int32_t layers_ready = 0;
  std::vector<TokenId> got;
  const auto finish = drive(engine.session(), [&](const Event& event) {
    if (event.kind == Event::Kind::token) got.push_back(event.id);
    if (event.kind == Event::Kind::working && !engine.loaded()) ++worked_early;
    if (event.kind != Event::Kind::waiting) return;
    ASSERT_FALSE(engine.loaded());
    const LoadProgress before = engine.progress();
    EXPECT_EQ(before.loaded, at);
    EXPECT_EQ(before.total, bytes.size());
    EXPECT_EQ(before.layers_total, 2);
    EXPECT_GE(before.layers_ready, layers_ready);
    layers_ready = before.layers_ready;
    bring(500);
  });
  ASSERT_TRUE(finish.has_value());
  EXPECT_GE(worked_early, 1u);
  EXPECT_EQ(got, expected);
  ASSERT_TRUE(stream.end().has_value());
  EXPECT_EQ(engine.progress().layers_ready, 2);
}

TEST(Arriving, WhatWaitsCanBeCancelled) {
  auto created = Engine::create(small(), {0});
  ASSERT_TRUE(created.has_value());
  Engine& engine = **created;
  Stream stream(engine);
  const size_t half = tiny_bytes().size() / 2;
  ASSERT_TRUE(stream.push(as_bytes(tiny_bytes()).first(half)).has_value());
  ASSERT_TRUE(engine.has_tokenizer());
  ASSERT_TRUE(engine.session().start(kIds, greedy(3)).has_value());
  const auto finish = drive(engine.session(), [](const Event& event) {
    EXPECT_NE(event.kind, Event::Kind::token);
    return event.kind != Event::Kind::waiting;
  });
  EXPECT_EQ(finish.value_or(Finish::eos), Finish::aborted);
  const Status cut = stream.end();
  expect_error(cut, Code::bad_file);
  ASSERT_TRUE(stream.push(as_bytes(tiny_bytes()).subspan(half)).has_value());
  EXPECT_TRUE(engine.loaded());
  EXPECT_EQ(generate(engine, kIds, greedy(3)).ids(),
            generate(*tiny_engine(), kIds, greedy(3)).ids());
}

TEST(Arriving, BytesAfterTheDataAreIgnored) {
  const auto engine = load_bytes(tiny_bytes() + std::string(200000, 'x'), small());
  ASSERT_NE(engine, nullptr);
  EXPECT_EQ(hash_of(*engine, kIds), hash_of(*tiny_engine(), kIds));
}

TEST(Arriving, AFileThatIsCutShortSaysSo) {
  for (const size_t bytes :
       {size_t{0}, size_t{3}, size_t{100}, size_t{9000}, tiny_bytes().size() - 1}) {
    auto engine = Engine::create(small(), {0});
    ASSERT_TRUE(engine.has_value());
    Stream stream(**engine);
    ASSERT_TRUE(stream.push(as_bytes(tiny_bytes()).first(bytes)).has_value());
    expect_error(stream.end(), Code::bad_file);
    EXPECT_FALSE((*engine)->loaded());
  }
}

// --- the cache -------------------------------------------------------------------------

TEST(Cache, IsReusedUntilReset) {
  const auto engine = tiny_engine();
  const std::vector<TokenId> prompt = some_ids(30, 512);
  const auto first = generate(*engine, prompt, greedy(4)).ids();
  EXPECT_EQ(engine->stats().reused_tokens, 0);
  EXPECT_EQ(generate(*engine, prompt, greedy(4)).ids(), first);
  EXPECT_EQ(engine->stats().reused_tokens, 29);  // the last token is run again for its logits
  EXPECT_EQ(engine->stats().prompt_tokens, 30);
  // The prompt, its text and one more token: the generated tokens are reused, too.
  std::vector<TokenId> longer = prompt;
  longer.insert(longer.end(), first.begin(), first.end());
  longer.push_back(7);
  generate(*engine, longer, greedy(1));
  EXPECT_EQ(engine->stats().reused_tokens, 33);
  engine->session().reset();
  EXPECT_EQ(generate(*engine, prompt, greedy(4)).ids(), first);
  EXPECT_EQ(engine->stats().reused_tokens, 0);
}

TEST(Cache, LogitsLeaveItFilled) {
  const auto engine = tiny_engine();
  const std::vector<TokenId> prompt = some_ids(30, 512);
  hash_of(*engine, prompt, 7);
  generate(*engine, prompt, greedy(1));
  EXPECT_EQ(engine->stats().reused_tokens, 29);
}

// --- figures ---------------------------------------------------------------------------

TEST(Figures, SayWhatRan) {
  const auto engine = tiny_engine(100);
  ASSERT_NE(engine, nullptr);
  EXPECT_GT(engine->stats().load_ms, 0);
  GenerateOptions options = greedy(6);
  options.seed = 77;
  generate(*engine, some_ids(20, 512), options);
  const Stats stats = engine->stats();
  EXPECT_EQ(stats.threads, 1);
  EXPECT_EQ(stats.context_size, 100u);
  EXPECT_EQ(stats.prompt_tokens, 20);
  EXPECT_EQ(stats.tokens, 6);
  EXPECT_EQ(stats.seed, 77u);
  EXPECT_GT(stats.ttft_ms, 0);
  EXPECT_GT(stats.prompt_tps, 0);
  EXPECT_GT(stats.tps, 0);
  EXPECT_GT(stats.bytes_per_token, 512u * 64u);  // at least the head, at 8 bits and more
  EXPECT_LT(stats.bytes_per_token, tiny_bytes().size());
  EXPECT_GT(stats.resident_bytes, stats.bytes_per_token);
}

TEST(Figures, WaitingForWeightsIsNoComputing) {
  const std::string& bytes = tiny_bytes();
  const auto created = Engine::create(small(), {bytes.size()});
  ASSERT_TRUE(created.has_value());
  Engine& engine = **created;
  Stream stream(engine);
  size_t at = 0;
  const auto bring = [&](size_t n) {
    n = std::min(n, bytes.size() - at);
    ASSERT_TRUE(stream.push(as_bytes(std::string_view(bytes).substr(at, n))).has_value());
    at += n;
  };
  while (!engine.has_tokenizer()) bring(1000);
  const Stopwatch all;
  double waited = 0;  // ms, from outside
  ASSERT_TRUE(engine.session().start(some_ids(20, 512), greedy(3)).has_value());
  const auto finish = drive(engine.session(), [&](const Event& event) {
    const Stopwatch pause;
    if (event.kind != Event::Kind::waiting) return;
    EXPECT_GE(engine.stats().waited_ms, waited);
    bring(500);
    waited += 1e3 * pause.seconds();
  });
  ASSERT_TRUE(finish.has_value());
  const Stats stats = engine.stats();
  EXPECT_GT(waited, 0);
  EXPECT_GE(stats.waited_ms, waited);
  EXPECT_LE(stats.ttft_ms + stats.waited_ms, 1e3 * all.seconds());
  EXPECT_GE(stats.prompt_tps, 20 / stats.ttft_ms * 1e3);
  generate(engine, kIds, greedy(1));
  EXPECT_EQ(engine.stats().waited_ms, 0);
}

// A vocabulary in which a kilobyte of "x" is one token: its texts take long to encode and not long
// to compute.
std::unique_ptr<Engine> long_tokens() {
  GgufBuilder file = tiny_model();
  std::vector<std::string> tokens = tiny_tokens();
  for (size_t i = 0; i < 10; ++i) tokens[286 + i] = std::string(size_t{2} << i, 'x');
  file.kv_strings("tokenizer.ggml.tokens", tokens);
  return load_bytes(file.build(), small(1000));
}

TEST(Figures, TheFirstTokensTimeHasTheEncodingOfThePrompt) {
  constexpr std::chrono::milliseconds kPause(40);
  const auto engine = long_tokens();
  ASSERT_NE(engine, nullptr);
  const std::string text(100 << 10, 'x');
  generate(*engine, kIds, greedy(2));
  ASSERT_TRUE(engine->session().start(text, greedy(1)).has_value());
  ASSERT_EQ(engine->session().prompt_progress().total, 0);  // another slice of it is left
  // The figures are those of this run already.
  EXPECT_EQ(engine->stats().tokens, 0);
  EXPECT_EQ(engine->stats().prompt_tokens, 0);
  EXPECT_EQ(engine->stats().ttft_ms, 0);
  std::this_thread::sleep_for(kPause);
  EXPECT_EQ(finish_run(*engine).tokens.size(), 1u);
  const Stats stats = engine->stats();
  EXPECT_GE(stats.ttft_ms, kPause.count());
  // The rate is that of computing alone.
  const double computing =
      static_cast<double>(stats.prompt_tokens - stats.reused_tokens) / stats.prompt_tps * 1e3;
  EXPECT_LE(computing, stats.ttft_ms - kPause.count());
}

TEST(Figures, TheFirstTokensTimeOfAReplyBeginsWhenItWasAskedFor) {
  const auto engine = tiny_engine();
  ASSERT_NE(engine, nullptr);
  const auto asked = std::chrono::steady_clock::now() - std::chrono::seconds(5);
  ASSERT_TRUE(engine->session().start_reply(kIds, greedy(1), {}, -1, asked).has_value());
  finish_run(*engine);
  EXPECT_GE(engine->stats().ttft_ms, 5000);
  EXPECT_GT(engine->stats().prompt_tps, 3 / 5.0);
}

// What was read again before a run that ends while its prompt is encoded is not that run's.
TEST(Figures, OfARunThatEndsEarlyAreItsOwn) {
  const auto engine = long_tokens();
  ASSERT_NE(engine, nullptr);
  generate(*engine, kIds, greedy(4));
  ASSERT_TRUE(engine->session().start(std::string(100 << 10, 'x'), greedy(1)).has_value());
  engine->session().cancel();
  EXPECT_EQ(finish_run(*engine).finish, Finish::aborted);
  EXPECT_EQ(engine->stats().tokens, 0);
  EXPECT_EQ(engine->stats().tps, 0);
}

TEST(Figures, ThreadsAreThoseThatThereAre) {
  LoadOptions options;
  options.threads = 4;
  const auto fixed = load_bytes(tiny_bytes(), options);
  generate(*fixed, kIds, greedy(40));
  EXPECT_EQ(fixed->stats().threads, 4);
  EXPECT_EQ(fixed->stats().decode_threads, 4);
  // The tuner chooses the fastest number of threads, which depends on the machine.
  options.tune_threads = true;
  const auto tuned = load_bytes(tiny_bytes(), options);
  generate(*tuned, kIds, greedy(40));
  EXPECT_EQ(tuned->stats().threads, 4);
  EXPECT_GE(tuned->stats().decode_threads, 1);
  EXPECT_LE(tuned->stats().decode_threads, 4);
}

TEST(Figures, ASeedIsDrawnAndNamed) {
  const auto engine = tiny_engine();
  GenerateOptions options = greedy(12);
  options.seed.reset();
  options.temperature = 2;
  std::set<uint64_t> seeds;
  for (int i = 0; i < 4; ++i) {
    options.seed.reset();
    const Generated got = generate(*engine, kIds, options);
    const uint64_t seed = engine->stats().seed;
    seeds.insert(seed);
    EXPECT_LT(seed, uint64_t{1} << 53);  // a JavaScript number holds it
    options.seed = seed;
    EXPECT_EQ(generate(*engine, kIds, options).ids(), got.ids());
  }
  EXPECT_EQ(seeds.size(), 4u);
}

// --- memory ----------------------------------------------------------------------------

TEST(Memory, ThePlanBoundsWhatIsHeld) {
  for (const char* name : {"llama-q4_k_m", "qwen2-q8_0", "qwen3-f16", "llama-odd-f32", "gpt2-q4_0",
                           "gemma3-f16", "lfm2-q4_0", "qwen35-q4_0"}) {
    const std::string bytes = build_tiny_model(tiny_model_named(name));
    const auto header = parse_gguf(as_bytes(bytes), bytes.size());
    ASSERT_TRUE(header.has_value());
    for (const char* kv_type : {"f32", "q8_0"}) {
      LoadOptions options = small(300);
      options.threads = 2;
      options.kv_type = kv_type;
      const auto plan = plan_memory(*header, options);
      ASSERT_TRUE(plan.has_value());
      const auto engine = load_bytes(bytes, options);
      ASSERT_NE(engine, nullptr);
      // Single rows of the embedding come along only where the source has no fixed order.
      EXPECT_LE(engine->memory_plan().total(), plan->total());
      EXPECT_GE(plan->weights, header->data_bytes);
      const uint64_t before = engine->stats().resident_bytes;
      EXPECT_LT(before, plan->total());
      generate(*engine, some_ids(299, header->find_tensor("token_embd.weight")->dims[1]),
               greedy(-1));
      const uint64_t after = engine->stats().resident_bytes;
      EXPECT_GT(after, before);
      EXPECT_LE(after, plan->total()) << name;
    }
  }
}

TEST(Memory, ThePlanNamesTheLeastBudgetAlsoWhereAllFits) {
  const std::string bytes = build_tiny_model(tiny_model_named("llama-q4_k_m"));
  const auto header = parse_gguf(as_bytes(bytes), bytes.size());
  ASSERT_TRUE(header.has_value());
  const uint64_t least = plan_memory(*header, small(300))->least;
  const auto plan_of = [&](Access access, uint64_t budget) {
    LoadOptions options = small(300);
    options.memory_budget = budget;
    auto engine = Engine::create(options, {bytes.size()}, access);
    EXPECT_TRUE(Stream(**engine).push(as_bytes(bytes)).has_value());
    return (*engine)->memory_plan();
  };
  const MemoryPlan all = plan_of(Access::rereadable, 0);
  EXPECT_EQ(all.total(), all.all);
  EXPECT_EQ(all.least, least);
  EXPECT_LT(all.least, all.total());
  EXPECT_EQ(plan_of(Access::rereadable, least).least, least);
  const MemoryPlan once = plan_of(Access::sequential, 0);
  EXPECT_EQ(once.least, once.total());
}

TEST(Memory, TheCacheGrowsInChunks) {
  const auto engine = tiny_engine(512);
  ASSERT_NE(engine, nullptr);
  generate(*engine, kIds, greedy(1));
  const uint64_t one = engine->stats().resident_bytes;
  generate(*engine, kIds, greedy(200));
  EXPECT_EQ(engine->stats().resident_bytes, one);  // the same chunk
  generate(*engine, kIds, greedy(300));
  // Another chunk, and the angles of its positions.
  const uint64_t angles = RopeTable::bytes(16, kKvChunk);
  EXPECT_EQ(engine->stats().resident_bytes, one + engine->memory_plan().kv / 2 + angles);
}

// A model with learned positions has no more of them than rows in its table.
TEST(Memory, AContextBeyondTheLearnedPositionsIsRefused) {
  const std::string bytes = build_tiny_model(tiny_model_named("gpt2-q8_0"));
  const auto header = parse_gguf(as_bytes(bytes), bytes.size());
  ASSERT_TRUE(header.has_value());
  const auto refused = plan_memory(*header, small(513));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::invalid_argument);
  EXPECT_NE(refused.error().message.find("is 513, but the model knows only 512 positions"),
            std::string::npos)
      << refused.error().message;
  const auto engine = Engine::create(small(513), {bytes.size()});
  ASSERT_TRUE(engine.has_value());
  expect_error(Stream(**engine).push(as_bytes(bytes)), Code::invalid_argument);

  const auto whole = load_bytes(bytes, small(512));
  ASSERT_NE(whole, nullptr);
  EXPECT_EQ(generate(*whole, some_ids(500, 512), greedy(-1)).finish, Finish::context);
}

TEST(Memory, WhatHasNotArrivedIsNotHeld) {
  const std::string& bytes = tiny_bytes();
  const auto created = Engine::create(small(), {bytes.size()});
  ASSERT_TRUE(created.has_value());
  Engine& engine = **created;
  Stream stream(engine);
  const size_t half = bytes.size() / 2;
  ASSERT_TRUE(stream.push(as_bytes(bytes).first(half)).has_value());
  const uint64_t at_half = engine.stats().resident_bytes;
  ASSERT_TRUE(stream.push(as_bytes(bytes).subspan(half)).has_value());
  const uint64_t at_end = engine.stats().resident_bytes;
  EXPECT_GE(at_end - at_half, bytes.size() - half);
  EXPECT_GE(at_end, engine.memory_plan().weights);
}

// --- notes -----------------------------------------------------------------------------

TEST(Notes, TellOfAContextBeyondTheModels) {
  const auto trained = static_cast<uint32_t>(tiny_engine()->trained_context());
  EXPECT_TRUE(tiny_engine(trained)->notes().empty());
  const auto notes = tiny_engine(trained + 1)->notes();
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].message.find(concat("context of ", trained + 1, " tokens is larger than the ",
                                         trained, " that the model was trained for")),
            std::string::npos)
      << notes[0].message;
  EXPECT_EQ(note_code_name(notes[0].code), "context_beyond_training");
  EXPECT_TRUE((*Engine::create(small(trained + 1), {0}))->notes().empty());
}

TEST(Notes, TellOfThreadsThatCouldNotBeStarted) {
  LoadOptions options;
  options.threads = 3;
  const auto engine = [&] {
    const NoMoreThreads now;
    return load_bytes(tiny_bytes(), options);
  }();
  ASSERT_NE(engine, nullptr);
  EXPECT_EQ(engine->stats().threads, 1);
  ASSERT_EQ(engine->notes().size(), 1u);
  EXPECT_NE(engine->notes()[0].message.find("only 1 of 3 threads"), std::string::npos);
  EXPECT_EQ(hash_of(*engine, kIds), hash_of(*tiny_engine(), kIds));
}

TEST(Memory, ABudgetIsKeptOrRefused) {
  const auto header = parse_gguf(as_bytes(tiny_bytes()), tiny_bytes().size());
  ASSERT_TRUE(header.has_value());
  LoadOptions options = small();
  const uint64_t need = load_bytes(tiny_bytes(), options)->memory_plan().total();
  options.memory_budget = need;
  EXPECT_NE(load_bytes(tiny_bytes(), options), nullptr);
  options.memory_budget = need - 1;
  auto engine = Engine::create(options, {tiny_bytes().size()});
  ASSERT_TRUE(engine.has_value());
  expect_error(Stream(**engine).push(as_bytes(tiny_bytes())), Code::budget_too_small);
}

TEST(Memory, OpeningWhatIsNoModelSaysSo) {
  const auto absent = Engine::open("/nowhere/model.gguf", {});
  ASSERT_FALSE(absent.has_value());
  EXPECT_EQ(absent.error().code, Code::bad_file);
  const auto directory = Engine::open("/", {});
  ASSERT_FALSE(directory.has_value());
  EXPECT_EQ(directory.error().code, Code::bad_file);
  const TemporaryFile empty("");
  const auto nothing = Engine::open(empty.path(), {});
  ASSERT_FALSE(nothing.has_value());
  EXPECT_EQ(nothing.error().code, Code::bad_file);
}

// No rate is expected here: it is of the machine.
TEST(DecodeRate, IsMeasuredWithAnyNumberOfThreads) {
  for (const int threads : {1, 2, 3}) {
    for (const Type type : {Type::Q4_0, Type::Q8_0})
      EXPECT_GT(decode_rate(type, threads, 0.001), 0) << threads;
  }
}

}  // namespace
}  // namespace sluice
