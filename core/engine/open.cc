// Loading from files on disk (native builds).
#include <algorithm>

#include "base/format.h"
#include "engine/engine_state.h"
#include "engine/read_header.h"
#include "weights/file_reader.h"

namespace sluice {
namespace {

constexpr size_t kHeaderPiece = 64 * 1024;
// At least so many reads are in flight, even if fewer threads compute.
constexpr int kReaders = 4;

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

Status Engine::State::open(ModelFiles files, const LoadOptions& load_options) {
  SLUICE_TRY(prepare(load_options));
  access = Access::rereadable;
  total_size = files.size();
  SLUICE_ASSIGN(Gguf found, read_header(files));
  taken = found.data_offset;
  SLUICE_TRY(bind(std::move(found)));
  has_layout = true;
  uint64_t streamed = 0;
  for (int slot = 0; slot < model->n_slots(); ++slot)
    if (!weights->stays(slot)) streamed += weights->view(slot).bytes;
  if (streamed > 0) files.make_copies(streamed);
  source = std::make_unique<FileReader>(std::move(files), header.files, *weights,
                                        std::max(kReaders, pool->size()), [this](uint64_t bytes) {
                                          taken += bytes;
                                          record_load_time();
                                        });
  SLUICE_TRY(read_vocabulary());
  become_ready();
  return {};
}

Result<std::unique_ptr<Engine>> Engine::open(ModelFiles files, const LoadOptions& options) {
  std::unique_ptr<Engine> engine(new Engine());
  SLUICE_TRY(engine->state_->open(std::move(files), options));
  return engine;
}

Result<std::unique_ptr<Engine>> Engine::open(const std::string& path, const LoadOptions& options) {
  // Report bad options before looking for the file.
  SLUICE_TRY(State().prepare(options));
  SLUICE_ASSIGN(ModelFiles files, ModelFiles::open(path));
  return open(std::move(files), options);
}

Status Engine::wait() {
  State& s = *state_;
  if (s.source == nullptr) return {};
  const uint64_t seen = s.seen.value_or(s.weights->arrivals());
  s.seen.reset();
  return s.source->wait(seen);
}

Status Engine::wait_ready() {
  State& s = *state_;
  while (s.source != nullptr && !ready()) {
    const uint64_t seen = s.weights->arrivals();
    if (ready()) break;
    SLUICE_TRY(s.source->wait(seen));
  }
  s.record_load_time();  // the thread that brought the last weights may not have come to it yet
  return s.check_or_close_source();
}

}  // namespace sluice
