// Changes of a file's metadata. The tensors and their data stay as they are.
#pragma once  // face

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "gguf/gguf.h"

namespace sluice {

// What fills the place of a header that has become shorter, where the data can't move. A later edit
// takes it as room.
inline constexpr std::string_view kPaddingKey = "edit.padding";

struct MetadataEdit {
  std::vector<std::string> remove;  // keys; before all else
  // Key and value, in this order. A value is "TYPE:VALUE" or "VALUE". TYPE is u8, i8, u16, i16,
  // u32, i32, u64, i64, f32, f64, bool or str; of an array TYPE[], as i32[], with a JSON array as
  // VALUE. A key that exists keeps its type. A new one needs a TYPE, unless its name tells it, or
  // VALUE is a JSON array (i32[], f32[], bool[] or str[], by its elements).
  std::vector<std::pair<std::string, std::string>> set;
  std::optional<std::string> chat_template;  // tokenizer.chat_template
};

// Keys whose type is known by their name, those of an architecture left out.
std::vector<std::string> well_known_keys();

// Applies the edit to `gguf`. Fails with not_found if a key to be removed isn't there, else with
// invalid_argument: a value that its type can't hold, a new key without a type, a key that says how
// the file is laid out (general.alignment, split.*).
Status edit_metadata(Gguf& gguf, const MetadataEdit& edit);

// The header of a file of its own with this metadata, up to its data. The tensors must be placed as
// in the file that it was read from (not those of a whole split model). Fails with invalid_argument
// if no reader would take the file.
Result<std::string> edited_header(Gguf gguf);
// The same in `room` bytes, the place of the data in the file. Fails with invalid_argument if it
// doesn't fit, and says how many bytes it lacks.
Result<std::string> edited_header(Gguf gguf, uint64_t room);

}  // namespace sluice
