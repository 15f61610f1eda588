// The files of a model on disk.
#pragma once  // face

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "weights/packed_copy.h"

namespace sluice {

class File {
 public:
  // Fails with bad_file and the system's reason if the file can't be opened, isn't a regular file
  // or is empty; `expected` says what it should be. Doesn't wait, not even for the writer of a
  // pipe.
  static Result<File> open(const std::string& path, std::string_view expected = "a GGUF file");
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  ~File();

  uint64_t size() const { return size_; }  // in bytes, when it was opened
  // Fills `out` with the bytes from `at` on. Fails with bad_file and the system's reason if they
  // can't be read, or with both sizes if the file has become shorter. Threads may call it at the
  // same time.
  Status read(uint64_t at, std::span<uint8_t> out) const;

 private:
  File(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  std::string path_;  // for messages
  int descriptor_ = -1;
  uint64_t size_ = 0;
};

// The paths of all files of the model: `path`, or, if its name ends with -0000I-of-0000N.gguf,
// those of the N files of a split model with that name.
std::vector<std::string> model_paths(const std::string& path);

// All files of a model, in their order: one, unless it is split.
class ModelFiles {
 public:
  // The files of model_paths(path). Fails as File::open does.
  static Result<ModelFiles> open(const std::string& path);
  static Result<ModelFiles> open(const std::vector<std::string>& paths);  // at least one
  explicit ModelFiles(std::vector<File> files) : files_(std::move(files)) {}

  const File& file(size_t index) const { return files_[index]; }
  // `maker` opens or makes the packed copy of a file, or returns null. `bytes`: about how many
  // bytes of all files will be streamed.
  using CopyMaker = std::function<std::shared_ptr<PackedCopy>(size_t index, uint64_t bytes)>;
  void set_copy_maker(CopyMaker maker) { copy_maker_ = std::move(maker); }
  void make_copies(uint64_t bytes);
  // The packed copy of a file; null: there is none.
  PackedCopy* copy(size_t index) const {
    return index < copies_.size() ? copies_[index].get() : nullptr;
  }
  bool has_copies() const { return !copies_.empty(); }
  std::vector<uint64_t> sizes() const;
  uint64_t size() const;  // of all

 private:
  std::vector<File> files_;
  CopyMaker copy_maker_;
  std::vector<std::shared_ptr<PackedCopy>> copies_;  // by file; empty: none has one
};

}  // namespace sluice
