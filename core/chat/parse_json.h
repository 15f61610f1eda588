// Parses JSON for whoever builds something of it.
#pragma once  // face

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

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

}  // namespace sluice
