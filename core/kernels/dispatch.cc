#include <cstdlib>
#include <iterator>
#include <string>

#include "base/format.h"
#include "kernels/choose.h"
#include "kernels/kernels.h"

namespace sluice {

// Each is defined in the file of its name. (Wasm needs no generic table: a browser that accepts a
// module supports all of its tables.)
#if defined(__wasm__)
extern const Kernels kWasmSimd;
#if defined(SLUICE_WASM_RELAXED)
const Kernels& wasm_relaxed_kernels();  // probes the machine at the first call
#endif
#else
#if defined(__x86_64__)
extern const Kernels kAvx2;
extern const Kernels kAvx512;
extern const Kernels kAvxVnni;
#elif defined(__aarch64__)
extern const Kernels kI8mm;
extern const Kernels kNeon;
#endif
extern const Kernels kGeneric;
#endif

KernelList all_kernels() {
  static const Kernels* const kList[] = {
#if defined(__wasm__)
#if defined(SLUICE_WASM_RELAXED)
    &wasm_relaxed_kernels(),
#endif
    &kWasmSimd,
#else
#if defined(__x86_64__)
    &kAvx512,
    &kAvxVnni,
    &kAvx2,
#elif defined(__aarch64__)
    &kI8mm,
    &kNeon,
#endif
    &kGeneric,
#endif
  };
  return {kList, static_cast<int>(std::size(kList))};
}

// The name that the environment gives, or null. A page has none.
static const char* forced_name() {
#ifdef __EMSCRIPTEN__
  return nullptr;
#else
  return std::getenv("SLUICE_KERNELS");
#endif
}

const Kernels* choose_kernels(std::string_view name) {
  if (name.empty()) {
    const char* forced = forced_name();
    if (forced != nullptr) name = forced;
  }
  for (const Kernels* kernels : all_kernels()) {
    if ((name.empty() || name == kernels->name) && kernels->supported()) return kernels;
  }
  return nullptr;
}

const char* supported_kernel_names() {
  static const std::string kNames = [] {
    std::string names;
    for (const Kernels* kernels : all_kernels()) {
      if (!kernels->supported()) continue;
      if (!names.empty()) names += ", ";
      names += kernels->name;
    }
    return names;
  }();
  return kNames.c_str();
}

Status check_kernels(std::string_view name) {
  if (choose_kernels(name) != nullptr) return {};
  const char* forced = name.empty() ? forced_name() : nullptr;
  return fail(Code::invalid_argument, forced != nullptr ? "SLUICE_KERNELS" : "the option kernels",
              " is '", printable(forced != nullptr ? forced : name),
              "', which names no kernels that run here; those that do are ",
              supported_kernel_names());
}

}  // namespace sluice
