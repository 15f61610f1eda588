// Whole files, quantized: the same bytes as llama-quantize's (its hashes are in ../shared, if that
// is there), with any number of threads, and what happens when something fails.
#include "files/quantize/quantize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/format.h"
#include "base/half.h"
#include "files/bytes.h"
#include "files/gguf_writer.h"
#include "files/quantize/quantize_rows.h"
#include "files/quantize_answers.h"
#include "gguf/model_parser.h"
#include "make/gguf_builder.h"
#include "make/split_models.h"
#include "quant/quant.h"
#include "support/sha256.h"

namespace sluice {
namespace {

using nlohmann::json;

// The files that a quantized model consists of, or the error's code.
struct Made {
  std::vector<std::string> files;
  std::string error;
  Gguf header(size_t file = 0) const { return *parse_gguf(as_bytes(files[file])); }
};

// A split model's files lie end to end in `bytes`; `header` is that of all.
Made quantized(const std::string& bytes, const Gguf& header, const QuantizeOptions& options,
               int threads = 2, const OnFileProgress& on_progress = nullptr) {
  StringSource source(bytes);
  const auto plan = plan_quantization(header, options);
  if (!plan) return {{}, std::string(code_name(plan.error().code))};
  std::vector<StringSink> sinks(plan->files.size());
  std::vector<ByteSink*> pointers;
  for (StringSink& sink : sinks) pointers.push_back(&sink);
  Pool pool(threads);
  const Status done = quantize(source, header, *plan, options, pool, pointers, on_progress);
  if (!done) return {{}, concat(code_name(done.error().code), ": ", done.error().message)};
  Made made;
  for (StringSink& sink : sinks) made.files.push_back(std::move(sink.bytes));
  uint64_t sum = 0;
  for (const std::string& file : made.files) sum += file.size();
  EXPECT_EQ(sum, plan->bytes());
  return made;
}

Made quantized(const std::string& file, const QuantizeOptions& options, int threads = 2,
               const OnFileProgress& on_progress = nullptr) {
  return quantized(file, *parse_gguf(as_bytes(file), file.size()), options, threads, on_progress);
}

std::string tensor_of(const std::string& file, const Gguf& header, const TensorInfo& tensor) {
  return file.substr(header.data_offset + tensor.offset, tensor.bytes);
}

std::string hash_of(const std::string& bytes) { return sha256_hex(as_bytes(bytes)); }

// --- llama-quantize's files ----------------------------------------------------------------------

const std::string kShared = SLUICE_ROOT "/../shared/models/";

std::string source_named(const std::string& name) {
  for (const char* folder : {"quantize/", "tiny/", ""})
    if (std::string file = read_file(kShared + folder + name); !file.empty()) return file;
  return "";
}

// What llama-quantize refuses is refused, and the rest is the same file. Types that need a codebook
// are left out. Returns how many files were compared.
int compare(const std::string& file, const json& jobs, bool pure,
            const std::set<std::string>& only) {
  int compared = 0;
  for (const auto& [type, job] : jobs.items()) {
    if (!only.empty() && !only.contains(type)) continue;
    SCOPED_TRACE(concat(type, pure ? ", pure" : ""));
    const Made made = quantized(file, {.type = type, .pure = pure}, 1 + compared % 3);
    if (made.error.starts_with("unsupported_type") && !job.contains("error")) {
      EXPECT_TRUE(type.starts_with("IQ")) << made.error;
      continue;
    }
    ++compared;
    if (job.contains("error")) {
      EXPECT_FALSE(made.error.empty());
      continue;
    }
    EXPECT_EQ(made.error, "");
    if (made.error.empty()) {
      EXPECT_EQ(hash_of(made.files[0]), job["file_sha256"].get<std::string>());
    }
  }
  return compared;
}

class QuantizedFiles : public testing::TestWithParam<const char*> {};

TEST_P(QuantizedFiles, AreThoseOfLlamaQuantize) {
  const std::string name = GetParam();
  const std::string file = source_named(name);
  if (!quantize_answers().contains(name) || file.empty()) GTEST_SKIP() << "no ../shared/models";
  const json& jobs = quantize_answers()[name];
  ASSERT_EQ(hash_of(file), jobs["sha256"].get<std::string>());
  EXPECT_GE(compare(file, jobs["pure"], true, {}), 16);
  EXPECT_GE(compare(file, jobs["mix"], false, {}), 20);
}

INSTANTIATE_TEST_SUITE_P(, QuantizedFiles,
                         testing::Values("edges-f32.gguf", "stories260K-f32.gguf",
                                         "tiny-llama-f32.gguf"),
                         [](const auto& each) {
                           std::string name = each.param;
                           std::ranges::replace_if(
                               name, [](char c) { return c == '-' || c == '.'; }, '_');
                           return name;
                         });

TEST(Quantize, GivesTheSameFileForTheStories) {
  const std::string file = source_named("stories-f16.gguf");
  if (!quantize_answers().is_object() || file.empty()) GTEST_SKIP() << "no ../shared/models";
  const json& jobs = quantize_answers()["stories-f16.gguf"];
  EXPECT_EQ(compare(file, jobs["pure"], true, {"F16", "Q8_0"}), 2);
  EXPECT_EQ(compare(file, jobs["mix"], false, {"Q8_0", "Q4_0", "Q4_K_M", "Q2_K", "Q2_K_S"}), 5);
}

TEST(Quantize, UsesImportance) {
  for (const char* name : {"edges-f32.gguf", "stories-f16.gguf"}) {
    SCOPED_TRACE(name);
    const std::string file = source_named(name);
    if (!quantize_answers().is_object() || file.empty()) GTEST_SKIP() << "no ../shared/models";
    const json& jobs = quantize_answers()[name]["imatrix"];
    StringSource source(source_named(jobs["file"].get<std::string>()));
    const auto importance = read_importance(source);
    ASSERT_TRUE(importance) << importance.error().message;
    for (const auto& [type, job] : jobs["mix"].items()) {
      if (name[0] == 's' && type != "Q4_K_M" && type != "Q4_0" && type != "Q2_K_S") continue;
      SCOPED_TRACE(type);
      const Made made =
          quantized(file, {.type = type, .importance = &*importance, .importance_file = "i"});
      if (!made.error.empty()) {
        EXPECT_TRUE(made.error.starts_with("unsupported_type") && type.starts_with("IQ"))
            << made.error;
        continue;
      }
      const Gguf header = made.header();
      size_t n = 0;
      for (const auto& [to, names] : job["types"].items()) {
        for (const json& tensor : names) {
          const TensorInfo* found = header.find_tensor(tensor.get<std::string>());
          ASSERT_NE(found, nullptr);
          EXPECT_EQ(file_type(found->type).name, to) << found->name;
          ++n;
        }
      }
      EXPECT_GT(n, 5u);
    }
    for (const auto& [type, job] : jobs["pure"].items()) {
      if (name[0] == 's' && type != "Q5_K_S" && type != "Q4_1") continue;
      SCOPED_TRACE(type);
      const Made made = quantized(
          file, {.type = type, .importance = &*importance, .importance_file = "i", .pure = true});
      if (!made.error.empty()) {
        EXPECT_TRUE(made.error.starts_with("unsupported_type") && type.starts_with("IQ"))
            << made.error;
        continue;
      }
      const Gguf header = made.header();
      for (const auto& [to, tensors] : job["tensors"].items()) {
        for (const auto& [tensor, hash] : tensors.items()) {
          const TensorInfo* found = header.find_tensor(tensor);
          ASSERT_NE(found, nullptr);
          EXPECT_EQ(file_type(found->type).name, to) << tensor;
          EXPECT_EQ(hash_of(tensor_of(made.files[0], header, *found)), hash.get<std::string>())
              << tensor;
        }
      }
    }
  }
}

// --- what needs nothing --------------------------------------------------------------------------

// A model with a few matrices, some experts, and rows of `columns`.
GgufBuilder model(uint64_t columns = 256) {
  GgufBuilder file;
  file.kv_string("general.architecture", "llama").kv_u32("llama.block_count", 1);
  file.kv_u32("general.alignment", 64);
  file.alignment = 64;
  const auto add = [&](const char* name, std::vector<uint64_t> dims, uint32_t seed) {
    size_t n = 1;
    for (const uint64_t dim : dims) n *= dim;
    file.tensor(name, Type::F32, std::move(dims), bytes_of(test_values(n, seed)));
  };
  add("blk.0.ffn_up_exps.weight", {columns, 5, 3}, 1);
  add("token_embd.weight", {columns, 7}, 2);
  add("output_norm.weight", {columns}, 3);
  add("blk.0.attn_q.weight", {columns, 9}, 4);
  return file;
}

TEST(Quantize, RoundsAndCopies) {
  const std::string file = model().build();
  const Gguf source = *parse_gguf(as_bytes(file), file.size());
  const Made made = quantized(file, {.type = "F16"});
  ASSERT_EQ(made.error, "");
  const Gguf header = made.header();
  EXPECT_EQ(header.alignment, 64u);
  EXPECT_EQ(made.files[0].size() % 64, 0u);
  const TensorInfo& norm = *header.find_tensor("output_norm.weight");
  EXPECT_EQ(tensor_of(made.files[0], header, norm),
            tensor_of(file, source, *source.find_tensor(norm.name)));
  const TensorInfo& experts = *header.find_tensor("blk.0.ffn_up_exps.weight");
  std::vector<uint16_t> halves;
  for (const float value : test_values(256 * 15, 1)) halves.push_back(f32_to_f16(value));
  EXPECT_EQ(tensor_of(made.files[0], header, experts), bytes_of(halves));
}

// Every row that is longer than a worker takes at once is divided.
TEST(Quantize, GivesTheSameBytesWithAnyThreadsAndForLongRows) {
  for (const uint64_t columns : {uint64_t{256}, uint64_t{(1 << 18) + 512}}) {
    const std::string file = model(columns).build();
    const Made one = quantized(file, {.type = "Q8_0"}, 1);
    ASSERT_EQ(one.error, "");
    for (const int threads : {2, 3})
      EXPECT_EQ(quantized(file, {.type = "Q8_0"}, threads).files, one.files);
    const Gguf source = *parse_gguf(as_bytes(file), file.size());
    const Gguf header = one.header();
    for (const TensorInfo& tensor : header.tensors) {
      const TensorInfo& before = *source.find_tensor(tensor.name);
      if (tensor.n_dims == 1) continue;
      std::vector<float> values(before.bytes / 4);
      std::memcpy(values.data(), file.data() + source.data_offset + before.offset, before.bytes);
      std::string expected(tensor.bytes, '\0');
      ASSERT_TRUE(quantize_rows(
          Type::Q8_0, values.data(), static_cast<int64_t>(values.size() / columns),
          static_cast<int64_t>(columns), nullptr, reinterpret_cast<uint8_t*>(expected.data())));
      EXPECT_TRUE(tensor_of(one.files[0], header, tensor) == expected) << tensor.name;
    }
  }
}

// Each expert has the importance of its own columns.
TEST(Quantize, TakesEachExpertsImportance) {
  ASSERT_TRUE(can_quantize_to(Type::Q4_0));
  const std::string file = model().build();
  Importance importance;
  Importance::Matrix& matrix = importance.matrices.emplace_back();
  matrix = {"blk.0.ffn_up_exps.weight", 256, 3, std::vector<float>(3 * 256), {4, 0, 2}};
  for (size_t i = 0; i < matrix.in_sum2.size(); ++i)
    matrix.in_sum2[i] = static_cast<float>(i * i % 101);
  QuantizeOptions options{.type = "Q4_0", .importance = &importance, .pure = true};
  const Made made = quantized(file, options);
  ASSERT_EQ(made.error, "");
  const Gguf header = made.header();
  const TensorInfo& tensor = *header.find_tensor(matrix.name);
  const auto values = test_values(256 * 15, 1);
  std::string expected(tensor.bytes, '\0');
  for (size_t expert = 0; expert < 3; ++expert) {
    std::vector<float> weights(256, 1.0f);
    for (size_t i = 0; i < 256 && expert != 1; ++i)
      weights[i] = matrix.in_sum2[expert * 256 + i] / matrix.counts[expert];
    ASSERT_TRUE(
        quantize_rows(Type::Q4_0, values.data() + expert * 5 * 256, 5, 256, weights.data(),
                      reinterpret_cast<uint8_t*>(expected.data()) + expert * tensor.bytes / 3));
  }
  EXPECT_TRUE(tensor_of(made.files[0], header, tensor) == expected);
}

TEST(Quantize, KeepsAModelSplitOrJoinsIt) {
  const std::string file = model().build();
  const Made whole = quantized(file, {.type = "Q8_0"});
  const std::vector<std::string> parts = split_model(file, 3, true);
  ModelParser parser(sizes_of(parts));
  const std::string all = joined(parts);
  while (!parser.done()) {
    const auto rest = as_bytes(all).subspan(parser.position());
    // A file at a time.
    ASSERT_TRUE(
        parser.push(rest.first(parser.files().back().begin +
                               parts[parser.files().size() - 1].size() - parser.position())));
  }
  const Gguf header = parser.take();
  const Made join = quantized(all, header, {.type = "Q8_0"});
  ASSERT_EQ(join.error, "");
  ASSERT_EQ(join.files.size(), 1u);
  EXPECT_TRUE(join.files == whole.files);
  const Made kept = quantized(all, header, {.type = "Q8_0", .keep_split = true});
  ASSERT_EQ(kept.error, "");
  ASSERT_EQ(kept.files.size(), 3u);
  const Gguf first = kept.header(0), last = kept.header(2), joined_header = join.header();
  EXPECT_EQ(first.tensors.size(), 0u);
  EXPECT_EQ(first.metadata.back().first, "split.tensors.count");
  EXPECT_EQ(*first.get_u64("split.count"), 3u);
  EXPECT_EQ(*first.get_string("general.architecture"), "llama");
  ASSERT_EQ(last.metadata.size(), 3u);
  EXPECT_EQ(last.metadata[0].first, "split.no");
  EXPECT_EQ(last.metadata[0].second.type, ValueType::u16);
  EXPECT_EQ(*last.get_u64("split.no"), 2u);
  EXPECT_EQ(last.metadata[2].second.type, ValueType::i32);
  EXPECT_EQ(*last.get_u64("split.tensors.count"), 4u);
  ASSERT_GT(last.tensors.size(), 0u);
  const TensorInfo& tensor = last.tensors.back();
  EXPECT_TRUE(tensor_of(kept.files[2], last, tensor) ==
              tensor_of(join.files[0], joined_header, *joined_header.find_tensor(tensor.name)));
}

// --- what fails ----------------------------------------------------------------------------------

TEST(Quantize, NamesTheTensorWithAValueThatIsNoNumber) {
  for (const char* name : {"blk.0.attn_q.weight", "output_norm.weight"}) {
    GgufBuilder file = model();
    const float nan = std::numeric_limits<float>::quiet_NaN();
    std::memcpy(file.find_tensor(name).data.data() + 400, &nan, 4);
    const Made made = quantized(file.build(), {.type = "Q8_0"});
    EXPECT_TRUE(made.error.starts_with(concat("bad_file: tensor ", name, ":"))) << made.error;
  }
}

TEST(Quantize, SaysThatTheFileEnds) {
  const std::string file = model().build();
  const Gguf header = *parse_gguf(as_bytes(file), file.size());
  EXPECT_TRUE(quantized(file.substr(0, file.size() - 600), header, {.type = "Q8_0"})
                  .error.starts_with("bad_file"));
}

class FullSink final : public ByteSink {
 public:
  explicit FullSink(uint64_t room) : room_(room) {}
  Status append(std::span<const uint8_t> bytes) override {
    if (bytes.size() > room_) return fail(Code::storage_full, "full");
    room_ -= bytes.size();
    return {};
  }

 private:
  uint64_t room_;
};

TEST(Quantize, EndsWhenTheSinkIsFull) {
  const std::string file = model().build();
  StringSource source(file);
  const Gguf header = *parse_gguf(as_bytes(file), file.size());
  const QuantizeOptions options{.type = "F16"};
  const auto plan = plan_quantization(header, options);
  ASSERT_TRUE(plan);
  Pool pool(2);
  for (const uint64_t room : {uint64_t{0}, uint64_t{900}, plan->bytes() - 1}) {
    FullSink sink(room);
    ByteSink* const sinks[] = {&sink};
    const Status done = quantize(source, header, *plan, options, pool, sinks, nullptr);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, Code::storage_full);
  }
}

TEST(Quantize, TellsProgressAndCanBeEnded) {
  const std::string file = model(1 << 17).build();
  std::vector<FileProgress> told;
  const Made made = quantized(file, {.type = "F16"}, 1, [&](const FileProgress& progress) {
    told.push_back(progress);
    return true;
  });
  ASSERT_EQ(made.error, "");
  ASSERT_GT(told.size(), 2u);
  EXPECT_EQ(told.back().done, made.files[0].size());
  for (size_t i = 0; i < told.size(); ++i) {
    EXPECT_EQ(told[i].total, made.files[0].size());
    if (i > 0) {
      EXPECT_GT(told[i].done, told[i - 1].done);
    }
  }
  const Made ended = quantized(file, {.type = "F16"}, 2, [](const FileProgress&) { return false; });
  EXPECT_TRUE(ended.error.starts_with("aborted"));
}

}  // namespace
}  // namespace sluice
