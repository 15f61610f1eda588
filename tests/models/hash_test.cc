// The same file and tokens must give the same logits to the last bit, with any kernel table, number
// of threads, batch, way of loading and earlier run. tests/data/hashes.json has their hashes, for
// the wasm module, the page and other machines to compare with.
#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "api/json.h"
#include "make/tiny_models.h"
#include "support/model_test.h"
#include "support/sanitized.h"

namespace sluice {
namespace {

const std::string kRoot = SLUICE_ROOT;
const std::string kBundled = "stories-q8_0";

std::string model_bytes(const std::string& name) {
  if (name == kBundled) return read_file(kRoot + "/web/app/public/models/stories-q8_0.gguf");
  return build_tiny_model(tiny_model_named(name));
}

std::vector<std::string> supported_tables() {
  std::vector<std::string> names;
  for (const Kernels* kernels : all_kernels()) {
    if (kernels->supported()) names.emplace_back(kernels->name);
  }
  return names;
}

LoadOptions with(const std::string& kernels, int32_t threads, const std::string& kv_type = "f16") {
  LoadOptions options;
  options.kernels = kernels;
  options.threads = threads;
  options.kv_type = kv_type;
  return options;
}

const std::string kKvTypes[] = {"f32", "f16", "q8_0"};

class Hashes : public testing::TestWithParam<std::string> {
 protected:
  const std::string bytes_ = model_bytes(GetParam());
};

TEST_P(Hashes, DoNotDependOnKernelsThreadsOrBatch) {
  for (const std::string& kv_type : kKvTypes) {
    const auto reference = load_bytes(bytes_, with("generic", 1, kv_type));
    ASSERT_NE(reference, nullptr);
    const std::vector<TokenId> ids = some_ids(11, reference->tokenizer().vocab_size());
    const std::string expected = hash_of(*reference, ids);
    for (const std::string& table : supported_tables()) {
      for (const int32_t threads : {1, 2, 3}) {
        if (kv_type != "f16" && threads != 2) continue;
        const auto engine = load_bytes(bytes_, with(table, threads, kv_type));
        ASSERT_NE(engine, nullptr);
        ASSERT_EQ(engine->stats().kernels, table);
        for (const int64_t batch : {0, 1, 5}) {
          EXPECT_EQ(hash_of(*engine, ids, batch), expected)
              << table << ", " << threads << " threads, batches of " << batch << ", " << kv_type
              << " cache";
        }
      }
    }
  }
}

TEST_P(Hashes, DoNotDependOnHowTheFileCame) {
  std::unique_ptr<Engine> whole;
  {
    const TemporaryFile file(bytes_);
    whole = open_file(file.path(), with("", 2));
  }
  ASSERT_NE(whole, nullptr);
  const std::vector<TokenId> ids = some_ids(9, whole->tokenizer().vocab_size());
  const std::string expected = hash_of(*whole, ids);
  // Pieces of three bytes, too, end at every place within a number.
  for (const size_t piece : {size_t{kSanitized ? 3 : 1}, size_t{7}, size_t{65536}, size_t{0}}) {
    const auto engine = load_bytes(bytes_, with("", 2), piece);
    ASSERT_NE(engine, nullptr);
    EXPECT_EQ(hash_of(*engine, ids), expected) << "in pieces of " << piece;
  }
}

// After the header all bytes are written before the engine is told of any.
TEST_P(Hashes, DoNotDependOnHowFarAheadTheFileCame) {
  const auto whole = load_bytes(bytes_, with("", 2));
  ASSERT_NE(whole, nullptr);
  const std::vector<TokenId> ids = some_ids(9, whole->tokenizer().vocab_size());
  const auto file = as_bytes(bytes_);
  for (const size_t piece : {size_t{61}, size_t{7919}}) {
    const auto engine = Engine::create(with("", 2), {file.size()});
    ASSERT_TRUE(engine.has_value());
    Stream stream(**engine);
    while (!(*engine)->has_tokenizer()) {
      const size_t n = std::min<size_t>(piece, file.size() - stream.at());
      ASSERT_TRUE(stream.push(file.subspan(stream.at(), n)).has_value());
    }
    uint64_t at = stream.at();
    uint64_t end = at;  // of what is wanted
    for (const Want& want : (*engine)->wants(UINT64_MAX)) {
      ASSERT_GE(want.offset, at);
      ASSERT_LE(want.offset + want.place.size(), file.size());
      std::memcpy(want.place.data(), file.data() + want.offset, want.place.size());
      end = std::max(end, want.offset + want.place.size());
    }
    EXPECT_TRUE((*engine)->wants(UINT64_MAX).empty());
    for (; at < end; at += piece) {
      EXPECT_FALSE((*engine)->loaded());
      const uint64_t n = std::min<uint64_t>(piece, file.size() - at);
      ASSERT_TRUE((*engine)->filled(at, n).has_value());
    }
    ASSERT_TRUE((*engine)->loaded());
    EXPECT_EQ(hash_of(**engine, ids), hash_of(*whole, ids)) << "in pieces of " << piece;
  }
}

std::vector<std::string> every_model() {
  std::vector<std::string> names = {kBundled};
  for (const TinyModel& model : tiny_models()) names.push_back(model.name);
  return names;
}
INSTANTIATE_TEST_SUITE_P(Every, Hashes, testing::ValuesIn(every_model()),
                         [](const auto& each) { return test_name(each.param); });

// Longer tests, for some models of each family and some odd ones.
class LongHashes : public Hashes {};

// 270 tokens cross the end of a pass's block (128) and of a chunk of the cache (256).
TEST_P(LongHashes, DoNotDependOnTheBatchOfALongPrompt) {
  for (const std::string& kv_type : kKvTypes) {
    const auto reference = load_bytes(bytes_, with("generic", 1, kv_type));
    ASSERT_NE(reference, nullptr);
    const std::vector<TokenId> ids = some_ids(270, reference->tokenizer().vocab_size(), 2);
    const std::string expected = hash_of(*reference, ids);
    for (const std::string& table : supported_tables()) {
      const auto engine = load_bytes(bytes_, with(table, 1, kv_type));
      ASSERT_NE(engine, nullptr);
      for (const int64_t batch : {0, 1, 129}) {
        if (batch == 1 && kv_type != "f16") continue;
        EXPECT_EQ(hash_of(*engine, ids, batch), expected)
            << table << ", batches of " << batch << ", " << kv_type << " cache";
      }
    }
  }
}

TEST_P(LongHashes, OfEveryPositionAreThoseOfItsOwnPrompt) {
  const auto engine = load_bytes(bytes_, with("", 2));
  ASSERT_NE(engine, nullptr);
  const std::vector<TokenId> ids = some_ids(12, engine->tokenizer().vocab_size());
  ASSERT_TRUE(engine->session().start_logits(ids, 5, true).has_value());
  finish_run(*engine);
  const std::vector<float> all(engine->session().logits().begin(),
                               engine->session().logits().end());
  const auto n_vocab = static_cast<size_t>(engine->tokenizer().vocab_size());
  ASSERT_EQ(all.size(), ids.size() * n_vocab);
  for (size_t n = 1; n <= ids.size(); ++n) {
    const auto row = std::span(all).subspan((n - 1) * n_vocab, n_vocab);
    EXPECT_EQ(hash_of(*engine, std::span(ids).first(n)), logits_hash(row)) << "position " << n - 1;
  }
}

// The events of a run with all their numbers, as a text to compare.
std::string written_out(const Generated& run) {
  std::string text;
  for (const Event& event : run.tokens) text += event_json(event, {}) + "\n";
  return text;
}

GenerateOptions seeded(int64_t max_tokens, uint64_t seed) {
  GenerateOptions options = greedy(max_tokens);
  options.temperature = 0.9f;
  options.seed = seed;
  options.repeat_penalty = 1.1f;
  options.top_logprobs = 5;
  return options;
}

TEST_P(LongHashes, ReusingAPrefixChangesNothing) {
  for (const std::string& kv_type : kKvTypes) {
    const auto used = load_bytes(bytes_, with("", 2, kv_type));
    ASSERT_NE(used, nullptr);
    const std::vector<TokenId> first = some_ids(20, used->tokenizer().vocab_size(), 3);
    generate(*used, first, seeded(6, 1));
    // Prompts that share 13, 12 and 14 tokens with what is in the cache.
    std::vector<TokenId> second = first;
    for (const size_t shared : {13, 12, 14}) {
      second.resize(shared);
      // A recurrent state goes back to the end of the prompt, of 20 tokens, or to the beginning.
      const bool recurrent = GetParam().starts_with("lfm2") || GetParam().starts_with("qwen35");
      const size_t reusable = recurrent ? 0 : shared;
      for (const TokenId id : some_ids(7, used->tokenizer().vocab_size(), 4)) second.push_back(id);
      const Generated again = generate(*used, second, seeded(6, 2));
      EXPECT_GE(used->stats().reused_tokens, static_cast<int64_t>(std::min<size_t>(reusable, 12)));
      const auto fresh = load_bytes(bytes_, with("generic", 1, kv_type));
      ASSERT_NE(fresh, nullptr);
      const Generated expected = generate(*fresh, second, seeded(6, 2));
      EXPECT_EQ(fresh->stats().reused_tokens, 0);
      EXPECT_EQ(written_out(again), written_out(expected));
    }
  }
}

TEST_P(LongHashes, TheSameSeedWritesTheSameText) {
  const auto engine = load_bytes(bytes_, with("", 2));
  const auto other = load_bytes(bytes_, with("generic", 3));
  ASSERT_NE(engine, nullptr);
  ASSERT_NE(other, nullptr);
  const std::vector<TokenId> prompt = some_ids(5, engine->tokenizer().vocab_size(), 5);
  const std::string expected = written_out(generate(*engine, prompt, seeded(24, 7)));
  EXPECT_EQ(written_out(generate(*engine, prompt, seeded(24, 7))), expected);
  EXPECT_EQ(written_out(generate(*other, prompt, seeded(24, 7))), expected);
  EXPECT_NE(written_out(generate(*engine, prompt, seeded(24, 8))), expected);
}

TEST_P(LongHashes, WhatWasCancelledLeavesNoTrace) {
  const auto fresh = load_bytes(bytes_, with("", 2));
  const auto engine = load_bytes(bytes_, with("", 2));
  ASSERT_NE(fresh, nullptr);
  ASSERT_NE(engine, nullptr);
  const std::vector<TokenId> prompt = some_ids(140, engine->tokenizer().vocab_size(), 6);
  const std::string expected = written_out(generate(*fresh, prompt, seeded(8, 7)));
  std::vector<TokenId> other = prompt;
  other[70] = (other[70] + 1) % static_cast<TokenId>(engine->tokenizer().vocab_size());
  // Cancels in the middle of a prompt, at its end and while text is written.
  for (const int steps : {0, 1, 2, 3, 4, 5, 6, 9}) {
    for (const std::vector<TokenId>& ids : {prompt, other}) {
      ASSERT_TRUE(engine->session().start(ids, seeded(40, 9)).has_value());
      for (int i = 0; i < steps; ++i) ASSERT_TRUE(engine->session().step().has_value());
      engine->session().cancel();
      EXPECT_EQ(finish_run(*engine).finish, Finish::aborted);
    }
    EXPECT_EQ(written_out(generate(*engine, prompt, seeded(8, 7))), expected)
        << "cancelled after " << steps << " steps";
  }
}

INSTANTIATE_TEST_SUITE_P(Some, LongHashes,
                         testing::Values("llama-q8_0", "qwen2-q4_0", "qwen3-f16", "llama-odd-f32",
                                         "llama-odd-q4_0", "qwen3-odd-bf16", "qwen2-q6_k",
                                         "gpt2-q8_0", "gpt2-odd-f32", "gemma3-q8_0",
                                         "gemma3-wide-f32", "gemma4-q8_0", "gemma4-odd-f32",
                                         "lfm2-q8_0", "lfm2-odd-f32", "qwen35-q8_0",
                                         "qwen35-odd-f32", "qwen3moe-q8_0", "qwen3moe-odd-bf16"),
                         [](const auto& each) { return test_name(each.param); });

// The order of the data in the file does not change the model.
TEST(ScatteredModel, HasTheHashOfTheOrderlyOne) {
  TinyModel model = tiny_model_named("qwen3-scattered-q5_1");
  const auto scattered = load_bytes(build_tiny_model(model));
  model.scattered = false;
  const auto orderly = load_bytes(build_tiny_model(model));
  ASSERT_NE(scattered, nullptr);
  ASSERT_NE(orderly, nullptr);
  const std::vector<TokenId> ids = some_ids(9, model.n_vocab);
  EXPECT_EQ(hash_of(*scattered, ids), hash_of(*orderly, ids));
}

// --- the recorded hashes ---------------------------------------------------------------

TEST(RecordedHashes, AreThoseOfThisMachine) {
  const nlohmann::json recorded =
      nlohmann::json::parse(read_file(kRoot + "/tests/data/hashes.json"), nullptr, false);
  ASSERT_TRUE(recorded.is_object());
  const auto ids = recorded.at("ids").get<std::vector<TokenId>>();
  ASSERT_GE(recorded.at("hashes").size(), 5u);
  for (const auto& model : recorded.at("hashes").items()) {
    const std::string bytes = model_bytes(model.key());
    for (const std::string& kv_type : kKvTypes) {
      const auto engine = load_bytes(bytes, with("", 2, kv_type));
      ASSERT_NE(engine, nullptr);
      EXPECT_EQ(hash_of(*engine, ids), model.value().at(kv_type).get<std::string>())
          << model.key() << ", " << kv_type << " cache";
    }
  }
}

}  // namespace
}  // namespace sluice
