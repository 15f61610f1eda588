// The named points of a pass, where an observer reads rows of numbers or adds to them. Nobody there
// costs nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace sluice {

enum class Point : uint8_t {
  linear_input,      // the rows that a matrix is multiplied by: normed and, of folded weights
                     // (pass/folded_weights.h), transformed; before they are quantized
  attention_branch,  // what attention, or what a layer has in its place, adds to the residual,
                     // after its own norm if it has one
  ffn_branch,        // the same of the feed-forward part
  block_output,      // the residual after a layer
  logits             // after scale, bias and cap
};

// Some of the points of one layer. The head is layer n_layers: it has linear_input and logits, and
// the layers have all but logits.
struct Points {
  bool linear_input = false;
  bool attention_branch = false;
  bool ffn_branch = false;
  bool block_output = false;
  bool logits = false;
};

// The rows of some tokens at a point. They belong to the pass and are valid during the call alone.
template <typename T>
struct PointRows {
  Point point;
  int64_t layer;
  int64_t n_tokens;
  int64_t width;   // numbers of a row
  int64_t stride;  // numbers from one row to the next, at least the width
  T* first;
  int64_t first_position;  // of the first row's token in its text
  int64_t first_token;     // the same token, counted from the first one of the pass
  // The rows' tokens, counted from first_position. Empty: one after the other.
  std::span<const int64_t> chosen;

  std::span<T> row(int64_t i) const { return {first + i * stride, static_cast<size_t>(width)}; }
  // The position of row i's token, counted from the first token of the session. Not in a pass of
  // several texts.
  int64_t position(int64_t i) const {
    return first_position + (chosen.empty() ? i : chosen[static_cast<size_t>(i)]);
  }
};

// A matrix that rows are multiplied by: its handle (Weights::matrix), its tensor's name, and its
// first row among all of the tensor. The parts of a fused tensor are matrices of their own, and so
// are those of a head in parts; and each expert's, whose rows follow those of the one before.
struct ObservedMatrix {
  int handle;
  std::string_view tensor;
  int64_t first_row;
};

// What a pass calls at its points: on the thread that runs the pass, while its workers wait; for
// one block of tokens after the other, layers ascending. An observer must not use the pass's
// session or engine.
class Observer {
 public:
  virtual ~Observer() = default;
  // The points of a layer, from 0 to n_layers. Asked once, when the observer is attached.
  virtual Points points(int64_t layer) const = 0;
  // At linear_input, once for each matrix. Read only.
  virtual void read(const PointRows<const float>& rows, const ObservedMatrix& matrix) = 0;
  // At all other points. It may change the rows: what follows is computed with the new numbers. If
  // one is NaN, infinite, or 2^48 or more, the pass fails as if it had computed it.
  virtual void visit(const PointRows<float>& rows) = 0;
};

}  // namespace sluice
