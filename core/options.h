// The rows of options.json: what each option is called and may be. (The fields in engine.h,
// the program's flags, the library's types and rules and the documents' tables are written from the
// same file by scripts/options.mjs.)
#pragma once

#include <concepts>
#include <cstddef>
#include <string_view>
#include <type_traits>

#include "engine.h"

namespace sluice {

struct OptionRow {
  std::string_view name;      // in JSON and in the library
  std::string_view expected;  // what it may be, in words
  double least = 0;           // of a number, or of a text's bytes
  double most = 0;
  size_t count = 0;               // texts at most
  bool zero_is_none = false;      // in the struct 0 stands for no value: it is not in the range
  std::string_view choices = "";  // with spaces between them; "": any text
};

// each_option(options, visit) calls visit(row, field) for each option, in the table's order, of
// LoadOptions or GenerateOptions (const or not).
#include "option_rows.inc"

// invalid_argument for the first value that its row doesn't allow.
Status check_options(const LoadOptions& options);
Status check_options(const GenerateOptions& options);

}  // namespace sluice
