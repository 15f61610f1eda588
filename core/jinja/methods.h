// The table of the methods of texts, for methods.cc.
#pragma once

#include <cstdint>
#include <span>

#include "jinja/interpreter.h"

namespace sluice::jinja {

std::span<const Builtin> text_methods();  // text_methods.cc

// The lines of a text, without what ends them unless `keep_ends`. If there are more than `most`,
// the last one of most + 1 is all the rest.
std::vector<std::string_view> split_lines(std::string_view text, bool keep_ends = false,
                                          size_t most = SIZE_MAX);
// split() with white space between the words, from the left.
std::vector<std::string_view> split_words(std::string_view text);

}  // namespace sluice::jinja
