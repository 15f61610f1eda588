// What the tables with 8 rows a vector define on top of vector.inl.

inline F load_f16(const uint8_t* p) { return as<F>(_mm256_cvtph_ps(load<__m128i>(p))); }
inline void store_f16(uint8_t* p, F x) {
  store(p, _mm256_cvtps_ph(as<__m256>(x), _MM_FROUND_TO_NEAREST_INT));
}

inline I load_i16(const uint8_t* p) { return as<I>(_mm256_cvtepi16_epi32(load<__m128i>(p))); }
inline I load_i8(const uint8_t* p) {
  return as<I>(_mm256_cvtepi8_epi32(_mm_cvtsi64_si128(load<int64_t>(p))));
}
inline void store_i8(int8_t* p, I x) {
  const __m256i bytes = as<__m256i>(x & 0xff);
  const __m128i low = _mm256_castsi256_si128(bytes);
  const __m128i words = _mm_packus_epi32(low, _mm256_extracti128_si256(bytes, 1));
  store(p, _mm_cvtsi128_si64(_mm_packus_epi16(words, words)));
}

// The cache's halves.
constexpr int kHalfVectors = 1;
constexpr float kHalfScale = 1.0f;
inline void load_halves(const uint8_t* p, F* out) { *out = load_f16(p); }
inline void store_halves(uint8_t* p, const F* x) { store_f16(p, *x); }

constexpr int kAttendQueries = 4;
constexpr int attend_vectors(int queries) { return queries == 4 ? 2 : 4; }
