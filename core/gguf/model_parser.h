// The header of a model: that of one GGUF file, or those of all files of a split model, as one.
//
// gguf-split writes a model into several files. Each has a header and tensors of its own, and the
// keys split.count, split.no (from 0) and split.tensors.count (of all files). The first one has the
// metadata; other keys of the later files are ignored. Here the files lie end to end: each begins
// where the one before it ends according to its header. All offsets are in this one space.
#pragma once  // face

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/xxh64.h"
#include "gguf/gguf.h"

namespace sluice {

class ModelParser {
 public:
  // `file_sizes`: of each file that is brought, 0 if unknown. Empty: of as many files as the first
  // header says, with unknown sizes.
  explicit ModelParser(std::vector<uint64_t> file_sizes = {});

  // The offset of the byte that push() takes next. After a file's header it is the beginning of the
  // next file.
  uint64_t position() const { return files_.back().begin + taken_; }
  // Takes bytes from position() on, all of one file. Returns how many of them belong to its header;
  // if not all do, it is complete. Fails with bad_file, also if the files don't belong together.
  Result<size_t> push(std::span<const uint8_t> bytes);
  // All headers are complete.
  bool done() const { return n_files_ > 0 && files_read_ == n_files_; }
  // Call this at the end of the file whose header is being read. Fails with bad_file unless done().
  Status finish() const;
  // The files so far. The last one has 0 bytes until its header is complete.
  const std::vector<FilePlace>& files() const { return files_; }
  // Moves the header out. Only once done().
  Gguf take();

 private:
  Result<size_t> push_to_file(std::span<const uint8_t> bytes);
  Status end_file(Gguf&& file);
  Status begin_model(const Gguf& first);
  Status check_later_file(const Gguf& file) const;
  Status check_number(const Gguf& file) const;
  void add_tensors(Gguf&& file);
  Status check_all();
  std::unexpected<Error> in_this_file(const Error& error) const;

  std::vector<uint64_t> sizes_;
  uint64_t n_files_ = 0;    // 0 until the first header is complete
  size_t files_read_ = 0;   // whose headers are complete
  uint64_t n_tensors_ = 0;  // of a split model: split.tensors.count
  GgufParser parser_;       // of the file that is being read
  uint64_t taken_ = 0;      // bytes of that file
  std::vector<FilePlace> files_{FilePlace()};
  Gguf model_;
  Xxh64 hash_;  // of the headers' bytes
  std::optional<Error> error_;
};

}  // namespace sluice
