// Fuzzes what core/files reads: the first byte of an input chooses which reader gets the rest. Any
// bytes are read or refused with an error that can be shown.
//
// Who adds a reader adds a function here, its place in kReaders, and seeds in make_seeds.cc.
#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <string>
#include <string_view>

#include "files/compare.h"
#include "files/convert/convert.h"
#include "files/convert/hf_weights.h"
#include "files/edit.h"
#include "files/importance.h"
#include "files/quantize/name_pattern.h"
#include "files/quantize/quantize.h"
#include "files/statistics.h"
#include "files/vocabulary/vocabulary.h"
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

// An importance matrix, in one of its two forms. What is read of a GGUF file is written, and is
// then the same. (The older form may have names that no GGUF file can.)
void read_matrices(std::string_view rest) {
  MemorySource source{std::string(rest)};
  const auto importance = read_importance(source);
  if (!importance) return check_error(importance.error());
  MemorySink sink;
  const Status status = write_importance(*importance, sink);
  if (!rest.starts_with("GGUF")) return;
  require(status.has_value());
  MemorySource written{sink.bytes};
  const auto again = read_importance(written);
  require(again && again->matrices.size() == importance->matrices.size());
  for (size_t i = 0; i < again->matrices.size(); ++i)
    require(again->matrices[i].in_sum2 == importance->matrices[i].in_sum2);
}

// An edit: KEY=VALUE, a key to remove and a template, with '\x1e' between them, then a GGUF file.
// What is edited can be parsed.
void read_edit(std::string_view rest) {
  MetadataEdit edit;
  std::string_view pair = cut(rest, '\x1e');
  const std::string key(cut(pair, '='));
  if (!key.empty()) edit.set.emplace_back(key, pair);
  if (const std::string_view removed = cut(rest, '\x1e'); !removed.empty())
    edit.remove.emplace_back(removed);
  if (const std::string_view text = cut(rest, '\x1e'); !text.empty()) edit.chat_template = text;
  auto gguf = parse_gguf(as_bytes(rest), rest.size());
  if (!gguf) return;
  if (const Status edited = edit_metadata(*gguf, edit); !edited) return check_error(edited.error());
  const auto header = edited_header(std::move(*gguf));
  if (!header) return check_error(header.error());
  require(parse_gguf(as_bytes(*header)).has_value());
}

// A pattern, '\x1e', a name.
void read_pattern(std::string_view rest) {
  const std::string_view text = cut(rest, '\x1e');
  const auto pattern = NamePattern::compile(text);
  if (!pattern) return check_error(pattern.error());
  static_cast<void>(pattern->found_in(rest.substr(0, 64)));
}

// A byte that chooses a type, then a GGUF file. What can be parsed can be compared with itself and
// described. What is planned of it has as many bytes as planned, and can be parsed.
void read_model(std::string_view rest) {
  if (rest.empty()) return;
  constexpr const char* kTypes[] = {"Q4_K_M", "Q8_0",  "Q2_K",      "IQ4_XS",
                                    "F16",    "TQ1_0", "MXFP4_MOE", "Q1_0"};
  const char* type = kTypes[static_cast<uint8_t>(rest[0]) % std::size(kTypes)];
  rest.remove_prefix(1);
  const auto model = parse_gguf(as_bytes(rest), rest.size());
  if (!model) return;
  MemorySource source{std::string(rest)};
  static Pool pool(1);
  const auto same = compare_tensors({*model, source}, {*model, source}, pool, {});
  require(same && same->different.empty() && compare_fields(*model, *model).empty());
  constexpr size_t kDescribed = 2;  // each takes a millisecond
  for (const TensorInfo& tensor :
       std::span(model->tensors).first(std::min(kDescribed, model->tensors.size()))) {
    const auto figures = tensor_statistics(source, *model, tensor, pool, {});
    if (!figures) check_error(figures.error());
  }
  const QuantizeOptions options{.type = type, .allow_requantize = true};
  const auto plan = plan_quantization(*model, options);
  if (!plan) return check_error(plan.error());
  MemorySink sink;
  ByteSink* sinks[] = {&sink};
  const Status written = quantize(source, *model, *plan, options, pool, sinks, {});
  if (!written) return check_error(written.error());
  require(sink.bytes.size() == plan->bytes());
  require(parse_gguf(as_bytes(sink.bytes), sink.bytes.size()).has_value());
}

using Reader = void (*)(std::string_view);
constexpr std::array<Reader, 7> kReaders = {
    read_vocabulary, read_weights, read_folder, read_matrices, read_edit, read_pattern, read_model};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0 || data[0] >= kReaders.size()) return 0;
  kReaders[data[0]]({reinterpret_cast<const char*>(data) + 1, size - 1});
  return 0;
}
