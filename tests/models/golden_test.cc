// Compares whole models with llama.cpp: its answers for the tiny models and the bundled one are in
// tests/data/answers.json, and more may be in ../shared.
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "base/format.h"
#include "make/tiny_models.h"
#include "support/model_test.h"

namespace sluice {
namespace {

using Best = std::vector<std::pair<TokenId, float>>;  // best first, with log-probabilities

struct Case {
  std::vector<TokenId> prompt;
  std::vector<TokenId> tokens;  // greedy
  std::map<size_t, Best> steps;
};

const std::string kRoot = SLUICE_ROOT;
const std::string kShared = kRoot + "/../shared/models/";
const std::string kBundled = kRoot + "/web/app/public/models/stories-q8_0.gguf";

nlohmann::json read_json(const std::string& path) {
  return nlohmann::json::parse(read_file(path), nullptr, false);
}

const nlohmann::json& answers() {
  static const nlohmann::json all = read_json(kRoot + "/tests/data/answers.json");
  return all;
}

const nlohmann::json& shared_goldens() {
  static const nlohmann::json all = [] {
    nlohmann::json goldens = read_json(kShared + "goldens.json");
    for (const char* more : {"goldens-wide.json", "goldens-more.json"}) {
      const nlohmann::json others = read_json(kShared + more);
      if (goldens.is_object() && others.is_object()) goldens.update(others);
    }
    return goldens;
  }();
  return all;
}

// How much log-probabilities may differ, because engines round activations differently.
float tolerance(std::string_view model) {
  // Here GELU, of which llama.cpp has a table of f16, comes twice in a layer; and all that a layer
  // adds is normed, small numbers and their rounding as well. (With such a table the distances of
  // F32 are a tenth.)
  if (model.find("gemma4") != model.npos)
    return model.ends_with("bf16")   ? 0.1f
           : model.ends_with("f16")  ? 0.02f
           : model.ends_with("f32")  ? 0.025f
           : model.ends_with("q8_0") ? 0.3f
                                     : 0.6f;
  if (model.ends_with("bf16")) return 0.03f;
  if (model.ends_with("f32")) return 2e-3f;
  const bool f16 = model.ends_with("f16");
  // A short convolution multiplies three activations, each of which llama.cpp has rounded, and a
  // delta net still more.
  if (model.starts_with("qwen35")) return f16 ? 0.02f : 0.2f;
  if (f16) return model.starts_with("lfm2") ? 8e-3f : 5e-3f;
  return model.starts_with("stories") ? 0.25f : 0.12f;
}

// `at`: the reference's best tokens at one step.
void expect_close(const Event& event, const Best& at, float within) {
  const std::map<TokenId, float> ours(event.top.begin(), event.top.end());
  for (size_t i = 0; i < at.size() && i < 10; ++i) {
    const auto [id, logprob] = at[i];
    ASSERT_TRUE(ours.contains(id)) << "token " << id << " is not among our 100 best";
    EXPECT_NEAR(ours.at(id), logprob, within) << "token " << id;
  }
}

void check_case(Engine& engine, const Case& expected, float within) {
  GenerateOptions options = greedy(static_cast<int64_t>(expected.tokens.size()));
  options.top_logprobs = 100;
  const Generated got = generate(engine, expected.prompt, options);
  ASSERT_EQ(got.tokens.size(), expected.tokens.size());
  for (size_t i = 0; i < expected.tokens.size(); ++i) {
    SCOPED_TRACE(testing::Message() << "prompt of " << expected.prompt.size() << ", token " << i);
    const auto step = expected.steps.find(i);
    if (step != expected.steps.end()) expect_close(got.tokens[i], step->second, within);
    if (got.tokens[i].id == expected.tokens[i]) continue;
    // Two almost equal tokens may change places. After that the texts differ.
    if (step != expected.steps.end()) {
      const Best& best = step->second;
      EXPECT_LE(best[0].second - best[1].second, 2 * within)
          << "ours: " << got.tokens[i].id << ", expected: " << expected.tokens[i];
    }
    return;
  }
}

std::unique_ptr<Engine> open_f32(const std::string& path, uint32_t context = 0) {
  LoadOptions options;
  options.context_size = context;
  options.kv_type = "f32";
  options.threads = 2;
  return open_file(path, options);
}

// --- the committed answers --------------------------------------------------------------

std::vector<Case> cases_of(const nlohmann::json& model) {
  std::vector<Case> cases;
  for (const auto& one : model.at("cases")) {
    Case c;
    one.at("prompt").get_to(c.prompt);
    for (const auto& best : one.at("steps")) {
      c.steps[c.tokens.size()] = best.get<Best>();
      c.tokens.push_back(best.at(0).at(0));
    }
    cases.push_back(std::move(c));
  }
  return cases;
}

std::string model_bytes(const std::string& name) {
  if (name == "stories-q8_0") return read_file(kBundled);
  return build_tiny_model(tiny_model_named(name));
}

std::vector<std::string> answered_models() {
  std::vector<std::string> names;
  for (const auto& model : answers().at("models").items()) names.push_back(model.key());
  return names;
}

class Answers : public testing::TestWithParam<std::string> {};

TEST_P(Answers, LogProbabilitiesAndGreedyTokensAgree) {
  const nlohmann::json& model = answers().at("models").at(GetParam());
  const std::string bytes = model_bytes(GetParam());
  ASSERT_EQ(fnv1a(bytes), model.at("fnv1a").get<std::string>())
      << "not the file that the answers are for";
  LoadOptions options;
  options.kv_type = "f32";
  options.threads = 2;
  const auto engine = load_bytes(bytes, options);
  ASSERT_NE(engine, nullptr);
  const std::vector<Case> cases = cases_of(model);
  ASSERT_GE(cases.size(), 3u);
  for (const Case& one : cases) check_case(*engine, one, tolerance(GetParam()));
  if (!model.contains("texts")) return;
  for (const auto& [text, ids] :
       model.at("texts").get<std::vector<std::pair<std::string, std::vector<TokenId>>>>()) {
    EXPECT_EQ(engine->tokenizer().encode(text), ids) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(LlamaCpp, Answers, testing::ValuesIn(answered_models()),
                         [](const auto& each) { return test_name(each.param); });

// Fails if a model was added without recording its answers.
TEST(Answers, AreThereForEveryTinyModel) {
  for (const TinyModel& model : tiny_models()) {
    // Rounded otherwise, activations choose other experts of a model with 4 bits.
    const bool choosy = model.name.starts_with("qwen3moe-q4");
    const bool folded = !model.folded_from.empty();  // below
    EXPECT_TRUE(model.scattered || choosy || folded || answers().at("models").contains(model.name))
        << model.name;
  }
}

// A folded model is the same as the one that it was made of, but for rounding.
TEST(Answers, AreThoseOfTheTwinForFoldedModels) {
  for (const TinyModel& model : tiny_models()) {
    if (model.folded_from.empty()) continue;
    SCOPED_TRACE(model.name);
    LoadOptions options;
    options.kv_type = "f32";
    options.threads = 2;
    const auto engine = load_bytes(build_tiny_model(model), options);
    ASSERT_NE(engine, nullptr);
    for (const Case& one : cases_of(answers().at("models").at(model.folded_from)))
      check_case(*engine, one, tolerance(model.name));
  }
}

// --- ../shared -------------------------------------------------------------------------

std::string shared_path(const std::string& file) {
  return kShared + (file.starts_with("tiny") ? "tiny/" : "") + file;
}

std::vector<std::string> shared_models() {
  std::vector<std::string> names;
  if (!shared_goldens().is_object()) return {"absent"};
  for (const auto& model : shared_goldens().items()) names.push_back(model.key());
  return names;
}

bool is_ours(const Gguf& header) {
  const auto architecture = header.get_string("general.architecture");
  if (!architecture.has_value() || !architecture->has_value()) return false;
  constexpr std::string_view kOurs[] = {"llama", "qwen2",  "qwen3",  "qwen3moe", "qwen35",
                                        "gpt2",  "gemma3", "gemma4", "lfm2"};
  if (std::ranges::find(kOurs, **architecture) == std::end(kOurs)) return false;
  const bool mixture = header.find_tensor("blk.0.ffn_gate_inp.weight") != nullptr;
  if (**architecture == "gemma4" && mixture) return false;
  return std::ranges::all_of(header.tensors,
                             [](const TensorInfo& t) { return find_traits(t.type) != nullptr; });
}

class Shared : public testing::TestWithParam<std::string> {};

TEST_P(Shared, LogProbabilitiesAndGreedyTokensAgree) {
  if (GetParam() == "absent") GTEST_SKIP() << "there is no ../shared/models/goldens.json here";
  const std::string path = shared_path(GetParam());
  const auto header = read_header(path);
  ASSERT_TRUE(header.has_value()) << header.error().message;
  if (!is_ours(*header)) {
    const auto refused = Engine::open(path, {});
    ASSERT_FALSE(refused.has_value());
    EXPECT_TRUE(refused.error().code == Code::unsupported_model ||
                refused.error().code == Code::unsupported_type)
        << refused.error().message;
    return;
  }
  // The size of the context chooses the factors of RoPE; the answers are for this one.
  const auto engine = open_f32(path, GetParam().starts_with("tiny") ? 512 : 0);
  ASSERT_NE(engine, nullptr);
  const float within = tolerance(GetParam().substr(0, GetParam().rfind('.')));
  for (const auto& one : shared_goldens().at(GetParam())) {
    Case c;
    one.at("prompt").get_to(c.prompt);
    one.at("tokens").get_to(c.tokens);
    for (const auto& step : one.at("steps")) c.steps[step.at(0)] = step.at(1).get<Best>();
    check_case(*engine, c, within);
  }
}

INSTANTIATE_TEST_SUITE_P(Goldens, Shared, testing::ValuesIn(shared_models()),
                         [](const auto& each) { return test_name(each.param); });

// The text of Karpathy's own engine, up to a line of backquotes.
TEST(SharedText, Stories260KWritesTheSameStory) {
  const std::string expected = read_file(kShared + "stories260K.greedy.txt");
  if (expected.empty()) GTEST_SKIP() << "there is no ../shared/models/stories260K.greedy.txt here";
  const std::string story = expected.substr(0, expected.find("\n```"));
  ASSERT_GE(story.size(), 500u);
  const auto engine = open_f32(kShared + "stories260K-f32.gguf");
  ASSERT_NE(engine, nullptr);
  const Generated got = generate(*engine, std::string_view("Once upon a time"), greedy(300));
  const std::string text = "Once upon a time" + got.text;
  const auto [at, unused] = std::ranges::mismatch(text, story);
  const auto same = at - text.begin();
  EXPECT_GE(same, 500) << "ours goes on: " << text.substr(static_cast<size_t>(same), 60);
}

}  // namespace
}  // namespace sluice
