// The logit lens: api/lens.h.
#include "api/lens.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "session/results.h"
#include "support/planned_engine.h"
#include "support/session_files.h"

namespace sluice {
namespace {

struct Lens {
  LensCells cells;
  size_t steps = 0;
};

Lens lens_of(Engine& engine, Session& session, const std::vector<TokenId>& ids,
             const LensWanted& wanted = {}) {
  Lens lens;
  const auto run = LensRun::start(engine, session, ids, wanted);
  if (!run.has_value()) {
    ADD_FAILURE() << run.error().message;
    return lens;
  }
  size_t done = 0;
  for (;; ++lens.steps) {
    const auto event = (*run)->step();
    if (!event.has_value()) {
      ADD_FAILURE() << event.error().message;
      return lens;
    }
    EXPECT_GE((*run)->done(), done);
    EXPECT_LE((*run)->done(), done + 1);  // a cell is a slice
    done = (*run)->done();
    if (*event == Event::Kind::done) break;
    if (*event == Event::Kind::waiting && !engine.wait().has_value()) break;
  }
  EXPECT_EQ(done, (*run)->total());
  lens.cells = (*run)->cells();
  return lens;
}

bool same(const LensCells& a, const LensCells& b) {
  return a.ids == b.ids && a.logprobs == b.logprobs && a.entropies == b.entropies &&
         a.divergences == b.divergences;
}

// --- against the definitions, in double --------------------------------------------------------

std::vector<double> probabilities(std::span<const float> logits) {
  const double max = static_cast<double>(*std::ranges::max_element(logits));
  std::vector<double> p;
  double sum = 0;
  for (const float x : logits) sum += p.emplace_back(std::exp(static_cast<double>(x) - max));
  for (double& x : p) x /= sum;
  return p;
}

double entropy(const std::vector<double>& p) {
  double sum = 0;
  for (const double x : p) sum -= x > 0 ? x * std::log(x) : 0;
  return sum;
}

double divergence(const std::vector<double>& p, const std::vector<double>& q) {
  double sum = 0;
  for (size_t i = 0; i < p.size(); ++i) {
    const double mean = (p[i] + q[i]) / 2;
    if (p[i] > 0) sum += p[i] * std::log(p[i] / mean);
    if (q[i] > 0) sum += q[i] * std::log(q[i] / mean);
  }
  return sum / 2;
}

TEST(Lens, HasWhatTheHeadMakesOfEachLayer) {
  std::vector<std::string> models = {bent_bytes()};
  for (const char* name : {"llama-f32", "qwen3moe-q8_0", "qwen35-f32"})
    models.push_back(build_tiny_model(tiny_model_named(name)));
  for (const std::string& bytes : models) {
    const auto engine = load_bytes(bytes, small(64));
    ASSERT_NE(engine, nullptr);
    const std::vector<TokenId> ids = some_ids(9, engine->tokenizer().vocab_size());
    const int64_t n_layers = engine->progress().layers_total;
    Session session(*engine);
    const LensCells cells = lens_of(*engine, session, ids, {.top = 4}).cells;
    EXPECT_TRUE(std::ranges::equal(session.tokens(), ids));
    const auto n_cells = static_cast<size_t>(n_layers) * ids.size();
    ASSERT_EQ(cells.entropies.size(), n_cells);
    ASSERT_EQ(cells.divergences.size(), n_cells);
    ASSERT_EQ(cells.ids.size(), 4 * n_cells);
    ASSERT_EQ(cells.logprobs.size(), 4 * n_cells);

    Results wanted;
    wanted.hidden.all = true;
    for (int64_t l = 0; l < n_layers; ++l) wanted.hidden_layers.push_back(l);
    ASSERT_TRUE(session.start_results(ids, 0, wanted).has_value());
    ASSERT_TRUE(drive_opened(*engine, session).has_value());
    ASSERT_TRUE(session.start_head(session.hidden()).has_value());
    ASSERT_TRUE(drive_opened(*engine, session).has_value());
    const size_t n_vocab = session.logits().size() / n_cells;
    const auto logits_of = [&](size_t cell) {
      return session.logits().subspan(cell * n_vocab, n_vocab);
    };
    for (size_t cell = 0; cell < n_cells; ++cell) {
      const auto top = top_logprobs(logits_of(cell), 4);
      for (size_t i = 0; i < top.size(); ++i) {
        EXPECT_EQ(cells.ids[4 * cell + i], top[i].first);
        EXPECT_NEAR(cells.logprobs[4 * cell + i], top[i].second, 2e-6);
      }
      const auto p = probabilities(logits_of(cell));
      EXPECT_NEAR(static_cast<double>(cells.entropies[cell]), entropy(p), 2e-6);
      const size_t of_last = n_cells - ids.size() + cell % ids.size();
      const auto q = probabilities(logits_of(of_last));
      EXPECT_NEAR(static_cast<double>(cells.divergences[cell]), divergence(p, q), 1e-6);
      EXPECT_EQ(cells.divergences[cell] == 0, cell == of_last) << cell;
    }
  }
}

// Two that have nothing in common differ by ln 2.
TEST(Lens, DivergenceIsAtMostLn2) {
  GgufBuilder file = tiny_model_file(tiny_model_named("llama-f32"));
  auto& head = file.find_tensor("output.weight");
  std::vector<float> numbers(head.dims[0] * head.dims[1]);
  std::memcpy(numbers.data(), head.data.data(), head.data.size());
  for (float& x : numbers) x = x * 1000;
  head.data = bytes_of(numbers);
  const auto engine = load_bytes(file.build(), small(64));
  ASSERT_NE(engine, nullptr);
  const LensCells cells = lens_of(*engine, engine->session(), some_ids(9, 512)).cells;
  const auto largest = static_cast<double>(std::ranges::max(cells.divergences));
  EXPECT_NEAR(largest, std::log(2.0), 1e-6);
  EXPECT_TRUE(std::ranges::all_of(cells.entropies, [](float x) { return x >= 0; }));
}

// --- some of all -------------------------------------------------------------------------------

TEST(Lens, OfSomeCellsIsThatOfAll) {
  for (const char* name : {"qwen2-q8_0", "gemma4-f32", "lfm2-f32"}) {
    LoadOptions options = small(512);
    options.threads = 2;
    const std::string bytes = build_tiny_model(tiny_model_named(name));
    const auto engine = load_bytes(bytes, options);
    ASSERT_NE(engine, nullptr);
    // Its states come in three pieces.
    const std::vector<TokenId> ids = some_ids(300, engine->tokenizer().vocab_size());
    const auto n_layers = static_cast<size_t>(engine->progress().layers_total);
    const LensCells all = lens_of(*engine, engine->session(), ids).cells;
    LensWanted wanted = {.positions = {0, 5, 129, 130, 257}, .layers = {0}};
    for (const bool with_last : {false, true}) {
      if (with_last) wanted.layers.push_back(static_cast<int64_t>(n_layers) - 1);
      Session session(*engine);
      const LensCells some = lens_of(*engine, session, ids, wanted).cells;
      EXPECT_EQ(session.tokens().size(), 258u);
      ASSERT_EQ(some.entropies.size(), wanted.layers.size() * wanted.positions.size());
      for (size_t cell = 0; cell < some.entropies.size(); ++cell) {
        const size_t layer = static_cast<size_t>(wanted.layers[cell / wanted.positions.size()]);
        const size_t of_all = layer * ids.size() + static_cast<size_t>(wanted.positions[cell % 5]);
        EXPECT_EQ(some.entropies[cell], all.entropies[of_all]);
        EXPECT_EQ(some.divergences[cell], all.divergences[of_all]);
        for (size_t i = 0; i < 3; ++i) {
          EXPECT_EQ(some.ids[3 * cell + i], all.ids[3 * of_all + i]);
          EXPECT_EQ(some.logprobs[3 * cell + i], all.logprobs[3 * of_all + i]);
        }
      }
    }
    // The last layer alone: no other is computed.
    wanted.layers = {static_cast<int64_t>(n_layers) - 1};
    const LensCells last = lens_of(*engine, engine->session(), ids, wanted).cells;
    EXPECT_EQ(last.entropies[4], all.entropies[(n_layers - 1) * ids.size() + 257]);

    const TemporaryFile file(bytes);
    const auto parts = PlannedEngine::open(
        file.path(), options, {.layer_places = 2, .head_parts = 3, .embedding_rows = 16});
    ASSERT_TRUE(parts.has_value()) << parts.error().message;
    EXPECT_TRUE(same(lens_of(**parts, (*parts)->session(), ids).cells, all)) << name;
  }
}

// Of fewer positions and layers at a time, where the memory allows no more.
TEST(Lens, KeepsToTheMemoryThatThereIs) {
  const std::vector<TokenId> ids = some_ids(200, 512);
  LoadOptions options = small(256);
  const auto ample = load_bytes(tiny_bytes(), options);
  ASSERT_NE(ample, nullptr);
  const LensCells all = lens_of(*ample, ample->session(), ids).cells;
  for (const uint64_t rows : {0, 5, 40}) {
    options.memory_budget = ample->memory_plan().total() + 4 * 512 * (rows + 2);
    const auto engine = load_bytes(tiny_bytes(), options);
    ASSERT_NE(engine, nullptr);
    const auto run = LensRun::start(*engine, engine->session(), ids, {});
    ASSERT_TRUE(run.has_value()) << run.error().message;
    for (;;) {
      const auto event = (*run)->step();
      ASSERT_TRUE(event.has_value()) << event.error().message;
      ASSERT_LE(engine->stats().resident_bytes, options.memory_budget);
      if (*event == Event::Kind::done) break;
    }
    EXPECT_TRUE(same((*run)->cells(), all)) << rows;
  }
}

// --- refused, cancelled ------------------------------------------------------------------------

TEST(Lens, ThatThereIsntIsRefused) {
  const auto engine = tiny_engine(64);
  const std::vector<TokenId> ids = some_ids(9, engine->tokenizer().vocab_size());
  const auto refused = [&](const std::vector<TokenId>& of, const LensWanted& wanted,
                           std::string_view says) {
    const auto run = LensRun::start(*engine, engine->session(), of, wanted);
    ASSERT_FALSE(run.has_value()) << says;
    EXPECT_EQ(run.error().code, Code::invalid_argument) << says;
    EXPECT_NE(run.error().message.find(says), std::string::npos) << run.error().message;
    EXPECT_FALSE(engine->session().running());
  };
  const int64_t n_layers = engine->progress().layers_total;
  refused({}, {}, "position 0");
  refused({1, 1 << 20}, {}, "not in the vocabulary");
  refused(ids, {.positions = {9}}, "position 9; there are those from 0 to 8");
  refused(ids, {.positions = {3, 3}}, "position 3");
  refused(ids, {.layers = {n_layers}}, "layer ");
  refused(ids, {.layers = {-1}}, "layer -1");
  refused(ids, {.layers = {1, 0}}, "layer 0");
  refused(ids, {.top = 0}, "1 token of each cell");
  refused(std::vector<TokenId>(1 << 14, 1), {.top = 512}, "ask for fewer");
  const auto encoder = load_bytes(build_tiny_model(tiny_model_named("bert-q8_0")), small(64));
  ASSERT_NE(encoder, nullptr);
  const auto run = LensRun::start(*encoder, encoder->session(), {1, 2}, {});
  ASSERT_TRUE(run.has_value());
  auto event = (*run)->step();
  while (event.has_value() && *event != Event::Kind::done) event = (*run)->step();
  ASSERT_FALSE(event.has_value());
  EXPECT_EQ(event.error().code, Code::unsupported_model);
  EXPECT_EQ((*run)->step(), Event::Kind::done);
  // Of a small vocabulary there are no more.
  const LensCells cells = lens_of(*engine, engine->session(), ids, {.top = 9999}).cells;
  EXPECT_EQ(cells.top, engine->tokenizer().vocab_size());
}

TEST(Lens, EndsWhenItIsCancelled) {
  const auto engine = tiny_engine(64);
  const std::vector<TokenId> ids = some_ids(9, engine->tokenizer().vocab_size());
  const size_t steps = lens_of(*engine, engine->session(), ids).steps;
  for (size_t at = 0; at < steps; ++at) {
    Session session(*engine);
    const auto run = LensRun::start(*engine, session, ids, {});
    ASSERT_TRUE(run.has_value());
    for (size_t i = 0; i < at; ++i) ASSERT_TRUE((*run)->step().has_value());
    const size_t done = (*run)->done();
    (*run)->cancel();
    EXPECT_FALSE(session.running());
    EXPECT_EQ((*run)->step(), Event::Kind::done);
    EXPECT_EQ((*run)->done(), done);
  }
  // Or when somebody else cancels a run of the session.
  Session session(*engine);
  const auto run = LensRun::start(*engine, session, ids, {});
  ASSERT_TRUE(run.has_value());
  session.cancel();
  EXPECT_EQ((*run)->step(), Event::Kind::done);
  EXPECT_EQ((*run)->step(), Event::Kind::done);
  EXPECT_EQ((*run)->done(), 0u);
}

// --- ../shared ---------------------------------------------------------------------------------

TEST(SharedHidden, LensAgrees) {
  const std::string dir = std::string(SLUICE_ROOT) + "/../shared/models/";
  const auto all = nlohmann::json::parse(read_file(dir + "hidden.json"), nullptr, false);
  if (!all.is_object()) GTEST_SKIP() << "there is no ../shared/models/hidden.json here";
  for (const auto& [name, model] : all.items()) {
    LoadOptions options = small(512);
    options.kv_type = "f32";
    const auto engine = open_file(dir + "tiny/" + name, options);
    ASSERT_NE(engine, nullptr) << name;
    const double most = name.contains("gpt2") || name.contains("gemma3") ? 1e-3 : 1e-4;
    for (const auto& one : model.at("cases")) {
      const auto ids = one.at("ids").get<std::vector<TokenId>>();
      const auto& lens = one.at("lens");
      const auto js = lens.at("js_to_last").get<std::vector<double>>();
      const LensCells cells = lens_of(*engine, engine->session(), ids,
                                      {.positions = {static_cast<int64_t>(ids.size()) - 1}})
                                  .cells;
      ASSERT_EQ(cells.divergences.size(), js.size());
      for (size_t l = 0; l < js.size(); ++l) {
        EXPECT_NEAR(static_cast<double>(cells.divergences[l]), js[l], most / 10) << name << l;
        for (size_t i = 0; i < 3; ++i) {
          EXPECT_EQ(cells.ids[3 * l + i], lens.at("top")[l][i][0].get<TokenId>()) << name << l;
          EXPECT_NEAR(static_cast<double>(cells.logprobs[3 * l + i]),
                      lens.at("top")[l][i][1].get<double>(), most)
              << name << l;
        }
      }
    }
  }
}

}  // namespace
}  // namespace sluice
