// Files on disk before they are loaded (native builds only).
#pragma once  // face

#include <string>

#include "gguf/gguf.h"
#include "weights/source_file.h"

namespace sluice {

// Reads and checks the header of a file, or those of all files of a split model, and nothing else
// of them. Fails with bad_file.
Result<Gguf> read_header(const std::string& path);
Result<Gguf> read_header(const ModelFiles& files);

}  // namespace sluice
