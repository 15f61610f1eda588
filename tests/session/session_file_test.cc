// Sessions as files: what comes back goes on with the same bits, with other kernels, threads and
// ways of loading; and the identity of their model.
#include "session/session_file.h"

#include <algorithm>
#include <cstring>

#include "base/format.h"
#include "base/xxh64.h"
#include "make/split_models.h"
#include "support/planned_engine.h"
#include "support/session_files.h"

namespace sluice {
namespace {

std::vector<std::string> supported_tables() {
  std::vector<std::string> names;
  for (const Kernels* kernels : all_kernels()) {
    if (kernels->supported()) names.emplace_back(kernels->name);
  }
  return names;
}

// Steps a session of an engine that was opened until its run is done.
std::vector<TokenId> finish_waiting(Engine& engine, Session& session) {
  const auto ids = drive_opened(engine, session);
  EXPECT_TRUE(ids.has_value()) << ids.error().message;
  return ids.value_or(std::vector<TokenId>());
}

std::vector<TokenId> resumed(Session& session, int64_t max_tokens) {
  const Status started = session.resume(drawing(max_tokens));
  if (!started.has_value()) {
    ADD_FAILURE() << started.error().message;
    return {};
  }
  return finish_run(session).ids();
}

// --- what is saved comes back --------------------------------------------------------------------

TEST_P(EveryModel, GoesOnAsIfItHadNotEnded) {
  for (const std::string kv_type : {"f32", "f16", "q8_0"}) {
    SCOPED_TRACE(kv_type);
    const auto engine = load_bytes(bytes_, with("", 2, kv_type));
    ASSERT_NE(engine, nullptr);
    const std::vector<TokenId> prompt = some_ids(270, engine->tokenizer().vocab_size());
    const std::vector<TokenId> all = generate(*engine, prompt, drawing(24, 5)).ids();
    ASSERT_EQ(all.size(), 24u);

    Session session(*engine);
    std::vector<TokenId> ids = generate(session, prompt, drawing(9, 5)).ids();
    const Bytes file = saved(*engine, session);
    const auto copy = restored(*engine, file);
    ASSERT_NE(copy, nullptr);
    EXPECT_TRUE(std::ranges::equal(copy->tokens(), session.tokens()));
    EXPECT_EQ(saved(*engine, *copy, 7), file);
    const std::vector<TokenId> rest = resumed(*copy, 15);
    EXPECT_EQ(copy->stats().reused_tokens, 278);
    EXPECT_EQ(copy->stats().seed, 5u);
    EXPECT_EQ(resumed(session, 15), rest);
    ids.insert(ids.end(), rest.begin(), rest.end());
    EXPECT_EQ(ids, all);
  }
}

// The penalties go on where the answer began, and the random numbers where they ended.
TEST(SessionFile, GoesOnWithEverySampler) {
  const auto engine = tiny_engine(256);
  GenerateOptions options = drawing(40, 5);
  options.presence_penalty = 1.5f;
  options.frequency_penalty = 0.5f;
  options.repeat_penalty = 1.2f;
  options.repeat_last_n = 20;
  options.xtc_probability = 0.5f;
  options.xtc_threshold = 0.001f;
  options.dry_multiplier = 1;
  const std::vector<TokenId> prompt = some_ids(20, 512);
  const std::vector<TokenId> all = generate(*engine, prompt, options).ids();
  ASSERT_EQ(all.size(), 40u);

  Session session(*engine);
  EXPECT_EQ(session.answer_begin(), 0u);
  std::vector<TokenId> ids;
  options.max_tokens = 10;
  ids = generate(session, prompt, options).ids();
  options.seed.reset();
  for (int i = 0; i < 3; ++i) {
    const auto copy = restored(*engine, saved(*engine, session));
    ASSERT_NE(copy, nullptr);
    ASSERT_TRUE(session.resume(options).has_value());
    EXPECT_EQ(copy->answer_begin(), prompt.size());
    ASSERT_TRUE(copy->resume(options).has_value());
    EXPECT_EQ(copy->answer_begin(), prompt.size());
    const std::vector<TokenId> more = finish_run(session).ids();
    EXPECT_EQ(finish_run(*copy).ids(), more);
    EXPECT_EQ(session.answer_begin(), prompt.size());
    ids.insert(ids.end(), more.begin(), more.end());
  }
  EXPECT_EQ(ids, all);
}

TEST(SessionFile, OfTheVersionsBeforeIsRead) {
  const auto engine = tiny_engine(64);
  generate(*engine, some_ids(5, 512), greedy(4));
  const Bytes now = saved(*engine, engine->session());
  const auto before = restored(*engine, without_kept(now, 2));
  ASSERT_NE(before, nullptr);
  EXPECT_TRUE(std::ranges::equal(before->tokens(), engine->session().tokens()));
  Bytes file = without_kept(now, 1);
  EXPECT_EQ(read(*engine, file).error().code, Code::bad_file);  // it had no answer
  put<uint32_t>(file, 60, 0);
  hash_again(file);
  const auto session = restored(*engine, file);
  ASSERT_NE(session, nullptr);
  EXPECT_TRUE(std::ranges::equal(session->tokens(), engine->session().tokens()));
  put<uint32_t>(file, 60, 3);
  hash_again(file);
  EXPECT_EQ(read(*engine, file).error().code, Code::bad_file);
}

// The same bytes are written, and what reads them computes the same logits.
TEST(SessionFile, DoesNotDependOnKernelsThreadsOrBatch) {
  for (const char* name :
       {"llama-q4_0", "gemma3-f32", "lfm2-f32", "qwen35-f32", "gemma4-odd-f32"}) {
    const std::string model = build_tiny_model(tiny_model_named(name));
    for (const std::string kv_type : {"f32", "f16", "q8_0"}) {
      SCOPED_TRACE(concat(name, ", ", kv_type));
      const auto reference = load_bytes(model, with("generic", 1, kv_type));
      ASSERT_NE(reference, nullptr);
      const std::vector<TokenId> prompt = some_ids(275, reference->tokenizer().vocab_size());
      ASSERT_NE(hash_of(*reference, prompt), "");
      const Bytes file = saved(*reference, reference->session());
      std::vector<TokenId> longer = prompt;
      longer.push_back(3);
      generate(*reference, longer, greedy(1));
      const std::vector<TokenId> next = generate(*reference, longer, greedy(5)).ids();

      for (const std::string& table : supported_tables()) {
        const int32_t threads = table == "generic" ? 2 : 1;
        const auto engine = load_bytes(model, with(table, threads, kv_type));
        ASSERT_NE(engine, nullptr);
        for (const int64_t batch : {0, 17}) {
          hash_of(*engine, prompt, batch);
          EXPECT_EQ(saved(*engine, engine->session()), file) << table;
        }
        const auto session = restored(*engine, file, 1000);
        ASSERT_NE(session, nullptr);
        EXPECT_EQ(generate(*session, longer, greedy(5)).ids(), next) << table;
        EXPECT_EQ(session->stats().reused_tokens, 275);
      }
    }
  }
}

TEST(SessionFile, ComesInPiecesOfAnySize) {
  const auto engine = tiny_engine(64);
  generate(*engine, some_ids(5, 512), greedy(4));
  const Bytes file = saved(*engine, engine->session());
  for (const size_t piece : {1, 2, 3, 8, 13, 87, 88, 89, 500}) {
    EXPECT_EQ(saved(*engine, engine->session(), piece), file) << piece;
    const auto session = restored(*engine, file, piece);
    ASSERT_NE(session, nullptr) << piece;
    EXPECT_EQ(saved(*engine, *session), file) << piece;
  }
}

TEST(SessionFile, MayHaveNoTokens) {
  const auto engine = tiny_engine(64);
  const Bytes file = saved(*engine, engine->session());
  EXPECT_EQ(file.size(), kSessionHeaderBytes + kPromptEndBytes + 8u);
  const auto session = restored(*engine, file);
  ASSERT_NE(session, nullptr);
  EXPECT_TRUE(session->tokens().empty());
  EXPECT_EQ(session->resume(greedy(1)).error().code, Code::invalid_argument);
}

TEST(SessionFile, IsOfTheMomentWhenItWasSaved) {
  const auto engine = tiny_engine(64);
  generate(*engine, some_ids(5, 512), greedy(4));
  const Bytes file = saved(*engine, engine->session());
  const auto writer = engine->session().save();
  ASSERT_TRUE(writer.has_value());
  Bytes again(file.size());
  ASSERT_EQ((*writer)->next(std::span(again).first(200)), 200u);
  // Goes on and back, and overwrites the positions that are being saved.
  generate(*engine, some_ids(30, 512, 8), greedy(4));
  ASSERT_EQ((*writer)->next(std::span(again).subspan(200)), file.size() - 200);
  EXPECT_EQ(again, file);
}

TEST(SessionFile, OfARunThatWasEndedByTheEnd) {
  const auto engine = stories();
  ASSERT_NE(engine, nullptr);
  GenerateOptions options;
  options.temperature = 0;
  const Generated whole = generate(*engine, "The end of the story was near. He", options);
  ASSERT_EQ(whole.finish, Finish::eos);
  const auto session = restored(*engine, saved(*engine, engine->session()));
  ASSERT_NE(session, nullptr);
  EXPECT_TRUE(std::ranges::equal(session->tokens(), engine->session().tokens()));
  ASSERT_TRUE(session->resume(options).has_value());
  const Generated more = finish_run(*session);
  EXPECT_EQ(more.finish, Finish::eos);
  EXPECT_TRUE(more.tokens.empty());
}

TEST(SessionFile, IsNotSavedDuringARun) {
  const auto engine = tiny_engine(64);
  identify(*engine);
  ASSERT_TRUE(engine->session().start(some_ids(5, 512), greedy(4)).has_value());
  EXPECT_EQ(engine->session().save().error().code, Code::busy);
}

std::vector<std::string> one_of_each_architecture() {
  std::vector<std::string> names, architectures;
  for (const TinyModel& model : tiny_models()) {
    if (std::ranges::count(architectures, model.architecture) > 0) continue;
    architectures.push_back(model.architecture);
    names.push_back(model.name);
  }
  return names;
}
INSTANTIATE_TEST_SUITE_P(Architectures, EveryModel, testing::ValuesIn(one_of_each_architecture()),
                         [](const auto& each) { return test_name(each.param); });

// --- the model's identity ------------------------------------------------------------------------

// Computed from the file's bytes, as weights/identity.h says. Those of tensors whose names begin
// with `idle` aren't read.
uint64_t identity_of(std::string file, std::string_view idle = "none") {
  const auto gguf = parse_gguf(as_bytes(file), file.size());
  EXPECT_TRUE(gguf.has_value());
  std::vector<uint64_t> hashes = {xxh64(as_bytes(file).first(gguf->data_offset))};
  for (const TensorInfo& tensor : gguf->tensors) {
    const uint64_t begin = gguf->data_offset + tensor.offset;
    if (tensor.name.starts_with(idle))
      std::fill_n(file.begin() + static_cast<ptrdiff_t>(begin), tensor.bytes, '\0');
    const auto bytes = as_bytes(file).subspan(begin, tensor.bytes);
    Xxh64 ends;
    ends.update(bytes.size() > 8192 ? bytes.first(4096) : bytes);
    if (bytes.size() > 8192) ends.update(bytes.last(4096));
    hashes.push_back(ends.value());
  }
  return xxh64({reinterpret_cast<const uint8_t*>(hashes.data()), 8 * hashes.size()});
}

uint64_t identity_of(Engine& engine) {
  const Session session(engine);
  return identity_in(saved(engine, session));
}

TEST(SessionIdentity, IsThatOfTheFileForEveryType) {
  for (const TinyModel& model : tiny_models()) {
    const std::string bytes = build_tiny_model(model);
    const auto engine = load_bytes(bytes, small());
    ASSERT_NE(engine, nullptr);
    const std::string drafting = concat("blk.", model.n_layers, ".");
    EXPECT_EQ(identity_of(*engine), identity_of(bytes, drafting)) << model.name;
  }
}

// With layers and parts of the head that take turns, and few rows of the embedding.
TEST(SessionIdentity, DoesNotDependOnHowTheWeightsCome) {
  for (const char* name : {"llama-q8_0", "qwen2-q4_0", "gemma3-f32", "gpt2-f16", "lfm2-q8_0",
                           "qwen35-q8_0", "gemma4-q8_0"}) {
    TinyModel model = tiny_model_named(name);
    model.n_layers = 5;
    model.n_shared = std::min(model.n_shared, 2u);
    const std::string bytes = build_tiny_model(model);
    const TemporaryFile file(bytes);
    const uint64_t expected = identity_of(bytes);
    for (const int places : {0, 2}) {
      for (const int64_t rows : {0, 1, 6}) {
        const PlanOverride plan = {.layer_places = places,
                                   .head_parts = places > 0 && rows > 0 ? 3 : 0,
                                   .embedding_rows = rows};
        SCOPED_TRACE(concat(name, ", ", places, " places, ", rows, " rows"));
        const auto engine = PlannedEngine::open(file.path(), small(64), plan);
        ASSERT_TRUE(engine.has_value()) << engine.error().message;
        EXPECT_EQ(identity_of(**engine), expected);
        // Taken by a run, for which it must still compute the same.
        const auto other = PlannedEngine::open(file.path(), small(64), plan);
        ASSERT_TRUE(other.has_value());
        ASSERT_TRUE((*other)->session().start(some_ids(9, 512), greedy(3)).has_value());
        const std::vector<TokenId> ids = finish_waiting(**other, (*other)->session());
        EXPECT_EQ(ids.size(), 3u);
        EXPECT_EQ(identity_of(**other), expected);
        ASSERT_TRUE((*engine)->session().start(some_ids(9, 512), greedy(3)).has_value());
        EXPECT_EQ(finish_waiting(**engine, (*engine)->session()), ids);
      }
    }
  }
}

// They share the places of layers and rows with a run, and each waits for the other.
TEST(SessionIdentity, IsCollectedWhileARunGoesOn) {
  TinyModel model = tiny_model_named("llama-q8_0");
  model.n_layers = 5;
  const std::string bytes = build_tiny_model(model);
  const TemporaryFile file(bytes);
  const std::vector<TokenId> prompt = some_ids(9, 512);
  const auto whole = load_bytes(bytes, small(64));
  const std::vector<TokenId> expected = generate(*whole, prompt, greedy(6)).ids();
  const PlanOverride plan = {.layer_places = 2, .head_parts = 3, .embedding_rows = 3};
  for (const int steps_between : {0, 1, 2, 3, 7}) {
    const auto engine = PlannedEngine::open(file.path(), small(64), plan);
    ASSERT_TRUE(engine.has_value());
    ASSERT_TRUE((*engine)->session().start(prompt, greedy(6)).has_value());
    Result<bool> known = false;
    std::vector<TokenId> ids;
    bool done = false;
    for (int step = 0; !done || !*known; ++step) {
      bool waits = true;
      if (!*known && (done || step >= steps_between)) {
        known = (*engine)->identify();
        ASSERT_TRUE(known.has_value());
        waits = !*known;
      }
      const auto event = (*engine)->session().step();
      ASSERT_TRUE(event.has_value());
      if (event->kind == Event::Kind::token) ids.push_back(event->id);
      if (event->kind == Event::Kind::done) done = true;
      if (waits && event->kind == Event::Kind::waiting) {
        ASSERT_TRUE((*engine)->wait().has_value());
      }
    }
    EXPECT_EQ(ids, expected) << steps_between;
    EXPECT_EQ(identity_of(**engine), identity_of(bytes)) << steps_between;
  }
}

// A run that comes to weights before identify() does takes them for it, too, and isn't held up
// then.
TEST(SessionIdentity, IsCollectedByARunAlone) {
  TinyModel model = tiny_model_named("llama-q8_0");
  model.n_layers = 5;
  const std::string bytes = build_tiny_model(model);
  const auto engine =
      PlannedEngine::create(small(64), {bytes.size()}, {.layer_places = 2, .head_parts = 3});
  ASSERT_TRUE(engine.has_value());
  const auto bring = [&](const std::vector<Want>& wants) {
    for (const Want& want : wants) {
      const size_t n = std::min<size_t>(want.place.size(), bytes.size() - want.offset);
      std::memcpy(want.place.data(), bytes.data() + want.offset, n);
      ASSERT_TRUE((*engine)->filled(want.offset, n).has_value());
    }
  };
  while (!(*engine)->has_layout()) bring((*engine)->wants(1));
  ASSERT_TRUE((*engine)->build_tokenizer().has_value());
  ASSERT_TRUE((*engine)->session().start(some_ids(9, 512), greedy(3)).has_value());
  bool known = false, done = false;
  for (int step = 0; step < 10'000 && !done; ++step) {
    const auto identified = (*engine)->identify();
    ASSERT_TRUE(identified.has_value());
    known = *identified;
    bring((*engine)->wants(UINT64_MAX));
    const auto event = (*engine)->session().step();
    ASSERT_TRUE(event.has_value());
    done = event->kind == Event::Kind::done;
  }
  EXPECT_TRUE(known);
  EXPECT_TRUE(done);
}

TEST(SessionIdentity, OfASplitModelIsOneOfItsOwn) {
  const std::vector<std::string> files = split_model(tiny_bytes(), 3);
  const std::string joined_files = joined(files);
  std::vector<uint64_t> found;
  for (const size_t piece : {size_t{700}, size_t{1} << 20}) {
    auto engine = Engine::create(small(), sizes_of(files), Access::any_order);
    ASSERT_TRUE(engine.has_value());
    while (!(*engine)->has_layout()) {
      const Want want = (*engine)->wants(1).front();
      const size_t index = (*engine)->files().size() - 1;
      const uint64_t at = want.offset - (*engine)->files()[index].begin;
      const size_t n = std::min({piece, want.place.size(), files[index].size() - at});
      std::memcpy(want.place.data(), files[index].data() + at, n);
      ASSERT_TRUE((*engine)->filled(want.offset, n).has_value());
    }
    ASSERT_TRUE((*engine)->build_tokenizer().has_value());
    ASSERT_FALSE(*(*engine)->identify());
    for (const Want& want : (*engine)->wants(UINT64_MAX)) {
      std::memcpy(want.place.data(), joined_files.data() + want.offset, want.place.size());
      ASSERT_TRUE((*engine)->filled(want.offset, want.place.size()).has_value());
    }
    found.push_back(identity_of(**engine));
  }
  EXPECT_EQ(found[0], found[1]);
  EXPECT_NE(found[0], identity_of(tiny_bytes()));
}

TEST(SessionIdentity, IsWaitedForWhileWeightsArrive) {
  const std::string& bytes = tiny_bytes();
  auto engine = Engine::create(small(), {bytes.size()});
  ASSERT_TRUE(engine.has_value());
  EXPECT_FALSE((*engine)->identify().has_value());
  Stream stream(**engine);
  ASSERT_TRUE(stream.push(as_bytes(bytes).first(bytes.size() - 100)).has_value());
  EXPECT_FALSE(*(*engine)->identify());
  EXPECT_EQ((*engine)->session().save().error().code, Code::invalid_argument);
  SessionReader early(**engine);
  const auto other = tiny_engine();
  EXPECT_EQ(early.push(saved(*other, other->session())).error().code, Code::invalid_argument);
  ASSERT_TRUE(stream.push(as_bytes(bytes).last(100)).has_value());
  EXPECT_TRUE(*(*engine)->identify());
}

}  // namespace
}  // namespace sluice
