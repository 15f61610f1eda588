// Stores keys and values, and attends over a chunk of them (KvChunk in kernels.h). A part of
// body.inl.

constexpr int element_bytes(KvType type) {
  return type == KvType::f32 ? 4 : type == KvType::f16 ? 2 : 1;
}
constexpr int scale_count(int head_dim) { return (head_dim + kKvScaleBlock - 1) / kKvScaleBlock; }
// The index in V of a position's 16 elements from i / 16 * 16 on.
constexpr int64_t value_at(int64_t i, int64_t position) {
  return (i / 16 * kKvChunk + position) * 16;
}

// The cache's halves are finite on every table: x is clamped to +-65504, and a NaN becomes -65504.
inline F finite_half(F x) {
  const F limit = splat(65504.0f);
  return -larger(-limit, -larger(-limit, x));
}

// Calls body(i, q, d) for every block of up to 32 elements from i on: 32 int8 values q with scale
// d. Values past the last element are 0.
template <typename Body>
inline void for_rounded(const float* x, int head_dim, const Body& body) {
  for (int i = 0; i < head_dim; i += kKvScaleBlock) {
    const int count = head_dim - i < kKvScaleBlock ? head_dim - i : kKvScaleBlock;
    int8_t q[kKvScaleBlock];
    const Rounded rounded = round_block(x + i, count);
    for (int half = 0; half < 2; ++half) store_i8(q + 16 * half, rounded.q[half]);
    body(i, q, rounded.d);
  }
}

void store_k(KvType type, const float* x, int head_dim, int position, uint8_t* k, float* k_scales) {
  const int lane = position % 16;
  const int group = position / 16;
  k += group * head_dim * 16 * element_bytes(type);
  if (type == KvType::f32) {
    for (int i = 0; i < head_dim; ++i) memcpy(k + (16 * i + lane) * 4, x + i, 4);
  } else if (type == KvType::f16) {
    const int place = kHalfVectors == 2 ? half_place(lane) : lane;
    for_lanes(head_dim, [&](int64_t i, auto part) {
      const Lanes values = part.load(x + i, 0.0f);
      uint8_t halves[32];
      for (int v = 0; v < kVectors; ++v)
        store_f16(halves + 2 * v * kLanes, finite_half(values.v[v]));
      for (int64_t j = 0; j < 16 && i + j < head_dim; ++j) {
        memcpy(k + (16 * (i + j) + place) * 2, halves + 2 * j, 2);
      }
    });
  } else {
    k_scales += group * scale_count(head_dim) * 16 + lane;
    for_rounded(x, head_dim, [&](int i, const int8_t* q, float d) {
      k_scales[i / kKvScaleBlock * 16] = d;
      for (int j = 0; j < kKvScaleBlock && i + j < head_dim; ++j) {
        memcpy(k + 16 * (i + j) + lane, q + j, 1);
      }
    });
  }
}

void store_v(KvType type, const float* x, int head_dim, int position, uint8_t* v, float* v_scales) {
  if (type == KvType::q8_0) {
    v_scales += position * scale_count(head_dim);
    for_rounded(x, head_dim, [&](int i, const int8_t* q, float d) {
      v_scales[i / kKvScaleBlock] = d;
      for (int j = 0; j < kKvScaleBlock && i + j < head_dim; j += 16) {
        memcpy(v + value_at(i + j, position), q + j, 16);
      }
    });
    return;
  }
  for_lanes(head_dim, [&](int64_t i, auto part) {
    const Lanes values = part.load(x + i, 0.0f);
    uint8_t* at = v + value_at(i, position) * element_bytes(type);
    if (type == KvType::f32) {
      for (int j = 0; j < kVectors; ++j) store(at + 4 * j * kLanes, values.v[j]);
    } else {
      for (int j = 0; j < kVectors; j += kHalfVectors) {
        F finite[kHalfVectors];
        for (int l = 0; l < kHalfVectors; ++l) finite[l] = finite_half(values.v[j + l]);
        store_halves(at + 2 * j * kLanes, finite);
      }
    }
  });
}

// ---- Attention --------------------------------------------------------------------------------

// load_elements loads kLoaded vectors of elements, and leaves out the factor kMissing.
template <KvType kType>
constexpr int kLoaded = kType == KvType::f16 ? kHalfVectors : 1;
template <KvType kType>
constexpr float kMissing = kType == KvType::f16 ? kHalfScale : 1.0f;
template <KvType kType>
inline void load_elements(const uint8_t* p, F* out) {
  if constexpr (kType == KvType::f32) *out = load<F>(p);
  if constexpr (kType == KvType::f16) load_halves(p, out);
  if constexpr (kType == KvType::q8_0) *out = to_float(load_i8(p));
}

inline int padded_dim(const Attend& a) { return padded_head_dim(a.head_dim); }
inline float* scores_of(const Attend& a, int query) {
  return a.scratch + query * (kKvChunk + padded_dim(a));
}
inline const float* query_of(const Attend& a, int query) {
  return a.q + query / a.n_heads * a.q_stride + query % a.n_heads * a.head_dim;
}
inline int visible_to(const Attend& a, int query) {
  const int n = a.n_visible + query / a.n_heads;
  return n < 0 ? 0 : n < a.n_filled ? n : a.n_filled;
}
// The first position that a query sees; below 0 where that is in an earlier chunk.
inline int window_of(const Attend& a, int query) { return a.n_before + query / a.n_heads; }

// Calls body.operator()<kVecs>(first) for kVecs vectors at a time of [0, n), and for the last ones
// one by one. n is a multiple of kVectors.
template <int kVecs, typename Body>
inline void for_vectors(int n, const Body& body) {
  int first = 0;
  for (; first + kVecs <= n; first += kVecs) body.template operator()<kVecs>(first);
  if constexpr (kVectors % kVecs != 0) {
    for (; first < n; ++first) body.template operator()<1>(first);
  }
}

// acc[i][v] += factors[i][at] * x[v]. load(v, x + v) loads kLoaded vectors of x. The smaller one of
// factors and x is kept in registers; the other is loaded when it is used.
template <int kLoaded, int kQueries, int kVecs, typename Load>
inline void add_products(F (&acc)[kQueries][kVecs], const float* const (&factors)[kQueries], int at,
                         const Load& load) {
  F x[kVecs];
  F factor[kQueries];
  if constexpr (kQueries < kVecs) {
    SLUICE_UNROLL
    for (int i = 0; i < kQueries; ++i) factor[i] = splat(factors[i][at]);
    SLUICE_UNROLL
    for (int v = 0; v < kVecs; ++v) {
      if (v % kLoaded == 0) load(v, x + v);
      SLUICE_UNROLL
      for (int i = 0; i < kQueries; ++i) acc[i][v] = acc[i][v] + factor[i] * x[v];
    }
  } else {
    SLUICE_UNROLL
    for (int v = 0; v < kVecs; v += kLoaded) load(v, x + v);
    SLUICE_UNROLL
    for (int i = 0; i < kQueries; ++i) {
      SLUICE_UNROLL
      for (int v = 0; v < kVecs; ++v) acc[i][v] = acc[i][v] + factors[i][at] * x[v];
    }
  }
}

// Computes the scores of kQueries queries at the positions of kVecs vectors, from the chunk's
// vector `first` on.
template <KvType kType, int kQueries, int kVecs>
inline void score_tile(const Attend& a, int query, int first) {
  constexpr int kBytes = element_bytes(kType);
  const uint8_t* k[kVecs];
  const float* k_scales[kVecs] = {};
  for (int v = 0; v < kVecs; ++v) {
    const int group = (first + v) / kVectors;
    const int lane = (first + v) % kVectors * kLanes;
    k[v] = a.chunk.k + (group * a.head_dim * 16 + lane) * kBytes;
    if constexpr (kType == KvType::q8_0) {
      k_scales[v] = a.chunk.k_scales + group * scale_count(a.head_dim) * 16 + lane;
    }
  }
  F acc[kQueries][kVecs] = {};
  const float* q[kQueries];
  SLUICE_UNROLL
  for (int i = 0; i < kQueries; ++i) q[i] = query_of(a, query + i);
  for (int block = 0; block < a.head_dim; block += kKvScaleBlock) {
    const int end = block + kKvScaleBlock < a.head_dim ? block + kKvScaleBlock : a.head_dim;
    F scale[kVecs];
    if constexpr (kType == KvType::q8_0) {
      SLUICE_UNROLL
      for (int v = 0; v < kVecs; ++v) scale[v] = load<F>(k_scales[v] + block / kKvScaleBlock * 16);
    }
    for (int d = block; d < end; ++d) {
      add_products<kLoaded<kType>>(acc, q, d, [&](int v, F* key) {
        load_elements<kType>(k[v] + d * 16 * kBytes, key);
        if constexpr (kType == KvType::q8_0) *key = *key * scale[v];
      });
    }
  }
  SLUICE_UNROLL
  for (int i = 0; i < kQueries; ++i) {
    float* scores = scores_of(a, query + i) + first * kLanes;
    SLUICE_UNROLL
    for (int v = 0; v < kVecs; ++v) store(scores + v * kLanes, a.scale * acc[i][v]);
  }
}

// Adds the positions [begin, end) to the weighted sums of kVecs vectors of V's elements, from
// vector `first` on. The sums start at 0 if begin is 0.
template <KvType kType, int kQueries, int kVecs>
inline void value_tile(const Attend& a, int query, int first, int begin, int end) {
  constexpr int kBytes = element_bytes(kType);
  const float* e[kQueries];
  float* sums[kQueries];
  F acc[kQueries][kVecs] = {};
  SLUICE_UNROLL
  for (int i = 0; i < kQueries; ++i) {
    e[i] = scores_of(a, query + i);
    sums[i] = scores_of(a, query + i) + kKvChunk + first * kLanes;
    if (begin == 0) continue;
    SLUICE_UNROLL
    for (int v = 0; v < kVecs; ++v) acc[i][v] = load<F>(sums[i] + v * kLanes);
  }
  const uint8_t* at = a.chunk.v + (value_at(first * kLanes, begin) + first * kLanes % 16) * kBytes;
  for (int p = begin; p < end; ++p, at += 16 * kBytes) {
    add_products<kLoaded<kType>>(acc, e, p, [&](int v, F* value) {
      load_elements<kType>(at + (value_at(v * kLanes, 0) + v * kLanes % 16) * kBytes, value);
      if constexpr (kType == KvType::q8_0) {
        const int block = (first + v) * kLanes / kKvScaleBlock;
        *value = *value * a.chunk.v_scales[p * scale_count(a.head_dim) + block];
      }
    });
  }
  SLUICE_UNROLL
  for (int i = 0; i < kQueries; ++i) {
    SLUICE_UNROLL
    for (int v = 0; v < kVecs; ++v) store(sums[i] + v * kLanes, acc[i][v]);
  }
}

// Merges a chunk's maximum m, sum s and weighted sums w into the running softmax of a query.
inline void merge(const Attend& a, int query, float m, float s) {
  const int padded = padded_dim(a);
  const float* w = scores_of(a, query) + kKvChunk;
  float* values = a.values + query * padded;
  if (a.first || window_of(a, query) >= 0) {
    a.max[query] = m;
    a.sum[query] = s;
    memcpy(values, w, static_cast<size_t>(padded) * sizeof(float));
    return;
  }
  const float both = larger(a.max[query], m);
  const float keep = exp(a.max[query] - both);
  const float gain = exp(m - both);
  a.max[query] = both;
  a.sum[query] = a.sum[query] * keep + s * gain;
  for (int i = 0; i < padded; i += kLanes) {
    store(values + i, load<F>(values + i) * keep + load<F>(w + i) * gain);
  }
}

// value_tile for all vectors of V's elements.
template <KvType kType, int kQueries>
inline void add_values(const Attend& a, int query, int begin, int end) {
  if (begin >= end) return;
  for_vectors<attend_vectors(kQueries)>(padded_dim(a) / kLanes, [&]<int kVecs>(int first) {
    value_tile<kType, kQueries, kVecs>(a, query, first, begin, end);
  });
}

// Makes a query not see the positions [start, begin), and starts its weighted sums at 0.
[[gnu::noinline]] void leave_out(const Attend& a, int query, int start, int begin) {
  float* scores = scores_of(a, query);
  for (int p = start; p < begin; ++p) scores[p] = -__builtin_inff();
  memset(scores + kKvChunk, 0, static_cast<size_t>(padded_dim(a)) * sizeof(float));
}

template <KvType kType>
[[gnu::noinline]] void add_values_of_one(const Attend& a, int query, int begin, int end) {
  add_values<kType, 1>(a, query, begin, end);
}

template <KvType kType, int kQueries>
[[gnu::noinline]] void attend_queries(const Attend& a, int query) {
  int begin[kQueries], n[kQueries];  // query i sees the positions [begin[i], n[i]); both ascend
  for (int i = 0; i < kQueries; ++i) {
    begin[i] = larger(window_of(a, query + i), 0);
    n[i] = visible_to(a, query + i);
  }
  const int last = begin[kQueries - 1];
  const int start = begin[0] / 16 * 16;  // groups of 16 before it are seen by no query
  for_vectors<attend_vectors(kQueries)>(
      (n[kQueries - 1] - start + 15) / 16 * kVectors, [&]<int kVecs>(int first) {
        score_tile<kType, kQueries, kVecs>(a, query, start / 16 * kVectors + first);
      });

  float m[kQueries];
  float s[kQueries];
  for (int i = 0; i < kQueries; ++i) {
    float* scores = scores_of(a, query + i);
    if (last > 0) leave_out(a, query + i, start, begin[i]);
    m[i] = max(scores + start, n[i] - start);
    s[i] = exp_and_sum<true>(scores + start, n[i] - start, m[i], scores + start);
    if constexpr (kMissing<kType> != 1.0f) {
      for (int p = start; p < n[i]; p += kLanes) {
        store(scores + p, load<F>(scores + p) * kMissing<kType>);
      }
    }
    if (last > 0) add_values_of_one<kType>(a, query + i, begin[i], last < n[i] ? last : n[i]);
  }

  // The positions that only earlier tokens see were added above. Now those that all tokens see, and
  // then those that only later tokens see.
  add_values<kType, kQueries>(a, query, last, n[0]);
  const int behind = larger(last, n[0]);
  for (int i = 1; i < kQueries; ++i) add_values_of_one<kType>(a, query + i, behind, n[i]);
  for (int i = 0; i < kQueries; ++i) merge(a, query + i, m[i], s[i]);
}

template <KvType kType>
void attend_typed(const Attend& a) {
  // The first tokens may come before this chunk, and the windows of the last ones behind it.
  const int blind = a.n_visible > 0 ? 0 : 1 - a.n_visible;
  const int past = kKvChunk - larger(a.n_before, 0);
  for_tiles<kAttendQueries>(
      blind * a.n_heads, (past < a.n_tokens ? past : a.n_tokens) * a.n_heads,
      [&]<int kQueries>(int query) { attend_queries<kType, kQueries>(a, query); });
}

// Widens the chunk's first n positions to f32, in the same layout. The result is in `scratch`.
template <KvType kType>
KvChunk widen(const Attend& a, float* scratch, int n) {
  constexpr int kBytes = element_bytes(kType);
  constexpr int kStep = kLoaded<kType> * kLanes;
  const KvChunk& chunk = a.chunk;
  const int n_scales = scale_count(a.head_dim);
  float* k = scratch;
  float* v = k + kKvChunk * a.head_dim;
  const auto row = [&](const uint8_t* from, float* to, auto scale) {
    for (int i = 0; i < 16; i += kStep) {
      F values[kLoaded<kType>];
      load_elements<kType>(from + i * kBytes, values);
      for (F& value : values) value = value * scale(i);
      for (int l = 0; l < kLoaded<kType>; ++l) store(to + i + l * kLanes, values[l]);
    }
  };
  for (int64_t group = 0, at = 0; group < (n + 15) / 16; ++group) {
    for (int d = 0; d < a.head_dim; ++d, at += 16) {
      row(chunk.k + at * kBytes, k + at, [&](int i) {
        if constexpr (kType != KvType::q8_0) return splat(kMissing<kType>);
        return load<F>(chunk.k_scales + (group * n_scales + d / kKvScaleBlock) * 16 + i);
      });
    }
  }
  for (int64_t i = 0; i < a.head_dim; i += 16) {
    for (int64_t p = 0; p < n; ++p) {
      const int64_t at = value_at(i, p);
      row(chunk.v + at * kBytes, v + at, [&](int) {
        if constexpr (kType != KvType::q8_0) return splat(kMissing<kType>);
        return splat(chunk.v_scales[p * n_scales + i / kKvScaleBlock]);
      });
    }
  }
  return {KvType::f32, reinterpret_cast<const uint8_t*>(k), nullptr,
          reinterpret_cast<const uint8_t*>(v), nullptr};
}

// Clamps the queries to the range of halves and multiplies them by `missing`. The result is in
// `scratch`, and `to` gets it as its queries.
inline void limit_queries(const Attend& a, float missing, float* scratch, Attend& to) {
  to.q = scratch;
  to.q_stride = a.n_heads * a.head_dim;
  for (int token = 0; token < a.n_tokens; ++token, scratch += to.q_stride) {
    for_lanes(to.q_stride, [&](int64_t i, auto part) {
      Lanes q = part.load(a.q + token * a.q_stride + i, 0.0f);
      for (int v = 0; v < kVectors; ++v) q.v[v] = finite_half(q.v[v]) * missing;
      part.store(scratch + i, q);
    });
  }
}

// Attends over a chunk of f16 or q8_0. With many tokens it widens the chunk first, once; otherwise
// every tile of queries widens what it reads.
template <KvType kType>
void attend_narrow(const Attend& a) {
  const int n_queries = a.n_tokens * a.n_heads;
  float* scratch = scores_of(a, n_queries);
  const bool wide = a.n_tokens >= kWideTokens;
  Attend narrow = a;
  if constexpr (kType == KvType::f16) {
    limit_queries(a, wide ? 1.0f : kMissing<kType>, scratch, narrow);
    scratch += n_queries * a.head_dim;
  }
  if (!wide) return attend_typed<kType>(narrow);
  narrow.chunk = widen<kType>(a, scratch, visible_to(a, n_queries - 1));
  attend_typed<KvType::f32>(narrow);
}

void attend(const Attend& a) {
  if (a.chunk.type == KvType::f32) return attend_typed<KvType::f32>(a);
  if (a.chunk.type == KvType::f16) return attend_narrow<KvType::f16>(a);
  attend_narrow<KvType::q8_0>(a);
}
