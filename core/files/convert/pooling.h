// How a folder of sentence-transformers makes one vector of those of a text's tokens.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "files/convert/folder.h"

namespace sluice {

// GGUF's numbers (ARCH.pooling_type).
enum class FolderPooling : uint32_t { mean = 1, cls = 2, last = 3 };

// Reads modules.json and the config of its Pooling. Nothing if there is no modules.json or it has
// no Pooling. Fails with bad_file, or with unsupported_model for a module or a way of pooling that
// no key can say.
Result<std::optional<FolderPooling>> read_pooling(Folder& folder);

}  // namespace sluice
