// What the tables of filters, tests and methods share.
#pragma once

#include "jinja/interpreter.h"

namespace sluice::jinja {

std::span<const Builtin> text_filters();    // text_filters.cc
std::span<const Builtin> choice_filters();  // choice_filters.cc

// Which characters of a text are large. Of the words that begin with a large letter, those of the
// method title() follow what is no letter, those of the filter follow white space or "-({[<".
enum Casing : int { kLower, kUpper, kCapital, kTitle, kWords };
Value in_casing(Interpreter& run, const Value& text, int casing);

// Methods of texts that are filters or tests, too, for which any value is a text (methods.cc).
Value change_case(Interpreter& run, const Value& self, Arguments& arguments);  // which: a Casing
Value has_case(Interpreter& run, const Value& self, Arguments& arguments);     // kLower or kUpper
enum Ends : int { kLeft = 1, kRight = 2 };
Value strip_text(Interpreter& run, const Value& self, Arguments& arguments);  // the Ends
enum Use : int { kFilter, kMethod };
Value replace_text(Interpreter& run, const Value& self, Arguments& arguments);  // a Use
Value join_items(Interpreter& run, const Value& self, Arguments& arguments);    // a Use

// An indent: a text, or so many spaces. Missing after an error.
Value indent_of(Interpreter& run, const Value& width);  // filters.cc

}  // namespace sluice::jinja
