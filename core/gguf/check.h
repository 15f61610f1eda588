// Checks of the GGUF parser that compare entries, and the error for files that aren't GGUF.
#pragma once  // face

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "gguf/gguf.h"

namespace sluice {

inline constexpr uint64_t kMaxEntries =
    65536;  // of keys, and of tensors; real files have up to 3000
inline constexpr uint64_t kMaxFile = 1ull << 53;  // bytes; JavaScript counts exactly up to here

// The end of messages about a wrong header.
inline constexpr std::string_view kDamaged = ". The file is damaged: download or convert it again";

// Fails with bad_file if keys or tensor names occur twice or if tensors overlap. The place of each
// tensor must be checked already, and the tensors indexed.
Status check_directory(const Gguf& gguf);

// The name of more than one tensor, or nothing. The tensors must be indexed.
std::optional<std::string_view> find_duplicate_tensor(const Gguf& gguf);

// bad_file for a file with these first bytes (24 are enough). The message shows them and says what
// the file looks like: servers often send a page or an error message instead of a model.
std::unexpected<Error> not_gguf(std::string_view first);

}  // namespace sluice
