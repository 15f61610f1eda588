#include "hazards.h"

#include <algorithm>

#include "base/format.h"
#include "hazard_cases.h"

namespace sluice {
namespace {

using Level = Hazard::Level;

constexpr uint64_t kMax64 = ~uint64_t{0};
constexpr uint64_t k2To63 = uint64_t{1} << 63;

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

}  // namespace

std::vector<Hazard> all_hazards() {
  std::vector<Hazard> hazards;
  Cases cases(hazards);
  not_gguf_at_all(cases.level(Level::header));
  preamble(cases);
  metadata(cases);
  tensors(cases);
  add_model_hazards(cases);
  add_family_hazards(cases);
  add_fold_hazards(cases);

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
