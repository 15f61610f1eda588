// Models with folded weights whose keys are wrong, or of a kind that isn't known.
#include "base/format.h"
#include "fold.h"
#include "hazard_cases.h"

namespace sluice {

void add_fold_hazards(Cases& cases) {
  cases.level(Hazard::Level::model);
  const auto add = [&](std::string_view name, std::string says, auto&& change) {
    cases.model(concat("folded_", name), std::move(says), [&](GgufBuilder& f) {
      add_fold_keys(f, {.names = {"output.weight", "blk.0.attn_q.weight", "blk.0.ffn_down.weight"},
                        .widths = {32, 64}});
      change(f);
    });
  };
  const auto key = [](std::string_view name) { return concat("prism.hadamard.", name); };
  const auto u32 = [&](std::string_view name, uint64_t value, std::string_view says) {
    add(concat(name, "_", value), concat(key(name), says),
        [&](GgufBuilder& f) { f.kv_u64(key(name), value); });
  };
  const auto without = [&](std::string_view name) {
    add(concat("without_", name), key(name), [&](GgufBuilder& f) { f.remove(key(name)); });
  };
  const auto names = [&](std::string_view name, std::string says, std::vector<std::string> all) {
    add(name, std::move(says), [&](GgufBuilder& f) { f.kv_strings(key("weight_names"), all); });
  };
  const auto numbers = [&](std::string_view which, std::string_view name, std::string_view says,
                           std::vector<int32_t> all) {
    add(name, concat(key(which), says),
        [&](GgufBuilder& f) { f.kv_array(key(which), ValueType::i32, all); });
  };
  for (const char* name : {"version", "block_size", "weight_names", "sign_widths", "sign_values"}) {
    without(name);
  }
  for (const uint64_t block :
       {uint64_t{0}, uint64_t{1}, uint64_t{2}, uint64_t{24}, uint64_t{1} << 21, uint64_t{1} << 62})
    u32("block_size", block, concat(" is u64 ", block, "; expected a power of two from 4 to"));
  u32("block_size", 64, " is u64 64; expected what fits rows of 32 weights");
  add("version_as_text", "prism.hadamard.version is a value of type string: \"1\"; expected 1 or 2",
      [&](GgufBuilder& f) { f.kv_string(key("version"), "1"); });
  add("version_2_without_tied_output", "tied_output is missing; expected true in version 2",
      [&](GgufBuilder& f) { f.kv_u32(key("version"), 2); });
  add("version_1_with_tied_output", "tied_output is bool 1; expected true in version 2 and false",
      [&](GgufBuilder& f) { f.kv_bool(key("tied_output"), true); });
  add("tied_output_as_text",
      "tied_output is a value of type string: \"true\"; expected true in version 2 and false",
      [&](GgufBuilder& f) { f.kv_string(key("tied_output"), "true"); });
  add("heads_grouped_as_number", "gdn_v_grouped is u32 1; expected true or false",
      [&](GgufBuilder& f) { f.kv_u32(key("gdn_v_grouped"), 1); });
  const auto tied = [&](GgufBuilder& f) {
    f.kv_u32(key("version"), 2).kv_bool(key("tied_output"), true);
    f.kv_strings(key("weight_names"), {"blk.0.attn_q.weight"});
  };
  add("tied_output_with_a_head",
      "tied_output is bool 1; expected false, as the file has output.weight or", tied);
  add("tied_output_of_a_plain_embedding",
      "tied_output is bool 1; expected false, as the file has output.weight or doesn't name",
      [&](GgufBuilder& f) {
        tied(f);
        f.remove_tensor("output.weight").remove(key("inverse_weight_names"));
      });
  add("without_a_head", "tied_output is missing; expected true, as the embedding is folded",
      [&](GgufBuilder& f) {
        f.remove_tensor("output.weight");
        f.kv_strings(key("weight_names"), {"blk.0.attn_q.weight"});
      });
  names("names_none", " is an array of 0 x string; expected an array of names", {});
  names("names_twice",
        " x string: \"blk.0.attn_q.weight\"; expected matrices of the file, each once",
        {"blk.0.attn_q.weight", "output.weight", "blk.0.attn_q.weight"});
  names("name_unknown", " x string: \"blk.1.attn_q.weight\"; expected matrices of the file",
        {"output.weight", "blk.1.attn_q.weight"});
  names("name_not_printable", " x string: \"?[31m\"; expected", {"\x1b[31m"});
  names("name_of_a_vector",
        " x string: \"output_norm.weight\"; expected matrices that rows are multiplied by",
        {"output_norm.weight"});
  names("name_of_the_embedding", " x string: \"token_embd.weight\"; expected matrices of the",
        {"token_embd.weight"});
  add("names_as_numbers",
      "prism.hadamard.weight_names is an array of 2 x u32; expected an array of names",
      [&](GgufBuilder& f) {
        f.kv_array<uint32_t>(key("weight_names"), ValueType::u32, {1, 2});
      });
  add("inverse_as_text",
      "inverse_weight_names is a value of type string: \"token_embd.weight\"; expected an array",
      [&](GgufBuilder& f) { f.kv_string(key("inverse_weight_names"), "token_embd.weight"); });
  numbers("sign_widths", "widths_twice", " is an array of 3 x i32; expected what fits rows of 32",
          {32, 32, 32});
  numbers("sign_widths", "width_0",
          " is an array of 3 x i32; expected an array of at most 1024 integers from 1",
          {32, 64, 0});
  numbers("sign_widths", "width_negative",
          " is an array of 3 x i32; expected an array of at most 1024 integers from 1",
          {32, 64, -32});
  numbers("sign_widths", "width_2_21",
          " is an array of 3 x i32; expected an array of at most 1024 integers from 1",
          {32, 64, 1 << 21});
  numbers("sign_widths", "widths_too_many",
          " is an array of 1025 x i32; expected an array of at most",
          std::vector<int32_t>(1025, 1));
  for (const size_t n : {size_t{95}, size_t{97}}) {
    numbers("sign_values", concat("signs_", n),
            concat(" is an array of ", n, " x i32; expected as many of 1 and -1 as"),
            std::vector<int32_t>(n, 1));
  }
  numbers("sign_values", "sign_0", " is an array of 96 x i32; expected as many of 1",
          std::vector<int32_t>(96, 0));
  add("signs_as_numbers",
      "prism.hadamard.sign_values is an array of 96 x f32; expected as many of 1",
      [&](GgufBuilder& f) {
        f.kv_array(key("sign_values"), ValueType::f32, std::vector<float>(96, 1));
      });
  add("signs_of_other_widths", "sign_widths is an array of 1 x i32; expected what fits rows of 64",
      [&](GgufBuilder& f) {
        f.kv_array<int32_t>(key("sign_widths"), ValueType::i32, {32});
        f.kv_array(key("sign_values"), ValueType::i8, std::vector<int8_t>(32, -1));
      });

  cases.level(Hazard::Level::model, Code::unsupported_model);
  u32("version", 0, " is u64 0; expected 1 or 2");
  u32("version", 3, " is u64 3; expected 1 or 2");
  const auto text = [&](std::string_view name, std::string_view value) {
    add(concat(name, "_", value),
        concat(key(name), " is a value of type string: \"", value, "\"; expected "),
        [&](GgufBuilder& f) { f.kv_string(key(name), value); });
  };
  text("transform", "walsh");
  text("axis", "output-first-dimension");
  text("sign_mode", "random");
  without("transform");
  without("axis");
  without("sign_mode");
  add("inverse_of_another",
      "inverse_weight_names is an array of 2 x string: \"output.weight\"; expected "
      "token_embd.weight alone",
      [&](GgufBuilder& f) {
        f.kv_strings(key("inverse_weight_names"), {"token_embd.weight", "output.weight"});
      });
  add("heads_grouped",
      "prism.hadamard.gdn_v_grouped is bool 1; expected false of a model without gated delta nets",
      [&](GgufBuilder& f) { f.kv_bool(key("gdn_v_grouped"), true); });
}

}  // namespace sluice
