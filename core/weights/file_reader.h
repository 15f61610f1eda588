// Threads that read what a Weights wants from the model's files, natively. A thread takes the next
// piece in the order of the wants, reads it into its place and packs it while it is in the cache.
// So several reads are in flight, and the processor packs one piece while the disk brings another.
#pragma once

#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "weights/source_file.h"
#include "weights/weights.h"
#include "weights/weights_source.h"

namespace sluice {

class FileReader final : public WeightsSource, private PackedKeeper {
 public:
  // Starts n_threads threads, or fewer if the system allows no more; without any, wait() reads.
  // `places` says where each of `files` begins. `weights` must outlive the reader. A thread that
  // has brought n bytes calls brought(n).
  FileReader(ModelFiles files, std::span<const FilePlace> places, Weights& weights, int n_threads,
             std::function<void(uint64_t)> brought);
  // Ends the threads; reads that are in progress are finished.
  ~FileReader() override;
  FileReader(const FileReader&) = delete;
  FileReader& operator=(const FileReader&) = delete;

  void wake() override;
  Status status() override;
  Status wait(uint64_t seen) override;

 private:
  struct Failure {
    uint64_t offset;  // in the file
    Error error;
  };

  static void* enter(void* reader);
  void work();
  bool serve(std::unique_lock<std::mutex>& lock, std::deque<Want>& mine);
  void take_pieces(std::deque<Want>& mine);
  void ask();
  void add_pieces(const Want& want);
  size_t file_with(uint64_t offset) const;
  void keep(uint64_t offset, std::span<const uint8_t> bytes) override;  // in the file's copy
  Status read(const Want& piece, bool is_row);
  bool idle() const { return asked_ && rows_.empty() && pieces_.empty() && taken_ == 0; }

  const ModelFiles files_;
  const std::vector<FilePlace> places_;
  Weights& weights_;
  const std::function<void(uint64_t)> brought_;

  std::mutex mutex_;  // for all below
  std::condition_variable work_, news_;
  std::deque<Want> rows_;    // single rows: to be read first
  std::deque<Want> pieces_;  // to be read next
  bool asked_ = false;       // nothing more was wanted when the weights were asked last
  size_t taken_ = 0;         // pieces in flight
  bool stopping_ = false;
  std::optional<Failure> failure_;  // of several the first in the file
  std::atomic<bool> failed_{false};
  std::vector<pthread_t> threads_;
};

}  // namespace sluice
