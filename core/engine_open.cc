// Loading from files on disk (native builds).
#include <algorithm>

#include "base/format.h"
#include "engine_inside.h"
#include "engine_state.h"
#include "weights/source_file.h"

namespace sluice {
namespace {

constexpr size_t kHeaderPiece = 64 * 1024;
// At least so many threads read and pack, even if fewer compute.
constexpr int kReaders = 2;

}  // namespace

Result<Gguf> read_header(const ModelFiles& files) {
  ModelParser parser(files.sizes());
  std::vector<uint8_t> piece(kHeaderPiece);
  while (!parser.done()) {
    // Of the file whose header is read.
    const size_t index = parser.files().size() - 1;
    const File& file = files.file(index);
    const uint64_t at = parser.position() - parser.files()[index].begin;
    const auto n = static_cast<size_t>(std::min<uint64_t>(piece.size(), file.size() - at));
    if (n == 0) {
      SLUICE_TRY(parser.finish());
    }
    const std::span<uint8_t> bytes(piece.data(), n);
    SLUICE_TRY(file.read(at, bytes));
    SLUICE_TRY(parser.push(bytes));
  }
  return parser.take();
}

Result<Gguf> read_header(const std::string& path) {
  SLUICE_ASSIGN(const ModelFiles files, ModelFiles::open(path));
  return read_header(files);
}

Result<std::unique_ptr<Engine>> Engine::open(const ModelFiles& files, const LoadOptions& options) {
  std::unique_ptr<Engine> engine(new Engine());
  State& s = *engine->state_;
  SLUICE_TRY(s.prepare(options));
  s.arrival = Arrival::ranges;
  SLUICE_ASSIGN(Gguf header, read_header(files));
  SLUICE_TRY(s.bind(std::move(header)));
  s.header_read = true;
  s.total_size = s.taken = files.size();
  Status vocabulary;
  Pool readers(std::max(kReaders, s.pool->size()));
  const Status weights = read_weights(
      files, s.header.files, *s.weights, readers, [&] { vocabulary = s.read_vocabulary(); },
      options.bytes_read);
  SLUICE_TRY(vocabulary);
  SLUICE_TRY(weights);
  s.become_ready();
  return engine;
}

Result<std::unique_ptr<Engine>> Engine::open(const std::string& path, const LoadOptions& options) {
  // Report bad options before looking for the file.
  SLUICE_TRY(State().prepare(options));
  SLUICE_ASSIGN(const ModelFiles files, ModelFiles::open(path));
  return open(files, options);
}

}  // namespace sluice
