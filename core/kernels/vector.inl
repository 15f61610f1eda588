// Vectors of kVectorBytes, by the extension that GCC and clang share: + - * < ?: and so on work
// lane by lane. A table's file includes this first of all shared parts (README.md), inside its
// unnamed namespace, after it has defined kVectorBytes.

constexpr int kLanes = kVectorBytes / 4;  // f32 lanes of a vector
constexpr int kVectors = 16 / kLanes;     // vectors of 16 rows, positions or virtual lanes

using F [[gnu::vector_size(kVectorBytes)]] = float;
using I [[gnu::vector_size(kVectorBytes)]] = int32_t;
using U [[gnu::vector_size(kVectorBytes)]] = uint32_t;
using H [[gnu::vector_size(kVectorBytes)]] = int16_t;
using UH [[gnu::vector_size(kVectorBytes)]] = uint16_t;

template <typename V>
inline V load(const void* p) {
  V v;
  memcpy(&v, p, sizeof v);
  return v;
}
template <typename V>
inline void store(void* p, V v) {
  memcpy(p, &v, sizeof v);
}
// The same bits as a vector of another type.
template <typename To, typename From>
inline To as(From from) {
  static_assert(sizeof(To) == sizeof(From));
  return (To)from;
}

#if defined(__wasm__)
constexpr bool kWasm = true;
#else
constexpr bool kWasm = false;
#endif

// A constant for use in a loop. V8 builds a vector constant at every use, with three instructions.
// A value loaded from memory stays in its register.
template <auto kValue>
inline auto kept() {
  using V [[gnu::vector_size(kVectorBytes)]] = decltype(kValue);
#if defined(__wasm__)
  static constexpr auto kStored = kValue;
  const auto* stored = &kStored;
  asm("" : "+r"(stored));  // hides from the compiler that the value is a constant
  return *stored - V{};
#else
  return kValue - V{};
#endif
}

// Ends a step of a sum: the compiler leaves the steps in their order. It would compute each sum to
// its end before the next, or the products of all before the first sum, and registers run out.
// (The link of the wasm modules leaves out the passes that would do the same.)
template <typename V>
inline void settle(V& sum) {
#if defined(__wasm__)
  asm volatile("" : "+r"(sum));
#elif defined(__x86_64__)
  asm("" : "+x"(sum));
#endif
}

// How many words of codes below 2^bits fit into a 16-bit sum, which takes two products of each:
// 2 * 15 * 127 * 8, 2 * 31 * 127 * 4 and 2 * 63 * 127 * 2 are below 2^15.
constexpr int words_in_16_bits(int bits) { return bits == 4 ? 8 : bits == 5 ? 4 : 2; }

inline F splat(float x) { return x - F{}; }
inline I splat(int32_t x) { return x - I{}; }
// The four int8 at p, in every lane.
inline I splat_word(const int8_t* p) { return splat(load<int32_t>(p)); }
inline F to_float(I x) { return __builtin_convertvector(x, F); }

// Lane i gets lane (i + kBy) % kLanes.
template <int kBy, typename V>
inline V rotate(V x) {
  const auto lane = [](int i) { return (i + kBy) % kLanes; };
  if constexpr (kLanes == 4)
    return __builtin_shufflevector(x, x, lane(0), lane(1), lane(2), lane(3));
  if constexpr (kLanes == 8)
    return __builtin_shufflevector(x, x, lane(0), lane(1), lane(2), lane(3), lane(4), lane(5),
                                   lane(6), lane(7));
  if constexpr (kLanes == 16)
    return __builtin_shufflevector(x, x, lane(0), lane(1), lane(2), lane(3), lane(4), lane(5),
                                   lane(6), lane(7), lane(8), lane(9), lane(10), lane(11), lane(12),
                                   lane(13), lane(14), lane(15));
}
