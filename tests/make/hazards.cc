#include "hazards.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/format.h"
#include "gguf_builder.h"
#include "tiny_models.h"

namespace sluice {
namespace {

using Level = Hazard::Level;

constexpr uint64_t kMax64 = ~uint64_t{0};
constexpr uint64_t k2To63 = uint64_t{1} << 63;

// Collects cases of one level and code at a time. The functions below add to it.
class Cases {
 public:
  explicit Cases(std::vector<Hazard>& out) : out_(out) {}

  Cases& level(Level level, Code code = Code::bad_file) {
    level_ = level;
    code_ = code;
    return *this;
  }
  void add(std::string name, std::string bytes, std::string says) {
    out_.push_back({level_, std::move(name), std::move(bytes), code_, std::move(says)});
  }
  // The tiny model, changed by `change`.
  template <typename Change>
  void model(std::string name, std::string says, Change&& change) {
    GgufBuilder file = tiny_model();
    change(file);
    add(std::move(name), file.build(), std::move(says));
  }

 private:
  std::vector<Hazard>& out_;
  Level level_ = Level::header;
  Code code_ = Code::bad_file;
};

void not_gguf_at_all(Cases cases) {
  cases.add("empty_file", "", "is empty");
  cases.add("html_page", "<!DOCTYPE html>\n<html><body>404 Not Found</body></html>", "HTML page");
  cases.add("html_page_after_blanks", "\xef\xbb\xbf\r\n <html><head></head></html>", "HTML page");
  cases.add("html_page_of_few_bytes", "<html>", "HTML page");
  cases.add("json_error", R"({"error":"Access to this model is restricted"})", "JSON");
  cases.add("gzip", std::string("\x1f\x8b\x08\0\0\0\0\0", 8) + std::string(40, 'z'), "gzip");
  cases.add("zip", "PK\x03\x04" + std::string(40, 'z'), "zip archive");
  cases.add("safetensors", bytes_of<uint64_t>(1000) + R"({"__metadata__":{}})", "safetensors");
  cases.add("git_lfs_pointer", "version https://git-lfs.github.com/spec/v1\noid sha256:00\n",
            "Git LFS");
  cases.add("ggml_of_2023", "tjgg" + std::string(40, '\0'), "GGML file of 2023");
  cases.add("plain_text", "Not Found", "4e 6f 74 20 (\"Not Found\"), expected \"GGUF\"");
  cases.model("magic_fugg", "46 55 47 47", [](GgufBuilder& f) { f.magic = "FUGG"; });
  cases.add("magic_cut_short", "GGU", "ends after 3 bytes");
  cases.add("magic_alone", "GGUF", "ends after 4 bytes");
}

void preamble(Cases cases) {
  for (const uint32_t version : {0u, 1u, 4u, 65535u}) {
    cases.model(concat("version_", version), concat("GGUF version ", version, "; expected 2 or 3"),
                [&](GgufBuilder& f) { f.version = version; });
  }
  cases.model("big_endian", "big-endian", [](GgufBuilder& f) { f.version = 0x03000000; });

  // 50126478461167803 * 368 (ggml's bytes for a tensor) wraps 64 bits; 2^60 * 48 and 2^63 do, too.
  for (const uint64_t n : {kMax64, k2To63, uint64_t{1} << 60, uint64_t{50126478461167803}}) {
    cases.model(concat("n_tensors_", n), concat(n, " tensors"),
                [&](GgufBuilder& f) { f.n_tensors = n; });
    cases.model(concat("n_kv_", n), concat(n, " metadata entries"),
                [&](GgufBuilder& f) { f.n_kv = n; });
  }
  cases.model("n_tensors_65537", "at most 65536", [](GgufBuilder& f) { f.n_tensors = 65537; });
  cases.model("n_tensors_more_than_the_file_can_hold", "take at least",
              [](GgufBuilder& f) { f.n_tensors = 65536; });
  cases.model("n_kv_more_than_the_file_can_hold", "take at least",
              [](GgufBuilder& f) { f.n_kv = 65536; });
}

void metadata(Cases cases) {
  const auto key_length = [&](std::string name, uint64_t length, std::string says) {
    cases.model(std::move(name), std::move(says),
                [&](GgufBuilder& f) { f.entries[1].key_length = length; });
  };
  key_length("key_length_2_64_minus_1", kMax64, "expected 1 to 65535");
  key_length("key_length_0", 0, "its key has 0 bytes");
  key_length("key_length_65536", 65536, "expected 1 to 65535");
  cases.model("key_longer_than_the_file", "are left in the file", [](GgufBuilder& f) {
    f.entries.resize(1);
    f.tensors.clear();
    f.entries[0].key_length = 5000;
  });
  cases.model("key_twice", "'llama.block_count' stands in the file twice", [](GgufBuilder& f) {
    f.entries.push_back(
        *std::ranges::find(f.entries, "llama.block_count", &GgufBuilder::Entry::key));
  });
  cases.model("key_not_utf8", "not valid UTF-8", [](GgufBuilder& f) { f.kv_u32("a\xff\xfe", 1); });
  for (const uint32_t type : {13u, 0x7fffffffu, 0xffffffffu}) {
    cases.model(concat("value_type_", type), concat("type ", type, ", which is unknown"),
                [&](GgufBuilder& f) { f.kv_raw("x", type, "12345678"); });
    cases.model(concat("array_element_type_", type), concat("type ", type, ", which is unknown"),
                [&](GgufBuilder& f) { f.kv_array_raw("x", type, 1, "12345678"); });
  }
  cases.model("bool_2", "a bool holds 2", [](GgufBuilder& f) { f.kv_raw("x", 7, "\x02"); });
  cases.model("bool_in_array_255", "a bool holds 255",
              [](GgufBuilder& f) { f.kv_array_raw("x", 7, 3, std::string("\0\1\xff", 3)); });

  for (const uint32_t alignment : {0u, 13u, 24u, 1u << 30, 0xffffffffu}) {
    cases.model(concat("alignment_", alignment), concat("the alignment is ", alignment),
                [&](GgufBuilder& f) { f.kv_u32("general.alignment", alignment); });
  }
  cases.model("alignment_as_i32", "has type i32; expected u32",
              [](GgufBuilder& f) { f.kv_i32("general.alignment", 32); });
  cases.model("alignment_as_u64", "has type u64; expected u32",
              [](GgufBuilder& f) { f.kv_u64("general.alignment", 32); });
  cases.model("alignment_as_array", "has type array; expected u32", [](GgufBuilder& f) {
    f.kv_array<uint32_t>("general.alignment", ValueType::u32, {32});
  });

  // Small files that announce much: each must be refused without taking the memory.
  const auto small = [&](std::string name, uint32_t type, std::string value, std::string says) {
    GgufBuilder file;
    file.kv_raw("x", type, std::move(value));
    cases.add(std::move(name), file.build(), std::move(says));
  };
  for (const uint64_t n : {kMax64, k2To63, uint64_t{1} << 30, uint64_t{200}}) {
    small(concat("string_of_", n, "_bytes"), 8, bytes_of(n) + "abc",
          concat(n, " bytes announced, but only"));
    small(concat("string_in_array_of_", n, "_bytes"), 9,
          bytes_of<uint32_t>(8) + bytes_of<uint64_t>(1) + bytes_of(n) + "abc",
          concat(n, " bytes announced, but only"));
    small(concat("array_of_", n, "_bytes"), 9, bytes_of<uint32_t>(0) + bytes_of(n) + "abc",
          concat("an array of ", n, " x u8 announced"));
    small(concat("array_of_", n, "_strings"), 9, bytes_of<uint32_t>(8) + bytes_of(n) + "abc",
          concat("an array of ", n, " x string announced"));
  }
  // 8 * 2^61 wraps to 0.
  small("array_of_2_61_u64", 9, bytes_of<uint32_t>(10) + bytes_of(uint64_t{1} << 61), "x u64");
  small("array_of_arrays_2_62", 9, bytes_of<uint32_t>(9) + bytes_of(uint64_t{1} << 62),
        "an array of arrays");
  std::string nested;
  for (int depth = 0; depth < 5000; ++depth)
    nested += bytes_of<uint32_t>(9) + bytes_of<uint64_t>(1);
  small("array_of_arrays_5000_deep", 9, nested, "an array of arrays");
}

void tensors(Cases cases) {
  const auto change = [&](std::string name, std::string says, auto&& with) {
    cases.model(std::move(name), std::move(says),
                [&](GgufBuilder& f) { with(f.find_tensor("blk.0.attn_q.weight")); });
  };
  using Tensor = GgufBuilder::Tensor;
  change("name_of_64_bytes", "its name has 64 bytes; expected 1 to 63",
         [](Tensor& t) { t.name.resize(64, 'n'); });
  change("name_length_2_64_minus_1", "expected 1 to 63", [](Tensor& t) { t.name_length = kMax64; });
  change("name_length_0", "its name has 0 bytes", [](Tensor& t) { t.name.clear(); });
  change("name_not_utf8", "not valid UTF-8", [](Tensor& t) { t.name = "blk.\xc3\x28"; });
  change("name_twice", "tensor 'output.weight' stands in the file twice",
         [](Tensor& t) { t.name = "output.weight"; });

  for (const uint32_t n_dims : {5u, 9u, 0xffffffffu}) {
    change(concat("n_dims_", n_dims), concat("it has ", n_dims, " dimensions; expected at most 4"),
           [&](Tensor& t) { t.n_dims = n_dims; });
  }
  change("dimension_0", "dimension 0 is 0", [](Tensor& t) { t.dims = {0, 32}; });
  change("dimension_1_0", "dimension 1 is 0", [](Tensor& t) { t.dims = {32, 0}; });
  change("dimension_negative", "dimension 1 is 18446744073709551615", [](Tensor& t) {
    t.dims = {32, kMax64};
  });
  change("dimension_2_63", "dimension 0 is 9223372036854775808",
         [](Tensor& t) { t.dims = {k2To63}; });
  change("dimensions_int64_max_times_2", "more than 2^63 - 1 elements", [](Tensor& t) {
    t.type = 24;  // I8
    t.dims = {k2To63 - 1, 2, 1, 1};
  });
  change("dimensions_2_64_minus_1", "expected 1 to 2^63 - 1", [](Tensor& t) {
    t.dims = {kMax64, 2, 1, 1};
  });
  change("dimensions_overflow", "more than 2^63 - 1 elements", [](Tensor& t) {
    t.dims = {uint64_t{1} << 32, uint64_t{1} << 31, 1, 1};
  });
  // 2^20 * 4 bytes * 2^42 wraps to 0: what is left looks like a small tensor.
  change("bytes_wrap_64_bits", "more than 2^53 bytes", [](Tensor& t) {
    t.dims = {uint64_t{1} << 20, (uint64_t{1} << 42) + 1};
  });
  change("bytes_past_2_53", "more than 2^53 bytes",
         [](Tensor& t) { t.dims = {uint64_t{1} << 52}; });
  // Sums of (padded) sizes that would wrap 64 bits further on.
  cases.model("sum_of_tensors_past_2_53", "expected it to end before 2^53", [](GgufBuilder& f) {
    for (uint64_t i = 0; i < 4; ++i) {
      f.tensors[i].dims = {uint64_t{1} << 50};
      f.tensors[i].offset = i << 52;
    }
  });

  const auto no_type = static_cast<uint32_t>(std::size(kTypes));
  for (const uint32_t type : {no_type, 99u, 0x80000000u, 0xffffffffu}) {
    change(concat("type_", type), concat("its type ", type, " is unknown"),
           [&](Tensor& t) { t.type = type; });
  }
  change("row_not_whole_blocks", "rows have 30 elements; expected a multiple of 32", [](Tensor& t) {
    t.type = static_cast<uint32_t>(Type::Q8_0);
    t.dims = {30, 32};
  });
  change("row_not_whole_superblocks", "multiple of 256, the block of Q4_K",
         [](Tensor& t) { t.type = static_cast<uint32_t>(Type::Q4_K); });

  change("offset_misaligned", "offset is 1; expected a multiple of 32",
         [](Tensor& t) { t.offset = 1; });
  change("offset_overlaps", "'token_embd.weight' (38400 bytes at offset 0)",
         [](Tensor& t) { t.offset = 64; });
  change("offset_the_same", "overlap", [](Tensor& t) { t.offset = 0; });
  change("offset_past_2_53", "2^53", [](Tensor& t) { t.offset = uint64_t{1} << 53; });
  change("offset_ends_past_2_53", "2^53", [](Tensor& t) { t.offset = (uint64_t{1} << 53) - 32; });
  change("offset_2_64_minus_32", "2^53", [](Tensor& t) { t.offset = kMax64 - 31; });
  cases.model("data_offset_ends_past_2_53", "past 2^53",
              [](GgufBuilder& f) { f.tensors.back().offset = (uint64_t{1} << 53) - 38400; });
  cases.model("laid_out_with_alignment_1", "expected a multiple of 32", [](GgufBuilder& f) {
    f.find_tensor("output_norm.weight").data.resize(127);
    f.alignment = 1;
  });
  cases.model("laid_out_with_alignment_32_not_64", "expected a multiple of 64", [](GgufBuilder& f) {
    f.kv_u32("general.alignment", 64);
    f.find_tensor("output_norm.weight").data.resize(32 * 3);
  });

  cases.level(Level::header, Code::unsupported_type);
  for (const uint32_t type : {4u, 31u, 36u}) {
    change(concat("removed_type_", type), concat(file_type(type).name, " is no longer in use"),
           [&](Tensor& t) { t.type = type; });
  }

  cases.level(Level::data);
  const std::string good = tiny_model().build();
  cases.add("one_byte_short", good.substr(0, good.size() - 1), "1 byte is missing");
  cases.add("half_the_data", good.substr(0, good.size() / 2), "bytes are missing");
  change("offset_past_the_file", "bytes are missing",
         [](Tensor& t) { t.offset = uint64_t{1} << 40; });
  change("offset_past_2_32", "bytes are missing", [](Tensor& t) { t.offset = uint64_t{1} << 32; });
  cases.model("rows_of_embedding_2_42_plus_1", "bytes are missing",
              [](GgufBuilder& f) { f.tensors.back().dims[1] = (uint64_t{1} << 42) + 1; });
  cases.add("no_data", tiny_model().header(), "bytes are missing");
  cases.model("shape_larger_than_the_data", "38400 bytes are missing",
              [](GgufBuilder& f) { f.tensors.back().dims[1] *= 2; });
}

void configuration(Cases cases) {
  const auto u32 = [&](std::string_view key, uint32_t value, std::string says) {
    cases.model(concat(key, "_", value), std::move(says),
                [&](GgufBuilder& f) { f.kv_u32(concat("llama.", key), value); });
  };
  u32("block_count", 0, "block_count is 0");
  u32("block_count", 2, "blk.1.");
  u32("block_count", 513, "block_count is 513");
  u32("block_count", 0x80000000u, "block_count is 2147483648");
  u32("embedding_length", 0, "embedding_length is 0");
  u32("embedding_length", 64, "token_embd.weight");
  u32("embedding_length", 0xffffffffu, "embedding_length is 4294967295");
  u32("context_length", 0, "context_length is 0");
  u32("feed_forward_length", 0, "feed_forward_length is 0");
  u32("feed_forward_length", 96, "blk.0.ffn_");
  u32("attention.head_count", 0, "attention.head_count is 0");
  u32("attention.head_count", 3, "3 ");
  u32("attention.head_count", 0xffffffffu, "attention.head_count is 4294967295");
  u32("attention.head_count_kv", 0, "attention.head_count_kv is 0");
  u32("attention.head_count_kv", 3, "3 ");
  u32("attention.key_length", 0, "attention.key_length is 0");
  u32("attention.key_length", 0x40000000u, "attention.key_length is 1073741824");
  u32("rope.dimension_count", 18, "rope.dimension_count is 18");
  u32("rope.dimension_count", 15, "rope.dimension_count is 15");

  const auto f32 = [&](std::string name, std::string_view key, float value) {
    cases.model(std::move(name), std::string(key),
                [&](GgufBuilder& f) { f.kv_f32(concat("llama.", key), value); });
  };
  const float nan = std::nanf("");
  const float infinity = std::numeric_limits<float>::infinity();
  f32("eps_nan", "attention.layer_norm_rms_epsilon", nan);
  f32("eps_negative", "attention.layer_norm_rms_epsilon", -1e-5f);
  f32("eps_infinite", "attention.layer_norm_rms_epsilon", infinity);
  f32("freq_base_nan", "rope.freq_base", nan);
  f32("freq_base_0", "rope.freq_base", 0);
  f32("freq_base_negative", "rope.freq_base", -10000);
  f32("scale_nan", "rope.scaling.factor", nan);

  cases.model("block_count_as_string", "llama.block_count",
              [](GgufBuilder& f) { f.kv_string("llama.block_count", "1"); });
  cases.model("block_count_negative", "llama.block_count",
              [](GgufBuilder& f) { f.kv_i32("llama.block_count", -1); });
  cases.model("block_count_missing", "llama.block_count",
              [](GgufBuilder& f) { f.remove("llama.block_count"); });
  cases.model("feed_forward_length_of_two_layers", "feed_forward_length", [](GgufBuilder& f) {
    f.kv_array<uint32_t>("llama.feed_forward_length", ValueType::u32, {64, 64});
  });
  cases.model("architecture_missing", "general.architecture",
              [](GgufBuilder& f) { f.remove("general.architecture"); });
  cases.model("architecture_as_number", "general.architecture",
              [](GgufBuilder& f) { f.kv_u32("general.architecture", 1); });
  GgufBuilder nothing;
  cases.add("nothing_in_it", nothing.build(), "general.architecture");

  cases.level(Level::model, Code::unsupported_model);
  cases.model("architecture_unknown", "mamba",
              [](GgufBuilder& f) { f.kv_string("general.architecture", "mamba"); });
  cases.model("architecture_not_printable", "\"?[31m?\"",
              [](GgufBuilder& f) { f.kv_string("general.architecture", "\x1b[31m\xff"); });
  cases.model("tensor_unknown", "blk.0.attn_q_lora.weight", [](GgufBuilder& f) {
    f.tensor("blk.0.attn_q_lora.weight", Type::F32, {32}, std::string(128, 'x'));
  });
  cases.model("experts", "8 experts", [](GgufBuilder& f) { f.kv_u32("llama.expert_count", 8); });
}

// Ways of scaling RoPE, each with a number that makes no sense.
void rope(Cases cases) {
  const float nan = std::nanf("");
  const float infinity = std::numeric_limits<float>::infinity();
  const auto scaled = [&](std::string_view name, std::string_view type, std::string_view key,
                          float value, std::string_view says) {
    cases.model(concat("rope_", type, "_", name), concat("llama.rope.", key, says),
                [&](GgufBuilder& f) {
                  f.kv_string("llama.rope.scaling.type", type);
                  f.kv_f32("llama.rope.scaling.factor", 4);
                  f.kv_f32(concat("llama.rope.", key), value);
                });
  };
  scaled("factor_negative", "linear", "scaling.factor", -1, " is -1; a positive number");
  scaled("factor_negative", "yarn", "scaling.factor", -1, " is -1; a positive number");
  scaled("factor_below_1", "yarn", "scaling.factor", 0.5f, " is 0.5; YaRN needs 1 or more");
  scaled("factor_nan", "yarn", "scaling.factor", nan, " is not a finite number");
  scaled("factor_infinite", "longrope", "scaling.factor", infinity, " is not a finite number");
  scaled("base_1", "yarn", "freq_base", 1, " is 1; YaRN needs a number above 1");
  for (const std::string_view type : {"none", "yarn", "longrope"}) {
    scaled("magnitude_nan", type, "scaling.attn_factor", nan, " is not a finite number");
    scaled("magnitude_0", type, "scaling.attn_factor", 0, " is 0; expected a number above 0");
    scaled("magnitude_negative", type, "scaling.attn_factor", -1, " is -1; expected a number");
    scaled("magnitude_absurd", type, "scaling.attn_factor", 1e30f,
           " is 1.0000000150474662e+30; expected");
  }
  cases.model("rope_type_as_number", "'llama.rope.scaling.type' is u32 1; expected a string",
              [](GgufBuilder& f) { f.kv_u32("llama.rope.scaling.type", 1); });
  const auto original = [&](std::string name, std::string_view type, uint64_t tokens,
                            std::string says) {
    cases.model(std::move(name), concat("rope.scaling.original_context_length is ", tokens, says),
                [&](GgufBuilder& f) {
                  f.kv_string("llama.rope.scaling.type", type);
                  f.kv_u64("llama.rope.scaling.original_context_length", tokens);
                  if (type == "yarn") return;
                  for (const char* which : {"short", "long"}) {
                    f.tensor(concat("rope_factors_", which, ".weight"), Type::F32, {8},
                             bytes_of(std::vector<float>(8, 1)));
                  }
                });
  };
  original("rope_yarn_original_0", "yarn", 0, "; YaRN needs 1 or more");
  original("rope_longrope_original_0", "longrope", 0, "; the context from which on");
  original("rope_factors_original_0", "linear", 0, "; the context from which on");
  original("rope_original_2_64_minus_1", "longrope", kMax64, "; expected 0 to 4294967296");

  const auto factors = [&](std::string name, std::string says, std::vector<float> of_short,
                           std::vector<float> of_long) {
    cases.model(std::move(name), std::move(says), [&](GgufBuilder& f) {
      f.kv_string("llama.rope.scaling.type", "longrope");
      if (!of_short.empty()) {
        f.tensor("rope_factors_short.weight", Type::F32, {of_short.size()}, bytes_of(of_short));
      }
      if (!of_long.empty())
        f.tensor("rope_factors_long.weight", Type::F32, {of_long.size()}, bytes_of(of_long));
    });
  };
  const std::vector<float> good(8, 1), bad = {1, 1, 1, 1, 1, 1, 1, nan};
  factors("rope_factors_without_long", "has no tensor rope_factors_long.weight", good, {});
  factors("rope_factors_without_short", "has no tensor rope_factors_short.weight", {}, good);
  factors("rope_factors_too_few", "rope_factors_long.weight has the shape [7]", good,
          {1, 2, 3, 4, 5, 6, 7});
  factors("rope_factors_too_many", "rope_factors_short.weight has the shape [16]",
          std::vector<float>(16, 1), good);
  factors("rope_factors_nan", "rope_factors_long.weight has a number that is NaN", good, bad);

  cases.level(Level::model, Code::unsupported_model);
  for (const std::string_view type : {"dynamic", "YARN", "longrope2"}) {
    cases.model(concat("rope_scaling_", type), concat("by the method \"", type, "\""),
                [&](GgufBuilder& f) { f.kv_string("llama.rope.scaling.type", type); });
  }
  cases.model("rope_factors_of_both_kinds", "rope_freqs.weight", [&](GgufBuilder& f) {
    for (const char* name :
         {"rope_freqs.weight", "rope_factors_short.weight", "rope_factors_long.weight"})
      f.tensor(name, Type::F32, {8}, bytes_of(good));
  });
}

void weights(Cases cases) {
  for (const char* name : {"token_embd.weight", "blk.0.attn_norm.weight", "blk.0.ffn_down.weight",
                           "output_norm.weight"}) {
    cases.model(concat("without_", name), name, [&](GgufBuilder& f) { f.remove_tensor(name); });
  }
  cases.model("shape_of_q", "blk.0.attn_q.weight has the shape [32, 31]", [](GgufBuilder& f) {
    f.find_tensor("blk.0.attn_q.weight").dims = {32, 31};
  });
  cases.model("shape_transposed", "blk.0.ffn_down.weight has the shape [32, 64]",
              [](GgufBuilder& f) {
                f.find_tensor("blk.0.ffn_down.weight").dims = {32, 64};
              });
  cases.model("shape_of_norm", "output_norm.weight has the shape [16, 2]", [](GgufBuilder& f) {
    f.find_tensor("output_norm.weight").dims = {16, 2};
  });
  cases.model("rows_of_embedding", "vocab", [](GgufBuilder& f) {
    f.find_tensor("token_embd.weight").dims = {32, 299};
    f.find_tensor("output.weight").dims = {32, 299};
  });

  // Numbers that are not finite: instruction sets would give different results. One in each kind of
  // tensor, in the first row, the last whole strip or the rows after it.
  const auto not_finite = [&](std::string_view what, std::string_view tensor, uint64_t row,
                              uint64_t rows, std::string bits, size_t place) {
    cases.model(concat(what, "_of_", tensor, "_row_", row),
                concat("tensor ", tensor, " has a number that is NaN or infinite in row ", row,
                       " (of ", rows),
                [&](GgufBuilder& f) {
                  auto& t = f.find_tensor(tensor);
                  const size_t row_bytes = t.data.size() / rows;
                  t.data.replace(row * row_bytes + place * bits.size(), bits.size(), bits);
                });
  };
  const std::string nan = bytes_of(std::nanf(""));
  const std::string infinity = bytes_of(-std::numeric_limits<float>::infinity());
  not_finite("nan", "token_embd.weight", 0, kTinyVocab, nan, 31);
  not_finite("nan", "output.weight", kTinyVocab - 1, kTinyVocab, nan, 0);
  not_finite("infinity", "output.weight", 287, kTinyVocab, infinity, 5);
  not_finite("infinity", "blk.0.attn_norm.weight", 0, 1, infinity, 31);
  not_finite("nan", "output_norm.weight", 0, 1, nan, 0);
  cases.model("weights_scale_nan",
              "blk.0.ffn_gate.weight has a scale that is NaN or infinite in row 63",
              [](GgufBuilder& f) {
                std::string data(64 * 34, '\0');
                data.replace(63 * 34, 2, bytes_of<uint16_t>(0x7e00));
                f.tensor("blk.0.ffn_gate.weight", Type::Q8_0, {32, 64}, data);
              });
  cases.model("norm_in_f16_infinite", "output_norm.weight has a number that is NaN or infinite",
              [](GgufBuilder& f) {
                std::vector<uint16_t> ones(32, 0x3c00);
                ones[31] = 0xfc00;
                f.tensor("output_norm.weight", Type::F16, {32}, bytes_of(ones));
              });

  // Types of other engines that we don't compute: their sizes are known, and they are refused by
  // name.
  cases.level(Level::model, Code::unsupported_type);
  for (uint32_t type = 0; file_type(type).name; ++type) {
    const FileType known = file_type(type);
    if (known.block == 0 || find_traits(type)) continue;
    cases.model(concat("type_", known.name), concat("type ", known.name), [&](GgufBuilder& f) {
      f.tensor("output.weight", type, {256, 300},
               std::string(256 / known.block * known.block_bytes * 300, '\0'));
    });
  }
  cases.model("norm_quantized", "output_norm.weight", [](GgufBuilder& f) {
    f.tensor("output_norm.weight", Type::Q8_0, {32}, std::string(34, '\0'));
  });
}

// What only one family demands of its file.
class FamilyCases {
 public:
  FamilyCases(Cases& cases, std::string_view model)
      : cases_(cases), file_(tiny_model_file(tiny_model_named(model))) {}

  template <typename Change>
  void add(std::string_view name, std::string says, Change&& change) {
    GgufBuilder file = file_;
    change(file);
    cases_.add(concat(architecture(), "_", name), file.build(), std::move(says));
  }
  void f32(std::string_view name, std::string_view key, float value, std::string_view says) {
    const std::string whole = concat(architecture(), ".", key);
    add(name, concat(whole, says), [&](GgufBuilder& f) { f.kv_f32(whole, value); });
  }
  void without(std::string_view key) {
    const std::string whole = concat(architecture(), ".", key);
    add(concat("without_", key), whole, [&](GgufBuilder& f) { f.remove(whole); });
  }
  void without_tensor(std::string_view name) {
    add(concat("without_", name), concat("has no tensor ", name),
        [&](GgufBuilder& f) { f.remove_tensor(name); });
  }

 private:
  std::string architecture() const {
    return file_.entries[0].value.substr(8);  // general.architecture, after its length
  }
  Cases& cases_;
  const GgufBuilder file_;
};

void gpt2(Cases cases) {
  FamilyCases family(cases, "gpt2-odd-f32");
  const float nan = std::nanf("");
  family.without("attention.layer_norm_epsilon");
  family.f32("eps_nan", "attention.layer_norm_epsilon", nan, " is not a finite number");
  family.f32("eps_1", "attention.layer_norm_epsilon", 1, " is 1; expected 0 to below 1");
  for (const char* name : {"position_embd.weight", "output_norm.bias", "blk.1.attn_norm.bias",
                           "blk.0.attn_qkv.bias", "blk.1.ffn_down.bias"}) {
    family.without_tensor(name);
  }
  family.add("more_positions_than_rows",
             "position_embd.weight has the shape [40, 512], but the header's numbers ask for [40, "
             "1024]",
             [](GgufBuilder& f) { f.kv_u32("gpt2.context_length", 1024); });
  family.add("rows_of_qkv", "blk.0.attn_qkv.weight has the shape [40, 119], but the header's",
             [](GgufBuilder& f) { f.find_tensor("blk.0.attn_qkv.weight").dims[1] = 119; });
  family.add("bias_of_qkv", "blk.1.attn_qkv.bias has the shape [119], but the header's",
             [](GgufBuilder& f) { f.find_tensor("blk.1.attn_qkv.bias").dims[0] = 119; });
  family.add("fewer_kv_heads", "attn_qkv.weight has the shape [40, 120], but the header's",
             [](GgufBuilder& f) { f.kv_u32("gpt2.attention.head_count_kv", 1); });
  cases.level(Level::model, Code::unsupported_model);
  family.add("with_a_gate", "blk.0.ffn_gate.weight", [](GgufBuilder& f) {
    f.tensor("blk.0.ffn_gate.weight", Type::F32, {40, 52}, std::string(4 * 40 * 52, '\0'));
  });
}

void gemma3(Cases cases) {
  FamilyCases family(cases, "gemma3-q8_0");
  const float nan = std::nanf("");
  family.without("attention.sliding_window");
  family.without("attention.layer_norm_rms_epsilon");
  family.f32("base_nan", "rope.freq_base_swa", nan, " is not a finite number");
  family.f32("base_0", "rope.freq_base_swa", 0, " is 0; a number above 0");
  family.f32("cap_nan", "final_logit_softcapping", nan, " is not a finite number");
  for (const auto& [window, says] : {std::pair{0u, "is 0; expected 1"}, {1u << 31, "is 21474"}}) {
    family.add(concat("window_", window), concat("attention.sliding_window ", says),
               [&](GgufBuilder& f) { f.kv_u32("gemma3.attention.sliding_window", window); });
  }
  for (const char* name : {"blk.0.attn_q_norm.weight", "blk.6.attn_k_norm.weight",
                           "blk.3.post_attention_norm.weight", "blk.5.post_ffw_norm.weight"}) {
    family.without_tensor(name);
  }
  family.add("shape_of_head_norm", "blk.2.attn_k_norm.weight has the shape [15]",
             [](GgufBuilder& f) { f.find_tensor("blk.2.attn_k_norm.weight").dims[0] = 15; });
  cases.level(Level::model, Code::unsupported_model);
  family.f32("softcap", "final_logit_softcapping", 30, " is 30, which");
}

void vocabulary(Cases cases) {
  cases.model("tokens_missing", "tokenizer.ggml.tokens",
              [](GgufBuilder& f) { f.remove("tokenizer.ggml.tokens"); });
  cases.model("tokens_as_numbers", "tokenizer.ggml.tokens", [](GgufBuilder& f) {
    f.kv_array("tokenizer.ggml.tokens", ValueType::u32, std::vector<uint32_t>(kTinyVocab));
  });
  cases.model("tokens_none", "tokens",
              [](GgufBuilder& f) { f.kv_strings("tokenizer.ggml.tokens", {}); });
  cases.model("scores_too_few", "scores", [](GgufBuilder& f) {
    f.kv_array("tokenizer.ggml.scores", ValueType::f32, std::vector<float>(kTinyVocab - 1));
  });
  cases.model("scores_as_strings", "scores", [](GgufBuilder& f) {
    f.kv_strings("tokenizer.ggml.scores", std::vector<std::string>(kTinyVocab, "0.5"));
  });
  cases.model("token_types_too_few", "token_type", [](GgufBuilder& f) {
    f.kv_array("tokenizer.ggml.token_type", ValueType::i32,
               std::vector<int32_t>(kTinyVocab - 1, 1));
  });

  const auto vocabulary_with = [](size_t id, std::string text) {
    return [id, text](GgufBuilder& f) {
      std::vector<std::string> tokens = tiny_tokens();
      tokens[id] = text;
      f.kv_strings("tokenizer.ggml.tokens", tokens);
    };
  };
  // Token 3 has the type "byte".
  cases.model("byte_token_negative", "<0x-1>", vocabulary_with(3, "<0x-1>"));
  cases.model("byte_token_no_number", "<0xZZ>", vocabulary_with(3, "<0xZZ>"));
  cases.model("byte_token_too_long", "<0x100>", vocabulary_with(3, "<0x100>"));

  cases.level(Level::model, Code::unsupported_model);
  cases.model("tokenizer_unknown", "bert",
              [](GgufBuilder& f) { f.kv_string("tokenizer.ggml.model", "bert"); });
}

}  // namespace

std::vector<Hazard> all_hazards() {
  std::vector<Hazard> hazards;
  Cases cases(hazards);
  not_gguf_at_all(cases.level(Level::header));
  preamble(cases);
  metadata(cases);
  tensors(cases);
  configuration(cases.level(Level::model));
  rope(cases);
  weights(cases);
  gpt2(cases);
  gemma3(cases);
  vocabulary(cases);

  static constexpr std::string_view kTelling[] = {
      "empty_file",
      "html_page",
      "big_endian",
      "n_tensors_18446744073709551615",
      "array_of_9223372036854775808_bytes",
      "alignment_13",
      "dimensions_int64_max_times_2",
      "offset_overlaps",
      "offset_past_2_32",
      "one_byte_short",
      "attention.head_count_0",
      "type_I32",
      "weights_scale_nan",
      "architecture_unknown",
      "scores_too_few",
  };
  for (const std::string_view name : kTelling) {
    std::ranges::find(hazards, name, &Hazard::name)->telling = true;
  }
  return hazards;
}

std::vector<Oddity> harmless_oddities() {
  std::vector<Oddity> out;
  const auto add = [&](std::string name, auto&& change) {
    GgufBuilder file = tiny_model();
    change(file);
    out.push_back({std::move(name), file.build()});
  };
  add("unchanged", [](GgufBuilder&) {});
  add("version_2", [](GgufBuilder& f) { f.version = 2; });
  add("tensors_in_reverse", [](GgufBuilder& f) { std::ranges::reverse(f.tensors); });
  for (const uint32_t alignment : {1u, 8u, 4096u}) {
    add(concat("alignment_", alignment), [&](GgufBuilder& f) {
      f.alignment = alignment;
      f.kv_u32("general.alignment", alignment);
    });
  }
  add("gaps_between_tensors", [](GgufBuilder& f) {
    for (auto& tensor : f.tensors) tensor.data += std::string(100, '\xee');
  });
  add("list_and_data_in_different_orders", [](GgufBuilder& f) {
    // The last two tensors change places in the list, but not their data.
    auto& last = f.tensors.back();
    auto& before = f.tensors[f.tensors.size() - 2];
    uint64_t offset = 0;
    for (auto& tensor : f.tensors) {
      tensor.offset = offset;
      offset += (tensor.data.size() + 31) / 32 * 32;
    }
    std::swap(last.name, before.name);
    std::swap(last.dims, before.dims);
    last.offset.swap(before.offset);
  });
  add("metadata_of_every_type", [](GgufBuilder& f) {
    for (const uint32_t type : {0u, 1u, 7u}) f.kv_raw(concat("x.", type), type, "\x01");
    for (const uint32_t type : {2u, 3u}) f.kv_raw(concat("x.", type), type, "12");
    for (const uint32_t type : {4u, 5u, 6u}) f.kv_raw(concat("x.", type), type, "1234");
    for (const uint32_t type : {10u, 11u, 12u}) f.kv_raw(concat("x.", type), type, "12345678");
    f.kv_string("x.8", "").kv_string("x.8b", "\xff\xfe not UTF-8");
    f.kv_strings("x.9", {"", "a", ""}).kv_strings("x.9b", {});
    f.kv_array<uint64_t>("x.9c", ValueType::u64, {1, 2, 3});
    f.kv_array<uint8_t>("x.9d", ValueType::boolean, {0, 1});
  });
  for (const char* key : {"bos_token_id", "eos_token_id", "eot_token_id", "unknown_token_id"}) {
    for (const uint32_t id : {kTinyVocab, 0x80000000u, 0xffffffffu}) {
      add(concat(key, "_", id),
          [&](GgufBuilder& f) { f.kv_u32(concat("tokenizer.ggml.", key), id); });
    }
  }
  for (const uint32_t n : {1u, kTinyVocab - 1, kTinyVocab + 1}) {
    add(concat("vocab_size_", n), [&](GgufBuilder& f) { f.kv_u32("llama.vocab_size", n); });
  }
  add("more_scores_than_tokens", [](GgufBuilder& f) {
    f.kv_array("tokenizer.ggml.scores", ValueType::f32, std::vector<float>(kTinyVocab + 5));
  });
  for (const char* merge : {"qq zz", "t zz", "th"}) {
    add(concat("merge_", merge), [&](GgufBuilder& f) {
      f.kv_string("tokenizer.ggml.model", "gpt2")
          .kv_strings("tokenizer.ggml.tokens", tiny_bpe_tokens())
          .kv_strings("tokenizer.ggml.merges", {"t h", merge})
          .remove("tokenizer.ggml.token_type");
    });
  }
  add("token_not_utf8", [](GgufBuilder& f) {
    std::vector<std::string> tokens = tiny_tokens();
    tokens.back() = "\xff\xc3";
    f.kv_strings("tokenizer.ggml.tokens", tokens);
  });
  add("norms_in_f16", [](GgufBuilder& f) {
    f.tensor("output_norm.weight", Type::F16, {32}, bytes_of(std::vector<uint16_t>(32, 0x3c00)));
  });
  out.push_back({"bytes_after_the_data", tiny_model().build() + std::string(1000, '\xee')});
  return out;
}

}  // namespace sluice
