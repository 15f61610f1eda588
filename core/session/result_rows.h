// The memory of a run's results.
#pragma once  // inside

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/aligned.h"
#include "base/result.h"
#include "pass/model.h"
#include "session/results.h"

namespace sluice {

// Bytes of each result.
struct ResultBytes {
  uint64_t logits = 0;
  uint64_t hidden = 0;
  uint64_t pooled = 0;
  uint64_t vectors = 0;
  uint64_t states = 0;
  uint64_t attention = 0;
  uint64_t total() const { return logits + hidden + pooled + vectors + states + attention; }
};

// Of a run over n_tokens tokens. Neither product nor sum can overflow: a file's widths, layers and
// context have bounds (pass/config_reader.h).
ResultBytes result_bytes(const Model& model, const Results& results, size_t n_tokens);

// Fails with invalid_argument if a run over n_tokens tokens of the model has no such positions or
// layers, and with unsupported_model if it is to give logits and the model has no head.
Status check_results(const Model& model, const Results& results, size_t n_tokens);
// Fails with invalid_argument unless they ascend, each once, from 0, below `end`.
Status check_layers(const std::vector<int64_t>& layers, int64_t end);
// Fails with unsupported_model if the model doesn't write text: it has no head, or one that fills
// in masked words.
Status check_writes_text(const Model& model);

// What a session's last run gave. While it is under way, a row of logits is padded to whole strips.
struct ResultRows {
  AlignedBuffer logits;     // [positions][n_vocab]
  AlignedBuffer hidden;     // [layers][positions][n_embd]
  AlignedBuffer pooled;     // [n_embd]
  AlignedBuffer vectors;    // [texts][Model::vector_width()]
  AlignedBuffer states;     // of each text [layers][positions][n_embd]
  AlignedBuffer attention;  // [attention layers][heads][position + 1]
  size_t n_logits = 0;      // numbers that a user may read: none of a run that generates
  size_t n_texts = 0;       // of a run over several, those that are computed
  size_t n_states = 0;      // numbers of their states

  uint64_t bytes() const {
    return logits.size() + hidden.size() + pooled.size() + vectors.size() + states.size() +
           attention.size();
  }
  // Frees those of another size.
  void keep_only(const ResultBytes& bytes);
  // Takes what is needed, and frees what isn't before. Fails with out_of_memory.
  Status make_room(const ResultBytes& bytes);
};

}  // namespace sluice
