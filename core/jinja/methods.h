// The table of the methods of texts, for methods.cc.
#pragma once

#include <span>

#include "jinja/interpreter.h"

namespace sluice::jinja {

std::span<const Builtin> text_methods();  // text_methods.cc

// The lines of a text, without what ends them unless `keep_ends`.
std::vector<std::string_view> split_lines(std::string_view text, bool keep_ends = false);
// split() with white space between the words, from the left.
std::vector<std::string_view> split_words(std::string_view text);

}  // namespace sluice::jinja
