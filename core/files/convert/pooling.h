// How a folder of sentence-transformers makes one vector of those of a text's tokens.
#pragma once

#include <optional>

#include "base/makes.h"
#include "base/result.h"
#include "files/convert/folder.h"

namespace sluice {

// Reads modules.json and the config of its Pooling. Nothing if there is no modules.json or it has
// no Pooling. Fails with bad_file, or with unsupported_model for a module or a way of pooling that
// no key can say.
Result<std::optional<Pooling>> read_pooling(Folder& folder);

}  // namespace sluice
