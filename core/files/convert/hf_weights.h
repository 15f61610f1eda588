// The weights of a Hugging Face folder: model.safetensors, or several files with
// model.safetensors.index.json, which says what is in which.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "files/convert/folder.h"
#include "files/convert/safetensors.h"

namespace sluice {

class HfWeights {
 public:
  // Reads the headers. Fails with bad_file, which names the file: one is missing, damaged or has
  // not what the index says; or with unsupported_model if there are only weights of another form.
  static Result<HfWeights> open(Folder& folder);

  // In the order of the files and their headers. Names are unique.
  const std::vector<SafeTensor>& tensors() const { return tensors_; }
  // The index of a tensor; -1: there is none.
  int64_t find(const std::string& name) const;
  // Fills `out` with the bytes of a tensor from `at` on, which must be within it. Threads may call
  // it at the same time.
  Status read(const SafeTensor& tensor, uint64_t at, std::span<uint8_t> out) const;

 private:
  Status add_file(Folder& folder, const std::string& file);
  Status open_shards(Folder& folder, const std::string& index);

  std::vector<std::unique_ptr<ByteSource>> files_;
  std::vector<std::string> names_;  // of the files
  std::vector<SafeTensor> tensors_;
  std::unordered_map<std::string, uint32_t> by_name_;
};

}  // namespace sluice
