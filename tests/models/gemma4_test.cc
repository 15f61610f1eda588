// What files of gemma4 may have: layers of two kinds, layers that read the keys and values of
// others, and an input of each layer's own, whose table is larger than all layers and is never
// loaded where its rows can be read as they are needed.
#include "models/made_model.h"
#include "session/histories.h"
#include "support/engine_fixture.h"
#include "support/planned_engine.h"

namespace sluice {
namespace {

constexpr const char* kTable = "per_layer_token_embd.weight";

GgufBuilder gemma4(std::string_view name = "gemma4-odd-f32") {
  return tiny_model_file(tiny_model_named(name));
}

std::string gemma4_hash(const GgufBuilder& file) {
  const auto engine = load_bytes(file.build(), small(512));
  // More tokens than the window, than a block and than a chunk of the cache.
  return engine == nullptr ? "" : hash_of(*engine, some_ids(300, 509));
}

// --- layers -------------------------------------------------------------------------------------

TEST(Gemma4, LayersAreOfTwoKinds) {
  const auto model = model_of(gemma4());
  ASSERT_NE(model, nullptr);
  ASSERT_EQ(model->ropes().size(), 2u);
  EXPECT_EQ(model->ropes()[0].numbers.freq_base, 1e6);
  EXPECT_EQ(model->ropes()[0].numbers.dims, 24);
  EXPECT_GE(model->ropes()[0].factors, 0);
  EXPECT_EQ(model->ropes()[1].numbers.freq_base, 10000);
  EXPECT_EQ(model->ropes()[1].numbers.dims, 8);
  EXPECT_EQ(model->ropes()[1].factors, -1);
  for (int64_t l = 0; l < 7; ++l) {
    const LayerShape& shape = model->layer(l);
    const bool global = l == 2 || l == 5;
    EXPECT_EQ(shape.head_dim, global ? 24 : 8) << l;
    EXPECT_EQ(shape.n_kv_heads, global ? 1 : 2) << l;
    EXPECT_EQ(shape.window, global ? 0 : 20) << l;
    EXPECT_EQ(shape.rope, global ? 0 : 1) << l;
    EXPECT_EQ(shape.scale, 1) << l;
    EXPECT_EQ(shape.n_ff, l < 3 ? 52 : 36) << l;
    EXPECT_EQ(shape.cache, l < 3 ? l : global ? 2 : 1) << l;
  }
}

// The kind counts, not the place: here the last layer before the shared ones sees a window.
TEST(Gemma4, SharedLayersReadTheLastLayerOfTheirKind) {
  TinyModel tiny = tiny_model_named("gemma4-f32");
  tiny.n_shared = 3;
  const auto model = model_of(tiny_model_file(tiny));
  ASSERT_NE(model, nullptr);
  const int64_t caches[] = {0, 1, 2, 3, 3, 2, 3};
  for (int64_t l = 0; l < 7; ++l) EXPECT_EQ(model->layer(l).cache, caches[l]) << l;
}

TEST(Gemma4, WhatSharedLayersHaveOfKeysAndValuesDoesNotCount) {
  GgufBuilder file = gemma4("gemma4-f32");
  const std::string hash = gemma4_hash(file);
  for (const char* name : {"attn_k.weight", "attn_v.weight", "attn_k_norm.weight"}) {
    const auto& tensor = file.find_tensor(std::string("blk.1.") + name);
    file.tensor(std::string("blk.6.") + name, tensor.type, tensor.dims, tensor.data);
  }
  EXPECT_EQ(gemma4_hash(file), hash);
}

TEST(Gemma4, WithoutValuesTheKeysAreTheValues) {
  GgufBuilder file = gemma4();
  const std::string hash = gemma4_hash(file);
  const auto& keys = file.find_tensor("blk.2.attn_k.weight");
  file.tensor("blk.2.attn_v.weight", keys.type, keys.dims, std::string(keys.data));
  EXPECT_EQ(gemma4_hash(file), hash);
  std::string others = file.find_tensor("blk.2.attn_v.weight").data;
  std::ranges::rotate(others, others.begin() + 4);
  file.find_tensor("blk.2.attn_v.weight").data = others;
  EXPECT_NE(gemma4_hash(file), hash);
}

TEST(Gemma4, EveryPartCounts) {
  const std::string hash = gemma4_hash(gemma4());
  const auto changed = [&](const char* name, std::string data) {
    GgufBuilder file = gemma4();
    file.find_tensor(name).data = std::move(data);
    EXPECT_NE(gemma4_hash(file), hash) << name;
  };
  changed("blk.0.layer_output_scale.weight", bytes_of(std::vector<float>{0.5f}));
  changed("per_layer_proj_norm.weight", bytes_of(std::vector<float>(12, 0.25f)));
  changed("blk.6.post_norm.weight", bytes_of(std::vector<float>(40, 0.25f)));
  changed("blk.3.inp_gate.weight", std::string(size_t{4} * 12 * 40, '\0'));
  changed(kTable, std::string(size_t{4} * 7 * 12 * 509, '\0'));
  changed("rope_freqs.weight", bytes_of(std::vector<float>(12, 1.0f)));
  constexpr const char* kCapKey = "gemma4.final_logit_softcapping";
  GgufBuilder capped = gemma4();
  EXPECT_NE(gemma4_hash(capped.kv_f32(kCapKey, 1)), hash);
  // Without the key it is 30; only 0 is none.
  capped.remove(kCapKey);
  const std::string usual = gemma4_hash(capped);
  EXPECT_EQ(gemma4_hash(capped.kv_f32(kCapKey, 30)), usual);
  EXPECT_NE(gemma4_hash(capped.kv_f32(kCapKey, 0)), usual);
  // A scale of 1 is none.
  GgufBuilder one = gemma4(), none = gemma4();
  const char* const scale = "blk.0.layer_output_scale.weight";
  one.find_tensor(scale).data = bytes_of(std::vector<float>{1});
  none.remove_tensor(scale);
  EXPECT_EQ(gemma4_hash(one), gemma4_hash(none));
}

// --- the inputs' table
// ----------------------------------------------------------------------------

TEST(Gemma4, ATableThatComesInNoSlotIsInNoSlot) {
  GgufBuilder file = gemma4();
  const auto by_rows = model_of(file, {1, true, true, false});
  const auto late = model_of(file, {1, true, true, true});
  ASSERT_TRUE(by_rows != nullptr && late != nullptr);
  const uint64_t table = file.find_tensor(kTable).data.size();
  EXPECT_EQ(by_rows->bytes_left_out(), table);
  EXPECT_EQ(late->bytes_left_out(), 0u);
  EXPECT_EQ(late->n_slots(), by_rows->n_slots() + 1);
  EXPECT_EQ(model_of(file)->bytes_left_out(), 0u);
}

// From a file it is read row by row, also when no budget is set. The plan, the progress and the
// slots don't have it; and rows come as long as the engine is used.
TEST(Gemma4, OfAFileOnlyRowsAreRead) {
  GgufBuilder file = gemma4();
  const std::string bytes = file.build();
  const uint64_t table = file.find_tensor(kTable).data.size();
  const TemporaryFile on_disk(bytes);
  const auto engine = open_file(on_disk.path(), small(512));
  ASSERT_NE(engine, nullptr);
  EXPECT_TRUE(engine->ready());
  EXPECT_FALSE(engine->loaded());
  EXPECT_EQ(engine->progress().total, bytes.size() - table);
  EXPECT_EQ(engine->file_bytes(), bytes.size());
  EXPECT_EQ(engine->progress().loaded, engine->progress().total);
  uint64_t in_slots = 0;
  for (const SlotView& slot : engine->slots()) in_slots += slot.bytes;
  EXPECT_LT(in_slots, bytes.size() - table);
  const MemoryPlan plan = engine->memory_plan();
  EXPECT_EQ(plan.all, plan.total());
  EXPECT_EQ(plan.reread, 0u);
  const auto streamed = load_bytes(bytes, small(512));
  EXPECT_TRUE(streamed->loaded());
  EXPECT_EQ(streamed->progress().total, bytes.size());
  // Fewer than 512 rows of it and of the embedding have places.
  EXPECT_LE(streamed->memory_plan().weights, plan.weights + table);

  const std::vector<TokenId> ids = some_ids(300, 509);
  EXPECT_EQ(hash_of(*engine, ids), hash_of(*streamed, ids));
  const Generated text = generate(*engine, ids, greedy(20));
  EXPECT_EQ(text.ids(), generate(*streamed, ids, greedy(20)).ids());
  EXPECT_EQ(engine->stats().reread_bytes, 0u);
}

// A large table shows what a plan counts.
TEST(Gemma4, APlanHasTheTableOnlyWhereItsRowsCannotComeAgain) {
  TinyModel tiny = tiny_model_named("gemma4-f32");
  tiny.n_vocab = 4000;
  GgufBuilder file = tiny_model_file(tiny);
  const uint64_t table = file.find_tensor(kTable).data.size();
  const auto header = parse_gguf(as_bytes(file.build()));
  ASSERT_TRUE(header.has_value());
  const auto plan = plan_memory(*header, small(512));
  ASSERT_TRUE(plan.has_value());
  EXPECT_LT(plan->total(), file.build().size() + (8u << 20));
  EXPECT_LE(plan->least, plan->all);
  LoadOptions options = small(512);
  options.memory_budget = plan->all;
  EXPECT_TRUE(check_memory(*header, options, Access::rereadable).has_value());
  for (const Access once : {Access::sequential, Access::any_order}) {
    const Status refused = check_memory(*header, options, once);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(code_name(refused.error().code), code_name(Code::budget_too_small));
  }
  for (const Access once : {Access::sequential, Access::any_order}) {
    const auto all = plan_memory(*header, small(512), once);
    ASSERT_TRUE(all.has_value());
    EXPECT_GT(all->weights, table);
    EXPECT_EQ(all->least, plan->least);
    options.memory_budget = all->all;
    EXPECT_TRUE(check_memory(*header, options, once).has_value());
    --options.memory_budget;
    EXPECT_FALSE(check_memory(*header, options, once).has_value());
  }
}

// Brings whatever is wanted, each byte of a slot once.
void bring_all(Engine& engine, std::string_view bytes) {
  const auto bring = [&](const Want& want) {
    std::memcpy(want.place.data(), bytes.data() + want.offset, want.place.size());
  };
  for (const Want& row : engine.row_wants()) {
    bring(row);
    EXPECT_TRUE(engine.rows_filled(row.offset, row.place.size()).has_value());
  }
  for (const Want& want : engine.wants(UINT64_MAX)) {
    bring(want);
    EXPECT_TRUE(engine.filled(want.offset, want.place.size()).has_value());
  }
}

TEST(Gemma4, InAnyOrderTheTableComesLastAndOnlyOnce) {
  GgufBuilder file = gemma4();
  const std::string bytes = file.build();
  const std::vector<TokenId> ids = some_ids(40, 509);
  const std::string expected = hash_of(*load_bytes(bytes, small(512)), ids);
  auto engine = Engine::create(small(512), {bytes.size()}, Access::any_order);
  ASSERT_TRUE(engine.has_value());
  while (!(*engine)->has_layout()) {
    const Want want = (*engine)->wants(1).front();
    const size_t n = std::min(want.place.size(), bytes.size() - want.offset);
    std::memcpy(want.place.data(), bytes.data() + want.offset, n);
    ASSERT_TRUE((*engine)->filled(want.offset, n).has_value());
  }
  ASSERT_TRUE((*engine)->build_tokenizer().has_value());
  const auto slots = (*engine)->slots();
  ASSERT_GE(slots.size(), 2u);
  EXPECT_EQ(slots.back().kind, SlotView::Kind::table);
  EXPECT_EQ(slots.back().bytes, file.find_tensor(kTable).data.size());
  EXPECT_EQ(slots[slots.size() - 2].kind, SlotView::Kind::table);  // the embedding's
  bring_all(**engine, bytes);
  EXPECT_TRUE((*engine)->loaded());
  EXPECT_EQ((*engine)->progress().total, bytes.size());
  EXPECT_EQ(hash_of(**engine, ids), expected);
}

// Places for fewer rows than a prompt has, and slots that take turns.
TEST(Gemma4, RowsOneByOneGiveTheSameBits) {
  for (const char* name : {"gemma4-odd-f32", "gemma4-q8_0", "gemma4-plain-f32"}) {
    const std::string bytes = gemma4(name).build();
    const TemporaryFile on_disk(bytes);
    const auto whole = load_bytes(bytes, small(512));
    const std::vector<TokenId> ids = some_ids(300, 509);
    const std::string expected = hash_of(*whole, ids);
    const std::vector<TokenId> text = generate(*whole, ids, greedy(8)).ids();
    for (const PlanOverride plan :
         {PlanOverride{.embedding_rows = 7},
          PlanOverride{.layer_places = 2, .head_parts = 3, .embedding_rows = 300},
          PlanOverride{.layer_places = 2, .head_parts = 3, .embedding_rows = 1}}) {
      const auto engine = PlannedEngine::open(on_disk.path(), small(512), plan);
      ASSERT_TRUE(engine.has_value()) << engine.error().message;
      ASSERT_TRUE((*engine)->wait_ready().has_value());
      EXPECT_EQ(hash_of(**engine, ids), expected) << name;
      EXPECT_EQ(generate(**engine, ids, greedy(8)).ids(), text) << name;
    }
  }
}

// The row of a token that was just written is wanted before the next step.
TEST(Gemma4, TheNextRowIsWantedAtOnce) {
  const std::string bytes = gemma4().build();
  auto engine = Engine::create(small(512), {bytes.size()}, Access::rereadable);
  ASSERT_TRUE(engine.has_value());
  while (!(*engine)->has_layout()) {
    const Want want = (*engine)->wants(1).front();
    const size_t n = std::min(want.place.size(), bytes.size() - want.offset);
    std::memcpy(want.place.data(), bytes.data() + want.offset, n);
    ASSERT_TRUE((*engine)->filled(want.offset, n).has_value());
  }
  ASSERT_TRUE((*engine)->build_tokenizer().has_value());
  bring_all(**engine, bytes);
  ASSERT_TRUE((*engine)->session().start(some_ids(5, 509), greedy(3)).has_value());
  int tokens = 0, at_once = 0;
  const auto done = drive((*engine)->session(), [&](const Event& event) {
    if (event.kind == Event::Kind::waiting) bring_all(**engine, bytes);
    if (event.kind != Event::Kind::token) return;
    ++tokens;
    const std::vector<Want> rows = (*engine)->row_wants();
    EXPECT_LE(rows.size(), 1u);  // of this table; the embedding's is here
    at_once += static_cast<int>(rows.size());
    for (const Want& row : rows) {
      std::memcpy(row.place.data(), bytes.data() + row.offset, row.place.size());
      EXPECT_TRUE((*engine)->rows_filled(row.offset, row.place.size()).has_value());
    }
  });
  EXPECT_TRUE(done.has_value());
  EXPECT_EQ(tokens, 3);
  EXPECT_GE(at_once, 1);  // none for the last token, or for one that came before
}

TEST(Gemma4, InputsThatAreTooLargeEndTheRun) {
  for (const char* name : {kTable, "per_layer_model_proj.weight"}) {
    GgufBuilder file = gemma4();
    std::string& data = file.find_tensor(name).data;
    data = bytes_of(std::vector<float>(data.size() / 4, 3e37f));
    const auto engine = load_bytes(file.build(), small(512));
    ASSERT_NE(engine, nullptr);
    ASSERT_TRUE(engine->session().start(some_ids(3, 509), greedy(1)).has_value());
    const auto done = drive(engine->session(), [](const Event&) {});
    ASSERT_FALSE(done.has_value());
    EXPECT_EQ(code_name(done.error().code), code_name(Code::bad_file));
    EXPECT_NE(done.error().message.find("overflow in the embedding"), std::string::npos);
  }
}

// A run of one block after the other can be cancelled between them.
TEST(Gemma4, ALongPromptIsEmbeddedBlockByBlock) {
  const auto engine = load_bytes(gemma4().build(), small(512));
  ASSERT_TRUE(engine->session().start(some_ids(500, 509), greedy(1)).has_value());
  int steps = 0;
  ASSERT_TRUE(drive(engine->session(), [&](const Event&) { ++steps; }).has_value());
  // Two blocks of each of seven layers, the embedding's first, and the token.
  EXPECT_GE(steps, 14 + 1 + 1);
}

// --- sessions -----------------------------------------------------------------------------------

std::string long_context(uint32_t window, uint32_t n_shared) {
  TinyModel tiny = tiny_model_named("gemma4-f32");
  tiny.window = window;
  tiny.n_shared = n_shared;
  return build_tiny_model(tiny);
}

TEST(Gemma4, NumbersOfASessionAreThoseOfANewOne) {
  const Setting settings[] = {{"f32", 2, 10, 0},
                              {"f16", 1, 100, 200'000},
                              {"q8_0", 2, 261, kDefaultMarks},
                              {"f16", 2, 100, 0, true}};
  uint32_t seed = 31;
  for (const Setting& setting : settings) {
    play(long_context(setting.window, seed % 2 == 0 ? 4 : 3), setting, seed, 30);
    ++seed;
  }
}

}  // namespace
}  // namespace sluice
