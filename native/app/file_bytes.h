// Files on disk as the bytes that core/files reads and writes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/descriptor_io.h"
#include "base/result.h"
#include "files/files.h"
#include "gguf/gguf.h"
#include "weights/source_file.h"

namespace sluice::cli {

// A file on disk.
class DiskFile final : public ByteSource {
 public:
  // Fails with bad_file, as File::open does.
  static Result<DiskFile> open(const std::string& path, std::string_view expected = "a GGUF file");
  uint64_t size() const override { return file_.size(); }
  Status read(uint64_t at, std::span<uint8_t> out) override;

 private:
  explicit DiskFile(File file) : file_(std::move(file)) {}
  File file_;
};

// The files of a model end to end, as its header counts (gguf/model_parser.h): one, unless it is
// split.
class DiskModel final : public ByteSource {
 public:
  // Reads the header, after an edit that was broken off is finished (header_rewrite.h). Fails with
  // bad_file or busy.
  static Result<DiskModel> open(const std::vector<std::string>& paths);
  const Gguf& header() const { return header_; }
  uint64_t size() const override { return header_.file_bytes(); }
  Status read(uint64_t at, std::span<uint8_t> out) override;

 private:
  DiskModel(ModelFiles files, Gguf header) : files_(std::move(files)), header_(std::move(header)) {}
  ModelFiles files_;
  Gguf header_;
};

// A file that is there whole or not at all: it gets its name when all of it is on the disk.
// Where the system can, it has no name before, so that nothing stays of it however the program
// ends.
class OutputFile final : public ByteSink {
 public:
  // What may be there already: an empty file, one that begins as GGUF, NumPy's formats, the JSON
  // beside these or a trace do, or any file.
  enum class Replaces : uint8_t { gguf, npy, npz, sidecar, trace, any };
  // How the JSON begins that sluice probe writes.
  static constexpr std::string_view kSidecar = "{\"version\":1,\"program\":\"sluice ";

  // A file at `path`, if it is committed. One that it replaces hands on its permissions. Fails with
  // invalid_argument if `path` is "-" or names something that isn't replaced: no regular file, or
  // one of another kind. Fails with invalid_argument and unwritable() if the folder isn't there or
  // may not be written, or the name is too long.
  static Result<OutputFile> create(const std::string& path, Replaces replaces = Replaces::gguf);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile() override;  // what isn't committed is removed

  // Fails with storage_full if the disk is full, or with invalid_argument and unwritable() for
  // other reasons of the system.
  Status append(std::span<const uint8_t> bytes) override;
  // Waits until the bytes are on the disk, then gives the file its name; one of that name is
  // replaced. Call it once, at the end.
  Status commit();

 private:
  OutputFile(std::string path, std::string temporary, int descriptor)
      : path_(std::move(path)), temporary_(std::move(temporary)), descriptor_(descriptor) {}
  std::unexpected<Error> failed(int error) const;

  std::string path_;
  std::string temporary_;  // its name until it is committed; "": it has none
  int descriptor_ = -1;
  uint64_t written_ = 0;
};

// A file that is there from the beginning and grows: what was written stays, however the program
// ends.
class GrowingFile {
 public:
  // An empty file at `path`. Fails as OutputFile::create does.
  static Result<GrowingFile> create(const std::string& path, OutputFile::Replaces replaces);
  GrowingFile(GrowingFile&& other) noexcept;
  GrowingFile& operator=(GrowingFile&&) = delete;
  ~GrowingFile();

  // Fails with storage_full if the disk is full, or with invalid_argument and unwritable() for
  // other reasons of the system.
  Status append(std::string_view text);

 private:
  GrowingFile(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  std::string path_;
  int descriptor_ = -1;
};

}  // namespace sluice::cli
