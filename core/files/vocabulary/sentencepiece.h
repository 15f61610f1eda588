// tokenizer.model, SentencePiece's own file: a protobuf message (sentencepiece_model.proto).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/vocab.h"

namespace sluice {

struct SentencePiece {
  std::string_view text;  // of the file's bytes
  float score = 0;        // finite
  TokenType type = TokenType::normal;
};

struct SentencePieces {
  std::vector<SentencePiece> pieces;  // a piece's place is its id
  bool merges = true;  // the scores say what merges; false: they are probabilities (unigram)
};

// `bytes` must outlive the result. Fails with bad_file if a field reaches beyond its message, a
// score is no finite number, a type is unknown or there are more pieces than ids.
Result<SentencePieces> read_sentencepiece(std::string_view bytes);

}  // namespace sluice
