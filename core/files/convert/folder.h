// A folder of files that belong together, as a Hugging Face repository has them. The program has
// one over the disk; a page can have one over what a user gave it.
#pragma once  // face

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "files/files.h"

namespace sluice {

class Folder {
 public:
  virtual ~Folder() = default;
  // Its own name, without the path: "gemma-3-270m-it". May be "".
  virtual std::string name() const = 0;
  // Whether a file of this name is there. A name has one "/" if the file is in a folder of this
  // one.
  virtual bool has(const std::string& file) = 0;
  // Opens it. Fails with bad_file if it isn't there or can't be read.
  virtual Result<std::unique_ptr<ByteSource>> open(const std::string& file) = 0;
};

// Whether this can be the name of a file in a folder, and of nothing outside of it: no "/", no
// "\\", not "." nor "..", no control characters, 255 bytes at most.
bool is_plain_name(const std::string& file);
// The same of one that may be in a folder of that folder: two plain names with "/" between them.
bool is_inner_name(const std::string& file);

// Opens a file. Fails as Folder::open() does, or with bad_file if the file is a pointer of Git LFS,
// which a clone has where large files weren't downloaded.
Result<std::unique_ptr<ByteSource>> open_part(Folder& folder, const std::string& file);
// All of a small file. Fails as open_part() does, or with bad_file if it has more than `max_bytes`.
Result<std::string> read_whole(Folder& folder, const std::string& file, uint64_t max_bytes);
// The same, or nothing if it isn't there.
Result<std::optional<std::string>> read_if_there(Folder& folder, const std::string& file,
                                                 uint64_t max_bytes);

}  // namespace sluice
