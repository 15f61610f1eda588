// Templates from a grammar over the supported language. Each comes with the characters that it must
// see as they are: what it compares, splits, replaces and strips with, and what its functions tell
// apart. With any other character in its place a text takes the same way through the template.
#pragma once

#include <string>

#include "choices.h"
#include "harmless.h"

namespace sluice {

struct MadeTemplate {
  std::string source;
  Chars kept;
  bool ordered = false;  // it depends on the order of texts
  bool parts = false;    // contents may be lists of parts
};
// `large`: it makes much of its input, for the limits.
MadeTemplate make_template(Choices& choices, bool large = false);

}  // namespace sluice
