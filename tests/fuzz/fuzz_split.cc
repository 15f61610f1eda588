// Takes any bytes as the files of a split model: their number, their sizes, and the files. They are
// refused with a message or give a consistent header, the same whole and in pieces. What fits a
// small budget is loaded and run, with the sizes known and unknown: both must give the same bits.
#include <algorithm>
#include <cstring>
#include <memory>
#include <set>
#include <vector>

#include "api/inspect.h"
#include "fuzz_support.h"
#include "gguf/model_parser.h"
#include "weights/want.h"

namespace {

using namespace sluice;
using Bytes = std::span<const uint8_t>;

std::vector<Bytes> divide(Bytes input) {
  const size_t n_files = input.empty() ? 0 : input[0] % 9;
  if (n_files == 0 || input.size() < 1 + 4 * n_files) return {};
  const Bytes sizes = input.subspan(1, 4 * n_files);
  Bytes rest = input.subspan(1 + 4 * n_files);
  std::vector<Bytes> files;
  for (size_t i = 0; i < n_files; ++i) {
    uint32_t size = 0;
    std::memcpy(&size, sizes.data() + 4 * i, 4);
    files.push_back(rest.first(std::min<size_t>(size, rest.size())));
    rest = rest.subspan(files.back().size());
  }
  return files;
}

std::vector<uint64_t> sizes_of(const std::vector<Bytes>& files) {
  std::vector<uint64_t> sizes;
  for (const Bytes file : files) sizes.push_back(file.size());
  return sizes;
}

// The bytes of the file whose header is read, from `at` on.
Bytes next_bytes(const std::vector<Bytes>& files, std::span<const FilePlace> places, uint64_t at) {
  if (places.size() > files.size()) return {};
  const Bytes file = files[places.size() - 1];
  return file.subspan(static_cast<size_t>(at - places.back().begin));
}

Result<Gguf> parse(const std::vector<Bytes>& files, size_t piece) {
  ModelParser parser(sizes_of(files));
  while (!parser.done()) {
    const Bytes bytes = next_bytes(files, parser.files(), parser.position());
    if (bytes.empty()) SLUICE_TRY(parser.finish());
    require(!bytes.empty());
    SLUICE_TRY(parser.push(bytes.first(std::min(piece, bytes.size()))));
  }
  return parser.take();
}

void check_header(const Gguf& gguf, const std::vector<Bytes>& files) {
  require(gguf.files.size() == files.size());
  uint64_t end = 0;
  for (size_t i = 0; i < files.size(); ++i) {
    require(gguf.files[i].begin == end && gguf.files[i].bytes <= files[i].size());
    end += gguf.files[i].bytes;
  }
  require(gguf.file_bytes() == end);
  std::set<std::string_view> names;
  for (const TensorInfo& tensor : gguf.tensors) {
    require(names.insert(tensor.name).second);
    const uint64_t begin = gguf.data_offset + tensor.offset;
    const auto of = std::ranges::find_if(gguf.files, [&](const FilePlace& file) {
      return begin >= file.begin && begin + tensor.bytes <= file.begin + file.bytes;
    });
    require(of != gguf.files.end());
  }
}

Result<std::string> load_and_run(const std::vector<Bytes>& files, std::vector<uint64_t> sizes,
                                 size_t piece) {
  LoadOptions options;
  options.threads = 1;
  options.context_size = 16;
  options.memory_budget = 64u << 20;
  SLUICE_ASSIGN(const auto engine, Engine::create(options, std::move(sizes), Access::rereadable));
  const auto bring = [&](const Want& want, Bytes bytes) {
    const size_t n = std::min({bytes.size(), want.place.size(), piece});
    std::memcpy(want.place.data(), bytes.data(), n);
    return engine->filled(want.offset, n);
  };
  while (!engine->has_layout()) {
    const Want want = engine->wants(1).front();
    const Bytes bytes = next_bytes(files, engine->files(), want.offset);
    if (bytes.empty()) SLUICE_TRY(engine->end_of_file(want.offset));
    require(!bytes.empty());
    SLUICE_TRY(bring(want, bytes));
  }
  for (Want want : engine->wants(UINT64_MAX)) {
    const auto places = engine->files();
    const auto after = std::ranges::upper_bound(places, want.offset, {}, &FilePlace::begin);
    const auto file = static_cast<size_t>(after - places.begin()) - 1;
    Bytes bytes = files[file].subspan(static_cast<size_t>(want.offset - places[file].begin));
    while (!want.place.empty()) {
      const size_t n = std::min(piece, want.place.size());
      SLUICE_TRY(bring(want, bytes));
      bytes = bytes.subspan(n);
      want.offset += n;
      want.place = want.place.subspan(n);
    }
  }
  SLUICE_TRY(engine->build_tokenizer());
  require(engine->loaded());
  return run_tokens(*engine);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::vector<Bytes> files = divide({data, size});
  if (files.empty()) return 0;
  const size_t piece = 1 + size % 3000;
  const Result<Gguf> whole = parse(files, SIZE_MAX);
  const Result<Gguf> parts = parse(files, 1 + size % 13);
  require(whole.has_value() == parts.has_value());
  if (!whole) {
    check_error(whole.error());
    require(whole.error().message == parts.error().message);
    return 0;
  }
  check_header(*whole, files);
  check_header(*parts, files);
  require(!inspect_json(*whole, LoadOptions(), size).empty());
  const auto known = load_and_run(files, sizes_of(files), SIZE_MAX);
  const auto unknown = load_and_run(files, {}, piece);
  require(known.has_value() == unknown.has_value());
  if (!known) {
    check_error(known.error());
    return 0;
  }
  require(*known == *unknown);
  return 0;
}
