// Parses JSON for whoever builds something of it.
#pragma once  // face

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sluice {

// What parse_json() finds, in its order. Each function returns false to end the parsing.
class JsonReceiver {
 public:
  virtual ~JsonReceiver() = default;
  virtual bool null() = 0;
  virtual bool boolean(bool value) = 0;
  // A whole number of 64 bits: below 0, or not. All others are floats.
  virtual bool negative_integer(int64_t value) = 0;
  virtual bool integer(uint64_t value) = 0;
  virtual bool number(double value) = 0;
  virtual bool string(std::string value) = 0;
  virtual bool start_object() = 0;
  virtual bool key(std::string value) = 0;  // of the member that comes next
  virtual bool end_object() = 0;
  virtual bool start_array() = 0;
  virtual bool end_array() = 0;
};

// Calls `receiver` for all that the text holds. False if the receiver ends it, or if the text is
// not valid JSON (RFC 8259) in UTF-8, has half of a surrogate pair or a number that is too large
// for a double. `error_at`, unless it is null, becomes how many bytes were read until that was
// clear. Values may nest as deep as memory allows.
bool parse_json(std::string_view text, JsonReceiver& receiver, size_t* error_at = nullptr);

// What JSON may have of which somebody makes a tree: trees take much more memory than text, and
// much that is done with them recurses.
struct JsonLimits {
  size_t depth = 64;         // lists and objects within each other
  size_t parts = 1'000'000;  // values, names, and ends of lists and objects
  size_t names = SIZE_MAX;   // of one object: nlohmann::ordered_json looks through all for each
};

// Reads the text and keeps nothing of it. Fails with bad_file if it is no JSON or beyond the
// limits, and reads no further than until that is clear: `error_at`, as above. Messages are like
// "it is no JSON".
Status check_json(std::string_view text, const JsonLimits& limits = {}, size_t* error_at = nullptr);

}  // namespace sluice
