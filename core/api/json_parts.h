// What JSON of the core is made of.
//
// nlohmann-json is used without exceptions: the type of a value is checked before it is read. It
// only holds values: base/parse_json.h reads texts, and dump() writes them.
#pragma once  // inside

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sluice {

using Json = nlohmann::ordered_json;

// Without spaces. Numbers that are not finite become null. (nlohmann-json's own writer would take
// 4 KB more of a page's modules.)
std::string dump(const Json& json);
// Appends a member with a new name. Json's operator[] would first search all members for it.
void append(Json& object, std::string_view key, Json value);
// Numbers, in functions of their own: a list of Json's initializers takes three times the code.
void append_whole(Json& object, std::string_view key, int64_t value);
void append_real(Json& object, std::string_view key, double value);
struct Count {
  std::string_view name;
  uint64_t value;
};
void append_counts(Json& object, std::span<const Count> counts);
void append_facts(Json& out, const Facts& facts);  // as "facts", if there are any
Json notes_list(const Notes& notes);
// The double that is written like the float: 0.1f as 0.1 and not as 0.10000000149011612.
double shortest(float value);
// Appends the float as JSON, or null: at most nine digits, which read back as the same bits. Takes
// a hundredth of shortest()'s time for most numbers.
void append_float(std::string& out, float value);

}  // namespace sluice
