// The rows of options.json: the name and the allowed values of each option. From the same file
// scripts/options.mjs writes the fields in options.h, the program's flags, the library's types and
// rules, and the documents' tables.
#pragma once  // face

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/result.h"
#include "options/options.h"

namespace sluice {

struct OptionRow {
  std::string_view name;      // in JSON and in the library
  std::string_view expected;  // the allowed values, in words
  double least = 0;           // of a number, or of a text's bytes
  double most = 0;
  size_t count = 0;               // texts or biases at most
  bool zero_is_none = false;      // 0 in the struct means that no value is set
  std::string_view choices = "";  // separated by spaces; "": any text
};

// each_option(options, visit) calls visit(row, field) for each option of LoadOptions or
// GenerateOptions (const or not), in the table's order.
#include "options/rows.inc"

// What is wrong with the values of an option that may have several; "": nothing.
std::string problem(const OptionRow& row, const std::vector<std::string>& texts);
std::string problem(const OptionRow& row, const std::vector<std::pair<TokenId, float>>& biases);

// Fails with invalid_argument for the first value that its row doesn't allow.
Status check_options(const LoadOptions& options);
Status check_options(const GenerateOptions& options);

}  // namespace sluice
