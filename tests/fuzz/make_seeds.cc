// make_seeds DIR: writes the fuzz targets' first inputs into DIR/fuzz_chat, DIR/fuzz_files,
// DIR/fuzz_gguf, DIR/fuzz_jinja, DIR/fuzz_json, DIR/fuzz_pull, DIR/fuzz_session,
// DIR/fuzz_template_tokens and DIR/fuzz_tokenizer.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "choices.h"
#include "files/importance.h"
#include "make/blocks.h"
#include "make/gguf_builder.h"
#include "make/hazards.h"
#include "make/hf_folder.h"
#include "make/quantize.h"
#include "make/split_models.h"
#include "make/tiny_models.h"
#include "make/vocabulary_files.h"
#include "pull/journal.h"
#include "session/session_file.h"
#include "session_model.h"

namespace {

using namespace sluice;
namespace fs = std::filesystem;

// Random weights of a type, for a tensor of these dimensions.
void quantize(GgufBuilder::Tensor& tensor, Type type) {
  const TypeTraits& t = traits(type);
  const uint64_t n = tensor.dims[0] * tensor.dims[1];
  std::vector<float> values = test_values(n, static_cast<uint32_t>(n));
  for (float& value : values) value *= 0.25f;
  tensor.type = static_cast<uint32_t>(type);
  tensor.data.assign(row_bytes(t, n), '\0');
  auto* const blocks = reinterpret_cast<uint8_t*>(tensor.data.data());
  if (Quantize* const rounded = quantizer(type)) {
    rounded(values.data(), static_cast<int64_t>(n), blocks);
    return;
  }
  // Any codes, with scales of 1/256.
  for (size_t i = 0; i < tensor.data.size(); ++i) blocks[i] = static_cast<uint8_t>(i * 167);
  set_floats(t, blocks, tensor.data.size(), [] { return 0x1c00; });
}

// A model of less than 80 kB: the tiny model with weights of this type and a tied head.
std::string small_model(std::string_view architecture, Type type = Type::Q8_0) {
  GgufBuilder file = tiny_model();
  file.remove_tensor("output.weight").kv_string("general.architecture", architecture);
  if (architecture == "qwen2") {
    file.tensor("blk.0.attn_q.bias", Type::F32, {32}, bytes_of(test_values(32, 3)));
    file.tensor("blk.0.attn_k.bias", Type::F32, {16}, bytes_of(test_values(16, 4)));
    file.tensor("blk.0.attn_v.bias", Type::F32, {16}, bytes_of(test_values(16, 5)));
  }
  if (architecture == "qwen3") {
    const std::string ones = bytes_of(std::vector<float>(16, 1.0f));
    file.tensor("blk.0.attn_q_norm.weight", Type::F32, {16}, ones);
    file.tensor("blk.0.attn_k_norm.weight", Type::F32, {16}, ones);
  }
  for (auto& entry : file.entries) {
    if (entry.key.starts_with("llama.")) entry.key.replace(0, 5, architecture);
  }
  for (auto& tensor : file.tensors) {
    if (tensor.dims.size() == 2) quantize(tensor, type);
  }
  return file.build();
}

// The same with an embedding of 256, and K types for rows of that length.
std::string wide_model() {
  GgufBuilder file = tiny_model();
  file.remove_tensor("output.weight").kv_u32("llama.embedding_length", 256);
  file.kv_u32("llama.attention.key_length", 16).kv_u32("llama.attention.value_length", 16);
  const std::vector<Type> k_types = types_where([](const TypeTraits& t) { return t.block == 256; });
  size_t next = 0;
  for (auto& tensor : file.tensors) {
    for (uint64_t& dim : tensor.dims) {
      const bool rows = &dim != &tensor.dims[0];
      const bool widened = tensor.name.find("attn_output") != std::string::npos ||
                           tensor.name.find("ffn_down") != std::string::npos;
      if (dim == 32 && rows == widened) dim = 256;
    }
    if (tensor.dims.size() == 1) {
      tensor.dims = {256};
      tensor.data = bytes_of(std::vector<float>(256, 1.0f));
    } else {
      const bool k_type = tensor.dims[0] == 256 && tensor.dims[1] < kTinyVocab;
      quantize(tensor, k_type ? k_types[next++ % k_types.size()] : Type::Q4_0);
    }
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

// Writes each part of a file of ours as a seed.
void write_parts(const fs::path& folder, const fs::path& source, std::string_view between) {
  std::ifstream file(source, std::ios::binary);
  const std::string content{std::istreambuf_iterator<char>(file), {}};
  size_t count = 0;
  for (std::string_view rest = content; !rest.empty();) {
    const size_t end = std::min(rest.find(between), rest.size());
    write(folder, source.stem().string() + std::to_string(++count), rest.substr(0, end));
    rest.remove_prefix(std::min(end + between.size(), rest.size()));
  }
  if (count == 0) {
    std::fprintf(stderr, "there is nothing in %s\n", source.c_str());
    std::exit(1);
  }
}

// A vocabulary's files as fuzz_files takes them.
void write_vocabulary(const fs::path& folder, const std::string& name, char architecture,
                      const MadeVocabulary& made, uint64_t rows) {
  const VocabularyFiles files = made.files();
  std::string seed(1, '\0');
  seed += bytes_of(static_cast<uint16_t>(rows)) + architecture + files.tokenizer;
  for (const std::string& text :
       {files.config, files.tokenizer_config.value_or(""), files.generation_config.value_or(""),
        files.sentencepiece.value_or("")}) {
    seed += '\x1e' + text;
  }
  write(folder, name, seed);
}

// Importance matrices in both forms, as fuzz_files takes them.
void write_matrices(const fs::path& folder) {
  Importance importance;
  importance.datasets = {"text.txt"};
  importance.chunk_count = 2;
  importance.chunk_size = 8;
  importance.matrices = {{"blk.0.attn_q.weight", 3, 1, {1, 2, 3}, {16}},
                         {"blk.0.ffn_up_exps.weight", 2, 2, {1, 2, 3, 4}, {6, 10}}};
  MemorySink sink;
  if (!write_importance(importance, sink)) std::exit(1);
  write(folder, "matrices", "\x03" + sink.bytes);
  const std::string name = "blk.0.attn_q.weight", dataset = "text.txt";
  write(folder, "matrices_dat",
        "\x03" + bytes_of<int32_t>(1) + bytes_of(static_cast<int32_t>(name.size())) + name +
            bytes_of<int32_t>(2) + bytes_of<int32_t>(3) + bytes_of(std::vector<float>{1, 2, 3}) +
            bytes_of<int32_t>(2) + bytes_of(static_cast<int32_t>(dataset.size())) + dataset);
}

// Weights, and a folder of them, as fuzz_files takes them.
void write_folder(const fs::path& folder) {
  constexpr uint64_t kWidth = 32;
  MadeModel model;
  model.config = {{"architectures", {"LlamaForCausalLM"}},
                  {"hidden_size", kWidth},
                  {"intermediate_size", kWidth},
                  {"num_hidden_layers", 1},
                  {"num_attention_heads", 2},
                  {"max_position_embeddings", 64},
                  {"rms_norm_eps", 1e-5},
                  {"vocab_size", 260},
                  {"tie_word_embeddings", true},
                  {"rope_scaling", {{"rope_type", "linear"}, {"factor", 2.0}}}};
  model.add("model.embed_tokens.weight", {260, kWidth}, "BF16");
  model.add("model.norm.weight", {kWidth}, "BF16");
  for (const char* name : {"input_layernorm", "post_attention_layernorm"})
    model.add(concat("model.layers.0.", name, ".weight"), {kWidth}, "BF16");
  for (const char* name : {"self_attn.q", "self_attn.k", "self_attn.v", "self_attn.o", "mlp.gate",
                           "mlp.up", "mlp.down"})
    model.add(concat("model.layers.0.", name, "_proj.weight"), {kWidth, kWidth}, "BF16");
  const std::string weights = safetensors_of(model.tensors);
  write(folder, "weights", "\x01" + weights);
  const std::string config = "\x02" + model.config.dump() + "\x1e{\"top_k\":20}\x1e";
  write(folder, "folder", config + "\x1e" + weights);
  nlohmann::ordered_json map;
  for (const MadeTensor& tensor : model.tensors) map[tensor.name] = "a.safetensors";
  const nlohmann::ordered_json index = {{"weight_map", map}};
  write(folder, "shards", config + index.dump() + "\x1e" + weights);
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
  for (const char* name :
       {"gpt2-q8_0", "gemma3-q8_0", "lfm2-q8_0", "qwen35-q8_0", "qwen3moe-q8_0"}) {
    TinyModel model = tiny_model_named(name);
    model.n_layers = 1;
    model.n_embd = model.n_ff = 32;
    model.context = 64;
    write(gguf, model.architecture, build_tiny_model(model));
  }
  const auto narrow = [](const TypeTraits& t) {
    return t.block < 256 && t.floats != FloatKind::f32;  // F32 would be too large
  };
  for (const char* name : {"llama-folded-q8_0", "gemma3-folded-q8_0"}) {
    TinyModel model = tiny_model_named(name);
    model.n_layers = 2;
    model.n_embd = model.n_ff = 32;
    model.context = 64;
    write(gguf, model.name, build_tiny_model(model));
  }
  for (const Type type : types_where(narrow)) {
    write(gguf, traits(type).name, small_model("llama", type));
  }
  write(gguf, "k_types", wide_model());
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

  const fs::path read = folder / "fuzz_files";
  write_vocabulary(read, "bytes", 'l', byte_level_vocabulary(), 260);
  write_vocabulary(read, "word_piece", 'l', word_piece_vocabulary(), 8);
  MadeVocabulary spaces = spaces_vocabulary();
  write_vocabulary(read, "spaces", 'l', spaces, spaces.size());
  spaces.pieces();
  write_vocabulary(read, "pieces", 'l', spaces, spaces.size());
  spaces.tokenizer["normalizer"] =
      nlohmann::ordered_json(spaces.tokenizer["normalizer"]["normalizers"][1]);
  write_vocabulary(read, "raw", 'g', spaces, spaces.size());
  write_folder(read);
  write_matrices(read);
  write(read, "edit",
        "\x04general.name=str:New\x1egeneral.type\x1e{{ x }}" + ('\x1e' + entries.build()));
  write(read, "edit_array", "\x04my.list=[1,2]\x1e\x1e" + ('\x1e' + entries.build()));
  write(read, "pattern",
        "\x05^blk\\.(0|[1-3]{1,2})\\.attn_[qkv]\x1e"
        "blk.12.attn_q.weight");
  write(read, "model", std::string("\x06\x01") + small_model("llama"));
  write(read, "model_mix", std::string("\x06\x08") + wide_model());

  const fs::path split = folder / "fuzz_split";
  for (const size_t n_files : {1, 2, 3, 5}) {
    for (const bool first_empty : {false, true}) {
      if (first_empty && n_files == 1) continue;
      const auto files = split_model(small_model("llama"), n_files, first_empty);
      std::string seed(1, static_cast<char>(n_files));
      for (const std::string& file : files) seed += bytes_of(static_cast<uint32_t>(file.size()));
      for (const std::string& file : files) seed += file;
      write(split, std::to_string(n_files) + (first_empty ? "-empty" : ""), seed);
    }
  }

  using std::string_literals::operator""s;
  const std::string messages =
      R"([{"role":"system","content":"S"},{"role":"user","content":"a<|im_end|>"},)"
      R"({"role":"assistant","content":[{"type":"text","text":"b"}]},{"role":"user","content":"c"}])";
  const std::string kwargs = R"({"enable_thinking":true,"x":1,"tools":[{"|im_start|":1}]})";
  for (const char* first : {"\x04", "\x0f", "\x11", "\x26", "\x33", "\x40", "\x4a", "\x57"}) {
    for (const char* room : {"\x01", "\x08", "\xff"}) {
      const std::string name = "chat-" + std::to_string(*first) + "-" + std::to_string(*room);
      write(folder / "fuzz_chat", name,
            first + std::string(room) + messages + "\0"s + kwargs + "\0 <think>x</think>\n\ny"s);
    }
  }

  const fs::path json = folder / "fuzz_json";
  write(json, "empty", "{}");
  write(
      json, "load",
      R"({"contextSize":512,"threads":2,"tuneThreads":true,"kvType":"f16","memoryBudget":1e9,"kernels":"generic"})");
  write(
      json, "generate",
      R"({"maxTokens":10,"temperature":0.8,"topK":40,"topP":0.95,"minP":0.05,"repeatPenalty":1.1,)"
      R"("seed":1,"stop":["\n\n","end"],"ignoreEos":false,"special":true,"topLogprobs":5,"trace":9})");
  write(
      json, "samplers",
      R"({"topNSigma":1,"typicalP":0.9,"xtcProbability":0.5,"repeatLastN":-1,"presencePenalty":-2,)"
      R"("logitBias":{"7":-100,"0":1.5},"dryMultiplier":0.8,"drySequenceBreakers":["\n",":"]})");

  const fs::path pull = folder / "fuzz_pull";
  write(pull, "address", "hf:owner/repo:UD-Q4_K_XL@refs/pr/1");
  write(pull, "page", "https://huggingface.co/o/r/blob/main/d/m-00001-of-00002.gguf?a=b#c");
  write(pull, "list",
        R"([{"type":"file","path":"m-Q4_0.gguf","size":7,"lfs":{"oid":")" + std::string(64, 'a') +
            R"(","size":7}}])");
  write(pull, "link", "<https://h/a?cursor=2>; rel=\"next\"");
  write(pull, "index", R"({"metadata":{},"weight_map":{"t":"a.safetensors"}})");
  write(pull, "range", "bytes 0-99/1234");
  write(pull, "limit", "\"resolvers\";r=0;t=30");
  sluice::pull::Meta meta;
  meta.address = "https://e.org/m.gguf";
  meta.block_bytes = 256 << 10;
  meta.total_bytes = 1 << 20;
  const std::string header = *sluice::pull::encode_header({1, meta});
  write(pull, "journal", header + header + std::string(32, '\1'));

  // The templates that tests/jinja/compare.py compares.
  const fs::path templates = SLUICE_ROOT "/tests/jinja";
  write_parts(folder / "fuzz_jinja", templates / "language.txt", "\n----\n");
  write_parts(folder / "fuzz_jinja", templates / "idioms.txt", "\n----\n");
  write_parts(folder / "fuzz_jinja", templates / "expressions.txt", "\n");
  for (size_t kind = 0; kind < 3 * sluice::kKinds; ++kind) {
    const auto of = static_cast<sluice::Kept>(kind / 3);
    const auto engine = session_engine(kind % 3, of);
    const auto write_session = [&](const char* name, bool version1 = false) {
      std::vector<uint8_t> bytes = session_bytes(engine->session());
      if (version1) {
        bytes[8] = 1;
        const auto kept = bytes.begin() + sluice::kSessionHeaderBytes + 4 * bytes[48];
        const size_t numbers = sluice::kPromptEndBytes + sluice::kept_numbers(of);
        bytes.erase(kept, kept + static_cast<ptrdiff_t>(numbers));
      }
      write(folder / "fuzz_session", name + std::to_string(kind),
            {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    };
    write_session("empty");
    const TokenId prompt[] = {3, 4};
    GenerateOptions options;
    options.seed = 1;
    options.max_tokens = 2;
    require(engine->session().start(prompt, options).has_value() &&
            finish_session(engine->session()));
    write_session("run");
    require(engine->session().start_logits(prompt, 0).has_value() &&
            finish_session(engine->session()));
    write_session("computed");
    write_session("version1-", true);
  }

  for (uint64_t seed = 0; seed < 50; ++seed) {
    const std::vector<uint8_t> bytes = bytes_of_seed(seed, 1200);
    write(folder / "fuzz_template_tokens", std::to_string(seed),
          {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }

  const fs::path text = folder / "fuzz_tokenizer";
  write(text, "words", "Once upon a time, there was a little girl's dog.\n\n  It ran 1234 miles!");
  write(text, "scripts",
        "na\u00efve caf\u00e9 \u4f60\u597d \u043f\u0440\u0438\u0432\u0435\u0442 "
        "\U0001f600\u200d\U0001f468");
  write(text, "special", "<s>hello</s> <|im_start|>user <0x41> \xe2\x96\x81 \xff\xfe\xc3");
  write(text, "run", std::string(300, 'a'));
  write(text, "word_pieces", "\ba ab.ABA e\u0301\u00c9 \ud558 [MASK]b!\n\u3000\u200b");
  return 0;
}
