#include "files/importance.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "base/format.h"
#include "files/bytes.h"
#include "gguf/gguf.h"
#include "make/gguf_builder.h"

namespace sluice {
namespace {

using Floats = std::vector<float>;

Result<Importance> read_matrix(const std::string& file) {
  StringSource source(file);
  return read_importance(source);
}

// A file of the newer form with two matrices, one of which has three experts.
GgufBuilder newer() {
  GgufBuilder file;
  file.kv_string("general.type", "imatrix");
  file.kv_strings("imatrix.datasets", {"a.txt", "b.txt"});
  file.kv_u32("imatrix.chunk_count", 3).kv_u32("imatrix.chunk_size", 512);
  file.tensor("blk.0.attn_q.weight.in_sum2", Type::F32, {4}, bytes_of(Floats{1, 2, 0, 4}));
  file.tensor("blk.0.attn_q.weight.counts", Type::F32, {1}, bytes_of(Floats{7}));
  file.tensor("blk.0.ffn_up_exps.weight.in_sum2", Type::F32, {2, 3},
              bytes_of(Floats{1, 2, 3, 4, 5, 6}));
  file.tensor("blk.0.ffn_up_exps.weight.counts", Type::F32, {1, 3}, bytes_of(Floats{7, 0, 9}));
  return file;
}

// An entry of the older form.
std::string entry(const std::string& name, int32_t calls, const Floats& values) {
  return bytes_of(static_cast<int32_t>(name.size())) + name + bytes_of(calls) +
         bytes_of(static_cast<int32_t>(values.size())) + bytes_of(values);
}

std::string older() {
  return bytes_of(int32_t{2}) + entry("blk.0.attn_q.weight", 7, {1, 2, 0, 4}) +
         entry("blk.1.attn_q.weight", 0, {5, 6}) + bytes_of(int32_t{3}) + bytes_of(int32_t{5}) +
         "a.txt";
}

TEST(Importance, ReadsTheNewerForm) {
  const auto read_back = read_matrix(newer().build());
  ASSERT_TRUE(read_back) << read_back.error().message;
  EXPECT_EQ(read_back->datasets, (std::vector<std::string>{"a.txt", "b.txt"}));
  EXPECT_EQ(read_back->chunk_count, 3u);
  EXPECT_EQ(read_back->chunk_size, 512u);
  ASSERT_EQ(read_back->matrices.size(), 2u);
  const Importance::Matrix* q = read_back->find("blk.0.attn_q.weight");
  ASSERT_NE(q, nullptr);
  EXPECT_EQ(q->columns, 4u);
  EXPECT_EQ(q->n_experts, 1u);
  EXPECT_EQ(q->in_sum2, (Floats{1, 2, 0, 4}));
  EXPECT_EQ(q->counts, Floats{7});
  const Importance::Matrix* up = read_back->find("blk.0.ffn_up_exps.weight");
  ASSERT_NE(up, nullptr);
  EXPECT_EQ(up->columns, 2u);
  EXPECT_EQ(up->n_experts, 3u);
  EXPECT_EQ(up->in_sum2, (Floats{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(up->counts, (Floats{7, 0, 9}));
  EXPECT_EQ(read_back->find("blk.0.attn_k.weight"), nullptr);
}

// Other tensors are for others, and may hold anything: newer files have statistics.
TEST(Importance, IgnoresWhatItDoesNotKnow) {
  GgufBuilder file = newer();
  file.tensor("blk.0.attn_q.weight.stats", Type::F32, {1}, bytes_of(Floats{NAN}));
  file.tensor("blk.0.attn_q.weight.in_sum", Type::F32, {4}, bytes_of(Floats{-1, 2, 3, 4}));
  file.kv_strings("imatrix.stats_schema", {"mean"});
  const auto read_back = read_matrix(file.build());
  ASSERT_TRUE(read_back) << read_back.error().message;
  EXPECT_EQ(read_back->matrices.size(), 2u);
  // Some files don't say what was measured.
  file.remove("imatrix.datasets").remove("imatrix.chunk_count").remove("imatrix.chunk_size");
  EXPECT_TRUE(read_matrix(file.build()));
}

TEST(Importance, ReadsTheOlderForm) {
  const auto read_back = read_matrix(older());
  ASSERT_TRUE(read_back) << read_back.error().message;
  EXPECT_EQ(read_back->datasets, std::vector<std::string>{"a.txt"});
  EXPECT_EQ(read_back->chunk_count, 3u);
  ASSERT_EQ(read_back->matrices.size(), 2u);
  EXPECT_EQ(read_back->matrices[0].name, "blk.0.attn_q.weight");
  EXPECT_EQ(read_back->matrices[0].columns, 4u);
  EXPECT_EQ(read_back->matrices[0].in_sum2, (Floats{1, 2, 0, 4}));
  EXPECT_EQ(read_back->matrices[0].counts, Floats{7});
  // Without calls the values are means already.
  EXPECT_EQ(read_back->matrices[1].counts, Floats{1});
  // The oldest files end behind the entries.
  const auto oldest = read_matrix(bytes_of(int32_t{1}) + entry("a", 1, {2}));
  ASSERT_TRUE(oldest) << oldest.error().message;
  EXPECT_TRUE(oldest->datasets.empty());
}

TEST(Importance, WritesWhatItReads) {
  const Importance before = *read_matrix(newer().build());
  StringSink sink;
  ASSERT_TRUE(write_importance(before, sink));
  const auto after = read_matrix(sink.bytes);
  ASSERT_TRUE(after) << after.error().message;
  EXPECT_EQ(after->datasets, before.datasets);
  EXPECT_EQ(after->chunk_count, before.chunk_count);
  EXPECT_EQ(after->chunk_size, before.chunk_size);
  ASSERT_EQ(after->matrices.size(), before.matrices.size());
  for (size_t i = 0; i < before.matrices.size(); ++i) {
    EXPECT_EQ(after->matrices[i].name, before.matrices[i].name);
    EXPECT_EQ(after->matrices[i].columns, before.matrices[i].columns);
    EXPECT_EQ(after->matrices[i].n_experts, before.matrices[i].n_experts);
    EXPECT_EQ(after->matrices[i].in_sum2, before.matrices[i].in_sum2);
    EXPECT_EQ(after->matrices[i].counts, before.matrices[i].counts);
  }
  // As llama.cpp writes it: the keys and tensors in this order, and no dimension for one expert.
  const Gguf gguf = *parse_gguf(as_bytes(sink.bytes), sink.bytes.size());
  const std::vector<std::string> keys = {"general.type", "imatrix.datasets", "imatrix.chunk_count",
                                         "imatrix.chunk_size"};
  ASSERT_EQ(gguf.metadata.size(), keys.size());
  for (size_t i = 0; i < keys.size(); ++i) EXPECT_EQ(gguf.metadata[i].first, keys[i]);
  ASSERT_EQ(gguf.tensors.size(), 4u);
  EXPECT_EQ(gguf.tensors[0].name, "blk.0.attn_q.weight.in_sum2");
  EXPECT_EQ(gguf.tensors[0].n_dims, 1u);
  EXPECT_EQ(gguf.tensors[1].name, "blk.0.attn_q.weight.counts");
  EXPECT_EQ(gguf.tensors[2].n_dims, 2u);
  EXPECT_EQ(gguf.tensors[3].dims[1], 3u);
}

TEST(Importance, RefusesNamesThatNoFileCanHave) {
  Importance importance;
  importance.matrices.push_back({std::string(56, 'a'), 1, 1, {1}, {1}});
  StringSink sink;
  const auto written = write_importance(importance, sink);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, Code::invalid_argument);
  EXPECT_TRUE(sink.bytes.empty());
}

// --- hostile files -------------------------------------------------------------------------------

void expect_refused(const std::string& file, std::string_view why) {
  const auto result = read_matrix(file);
  ASSERT_FALSE(result) << why;
  EXPECT_EQ(result.error().code, Code::bad_file);
  EXPECT_NE(result.error().message.find(why), std::string::npos) << result.error().message;
}

TEST(Importance, RefusesWhatIsNoImportanceMatrix) {
  expect_refused("", "no importance matrix");
  expect_refused("GGU", "no importance matrix");
  expect_refused("GGUF", "first 24 bytes");
  expect_refused(std::string(100, 'x'), "no importance matrix");
  expect_refused(tiny_model().build(), "is a model (llama), not an importance matrix");
  expect_refused(newer().kv_string("general.type", "adapter").build(),
                 "its general.type is adapter");
  expect_refused(newer().kv_u32("general.type", 1).build(), "general.type");
  GgufBuilder empty = newer();
  empty.tensors.clear();
  expect_refused(empty.build(), "is empty");
  empty.tensor("other", Type::F32, {1}, bytes_of(1.0f));
  expect_refused(empty.build(), "is empty");
}

TEST(Importance, RefusesWrongFacts) {
  expect_refused(newer().kv_u32("imatrix.datasets", 1).build(), "imatrix.datasets");
  expect_refused(newer().kv_array("imatrix.datasets", ValueType::u32, Floats{1}).build(),
                 "imatrix.datasets");
  expect_refused(newer().kv_string("imatrix.chunk_count", "3").build(), "imatrix.chunk_count");
  expect_refused(newer().kv_i32("imatrix.chunk_count", -3).build(), "imatrix.chunk_count");
  expect_refused(newer().kv_u64("imatrix.chunk_size", 1ull << 32).build(), "imatrix.chunk_size");
}

TEST(Importance, RefusesTensorsThatDoNotBelongTogether) {
  const std::string sums = "blk.0.attn_q.weight.in_sum2", counts = "blk.0.attn_q.weight.counts";
  expect_refused(newer().remove_tensor(counts).build(), "no counts of blk.0.attn_q.weight");
  expect_refused(newer().remove_tensor(sums).build(), "counts of blk.0.attn_q.weight without sums");
  expect_refused(newer().tensor(counts, Type::F32, {2}, bytes_of(Floats{1, 2})).build(),
                 "counts of F32 2;");
  expect_refused(newer().tensor(counts, Type::F32, {1, 2}, bytes_of(Floats{1, 2})).build(),
                 "counts of F32 1 x 2;");
  expect_refused(newer().tensor(sums, Type::F32, {2, 2}, bytes_of(Floats{1, 2, 3, 4})).build(),
                 "sums of F32 2 x 2");
  expect_refused(newer().tensor(sums, Type::F32, {2, 1, 2}, bytes_of(Floats{1, 2, 3, 4})).build(),
                 "sums of F32 2 x 1 x 2");
  expect_refused(newer().tensor(sums, Type::F16, {4}, std::string(8, '\0')).build(),
                 "sums of F16 4");
  expect_refused(newer().tensor(counts, Type::F16, {1}, std::string(2, '\0')).build(),
                 "counts of F16 1");
  expect_refused(newer().tensor(".in_sum2", Type::F32, {1}, bytes_of(1.0f)).build(),
                 "called .in_sum2");
  expect_refused(newer().tensor(sums, Type::F32, {0}, "").build(), "dimension 0 is 0");
  GgufBuilder twice = newer();
  twice.tensors[2].name = sums;
  expect_refused(twice.build(), "twice");
}

TEST(Importance, RefusesWrongNumbers) {
  for (const float wrong : {NAN, -NAN, INFINITY, -INFINITY, -1.0f, -1e-30f}) {
    const std::string name = "blk.0.attn_q.weight";
    expect_refused(
        newer().tensor(name + ".in_sum2", Type::F32, {4}, bytes_of(Floats{1, 2, wrong, 4})).build(),
        "among its sums");
    expect_refused(newer().tensor(name + ".counts", Type::F32, {1}, bytes_of(wrong)).build(),
                   "among its counts");
    expect_refused(bytes_of(int32_t{1}) + entry("a", 1, {1, wrong}), "among its sums");
  }
}

// Sizes are compared with the file's before anything is allocated.
TEST(Importance, RefusesHugeCounts) {
  GgufBuilder file = newer();
  file.find_tensor("blk.0.attn_q.weight.in_sum2").dims = {1ull << 40};
  EXPECT_FALSE(read_matrix(file.build()));
  file = newer();
  file.n_tensors = 1ull << 60;
  EXPECT_FALSE(read_matrix(file.build()));
  // A file that says it is larger than any.
  class Large final : public ByteSource {
    uint64_t size() const override { return 1ull << 50; }
    Status read(uint64_t, std::span<uint8_t>) override {
      ADD_FAILURE() << "it was read";
      return {};
    }
  } large;
  EXPECT_FALSE(read_importance(large));

  const std::string name = bytes_of(int32_t{1}) + "a" + bytes_of(int32_t{1});
  expect_refused(bytes_of(INT32_MAX) + entry("a", 1, {1}), "no importance matrix");
  expect_refused(bytes_of(int32_t{-1}) + entry("a", 1, {1}), "no importance matrix");
  expect_refused(bytes_of(int32_t{1}) + name + bytes_of(INT32_MAX) + "1234", "middle of an entry");
  expect_refused(bytes_of(int32_t{1}) + name + bytes_of(int32_t{-1}) + "1234", "has -1 values");
  expect_refused(bytes_of(int32_t{1}) + name + bytes_of(int32_t{0}) + "1234", "has 0 values");
}

TEST(Importance, RefusesDamageOfTheOlderForm) {
  const std::string whole = older();
  // Wherever it is cut. Behind its last entry it is whole, as the oldest files are.
  const size_t end_of_entries = whole.size() - 4 - 4 - 5;
  for (size_t n = 0; n < whole.size(); ++n)
    EXPECT_EQ(read_matrix(whole.substr(0, n)).has_value(), n == end_of_entries) << n;
  expect_refused(whole + "x", "expected one of 6");
  expect_refused(bytes_of(int32_t{1}) + entry(std::string(64, 'a'), 1, {1}), "64 bytes");
  expect_refused(bytes_of(int32_t{1}) + entry("", 1, {1, 2}), "0 bytes");
  expect_refused(bytes_of(int32_t{1}) + entry("blk\xe8t", 1, {1, 2}), "not valid UTF-8");
  expect_refused(bytes_of(int32_t{1}) + entry("a", -1, {1}), "-1 calls");
  expect_refused(bytes_of(int32_t{2}) + entry("a", 1, {1}) + entry("a", 1, {1}), "has a twice");
}

// A file of the newer form may be cut anywhere.
TEST(Importance, RefusesCutFiles) {
  const std::string whole = newer().build();
  for (size_t n = 0; n < whole.size() - 32; n += 7)
    EXPECT_FALSE(read_matrix(whole.substr(0, n))) << n;
}

// --- those of llama-imatrix ----------------------------------------------------------------------

TEST(Importance, ReadsWhatLlamaImatrixWrote) {
  const std::string dir = SLUICE_ROOT "/../shared/models/quantize/";
  const std::string stories = read_file(dir + "stories.imatrix.gguf");
  if (stories.empty()) GTEST_SKIP() << "there is no ../shared/models/quantize here";
  const auto of_stories = read_matrix(stories);
  ASSERT_TRUE(of_stories) << of_stories.error().message;
  EXPECT_EQ(of_stories->chunk_count, 32u);
  EXPECT_EQ(of_stories->chunk_size, 512u);
  ASSERT_EQ(of_stories->matrices.size(), 35u);
  for (const Importance::Matrix& matrix : of_stories->matrices)
    EXPECT_EQ(matrix.counts, Floats{32 * 512}) << matrix.name;
  EXPECT_EQ(of_stories->find("blk.4.ffn_down.weight")->columns, 512u);
  EXPECT_FLOAT_EQ(of_stories->find("blk.0.attn_k.weight")->in_sum2[1], 1061.51318f);

  const auto of_edges = read_matrix(read_file(dir + "edges.imatrix.gguf"));
  ASSERT_TRUE(of_edges) << of_edges.error().message;
  const Importance::Matrix* up = of_edges->find("blk.1.ffn_up_exps.weight");
  ASSERT_NE(up, nullptr);
  EXPECT_EQ(up->n_experts, 3u);
  EXPECT_EQ(up->counts, (Floats{128, 0, 37}));
}

}  // namespace
}  // namespace sluice
