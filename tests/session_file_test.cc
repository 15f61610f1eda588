// Sessions as files: what comes back goes on with the same bits, with other kernels, threads and
// ways of loading; and files that must be refused.
#include "session_file.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/format.h"
#include "base/xxh64.h"
#include "engine_fixture.h"
#include "split_models.h"

namespace sluice {
namespace {

using Bytes = std::vector<uint8_t>;

std::vector<std::string> supported_tables() {
  std::vector<std::string> names;
  for (const Kernels* kernels : all_kernels()) {
    if (kernels->supported()) names.emplace_back(kernels->name);
  }
  return names;
}

LoadOptions with(std::string kernels, int32_t threads, std::string kv_type = "f16") {
  LoadOptions options;
  options.kernels = std::move(kernels);
  options.threads = threads;
  options.kv_type = std::move(kv_type);
  options.context_size = 512;
  return options;
}

// Identifies an engine that was opened, or whose weights are all here.
void identify(Engine& engine) {
  for (;;) {
    const auto known = engine.identify();
    ASSERT_TRUE(known.has_value()) << known.error().message;
    if (*known) return;
    ASSERT_TRUE(engine.wait().has_value());
  }
}

Bytes saved(Engine& engine, const Session& session, size_t piece = 1 << 16) {
  identify(engine);
  const auto writer = session.save();
  if (!writer.has_value()) {
    ADD_FAILURE() << writer.error().message;
    return {};
  }
  Bytes file, bytes(piece);
  while (const size_t n = (*writer)->next(bytes))
    file.insert(file.end(), bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(n));
  EXPECT_EQ(file.size(), (*writer)->bytes());
  return file;
}

Result<std::unique_ptr<Session>> read(Engine& engine, std::span<const uint8_t> file,
                                      size_t piece = SIZE_MAX, uint64_t file_bytes = 0) {
  identify(engine);
  SessionReader reader(engine, file_bytes);
  for (size_t at = 0; at < file.size();) {
    const size_t n = std::min(piece, file.size() - at);
    SLUICE_TRY(reader.push(file.subspan(at, n)));
    at += n;
  }
  return reader.finish();
}

std::unique_ptr<Session> restored(Engine& engine, std::span<const uint8_t> file,
                                  size_t piece = SIZE_MAX) {
  auto session = read(engine, file, piece, file.size());
  if (session.has_value()) return std::move(*session);
  ADD_FAILURE() << session.error().message;
  return nullptr;
}

// Steps a session of an engine that was opened until its run is done.
template <typename T>
std::vector<TokenId> finish_waiting(Engine& engine, T& session) {
  std::vector<TokenId> ids;
  for (;;) {
    const auto event = session.step();
    if (!event.has_value()) {
      ADD_FAILURE() << event.error().message;
      return ids;
    }
    if (event->kind == Event::Kind::token) ids.push_back(event->id);
    if (event->kind == Event::Kind::waiting) {
      EXPECT_TRUE(engine.wait().has_value());
    }
    if (event->kind == Event::Kind::done) return ids;
  }
}

// Draws at random and counts repeated tokens, so that all of a sampler's state matters.
GenerateOptions drawing(int64_t max_tokens, std::optional<uint64_t> seed = std::nullopt) {
  GenerateOptions options = greedy(max_tokens);
  options.temperature = 1.5f;
  options.repeat_penalty = 1.3f;
  options.seed = seed;
  return options;
}

std::vector<TokenId> resumed(Session& session, int64_t max_tokens) {
  const Status started = session.resume(drawing(max_tokens));
  if (!started.has_value()) {
    ADD_FAILURE() << started.error().message;
    return {};
  }
  return finish_run(session).ids();
}

uint64_t identity_in(std::span<const uint8_t> file) {
  uint64_t identity = 0;
  std::memcpy(&identity, file.data() + 24, sizeof identity);
  return identity;
}

template <typename T>
void put(Bytes& file, size_t at, T number) {
  std::memcpy(file.data() + at, &number, sizeof number);
}
// Makes both hashes right again, after a change.
void hash_again(Bytes& file) {
  put(file, kSessionHeaderBytes - 8, xxh64(std::span(file).first(kSessionHeaderBytes - 8)));
  put(file, file.size() - 8, xxh64(std::span(file).first(file.size() - 8)));
}

// --- what is saved comes back --------------------------------------------------------------------

class EveryModel : public testing::TestWithParam<std::string> {
 protected:
  const std::string bytes_ = build_tiny_model(tiny_model_named(GetParam()));
};

TEST_P(EveryModel, GoesOnAsIfItHadNotEnded) {
  for (const std::string kv_type : {"f32", "f16", "q8_0"}) {
    SCOPED_TRACE(kv_type);
    const auto engine = load_bytes(bytes_, with("", 2, kv_type));
    ASSERT_NE(engine, nullptr);
    const std::vector<TokenId> prompt = some_ids(270, engine->config().n_vocab);
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

// The same bytes are written, and what reads them computes the same logits.
TEST(SessionFile, DoesNotDependOnKernelsThreadsOrBatch) {
  for (const char* name : {"llama-q4_0", "gemma3-f32"}) {
    const std::string model = build_tiny_model(tiny_model_named(name));
    for (const std::string kv_type : {"f32", "f16", "q8_0"}) {
      SCOPED_TRACE(concat(name, ", ", kv_type));
      const auto reference = load_bytes(model, with("generic", 1, kv_type));
      ASSERT_NE(reference, nullptr);
      const std::vector<TokenId> prompt = some_ids(275, reference->config().n_vocab);
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
  EXPECT_EQ(file.size(), kSessionHeaderBytes + 8u);
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
  ASSERT_TRUE(engine->start(some_ids(5, 512), greedy(4)).has_value());
  EXPECT_EQ(engine->session().save().error().code, Code::busy);
}

// --- the model's identity ------------------------------------------------------------------------

// Computed from the file's bytes, as weights/identity.h says.
uint64_t identity_of(const std::string& file) {
  const auto gguf = parse_gguf(as_bytes(file), file.size());
  EXPECT_TRUE(gguf.has_value());
  std::vector<uint64_t> hashes = {xxh64(as_bytes(file).first(gguf->data_offset))};
  for (const TensorInfo& tensor : gguf->tensors) {
    const auto bytes = as_bytes(file).subspan(gguf->data_offset + tensor.offset, tensor.bytes);
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
    EXPECT_EQ(identity_of(*engine), identity_of(bytes)) << model.name;
  }
}

// With layers and parts of the head that take turns, and few rows of the embedding.
TEST(SessionIdentity, DoesNotDependOnHowTheWeightsCome) {
  for (const char* name : {"llama-q8_0", "qwen2-q4_0", "gemma3-f32", "gpt2-f16"}) {
    TinyModel model = tiny_model_named(name);
    model.n_layers = 5;
    const std::string bytes = build_tiny_model(model);
    const TemporaryFile file(bytes);
    const uint64_t expected = identity_of(bytes);
    LoadOptions options = small(64);
    for (const int32_t places : {0, 2}) {
      for (const int64_t rows : {0, 1, 6}) {
        options.layer_places = places;
        options.embedding_rows = rows;
        options.head_parts = places > 0 && rows > 0 ? 3 : 0;
        SCOPED_TRACE(concat(name, ", ", places, " places, ", rows, " rows"));
        const auto engine = Engine::open(file.path(), options);
        ASSERT_TRUE(engine.has_value()) << engine.error().message;
        EXPECT_EQ(identity_of(**engine), expected);
        // Taken by a run, for which it must still compute the same.
        const auto other = Engine::open(file.path(), options);
        ASSERT_TRUE(other.has_value());
        ASSERT_TRUE((*other)->start(some_ids(9, 512), greedy(3)).has_value());
        const std::vector<TokenId> ids = finish_waiting(**other, **other);
        EXPECT_EQ(ids.size(), 3u);
        EXPECT_EQ(identity_of(**other), expected);
        ASSERT_TRUE((*engine)->start(some_ids(9, 512), greedy(3)).has_value());
        EXPECT_EQ(finish_waiting(**engine, **engine), ids);
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
  LoadOptions options = small(64);
  const std::vector<TokenId> prompt = some_ids(9, 512);
  const auto whole = load_bytes(bytes, options);
  const std::vector<TokenId> expected = generate(*whole, prompt, greedy(6)).ids();
  options.layer_places = 2;
  options.head_parts = 3;
  options.embedding_rows = 3;
  for (const int steps_between : {0, 1, 2, 3, 7}) {
    const auto engine = Engine::open(file.path(), options);
    ASSERT_TRUE(engine.has_value());
    ASSERT_TRUE((*engine)->start(prompt, greedy(6)).has_value());
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
      const auto event = (*engine)->step();
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
  LoadOptions options = small(64);
  options.layer_places = 2;
  options.head_parts = 3;
  const auto engine = Engine::create(options, {bytes.size()}, Arrival::again);
  ASSERT_TRUE(engine.has_value());
  const auto bring = [&](const std::vector<Want>& wants) {
    for (const Want& want : wants) {
      const size_t n = std::min<size_t>(want.place.size(), bytes.size() - want.offset);
      std::memcpy(want.place.data(), bytes.data() + want.offset, n);
      ASSERT_TRUE((*engine)->filled(want.offset, n).has_value());
    }
  };
  while (!(*engine)->header_read()) bring((*engine)->wants(1));
  ASSERT_TRUE((*engine)->build_vocabulary().has_value());
  ASSERT_TRUE((*engine)->start(some_ids(9, 512), greedy(3)).has_value());
  bool known = false, done = false;
  for (int step = 0; step < 10'000 && !done; ++step) {
    const auto identified = (*engine)->identify();
    ASSERT_TRUE(identified.has_value());
    known = *identified;
    bring((*engine)->wants(UINT64_MAX));
    const auto event = (*engine)->step();
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
    auto engine = Engine::create(small(), sizes_of(files), Arrival::ranges);
    ASSERT_TRUE(engine.has_value());
    while (!(*engine)->header_read()) {
      const Want want = (*engine)->wants(1).front();
      const size_t index = (*engine)->files().size() - 1;
      const uint64_t at = want.offset - (*engine)->files()[index].begin;
      const size_t n = std::min({piece, want.place.size(), files[index].size() - at});
      std::memcpy(want.place.data(), files[index].data() + at, n);
      ASSERT_TRUE((*engine)->filled(want.offset, n).has_value());
    }
    ASSERT_TRUE((*engine)->build_vocabulary().has_value());
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

// --- what is refused -----------------------------------------------------------------------------

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
  const size_t tokens = kSessionHeaderBytes, state = tokens + 4 * 4;
  EXPECT_EQ(error_with<uint32_t>(12, 96).code, Code::bad_file);  // bytes of the header
  EXPECT_EQ(error_with<uint32_t>(8, 0).code, Code::bad_file);    // version
  EXPECT_EQ(error_with<uint64_t>(16, UINT64_MAX).code, Code::bad_file);
  EXPECT_EQ(error_with<uint32_t>(40, 7).code, Code::bad_file);  // KV type
  EXPECT_EQ(error_with<uint32_t>(44, 2).code, Code::bad_file);  // kind of state
  EXPECT_EQ(error_with<uint32_t>(48, 3).code, Code::bad_file);  // tokens
  EXPECT_EQ(error_with<uint32_t>(48, 5).code, Code::bad_file);
  EXPECT_EQ(error_with<uint32_t>(52, 4).code, Code::bad_file);  // computed
  EXPECT_EQ(error_with<uint32_t>(52, 2).code, Code::bad_file);
  EXPECT_EQ(error_with<uint32_t>(56, 2).code, Code::bad_file);  // has a seed
  EXPECT_EQ(error_with<uint32_t>(56, 0).code, Code::bad_file);  // but its numbers stay
  EXPECT_EQ(error_with<uint32_t>(60, 1).code, Code::bad_file);
  EXPECT_EQ(error_with<uint64_t>(72, UINT64_MAX).code, Code::bad_file);  // draws
  EXPECT_EQ(error_with<int32_t>(tokens, 512).code, Code::bad_file);
  EXPECT_EQ(error_with<int32_t>(tokens + 12, -1).code, Code::bad_file);
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
  const Error error = error_with<uint32_t>(8, 2);
  EXPECT_EQ(error.code, Code::invalid_argument);
  EXPECT_NE(error.message.find("a newer version of Sluice wrote this"), std::string::npos);
  // Its header may be longer.
  Bytes newer = file_;
  newer.insert(newer.begin() + 80, 40, 1);
  put<uint32_t>(newer, 8, 3);
  put<uint32_t>(newer, 12, 128);
  put(newer, 120, xxh64(std::span(newer).first(120)));
  EXPECT_EQ(code_of(newer), Code::invalid_argument);
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
    put(changed, kSessionHeaderBytes + 4 * 4 + head_dim, scale);
    hash_again(changed);
    EXPECT_EQ(read(*engine, changed).error().code, Code::bad_file) << scale;
  }
}

TEST(Xxh64, IsTheKnownOne) {
  // Computed with xxHash's own program.
  Bytes bytes(64);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 7 + i / 3);
  const std::pair<size_t, uint64_t> known[] = {{0, 0xef46db3751d8e999},
                                               {3, 0x9ff70a635a6209ab},
                                               {14, 0x9cd9ca9931b67e76},
                                               {33, 0x87aa75789ca3ee82},
                                               {64, 0xbbee50984cd3a30b}};
  for (const auto& [n, hash] : known) {
    EXPECT_EQ(xxh64(std::span(bytes).first(n)), hash) << n;
    Xxh64 pieces;
    for (size_t at = 0; at < n; at += 5)
      pieces.update(std::span(bytes).subspan(at, std::min<size_t>(5, n - at)));
    EXPECT_EQ(pieces.value(), hash) << n;
  }
}

// --- pieces --------------------------------------------------------------------------------------

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
    const std::vector<TokenId> prompt = some_ids(300, engine->config().n_vocab);
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
    // A whole piece stays what it was.
    EXPECT_EQ(pieces_of(*engine, copy)[0], pieces[0]);
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
  // Whole sessions and pieces are not taken for each other.
  Session fresh(*engine);
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

}  // namespace
}  // namespace sluice
