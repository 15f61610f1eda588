// Hugging Face folders in memory, with random weights: valid ones, and ones that are wrong in one
// place. It checks nothing.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/format.h"
#include "base/half.h"
#include "files/convert/folder.h"
#include "make/gguf_builder.h"
#include "make/vocabulary_files.h"

namespace sluice {

class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::string bytes) : bytes_(std::move(bytes)) {}
  uint64_t size() const override { return bytes_.size(); }
  Status read(uint64_t at, std::span<uint8_t> out) override {
    if (at > bytes_.size() || out.size() > bytes_.size() - at)
      return fail(Code::bad_file, "the file ends at byte ", bytes_.size());
    std::memcpy(out.data(), bytes_.data() + at, out.size());
    return {};
  }

 private:
  std::string bytes_;
};

class MemorySink final : public ByteSink {
 public:
  std::string bytes;
  Status append(std::span<const uint8_t> more) override {
    bytes.append(reinterpret_cast<const char*>(more.data()), more.size());
    return {};
  }
};

class MemoryFolder final : public Folder {
 public:
  std::map<std::string, std::string> files;
  std::string folder_name = "made-model";
  std::string name() const override { return folder_name; }
  bool has(const std::string& file) override { return files.contains(file); }
  Result<std::unique_ptr<ByteSource>> open(const std::string& file) override {
    if (!files.contains(file)) return fail(Code::bad_file, "there is no file ", file);
    return std::make_unique<MemorySource>(files[file]);
  }
};

// A file of this header and data.
inline std::string safetensors_of(const std::string& header, const std::string& data = "") {
  return bytes_of<uint64_t>(header.size()) + header + data;
}

struct MadeTensor {
  std::string name;
  std::vector<uint64_t> shape;
  std::vector<float> values;
  std::string type;   // "F32"
  std::string bytes;  // of the values
};

inline std::string safetensors_of(const std::vector<MadeTensor>& tensors) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  std::string data;
  for (const MadeTensor& tensor : tensors) {
    header[tensor.name] = {{"dtype", tensor.type},
                           {"shape", tensor.shape},
                           {"data_offsets", {data.size(), data.size() + tensor.bytes.size()}}};
    data += tensor.bytes;
  }
  return safetensors_of(header.dump(), data);
}

// A folder while it is made: a config, tensors in their order, and a vocabulary.
struct MadeModel {
  nlohmann::ordered_json config;
  std::vector<MadeTensor> tensors;
  MadeVocabulary vocabulary = byte_level_vocabulary();
  std::map<std::string, std::string> others;  // files of the folder besides

  // Adds a tensor with values that hang on its name alone.
  void add(const std::string& name, std::vector<uint64_t> shape, const std::string& type = "F32") {
    MadeTensor tensor = {
        .name = name, .shape = std::move(shape), .values = {}, .type = type, .bytes = {}};
    uint64_t n = 1, state = 7;
    for (const uint64_t dim : tensor.shape) n *= dim;
    for (const char c : name) state = state * 31 + static_cast<uint8_t>(c);
    tensor.values.resize(n);
    tensor.bytes.resize(n * (type == "F64" ? 8 : type == "F32" ? 4 : 2));
    char* out = tensor.bytes.data();
    const auto put = [&out](auto number) {
      std::memcpy(out, &number, sizeof number);
      out += sizeof number;
    };
    const bool f32 = type == "F32", f64 = type == "F64", bf16 = type == "BF16";
    float* values = tensor.values.data();
    for (uint64_t i = 0; i < n; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      // Numbers that all types hold: whole multiples of 1/64 below 1/2.
      const auto number = static_cast<float>(static_cast<int64_t>(state >> 58) - 32) / 64;
      values[i] = number;
      if (f32) {
        put(number);
      } else if (f64) {
        put(static_cast<double>(number));
      } else {
        put(bf16 ? f32_to_bf16(number) : f32_to_f16(number));
      }
    }
    tensors.push_back(std::move(tensor));
  }
  MadeTensor& tensor(const std::string& name) {
    for (MadeTensor& each : tensors)
      if (each.name == name) return each;
    static MadeTensor none;
    return none;
  }
  const std::vector<float>& values(const std::string& name) { return tensor(name).values; }
  void remove(const std::string& name) {
    std::erase_if(tensors, [&](const MadeTensor& each) { return each.name == name; });
  }

  // `shards`: files that the tensors are dealt to in turn.
  MemoryFolder folder(size_t shards = 1) const {
    MemoryFolder out;
    const VocabularyFiles files = vocabulary.files();
    out.files = {{"config.json", config.dump()},
                 {"tokenizer.json", files.tokenizer},
                 {"tokenizer_config.json", *files.tokenizer_config}};
    out.files.insert(others.begin(), others.end());
    if (files.sentencepiece) out.files["tokenizer.model"] = *files.sentencepiece;
    if (shards == 1) {
      out.files["model.safetensors"] = safetensors_of(tensors);
      return out;
    }
    nlohmann::ordered_json map;
    for (size_t shard = 0; shard < shards; ++shard) {
      const std::string name = concat("model-0000", shard + 1, "-of-0000", shards, ".safetensors");
      std::vector<MadeTensor> own;
      for (size_t i = shard; i < tensors.size(); i += shards) {
        own.push_back(tensors[i]);
        map[tensors[i].name] = name;
      }
      out.files[name] = safetensors_of(own);
    }
    const nlohmann::ordered_json index = {{"metadata", {{"total_size", 1}}}, {"weight_map", map}};
    out.files["model.safetensors.index.json"] = index.dump();
    return out;
  }
};

}  // namespace sluice
