// The shape of a layer, which says what state it keeps.
#pragma once

#include <cstdint>

namespace sluice {

// A gated delta net in place of attention (DeltaNet in pass/model.h), and its state: first the
// inputs of its convolution for the tokens before, [conv_tokens - 1][channels], the oldest first;
// then a matrix for each value head (DeltaRule in kernels/kernels.h).
struct DeltaShape {
  int64_t n_key_heads = 0;
  int64_t n_value_heads = 0;  // 0: the layer is no such net
  int64_t head_dim = 0;       // of keys, queries and values
  int64_t conv_tokens = 0;    // of the convolution, the present one included

  int64_t key_rows() const { return n_key_heads * head_dim; }
  int64_t value_rows() const { return n_value_heads * head_dim; }
  int64_t channels() const { return 2 * key_rows() + value_rows(); }  // of the convolution
  int64_t conv_floats() const { return (conv_tokens - 1) * channels(); }
  int64_t state() const { return conv_floats() + value_rows() * head_dim; }
};

// One layer's attention, or what it has in its place, and its feed-forward part. Layers of one
// model may differ in every field.
struct LayerShape {
  int64_t n_heads = 0;     // query heads; 0: no attention
  int64_t n_kv_heads = 0;  // divides n_heads; 0: no attention
  int64_t head_dim = 0;    // of keys, queries and values
  int64_t n_ff = 0;
  int64_t cache = 0;  // the layer whose keys and values it reads: its own, or an earlier one
  int rope = -1;      // which of the model's RoPE tables rotates its heads; -1: none
  // The positions that a token sees. If both_ways is false, the last `window` positions up to its
  // own; 0: all up to its own. If true, those at most window / 2 away from its own; 0: all up to
  // the pass's last. With both_ways, a cache of one text can't be extended to a longer text.
  int64_t window = 0;
  bool both_ways = false;
  float scale = 1;  // factor of the scores
  // Whether each query head has a gate of head_dim numbers, whose sigmoid multiplies what the head
  // attends to. The rows of a head's gate follow those of its query.
  bool gated = false;

  // A short convolution in place of attention (ShortConv in pass/model.h): its channels, 0: none;
  // and its tokens, the present one included.
  int64_t conv_channels = 0;
  int64_t conv_tokens = 0;
  DeltaShape delta;
  // Floats that sum up all of the layer's past (state/recurrent.h); 0: none.
  int64_t state = 0;

  int64_t q_rows() const { return n_heads * head_dim; }
  int64_t q_width() const { return gated ? 2 * q_rows() : q_rows(); }  // with the gates
  // Whether all tokens' keys and values must be there before the first one attends.
  bool sees_both_ways() const { return both_ways && n_heads > 0; }
  // Floats of a token that a layer that sees both ways keeps until it has been through all of them:
  // its queries, or what a convolution makes of them.
  int64_t kept_width() const {
    return !both_ways ? 0 : n_heads > 0 ? q_width() : 2 * conv_channels;
  }
  int64_t kv_rows() const { return n_kv_heads * head_dim; }
};

}  // namespace sluice
