// How much a long test repeats. Under sanitizers a test takes up to ten times as long. They look
// for accesses that are wrong, and fewer rounds reach the same code; what comes out of all rounds
// is tested by the other builds.
#pragma once

namespace sluice {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
#else
inline constexpr bool kSanitized = false;
#endif

// So many of `n` rounds that differ in what random numbers choose: all, or a third of them.
constexpr int rounds(int n) { return kSanitized ? (n + 2) / 3 : n; }

}  // namespace sluice
