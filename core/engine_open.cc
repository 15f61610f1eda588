// Engines over files on disk (native builds).
#include "engine.h"
#include "engine_state.h"
#include "weights/source_mmap.h"

namespace sluice {
Result<std::unique_ptr<Engine>> Engine::open(const std::string& path, const LoadOptions& options) {
  std::unique_ptr<Engine> engine(new Engine());
  State& s = *engine->state_;
  SLUICE_TRY(s.prepare(options));
  SLUICE_ASSIGN(const MappedFile file, MappedFile::open(path));
  const std::span<const uint8_t> bytes = file.bytes();
  SLUICE_ASSIGN(Gguf header, parse_gguf(bytes, bytes.size()));
  SLUICE_TRY(s.understand(std::move(header)));
  s.file_size = s.taken = bytes.size();
  SLUICE_TRY(s.decoder->weights().copy_from(bytes.data() + s.header.data_offset, *s.pool));
  s.note_loaded();
  return engine;
}

Result<Gguf> read_header(const std::string& path) {
  SLUICE_ASSIGN(const MappedFile file, MappedFile::open(path));
  return parse_gguf(file.bytes(), file.bytes().size());
}

}  // namespace sluice
