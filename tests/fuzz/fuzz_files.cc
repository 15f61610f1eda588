// Fuzzes what core/files reads: the first byte of an input chooses which reader gets the rest. Any
// bytes are read or refused with an error that can be shown.
//
// Who adds a reader adds a function here, its place in kReaders, and seeds in make_seeds.cc.
#include <array>
#include <string>
#include <string_view>

#include "files/convert.h"
#include "files/hf_weights.h"
#include "files/vocabulary.h"
#include "fuzz_support.h"
#include "make/hf_folder.h"

namespace {

using namespace sluice;

constexpr uint64_t kMaxRows = 1024;  // of the vocabularies here

// What stands before `between`, which is removed from `rest` with it.
std::string_view cut(std::string_view& rest, char between) {
  const size_t end = std::min(rest.find(between), rest.size());
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return part;
}

// Two bytes with the number of rows, one with the architecture, then the files with '\x1e' between
// them. A vocabulary that is made is one that opens, if its kind runs here.
void read_vocabulary(std::string_view rest) {
  if (rest.size() < 3) return;
  const uint64_t rows =
      (static_cast<uint8_t>(rest[0]) | static_cast<uint64_t>(static_cast<uint8_t>(rest[1])) << 8) %
      (kMaxRows + 1);
  const std::string architecture = rest[2] == 'g' ? "gemma4" : "llama";
  rest.remove_prefix(3);
  VocabularyFiles files;
  files.tokenizer = cut(rest, '\x1e');
  files.config = cut(rest, '\x1e');
  files.tokenizer_config = cut(rest, '\x1e');
  files.generation_config = cut(rest, '\x1e');
  if (!rest.empty()) files.sentencepiece = rest;
  Gguf gguf;
  Notes notes;
  const Status added = add_vocabulary(files, architecture, rows, gguf, notes);
  for (const Note& note : notes) require(printable(note.message, 100000) == note.message);
  if (!added) {
    check_error(added.error());
    return;
  }
  const auto tokenizer = Tokenizer::from_gguf(gguf);
  if (!tokenizer) {
    require(tokenizer.error().code == Code::unsupported_model);
    return;
  }
  require(tokenizer->vocab_size() == static_cast<int64_t>(rows));
  tokenizer->decode(tokenizer->encode("The quick <s> \xff fox", true));
}

// A safetensors file. The tensors that it has lie within it.
void read_weights(std::string_view rest) {
  MemorySource source{std::string(rest)};
  const auto tensors = read_safetensors(source);
  if (!tensors) return check_error(tensors.error());
  for (const SafeTensor& tensor : *tensors)
    require(tensor.at <= rest.size() && tensor.bytes <= rest.size() - tensor.at);
}

// A folder with a vocabulary of bytes: config.json, generation_config.json, the index of shards
// ("": there is none), with '\x1e' between them, then the weights. What is planned is written as a
// file that can be parsed, unless its weights are no numbers.
void read_folder(std::string_view rest) {
  static const std::string vocabulary = byte_level_vocabulary().files().tokenizer;
  MemoryFolder folder;
  folder.files["tokenizer.json"] = vocabulary;
  folder.files["config.json"] = cut(rest, '\x1e');
  folder.files["generation_config.json"] = cut(rest, '\x1e');
  const std::string_view index = cut(rest, '\x1e');
  if (!index.empty()) folder.files["model.safetensors.index.json"] = index;
  folder.files[index.empty() ? "model.safetensors" : "a.safetensors"] = rest;
  const auto plan = plan_conversion(folder, {});
  if (!plan) return check_error(plan.error());
  for (const std::string& remark : plan->remarks()) require(printable(remark, 100000) == remark);
  static Pool pool(1);
  MemorySink sink;
  const Status written = convert(*plan, pool, sink, {});
  if (!written) {
    require(written.error().code == Code::bad_file);
    return check_error(written.error());
  }
  require(parse_gguf(as_bytes(sink.bytes), sink.bytes.size()).has_value());
}

using Reader = void (*)(std::string_view);
constexpr std::array<Reader, 3> kReaders = {read_vocabulary, read_weights, read_folder};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0 || data[0] >= kReaders.size()) return 0;
  kReaders[data[0]]({reinterpret_cast<const char*>(data) + 1, size - 1});
  return 0;
}
