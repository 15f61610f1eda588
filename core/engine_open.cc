// Engines over files on disk (native builds).
#include <algorithm>

#include "engine.h"
#include "engine_state.h"
#include "weights/source_file.h"

namespace sluice {
namespace {

constexpr size_t kHeaderPiece = 64 * 1024;

}  // namespace

Result<Gguf> read_header(const File& file) {
  GgufParser parser;
  parser.set_file_size(file.size());
  std::vector<uint8_t> piece(kHeaderPiece);
  for (uint64_t at = 0; at < file.size() && !parser.done();) {
    const auto n = static_cast<size_t>(std::min<uint64_t>(piece.size(), file.size() - at));
    const std::span<uint8_t> bytes(piece.data(), n);
    SLUICE_TRY(file.read(at, bytes));
    SLUICE_TRY(parser.push(bytes));
    at += n;
  }
  SLUICE_TRY(parser.finish());
  return parser.take();
}

Result<Gguf> read_header(const std::string& path) {
  SLUICE_ASSIGN(const File file, File::open(path));
  return read_header(file);
}

Result<std::unique_ptr<Engine>> Engine::open(const File& file, const LoadOptions& options) {
  SLUICE_ASSIGN(auto engine, create(options, file.size(), Arrival::any_order));
  while (!engine->understood()) {
    const Want header = engine->wants(kHeaderPiece).front();
    const uint64_t left = file.size() - header.offset;
    if (left == 0) SLUICE_TRY(engine->end_of_file(file.size()));
    const auto n =
        static_cast<size_t>(std::min<uint64_t>({header.place.size(), left, kHeaderPiece}));
    SLUICE_TRY(file.read(header.offset, header.place.first(n)));
    SLUICE_TRY(engine->filled(header.offset, n));
  }
  SLUICE_TRY(serve(file, *engine->state_->weights, *engine->state_->pool));
  engine->state_->note_loaded();
  return engine;
}

Result<std::unique_ptr<Engine>> Engine::open(const std::string& path, const LoadOptions& options) {
  // Bad options are told before the file is looked for.
  SLUICE_TRY(State().prepare(options));
  SLUICE_ASSIGN(const File file, File::open(path));
  return open(file, options);
}

}  // namespace sluice
