// Models on disk: their weights arrive while runs wait for them, all of them or, under a budget,
// again and again. The bits stay the same.
#include "weights/file_reader.h"

#include <unistd.h>

#include <chrono>
#include <thread>

#include "base/format.h"
#include "support/engine_fixture.h"
#include "support/no_more_threads.h"

namespace sluice {
namespace {

// A model with more layers than places that take turns.
std::string six_layers(std::string_view name, bool reversed = false) {
  TinyModel model = tiny_model_named(name);
  model.n_layers = 6;
  model.reversed = reversed;
  return build_tiny_model(model);
}

LoadOptions with(int32_t threads, uint64_t budget = 0) {
  LoadOptions options;
  options.threads = threads;
  options.memory_budget = budget;
  return options;
}

MemoryPlan plan_of(const std::string& bytes, int32_t threads) {
  const auto plan = plan_memory(*parse_gguf(as_bytes(bytes), bytes.size()), with(threads));
  EXPECT_TRUE(plan.has_value());
  return plan.value_or(MemoryPlan{});
}

std::unique_ptr<Engine> opened(const std::string& path, const LoadOptions& options) {
  auto engine = Engine::open(path, options);
  EXPECT_TRUE(engine.has_value()) << engine.error().message;
  return engine.has_value() ? std::move(*engine) : nullptr;
}

Result<std::vector<TokenId>> finish(Engine& engine) {
  return drive_opened(engine, engine.session());
}

std::vector<TokenId> ids_of(Engine& engine, const std::vector<TokenId>& prompt, int64_t n) {
  EXPECT_TRUE(engine.session().start(prompt, greedy(n)).has_value());
  const auto ids = finish(engine);
  EXPECT_TRUE(ids.has_value()) << ids.error().message;
  return ids.value_or(std::vector<TokenId>());
}

std::string waiting_hash(Engine& engine, const std::vector<TokenId>& ids, int64_t batch) {
  EXPECT_TRUE(engine.session().start_logits(ids, batch).has_value());
  const auto done = finish(engine);
  EXPECT_TRUE(done.has_value()) << done.error().message;
  return logits_hash(engine.session().logits());
}

class FileReaders : public testing::TestWithParam<const char*> {};

TEST_P(FileReaders, GiveTheSameBitsUnderEveryBudget) {
  for (const bool reversed : {false, true}) {
    const std::string bytes = six_layers(GetParam(), reversed);
    const TemporaryFile file(bytes);
    const auto whole = load_bytes(bytes, small());
    const std::vector<TokenId> ids = some_ids(20, whole->tokenizer().vocab_size());
    const std::string expected = hash_of(*whole, ids);
    const std::vector<TokenId> text = generate(*whole, ids, greedy(4)).ids();
    for (const int32_t threads : {1, 2}) {
      const MemoryPlan plan = plan_of(bytes, threads);
      ASSERT_LT(plan.least, plan.all);
      for (const uint64_t budget :
           {uint64_t{0}, plan.all, (plan.least + plan.all) / 2, plan.least}) {
        SCOPED_TRACE(concat(threads, " threads, budget ", budget, " of ", plan.all));
        const auto engine = opened(file.path(), with(threads, budget));
        ASSERT_NE(engine, nullptr);
        EXPECT_EQ(ids_of(*engine, ids, 4), text);  // at once, while the weights arrive
        for (const int64_t batch : {0, 7}) EXPECT_EQ(waiting_hash(*engine, ids, batch), expected);
        ASSERT_TRUE(engine->wait_ready().has_value());
        EXPECT_TRUE(engine->ready());
        const bool streams = budget != 0 && budget < plan.all;
        EXPECT_EQ(engine->loaded(), !streams);
        EXPECT_EQ(engine->stats().reread_bytes > 0, streams);
        EXPECT_EQ(engine->progress().loaded, bytes.size());
        EXPECT_GT(engine->stats().load_ms, 0);
      }
    }
  }
}

TEST_P(FileReaders, ReadWithoutThreadsOfTheirOwn) {
  const std::string bytes = six_layers(GetParam());
  const TemporaryFile file(bytes);
  const auto whole = load_bytes(bytes, small());
  const std::vector<TokenId> ids = some_ids(20, whole->tokenizer().vocab_size());
  for (const uint64_t budget : {uint64_t{0}, plan_of(bytes, 1).least}) {
    const auto engine = [&] {
      const NoMoreThreads now;
      return opened(file.path(), with(1, budget));
    }();
    ASSERT_NE(engine, nullptr);
    EXPECT_EQ(waiting_hash(*engine, ids, 0), hash_of(*whole, ids));
    EXPECT_TRUE(engine->wait_ready().has_value());
  }
}

// llama-q8_0 has a head of its own, qwen2-q8_0 the embedding's.
INSTANTIATE_TEST_SUITE_P(Of, FileReaders,
                         testing::Values("llama-q8_0", "qwen2-q8_0", "qwen3-f32", "qwen3moe-q8_0"),
                         [](const auto& each) { return test_name(each.param); });

TEST(FileReader, ABudgetThatIsTooSmallNamesTheLeast) {
  const TemporaryFile file(six_layers("llama-q8_0"));
  const uint64_t least = plan_of(six_layers("llama-q8_0"), 1).least;
  const auto refused = Engine::open(file.path(), with(1, least - 1));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(code_name(refused.error().code), code_name(Code::budget_too_small));
  EXPECT_NE(refused.error().message.find(concat(" ", least, " bytes")), std::string::npos)
      << refused.error().message;
  EXPECT_TRUE(Engine::open(file.path(), with(1, least)).has_value());
}

TEST(FileReader, ServesSessionsSideBySide) {
  const std::string bytes = six_layers("llama-q8_0");
  const TemporaryFile file(bytes);
  const auto whole = load_bytes(bytes, small());
  LoadOptions options = with(2);
  options.sessions = 3;
  options.memory_budget = plan_memory(*parse_gguf(as_bytes(bytes), bytes.size()), options)->least;
  const auto engine = opened(file.path(), options);
  std::vector<std::unique_ptr<Session>> sessions;
  std::vector<std::vector<TokenId>> prompts, got(3);
  for (uint32_t i = 0; i < 3; ++i) {
    prompts.push_back(some_ids(3 + 9 * i, whole->tokenizer().vocab_size(), i + 1));
    sessions.push_back(std::make_unique<Session>(*engine));
    ASSERT_TRUE(sessions[i]->start(prompts[i], greedy(6)).has_value());
  }
  for (bool running = true; running;) {
    running = false;
    bool waits = true;
    for (size_t i = 0; i < 3; ++i) {
      if (!sessions[i]->running()) continue;
      running = true;
      const auto event = sessions[i]->step();
      ASSERT_TRUE(event.has_value()) << event.error().message;
      waits = waits && event->kind == Event::Kind::waiting;
      if (event->kind == Event::Kind::token) got[i].push_back(event->id);
    }
    if (running && waits) {
      ASSERT_TRUE(engine->wait().has_value());
    }
  }
  for (size_t i = 0; i < 3; ++i)
    EXPECT_EQ(got[i], generate(*whole, prompts[i], greedy(6)).ids()) << i;
}

// One session is used no more; then the file becomes shorter. The other is served until then, and
// ends with the error, as the first does when it goes on.
TEST(FileReader, ServesOneSessionWhileAnotherIsPaused) {
  const std::string bytes = six_layers("llama-q8_0");
  const auto whole = load_bytes(bytes, small());
  LoadOptions options = with(2);
  options.sessions = 2;
  options.memory_budget = plan_memory(*parse_gguf(as_bytes(bytes), bytes.size()), options)->least;
  for (int steps = 0; steps < 12; ++steps) {
    SCOPED_TRACE(steps);
    const TemporaryFile file(bytes);
    const auto engine = opened(file.path(), options);
    Session paused(*engine), other(*engine);
    const std::vector<TokenId> ids = some_ids(20, whole->tokenizer().vocab_size());
    ASSERT_TRUE(paused.start(ids, greedy(6)).has_value());
    for (int i = 0; i < steps; ++i) {
      const auto event = paused.step();
      ASSERT_TRUE(event.has_value()) << event.error().message;
      if (event->kind == Event::Kind::waiting) {
        ASSERT_TRUE(engine->wait().has_value());
      }
    }
    for (int again = 0; again < 2; ++again) {
      ASSERT_TRUE(other.start(ids, greedy(4)).has_value());
      const auto got = drive_opened(*engine, other);
      ASSERT_TRUE(got.has_value()) << got.error().message;
      whole->session().reset();
      EXPECT_EQ(*got, generate(*whole, ids, greedy(4)).ids());
      other.reset();
    }
    ASSERT_EQ(truncate(file.path().c_str(), static_cast<off_t>(bytes.size() / 3)), 0);
    ASSERT_TRUE(other.start(ids, greedy(200)).has_value());
    const auto failed = drive_opened(*engine, other);
    ASSERT_FALSE(failed.has_value());
    EXPECT_EQ(code_name(failed.error().code), code_name(Code::bad_file));
    EXPECT_FALSE(drive_opened(*engine, paused).has_value());
  }
}

// The file becomes shorter while layers take turns: the text ends with an error, and what came of
// it is right.
TEST(FileReader, AFileThatIsCutShortWhileItIsReadAgainEndsTheRun) {
  const std::string bytes = six_layers("llama-q8_0");
  const auto whole = load_bytes(bytes, small());
  const std::vector<TokenId> ids = some_ids(5, whole->tokenizer().vocab_size());
  const std::vector<TokenId> expected = generate(*whole, ids, greedy(40)).ids();
  const MemoryPlan plan = plan_of(bytes, 2);
  for (const size_t after : {0, 1, 3}) {
    const TemporaryFile file(bytes);
    const auto engine = opened(file.path(), with(2, plan.least));
    ASSERT_TRUE(engine->session().start(ids, greedy(40)).has_value());
    std::vector<TokenId> got;
    std::optional<Error> error;
    bool cut = false;
    while (!error) {
      if (got.size() == after && !std::exchange(cut, true)) {
        ASSERT_EQ(truncate(file.path().c_str(), static_cast<off_t>(bytes.size() / 3)), 0);
      }
      const auto event = engine->session().step();
      if (!event) {
        error = event.error();
      } else if (event->kind == Event::Kind::token) {
        got.push_back(event->id);
      } else if (event->kind == Event::Kind::waiting) {
        if (const Status status = engine->wait(); !status) error = status.error();
      } else {
        ASSERT_NE(event->kind, Event::Kind::done);
      }
    }
    EXPECT_EQ(code_name(error->code), code_name(Code::bad_file));
    EXPECT_NE(error->message.find("cut short"), std::string::npos) << error->message;
    EXPECT_GE(got.size(), after);
    EXPECT_LT(got.size(), expected.size());
    EXPECT_TRUE(std::equal(got.begin(), got.end(), expected.begin()));
    // It stays so.
    if (engine->session().running()) {
      EXPECT_FALSE(engine->session().step().has_value());
    }
    ASSERT_TRUE(engine->session().start(ids, greedy(4)).has_value());
    EXPECT_FALSE(finish(*engine).has_value());
    EXPECT_FALSE(engine->wait_ready().has_value());
  }
}

TEST(FileReader, EndsAtAnyMoment) {
  const std::string bytes = six_layers("llama-q8_0");
  const TemporaryFile file(bytes);
  const uint64_t least = plan_of(bytes, 2).least;
  for (int round = 0; round < 60; ++round) {
    const auto engine = opened(file.path(), with(2, round % 2 == 0 ? 0 : least));
    ASSERT_NE(engine, nullptr);
    if (round % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(17 * round));
    if (round % 3 == 1) continue;
    const std::vector<TokenId> ids = some_ids(20, engine->tokenizer().vocab_size());
    ASSERT_TRUE(engine->session().start(ids, greedy(4)).has_value());
    for (int i = 0; i < round; ++i) {
      const auto event = engine->session().step();
      ASSERT_TRUE(event.has_value());
      if (event->kind == Event::Kind::waiting) {
        ASSERT_TRUE(engine->wait().has_value());
      }
    }
  }
}

TEST(FileReader, ReadsEachByteOnceIfAllStay) {
  const TemporaryFile file(tiny_bytes());
  const auto engine = opened(file.path(), with(3));
  ASSERT_TRUE(engine->wait_ready().has_value());
  uint64_t expected = engine->header().data_offset;
  for (const TensorInfo& tensor : engine->header().tensors) expected += tensor.bytes;
  EXPECT_EQ(engine->progress().brought, expected);
  EXPECT_EQ(engine->progress().loaded, engine->progress().total);
  EXPECT_EQ(engine->stats().reread_bytes, 0u);
}

}  // namespace
}  // namespace sluice
