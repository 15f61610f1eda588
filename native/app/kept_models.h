// The models in the cache, and their short names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "pull/cache.h"

namespace sluice::cli {

// A model: one entry of the cache, or all parts of a split one. Or the files of a repository that
// were downloaded for a conversion.
struct Kept {
  // Its address; of a conversion's source the page of its commit; of an entry that can't be read,
  // its key.
  std::string source;
  std::vector<pull::Cached> entries;  // in the order of the parts

  const pull::Meta& meta() const { return entries[0].meta; }
  const std::string& unreadable() const { return entries[0].unreadable; }
  uint64_t bytes() const;   // 0: unknown
  uint64_t stored() const;  // bytes of the blocks that are stored
  uint64_t packed() const;  // of its packed copy
  bool packed_fits() const;
  bool complete() const;
  bool verified() const;
  bool pinned() const;
  bool in_use() const;
  bool is_source() const { return meta().source; }  // of a conversion: it can't be run
  int64_t used() const;                             // the last time
  // The name of its file, or of the first one; of a conversion's source hf:OWNER/REPO[@REVISION].
  std::string file() const;
};

// All models and sources of conversions, the last used first.
Result<std::vector<Kept>> kept_models(const std::string& directory);

// The models and sources that a word may mean: those with a file or a repository of this name, or
// else those whose name begins with it. Case is ignored, and ".gguf" may be left out.
std::vector<const Kept*> named(const std::vector<Kept>& models, std::string_view word);
// The shortest word that means this model alone, and can be shown and typed: its file's name
// without .gguf, or its address. Of a source the hf: name, unless several have it.
std::string shortest_name(const std::vector<Kept>& models, const Kept& model);
// invalid_argument for a word that means several.
Error ambiguous(const std::vector<Kept>& models, const std::vector<const Kept*>& meant,
                std::string_view word);
// "; did you mean NAME?" or "".
std::string near_name(const std::vector<Kept>& models, std::string_view word);

}  // namespace sluice::cli
