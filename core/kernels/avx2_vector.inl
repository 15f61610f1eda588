// What the x86-64 tables with 8 rows a vector share. Included after vector.inl.

inline F load_f16(const uint8_t* p) { return as<F>(_mm256_cvtph_ps(load<__m128i>(p))); }
inline void store_f16(uint8_t* p, F x) {
  store(p, _mm256_cvtps_ph(as<__m256>(x), _MM_FROUND_TO_NEAREST_INT));
}

inline I load_i16(const uint8_t* p) { return as<I>(_mm256_cvtepi16_epi32(load<__m128i>(p))); }
inline I load_i8(const uint8_t* p) {
  return as<I>(_mm256_cvtepi8_epi32(_mm_cvtsi64_si128(load<int64_t>(p))));
}
inline void store_i8(int8_t* p, const I (&x)[kVectors]) {
  const auto words = [](I eight) {
    const __m256i both = as<__m256i>(eight);
    return _mm_packs_epi32(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1));
  };
  store(p, _mm_packs_epi16(words(x[0]), words(x[1])));
}

inline U look_up(const uint8_t* table, U bytes) {
  const __m256i both = _mm256_broadcastsi128_si256(load<__m128i>(table));
  return as<U>(_mm256_shuffle_epi8(both, as<__m256i>(bytes)));
}

// The cache's halves.
constexpr int kHalfVectors = 1;
constexpr float kHalfScale = 1.0f;
inline void load_halves(const uint8_t* p, F* out) { *out = load_f16(p); }
inline void store_halves(uint8_t* p, const F* x) { store_f16(p, *x); }

constexpr int kAttendQueries = 4;
constexpr int attend_vectors(int queries) { return queries == 4 ? 2 : 4; }
