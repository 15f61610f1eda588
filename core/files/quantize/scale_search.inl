// The searches for a group's scale (and min) that make the weighted squared error of the rounded
// group small. Each has n values x[] and weights w[] of each lane.

constexpr float kNothing = 1e-15f;  // a group with smaller magnitudes only is 0

// The weights of values with importance q. v: the mean square of their block or row, or twice that.
template <int n>
inline void importance_weights(const F* x, const F* q, F v, F* w) {
  for (int i = 0; i < n; ++i) w[i] = q[i] * square_root(v + x[i] * x[i]);
}

// The value of largest magnitude, the first of several, in `value`. Returns its magnitude.
inline F find_extreme(const F* x, int n, F& value) {
  F magnitude = {};
  value = F{};
  for (int i = 0; i < n; ++i) {
    const F a = absolute(x[i]);
    const I more = a > magnitude;
    magnitude = more ? a : magnitude;
    value = more ? x[i] : value;
  }
  return magnitude;
}

struct SymmetricScale {
  F scale;    // x is about scale * l, l in -top..top - 1
  F inverse;  // by which x was multiplied to find l
  I zero;     // mask: all is 0
  // Value i, 0..2 * top - 1.
  I code(F x, int top) const {
    const I l = clamp(nearest(inverse * x), -top, top - 1) + top;
    return zero ? I{} : l;
  }
};

// Tries 19 inverses around that which gives the value of largest magnitude the code -top. Without
// weights, squares are the weights. kFinite: all values are finite. Scales of groups may not be:
// the sums of very large weights are infinite.
template <int n, bool kFinite = true>
inline SymmetricScale search_symmetric(const F* x, const F* w, int top) {
  SymmetricScale out;
  F extreme;
  out.zero = find_extreme(x, n, extreme) < kNothing;
  extreme = out.zero ? all(1.0f) : extreme;
  F weight[n];
  F weighted[n];
  for (int i = 0; i < n; ++i) {
    weight[i] = w != nullptr ? w[i] : x[i] * x[i];
    weighted[i] = weight[i] * x[i];
  }
  const float low = static_cast<float>(-top);
  const float high = static_cast<float>(top - 1);
  F best = {};
  for (int trial = 0; trial < 19; ++trial) {
    // 0, then -9..9 without 0.
    const int step = trial == 0 ? 0 : trial < 10 ? trial - 10 : trial - 9;
    const F inverse = -(static_cast<float>(top) + 0.1f * static_cast<float>(step)) / extreme;
    F xl = {};
    F ll = {};
    for (int i = 0; i < n; ++i) {
      const F l = kFinite ? clamp(nearest_float(inverse * x[i]), low, high)
                          : to_float(clamp(nearest(inverse * x[i]), -top, top - 1));
      xl += weighted[i] * l;
      ll += weight[i] * l * l;
    }
    if (trial == 0) {
      out.inverse = inverse;
      out.scale = ll != 0.0f ? xl / ll : F{};
      best = out.scale * xl;
    } else {
      const I take = (ll > 0.0f) & (xl * xl > best * ll);
      const F scale = xl / ll;
      out.inverse = take ? inverse : out.inverse;
      out.scale = take ? scale : out.scale;
      best = take ? scale * xl : best;
    }
  }
  out.scale = out.zero ? F{} : out.scale;
  return out;
}

// Inverses are (top + first + step * s) / (max - min), s = 0..last.
struct OffsetSteps {
  float first, step;
  int last;
};
constexpr OffsetSteps kStepsByImportance = {-0.9f, 0.05f, 36};

struct OffsetScale {
  F scale;         // x is about scale * l - below, l in 0..top
  F below;         // >= 0
  F inverse, min;  // by which l was found
  I cut_first;     // mask: products were cut to 0..top before they were rounded
  I flat;          // mask: all values are equal, so all l are 0
  I code(F x, int top) const {
    const F product = inverse * (x - min);
    const F cut = clamp(product, 0.0f, static_cast<float>(top));
    const I l = clamp(nearest(cut_first ? cut : product), 0, top);
    return flat ? I{} : l;
  }
};

template <int n, bool kAbsolute>
inline F offset_error(const F* x, const F* w, const F* l, F scale, F min) {
  F error = {};
  for (int i = 0; i < n; ++i) {
    const F difference = scale * l[i] + min - x[i];
    error += w[i] * (kAbsolute ? absolute(difference) : difference * difference);
  }
  return error;
}

// For codes by a few inverses, fits scale and min by least squares. kAbsolute: the error is the
// weighted sum of magnitudes. kCutFirst: all codes but the first are cut before they are rounded,
// which differs only if a product is 2^22 or more.
template <int n, bool kAbsolute, bool kCutFirst>
inline OffsetScale search_offset(const F* x, const F* w, int top, const OffsetSteps& steps) {
  F min = x[0];
  F max = x[0];
  F sum_w = w[0];
  F sum_x = w[0] * x[0];
  for (int i = 1; i < n; ++i) {
    min = x[i] < min ? x[i] : min;
    max = x[i] > max ? x[i] : max;
    sum_w += w[i];
    sum_x += w[i] * x[i];
  }
  min = min > 0.0f ? F{} : min;
  const F smallest = min;
  OffsetScale out;
  out.flat = max <= min;
  const float n_top = static_cast<float>(top);
  out.inverse = n_top / (max - min);
  out.scale = 1.0f / out.inverse;
  out.min = min;
  F l[n];
  const auto find_codes = [&](F inverse, bool cut_first) {
    const F widest = larger(absolute(smallest - min), absolute(max - min)) * absolute(inverse);
    if (!cut_first && any(~(widest < 0x1p21f) & ~out.flat)) {
      for (int i = 0; i < n; ++i) l[i] = to_float(clamp(nearest(inverse * (x[i] - min)), 0, top));
    } else if (cut_first) {
      for (int i = 0; i < n; ++i) l[i] = nearest_float(clamp(inverse * (x[i] - min), 0.0f, n_top));
    } else {
      for (int i = 0; i < n; ++i) l[i] = clamp(nearest_float(inverse * (x[i] - min)), 0.0f, n_top);
    }
  };
  out.cut_first = I{};
  find_codes(out.inverse, false);
  F least = offset_error<n, kAbsolute>(x, w, l, out.scale, min);
  for (int s = 0; s <= steps.last; ++s) {
    const F inverse = (steps.first + steps.step * static_cast<float>(s) + n_top) / (max - min);
    find_codes(inverse, kCutFirst);
    F sum_l = {};
    F ll = {};
    F xl = {};
    for (int i = 0; i < n; ++i) {
      const F wl = w[i] * l[i];
      sum_l += wl;
      ll += wl * l[i];
      xl += wl * x[i];
    }
    const F determinant = sum_w * ll - sum_l * sum_l;
    F scale = (sum_w * xl - sum_x * sum_l) / determinant;
    F new_min = (ll * sum_x - sum_l * xl) / determinant;
    const I above = new_min > 0.0f;
    scale = above ? xl / ll : scale;
    new_min = above ? F{} : new_min;
    const F error = offset_error<n, kAbsolute>(x, w, l, scale, new_min);
    const I take = (determinant > 0.0f) & (error < least);
    least = take ? error : least;
    out.scale = take ? scale : out.scale;
    out.inverse = take ? inverse : out.inverse;
    out.min = take ? min : out.min;
    if (kCutFirst) out.cut_first |= take;
    min = take ? new_min : min;
  }
  out.scale = out.flat ? F{} : out.scale;
  out.below = -min;
  return out;
}

// Changes one code after the other as long as that raises xl^2 / ll, in at most five rounds. Sets
// the scales. kBytes: codes up to top that are stored as a byte, so -1 becomes 255. Else they are
// in -top..top - 1. `groups` of n values lie end to end. A code waits for the one before it, so the
// groups take turns.
template <int n, int groups, bool kBytes>
inline void refine_codes(const F* x, const F* w, int top, I* codes, F* xl, F* ll, F* scales) {
  for (int round = 0; round < 5; ++round) {
    I changed = {};
    for (int i = 0; i < n; ++i) {
      for (int g = 0; g < groups; ++g) {
        const int at = g * n + i;
        const F l = to_float(codes[at]);
        const F weighted = w[at] * x[at];
        const F xl_without = xl[g] - weighted * l;
        const F ll_without = ll[g] - w[at] * l * l;
        I code = nearest(x[at] * ll_without / xl_without);
        code = kBytes ? smaller(code, top) : clamp(code, -top, top - 1);
        const F m = to_float(code);
        const F new_xl = xl_without + weighted * m;
        const F new_ll = ll_without + w[at] * m * m;
        I take = (xl_without > 0.0f) & (code != codes[at]);
        take &= (kBytes ? ll_without : new_ll) > 0.0f;
        take &= new_xl * new_xl * ll[g] > xl[g] * xl[g] * new_ll;
        codes[at] = take ? (kBytes ? code & 255 : code) : codes[at];
        xl[g] = take ? new_xl : xl[g];
        ll[g] = take ? new_ll : ll[g];
        changed |= take;
      }
    }
    // A lane without changes would have none in the next round.
    if (!any(changed)) break;
  }
  for (int g = 0; g < groups; ++g) scales[g] = ll[g] > 0.0f ? xl[g] / ll[g] : F{};
}

// For scales and mins of groups. Returns the scale; codes[i] is in 0..top. But a fit to few weights
// can have made a scale negative. Then its code is what a byte holds of a negative one.
template <int n>
inline F search_bytes(const F* x, const F* w, int top, I* codes) {
  F max = {};
  for (int i = 0; i < n; ++i) max = x[i] > max ? x[i] : max;
  const I zero = max < kNothing;
  max = zero ? all(1.0f) : max;
  const float n_top = static_cast<float>(top);
  F best_inverse = {};
  F least = {};
  for (int trial = 0; trial < 9; ++trial) {
    // 0, then -4..4 without 0.
    const int step = trial == 0 ? 0 : trial < 5 ? trial - 5 : trial - 4;
    const F inverse = trial == 0 ? n_top / max : (0.1f * static_cast<float>(step) + n_top) / max;
    const F scale = 1.0f / inverse;
    F error = {};
    for (int i = 0; i < n; ++i) {
      I l = nearest(inverse * x[i]);
      l = trial == 0 ? l & 255 : smaller(l, top);
      const F difference = x[i] - scale * to_float(l);
      error += w[i] * difference * difference;
    }
    const I take = trial == 0 ? all_int(-1) : error < least;
    least = take ? error : least;
    best_inverse = take ? inverse : best_inverse;
  }
  F xl = {};
  F ll = {};
  for (int i = 0; i < n; ++i) {
    const I l = smaller(nearest(best_inverse * x[i]), top);
    codes[i] = l & 255;
    const F m = to_float(l);
    xl += w[i] * x[i] * m;
    ll += w[i] * m * m;
  }
  F scale;
  refine_codes<n, 1, true>(x, w, top, codes, &xl, &ll, &scale);
  for (int i = 0; i < n; ++i) codes[i] = zero ? I{} : codes[i];
  return zero ? F{} : scale;
}

// For groups of Q3_K without importance: codes in -top..top - 1, changed one by one. A zero group
// has the codes -top. Sets scales[groups].
template <int n, int groups>
inline void search_by_changes(const F* x, int top, I* codes, F* scales) {
  F w[n * groups];
  F xl[groups] = {};
  F ll[groups] = {};
  I zero[groups];
  for (int g = 0; g < groups; ++g) {
    F extreme;
    zero[g] = find_extreme(x + g * n, n, extreme) < kNothing;
    const F inverse = -static_cast<float>(top) / (zero[g] ? all(1.0f) : extreme);
    for (int i = g * n; i < (g + 1) * n; ++i) {
      w[i] = x[i] * x[i];
      codes[i] = clamp(nearest(inverse * x[i]), -top, top - 1);
      const F l = to_float(codes[i]);
      xl[g] += w[i] * x[i] * l;
      ll[g] += w[i] * l * l;
    }
  }
  refine_codes<n, groups, false>(x, w, top, codes, xl, ll, scales);
  for (int g = 0; g < groups; ++g) {
    scales[g] = zero[g] ? F{} : scales[g];
    for (int i = g * n; i < (g + 1) * n; ++i) codes[i] = zero[g] ? all_int(-top) : codes[i];
  }
}
