#include "measure/importance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "files/bytes.h"
#include "gguf/gguf.h"
#include "make/tiny_models.h"
#include "measure/text_chunks.h"
#include "pass/observer.h"
#include "session/observe.h"
#include "support/engine_fixture.h"
#include "text/tokenizer.h"

namespace sluice {
namespace {

using Floats = std::vector<float>;

constexpr std::string_view kText =
    "Once upon a time there was a small river. It ran past the mill, under the old bridge and "
    "through the town, and every day it told the stones where it had been.\n";

std::string long_text(size_t bytes) {
  std::string text;
  while (text.size() < bytes) text += kText;
  return text;
}

bool go_on(const ImportanceProgress&) { return true; }

// A file in the tests' own folder, which is removed at the end.
class ModelFile {
 public:
  explicit ModelFile(const std::string& bytes)
      : path_(testing::TempDir() + "measured-" +
              testing::UnitTest::GetInstance()->current_test_info()->name() + ".gguf") {
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  ~ModelFile() { std::filesystem::remove(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Result<Importance> measure(const std::string& path, std::string_view text,
                           const ImportanceOptions& options, int32_t threads = 1) {
  LoadOptions load;
  load.threads = threads;
  plan_importance(options, load);
  SLUICE_ASSIGN(const auto engine, Engine::open(path, load));
  return measure_importance(*engine, text, options, go_on);
}

void expect_same(const Importance& a, const Importance& b) {
  ASSERT_EQ(a.matrices.size(), b.matrices.size());
  for (size_t i = 0; i < a.matrices.size(); ++i) {
    EXPECT_EQ(a.matrices[i].name, b.matrices[i].name);
    EXPECT_EQ(a.matrices[i].counts, b.matrices[i].counts) << a.matrices[i].name;
    EXPECT_EQ(a.matrices[i].in_sum2, b.matrices[i].in_sum2) << a.matrices[i].name;
  }
}

// The tensors of layers that rows are multiplied by.
bool is_multiplied(const TensorInfo& tensor, const TinyModel& model) {
  uint32_t layer = 0;
  if (std::sscanf(tensor.name.c_str(), "blk.%u.", &layer) != 1 || layer >= model.n_layers)
    return false;
  const std::string_view name = tensor.name;
  if (model.is_shared(layer) &&
      (name.find("attn_k.") != name.npos || name.find("attn_v.") != name.npos))
    return false;  // it reads those of another layer
  return tensor.n_dims > 1 && name.ends_with(".weight") && name.find("conv") == name.npos;
}

bool is_of_conv(const TensorInfo& tensor) {
  return tensor.name.find("shortconv.in_proj") != std::string::npos ||
         tensor.name.find("shortconv.out_proj") != std::string::npos;
}

// Every matrix of the layers occurs once, with all tokens; experts with those that they got.
TEST(MeasureImportance, MeasuresEveryMatrixOfEveryFamily) {
  const ImportanceOptions options{.chunk_size = 20, .n_chunks = 2};
  const std::string text = long_text(400);
  std::map<std::string, int> seen;  // a file of each architecture for each kind of its tensors
  for (const TinyModel& model : tiny_models()) {
    if (model.type != Type::F32 && model.type != Type::Q8_0) continue;
    SCOPED_TRACE(model.name);
    const ModelFile file(build_tiny_model(model));
    const auto measured = measure(file.path(), text, options);
    ASSERT_TRUE(measured) << measured.error().message;
    EXPECT_EQ(measured->chunk_count, 2u);
    EXPECT_EQ(measured->chunk_size, 20u);
    ++seen[model.architecture];
    const std::string bytes = build_tiny_model(model);
    const Gguf gguf = *parse_gguf(as_bytes(bytes), bytes.size());
    size_t expected = 0;
    for (const TensorInfo& tensor : gguf.tensors) {
      if (!is_multiplied(tensor, model) && !is_of_conv(tensor)) continue;
      ++expected;
      const Importance::Matrix* found = measured->find(tensor.name);
      ASSERT_NE(found, nullptr) << tensor.name;
      EXPECT_EQ(found->columns, tensor.dims[0]) << tensor.name;
      ASSERT_EQ(found->n_experts, tensor.dims[2]) << tensor.name;
      ASSERT_EQ(found->in_sum2.size(), found->columns * found->n_experts);
      float inputs = 0;
      for (size_t e = 0; e < found->n_experts; ++e) {
        inputs += found->counts[e];
        for (size_t i = 0; i < found->columns; ++i) {
          const float sum = found->in_sum2[e * found->columns + i];
          EXPECT_EQ(sum > 0, found->counts[e] > 0) << tensor.name << " " << e << " " << i;
        }
      }
      EXPECT_EQ(inputs, found->n_experts > 1 ? 40 * static_cast<float>(model.n_used) : 40)
          << tensor.name;
    }
    EXPECT_EQ(measured->matrices.size(), expected);
    EXPECT_TRUE(std::ranges::is_sorted(measured->matrices, {}, &Importance::Matrix::name));
  }
  EXPECT_EQ(seen.size(), 9u);
}

// The bits don't depend on threads, nor on weights that are read again for every chunk.
TEST(MeasureImportance, GivesTheSameSumsHowever) {
  const ImportanceOptions options{.chunk_size = 300, .n_chunks = 2};
  const std::string text = long_text(8000);
  for (const char* name : {"qwen3moe-q8_0", "gemma3-q8_0", "qwen35-q8_0"}) {
    SCOPED_TRACE(name);
    const ModelFile file(build_tiny_model(tiny_model_named(name)));
    const auto one = measure(file.path(), text, options, 1);
    ASSERT_TRUE(one) << one.error().message;
    const auto two = measure(file.path(), text, options, 2);
    ASSERT_TRUE(two) << two.error().message;
    expect_same(*one, *two);

    LoadOptions load;
    load.threads = 1;
    plan_importance(options, load);
    const auto probe = Engine::open(file.path(), load);
    ASSERT_TRUE(probe) << probe.error().message;
    load.memory_budget = (*probe)->memory_plan().least;
    ASSERT_LT(load.memory_budget, (*probe)->memory_plan().total());
    const auto engine = Engine::open(file.path(), load);
    ASSERT_TRUE(engine) << engine.error().message;
    EXPECT_GT((*engine)->memory_plan().reread, 0u);
    const auto streamed = measure_importance(**engine, text, options, go_on);
    ASSERT_TRUE(streamed) << streamed.error().message;
    expect_same(*one, *streamed);
  }
}

// Adds the squares up in its own way: by tensor and first row of each part.
class Adder final : public Observer {
 public:
  Points points(int64_t) const override { return {.linear_input = true}; }
  void read(const PointRows<const float>& rows, const ObservedMatrix& matrix) override {
    std::vector<double>& sums = sums_[{std::string(matrix.tensor), matrix.first_row}];
    sums.resize(static_cast<size_t>(rows.width));
    for (int64_t t = 0; t < rows.n_tokens; ++t)
      for (size_t i = 0; i < sums.size(); ++i)
        sums[i] += static_cast<double>(rows.row(t)[i]) * static_cast<double>(rows.row(t)[i]);
  }
  void visit(const PointRows<float>&) override {}

  Floats sums(const std::string& tensor, int64_t first_row) const {
    const auto found = sums_.find({tensor, first_row});
    if (found == sums_.end()) return {};
    return {found->second.begin(), found->second.end()};
  }

 private:
  std::map<std::pair<std::string, int64_t>, std::vector<double>> sums_;
};

// Nor on how many tokens a pass has.
TEST(MeasureImportance, GivesTheSameSumsAsShorterPasses) {
  constexpr uint32_t kChunk = 270;  // more than a block
  for (const char* name : {"qwen3moe-q8_0", "qwen35-q8_0"}) {
    SCOPED_TRACE(name);
    const std::string bytes = build_tiny_model(tiny_model_named(name));
    const Gguf gguf = *parse_gguf(as_bytes(bytes), bytes.size());
    const ModelFile file(bytes);
    const std::string text = long_text(4000);
    const auto measured = measure(file.path(), text, {.chunk_size = kChunk, .n_chunks = 1}, 2);
    ASSERT_TRUE(measured) << measured.error().message;
    LoadOptions load = small(kChunk);
    load.kv_type = "f32";
    const auto engine = load_bytes(bytes, load);
    const auto chunks = TextChunks::make(engine->tokenizer(), text, kChunk, 1, [] { return true; });
    ASSERT_TRUE(chunks);
    for (const int64_t batch : {1, 37}) {
      Adder adder;
      Session session(*engine);
      ASSERT_TRUE(set_observer(session, &adder));
      ASSERT_TRUE(session.start_logits(chunks->chunk(0), batch));
      ASSERT_TRUE(drive(session, [](const Event&) {}));
      for (const Importance::Matrix& matrix : measured->matrices) {
        const auto rows = static_cast<int64_t>(gguf.find_tensor(matrix.name)->dims[1]);
        for (size_t e = 0; e < matrix.n_experts; ++e) {
          const auto first = matrix.in_sum2.begin() + static_cast<ptrdiff_t>(e * matrix.columns);
          Floats theirs = adder.sums(matrix.name, static_cast<int64_t>(e) * rows);
          theirs.resize(matrix.columns);  // an expert that nobody chose
          EXPECT_EQ(theirs, Floats(first, first + static_cast<ptrdiff_t>(matrix.columns)))
              << matrix.name << " " << e << " batch " << batch;
        }
      }
    }
  }
}

// Two halves of a text have together the sums of the whole.
TEST(MeasureImportance, AddsUpItsChunks) {
  const ModelFile file(build_tiny_model(tiny_model_named("llama-f32")));
  const std::string text = long_text(2000);
  const auto all = measure(file.path(), text, {.chunk_size = 40, .n_chunks = 3});
  const auto first = measure(file.path(), text, {.chunk_size = 40, .n_chunks = 1});
  ASSERT_TRUE(all && first);
  for (size_t i = 0; i < all->matrices.size(); ++i) {
    EXPECT_EQ(all->matrices[i].counts, Floats{120});
    EXPECT_EQ(first->matrices[i].counts, Floats{40});
    for (size_t c = 0; c < all->matrices[i].columns; ++c)
      EXPECT_GT(all->matrices[i].in_sum2[c], first->matrices[i].in_sum2[c]);
  }
}

TEST(MeasureImportance, MeasuresTheHeadOnRequest) {
  const std::string text = long_text(1000);
  const ModelFile file(build_tiny_model(tiny_model_named("llama-f32")));
  ImportanceOptions options{.chunk_size = 30, .n_chunks = 2};
  const auto without = measure(file.path(), text, options);
  ASSERT_TRUE(without) << without.error().message;
  EXPECT_EQ(without->find("output.weight"), nullptr);
  options.output_tensor = true;
  const auto with = measure(file.path(), text, options);
  ASSERT_TRUE(with) << with.error().message;
  ASSERT_NE(with->find("output.weight"), nullptr);
  EXPECT_EQ(with->find("output.weight")->counts, Floats{60});
  EXPECT_EQ(with->matrices.size(), without->matrices.size() + 1);
  EXPECT_EQ(with->find("token_embd.weight"), nullptr);
}

TEST(MeasureImportance, RefusesAHeadThatIsTheEmbedding) {
  const ModelFile file(build_tiny_model(tiny_model_named("gemma3-q8_0")));
  const auto refused =
      measure(file.path(), long_text(1000), {.chunk_size = 30, .output_tensor = true});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::invalid_argument);
}

TEST(MeasureImportance, SaysHowMuchTextItNeeds) {
  const ModelFile file(build_tiny_model(tiny_model_named("llama-f32")));
  for (const std::string& text : {std::string(), std::string("Once upon")}) {
    const auto refused = measure(file.path(), text, {.chunk_size = 100});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::invalid_argument);
    EXPECT_NE(refused.error().message.find("at least 100"), std::string::npos)
        << refused.error().message;
  }
}

TEST(MeasureImportance, TellsItsProgressAndStops) {
  const ModelFile file(build_tiny_model(tiny_model_named("llama-f32")));
  const ImportanceOptions options{.chunk_size = 40, .n_chunks = 3};
  LoadOptions load;
  load.threads = 1;
  plan_importance(options, load);
  const auto engine = Engine::open(file.path(), load);
  ASSERT_TRUE(engine) << engine.error().message;
  const std::string text = long_text(2000);
  std::vector<ImportanceProgress> seen;
  const auto done = measure_importance(**engine, text, options, [&](const auto& progress) {
    seen.push_back(progress);
    return true;
  });
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(seen.front().total, 0u);
  EXPECT_EQ(seen.back().total, 120u);
  EXPECT_EQ(seen.back().chunk, 2u);
  EXPECT_TRUE(std::ranges::is_sorted(seen, {}, &ImportanceProgress::done));
  // Wherever it is stopped, the engine can be used again. (It waits for weights the first time, so
  // it called more often then.)
  size_t stop = 0;
  while (true) {
    size_t calls = 0;
    const auto stopped =
        measure_importance(**engine, text, options, [&](const auto&) { return calls++ < stop; });
    if (stopped) break;
    EXPECT_EQ(stopped.error().code, Code::aborted);
    ++stop;
  }
  EXPECT_GE(stop, 1u + 3 * 2);  // the text, and the layers of each chunk
  const auto again = measure_importance(**engine, text, options, go_on);
  ASSERT_TRUE(again) << again.error().message;
  expect_same(*done, *again);
}

// --- chunks --------------------------------------------------------------------------------------

TEST(TextChunks, BeginWithBosWhereTheModelAddsIt) {
  const std::string bytes = build_tiny_model(tiny_model_named("llama-f32"));
  const Tokenizer tokenizer = *Tokenizer::from_gguf(*parse_gguf(as_bytes(bytes), bytes.size()));
  ASSERT_FALSE(tokenizer.prefix().empty());
  const std::string text = long_text(600);
  std::vector<TokenId> ids = {tokenizer.bos()};
  const std::vector<TokenId> of_text = tokenizer.encode(text);
  ids.insert(ids.end(), of_text.begin(), of_text.end());
  const auto chunks = TextChunks::make(tokenizer, text, 50, 0, [] { return true; });
  ASSERT_TRUE(chunks) << chunks.error().message;
  EXPECT_EQ(chunks->count(), ids.size() / 50);
  for (size_t i = 0; i < chunks->count(); ++i) {
    const auto first = ids.begin() + static_cast<ptrdiff_t>(50 * i);
    std::vector<TokenId> expected(first, first + 50);
    expected[0] = tokenizer.bos();
    EXPECT_EQ(chunks->chunk(i), expected);
  }
  const auto some = TextChunks::make(tokenizer, text, 50, 2, [] { return true; });
  ASSERT_TRUE(some);
  EXPECT_EQ(some->count(), 2u);
}

TEST(TextChunks, TakesSpecialTokensAsText) {
  const std::string bytes = build_tiny_model(tiny_model_named("llama-f32"));
  const Tokenizer tokenizer = *Tokenizer::from_gguf(*parse_gguf(as_bytes(bytes), bytes.size()));
  const auto chunks = TextChunks::make(tokenizer, "a </s> b", 2, 0, [] { return true; });
  ASSERT_TRUE(chunks);
  for (size_t i = 0; i < chunks->count(); ++i)
    for (const TokenId id : chunks->chunk(i)) EXPECT_NE(id, tokenizer.eos());
}

// --- beside llama-imatrix ------------------------------------------------------------------------

TEST(MeasureImportance, AgreesWithLlamaImatrix) {
  const std::string dir = SLUICE_ROOT "/../shared/";
  StringSource source(read_file(dir + "models/quantize/stories.imatrix.gguf"));
  const std::string text = read_file(dir + "data/text/tinystories-validation.txt");
  if (source.size() == 0 || text.empty()) GTEST_SKIP() << "there is no ../shared here";
  const auto theirs = read_importance(source);
  ASSERT_TRUE(theirs) << theirs.error().message;
  const auto ours = measure(dir + "models/stories-f16.gguf", text, {.n_chunks = 32}, 2);
  ASSERT_TRUE(ours) << ours.error().message;
  EXPECT_EQ(ours->chunk_count, theirs->chunk_count);
  ASSERT_EQ(ours->matrices.size(), theirs->matrices.size());
  double largest = 0;
  for (size_t i = 0; i < ours->matrices.size(); ++i) {
    const Importance::Matrix& a = ours->matrices[i];
    const Importance::Matrix& b = theirs->matrices[i];
    EXPECT_EQ(a.name, b.name);
    EXPECT_EQ(a.counts, b.counts) << a.name;
    ASSERT_EQ(a.in_sum2.size(), b.in_sum2.size());
    for (size_t c = 0; c < a.in_sum2.size(); ++c)
      largest = std::max(largest, std::abs(static_cast<double>(a.in_sum2[c] / b.in_sum2[c]) - 1));
  }
  EXPECT_LT(largest, 1e-3);
}

}  // namespace
}  // namespace sluice
