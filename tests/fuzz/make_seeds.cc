// make_seeds DIR: writes small inputs for the fuzz targets to begin with, into DIR/fuzz_gguf,
// DIR/fuzz_json and DIR/fuzz_tokenizer.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "gguf_builder.h"
#include "hazards.h"

namespace {

using namespace sluice;
namespace fs = std::filesystem;

// A model that fits 40 kB: the tiny one with weights of zero in Q8_0, and without a head of its
// own.
std::string small_model(std::string_view architecture) {
  GgufBuilder file = tiny_model();
  file.remove_tensor("output.weight").kv_string("general.architecture", architecture);
  if (architecture == "qwen3") {
    const std::string ones = bytes_of(std::vector<float>(16, 1.0f));
    file.tensor("blk.0.attn_q_norm.weight", Type::F32, {16}, ones);
    file.tensor("blk.0.attn_k_norm.weight", Type::F32, {16}, ones);
  }
  for (auto& entry : file.entries) {
    if (entry.key.starts_with("llama.")) entry.key.replace(0, 5, architecture);
  }
  for (auto& tensor : file.tensors) {
    if (tensor.dims.size() < 2) continue;
    tensor.type = static_cast<uint32_t>(Type::Q8_0);
    tensor.data.assign(tensor.dims[0] / 32 * 34 * tensor.dims[1], '\0');
  }
  return file.build();
}

void write(const fs::path& folder, const std::string& name, std::string_view bytes) {
  fs::create_directories(folder);
  std::ofstream file(folder / name, std::ios::binary);
  file << bytes;
  if (!file.flush()) {
    std::fprintf(stderr, "can't write %s\n", (folder / name).c_str());
    std::exit(1);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_seeds DIR\n");
    return 2;
  }
  const fs::path folder = argv[1];

  const fs::path gguf = folder / "fuzz_gguf";
  for (const char* architecture : {"llama", "qwen2", "qwen3"}) {
    write(gguf, architecture, small_model(architecture));
  }
  GgufBuilder vocabulary = tiny_model();
  vocabulary.tensors.clear();
  write(gguf, "vocabulary", vocabulary.build());
  GgufBuilder entries;
  for (uint32_t type = 0; type <= 12; ++type) {
    if (type == 8 || type == 9) continue;
    const auto size = value_type_size(static_cast<ValueType>(type));
    entries.kv_raw(std::string(1, static_cast<char>('a' + type)), type, std::string(size, '\1'));
    entries.kv_array_raw(std::string(1, static_cast<char>('A' + type)), type, 2,
                         std::string(2 * size, '\0'));
  }
  entries.kv_string("text", "text").kv_strings("texts", {"a", "", "c"});
  entries.kv_u32("general.alignment", 8);
  entries.alignment = 8;
  entries.tensor("f32", Type::F32, {3, 2}, std::string(24, '\1'));
  entries.tensor("q4_k", Type::Q4_K, {256}, std::string(144, '\1'));
  write(gguf, "entries", entries.build());
  for (const Hazard& hazard : all_hazards()) {
    if (hazard.bytes.size() <= 1024) write(gguf, hazard.name, hazard.bytes);
  }

  const fs::path json = folder / "fuzz_json";
  write(json, "empty", "{}");
  write(
      json, "load",
      R"({"contextSize":512,"threads":2,"tuneThreads":true,"kvType":"f16","memoryBudget":1e9,"kernels":"generic"})");
  write(
      json, "generate",
      R"({"maxTokens":10,"temperature":0.8,"topK":40,"topP":0.95,"minP":0.05,"repeatPenalty":1.1,)"
      R"("seed":1,"stop":["\n\n","end"],"ignoreEos":false,"special":true,"topLogprobs":5})");

  const fs::path text = folder / "fuzz_tokenizer";
  write(text, "words", "Once upon a time, there was a little girl's dog.\n\n  It ran 1234 miles!");
  write(text, "scripts",
        "na\u00efve caf\u00e9 \u4f60\u597d \u043f\u0440\u0438\u0432\u0435\u0442 "
        "\U0001f600\u200d\U0001f468");
  write(text, "special", "<s>hello</s> <|im_start|>user <0x41> \xe2\x96\x81 \xff\xfe\xc3");
  write(text, "run", std::string(300, 'a'));
  return 0;
}
