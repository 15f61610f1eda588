// The parts of the table of filters, for filters.cc.
#pragma once

#include <span>

#include "jinja/interpreter.h"

namespace sluice::jinja {

std::span<const Builtin> text_filters();    // text_filters.cc
std::span<const Builtin> choice_filters();  // choice_filters.cc

// What sorting and comparing use of a value: texts in small letters unless the case matters.
Value sort_key(Interpreter& run, const Value& value, bool case_sensitive);

}  // namespace sluice::jinja
