// How a folder of sentence-transformers makes a vector of a text: which of those of its tokens
// become one, and how many tokens it takes.
#pragma once

#include <cstdint>
#include <optional>

#include "base/makes.h"
#include "base/result.h"
#include "files/convert/folder.h"

namespace sluice {

// Reads modules.json and the config of its Pooling. Nothing if there is no modules.json or it has
// no Pooling. Fails with bad_file, or with unsupported_model for a module or a way of pooling that
// no key can say.
Result<std::optional<Pooling>> read_pooling(Folder& folder);

// The tokens at which the folder's makers cut a text, those around it included
// (sentence_bert_config.json), or nothing. No key of GGUF says it. Fails with bad_file.
Result<std::optional<uint64_t>> read_text_limit(Folder& folder);

}  // namespace sluice
