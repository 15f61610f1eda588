// C's sprintf for integers, which Embind calls for the name of a type that has no binding. Only an
// error in bindings.cc would show that name, so it may be empty; and nothing else needs printf,
// which takes 7 KB of a module.
#include <cstdio>

extern "C" int siprintf(char* text, const char*, ...) {
  *text = '\0';
  return 0;
}
