// Takes any bytes as a file. The parser refuses them with a message or gives a consistent header,
// the same whole and in pieces. What fits a small budget is loaded and run for a few tokens, with a
// kernel table that the bytes choose and with the generic one: both must give the same bits or the
// same error.
#include <algorithm>
#include <memory>
#include <vector>

#include "api/inspect.h"
#include "fuzz_support.h"
#include "kernels/kernels.h"
#include "support/stream.h"

namespace {

using namespace sluice;

Result<Gguf> parse_in_pieces(std::span<const uint8_t> file, size_t piece) {
  GgufParser parser;
  parser.set_file_size(file.size());
  while (!file.empty() && !parser.done()) {
    const auto part = file.first(std::min(piece, file.size()));
    SLUICE_TRY(parser.push(part));
    file = file.subspan(part.size());
  }
  SLUICE_TRY(parser.finish());
  return parser.take();
}

void check_header(const Gguf& gguf, size_t file_size) {
  require(gguf.file_bytes() <= file_size);
  for (const auto& [key, value] : gguf.metadata) {
    require(gguf.find(key) == &value);
    if (value.is_array() && value.element == ValueType::string) {
      require(value.ends.size() == value.count);
      for (uint64_t i = 0; i < value.count; ++i) require(value.text(i).size() <= file_size);
    } else if (value.type != ValueType::string) {
      require(value.bytes.size() ==
              value.count * value_type_size(value.is_array() ? value.element : value.type));
    }
  }
  for (const TensorInfo& tensor : gguf.tensors) {
    require(gguf.find_tensor(tensor.name) == &tensor);
    require(tensor.offset % gguf.alignment == 0);
    require(tensor.offset + tensor.bytes <= gguf.data_bytes);
  }
}

// The hash of the logits.
Result<std::string> load_and_run(std::span<const uint8_t> file, const Kernels& kernels) {
  LoadOptions options;
  options.threads = 1;
  options.context_size = 16;
  options.memory_budget = 64u << 20;
  options.kernels = kernels.name;
  options.kv_type = std::array{"f32", "f16", "q8_0"}[file.back() % 3];
  SLUICE_ASSIGN(const auto engine, Engine::create(options, {file.size()}));
  Stream stream(*engine);
  SLUICE_TRY(stream.push(file));
  SLUICE_TRY(stream.end());
  return run_tokens(*engine);
}

// One of the tables that this machine can run, chosen by the input's bytes.
const Kernels& chosen_table(std::span<const uint8_t> file) {
  std::vector<const Kernels*> tables;
  for (const Kernels* kernels : all_kernels()) {
    if (kernels->supported()) tables.push_back(kernels);
  }
  uint32_t hash = 0;
  for (const uint8_t byte : file) hash = hash * 31 + byte;
  return *tables[hash % tables.size()];
}

void compare_tables(std::span<const uint8_t> file) {
  const Kernels& plainest = **(all_kernels().end() - 1);
  const Result<std::string> expected = load_and_run(file, plainest);
  if (!expected) check_error(expected.error());
  const Kernels& chosen = chosen_table(file);
  if (&chosen == &plainest) return;
  const Result<std::string> got = load_and_run(file, chosen);
  require(got.has_value() == expected.has_value());
  require(got ? *got == *expected : got.error().message == expected.error().message);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const uint8_t> file(data, size);
  const Result<Gguf> whole = parse_gguf(file, size);
  const Result<Gguf> parts = parse_in_pieces(file, 1 + size % 13);
  require(whole.has_value() == parts.has_value());
  if (!whole) {
    check_error(whole.error());
    require(whole.error().message == parts.error().message);
    return 0;
  }
  check_header(*whole, size);
  require(whole->file_bytes() == parts->file_bytes());
  require(!inspect_json(*whole, LoadOptions(), size).empty());
  compare_tables(file);
  return 0;
}
