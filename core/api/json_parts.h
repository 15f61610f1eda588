// What JSON of the core is written with. base/parse_json.h reads it.
#pragma once  // inside

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sluice {

// Writes JSON without spaces, from its beginning to its end. The commas follow from what is
// written already. Each function appends a value; with a name, a member of the object that is open.
class JsonText {
 public:
  void open(char bracket);  // '{' or '['
  void close(char bracket);
  void null();
  void flag(bool value);
  void whole(int64_t value);
  void count(uint64_t value);
  // Null if it is not finite.
  void real(double value);
  // With at most nine digits, which read back as the same bits.
  void exact(float value);
  void text(std::string_view value);
  void raw(std::string_view json);
  void notes(const Notes& notes);

  void key(std::string_view name);  // of the value that comes next
  void open(std::string_view name, char bracket);
  void null(std::string_view name);
  void flag(std::string_view name, bool value);
  void whole(std::string_view name, int64_t value);
  void count(std::string_view name, uint64_t value);
  void real(std::string_view name, double value);
  void exact(std::string_view name, float value);
  void text(std::string_view name, std::string_view value);

  // Members "code", "message" and, if there are any, "facts".
  void error(const Error& error);

  std::string take();

 private:
  void begin();
  void facts(const Facts& facts);

  std::string out_;
};

// The double that is written like the float: 0.1f as 0.1 and not as 0.10000000149011612.
double shortest(float value);
// Appends the float as JSON, or null: at most nine digits, which read back as the same bits. Takes
// a hundredth of shortest()'s time for most numbers.
void append_float(std::string& out, float value);

}  // namespace sluice
