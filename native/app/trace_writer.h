// The file of `run --trace`: what each token of a run was chosen from, as JSON lines.
//
//   {"event":"trace","version":1,"model":{..},"prompt":{..},"options":{..},"kernels":".."}
//   {"event":"token","id","text","logprob","raw":{..},"pieces":{"id":"piece",..}}   for each token
//   {"event":"done",..}
//
// model: name, architecture, vocab, layers; suppressed, if the file suppresses tokens: their ids.
// prompt: text, ids, pieces; answerBegin, if the run goes on with an answer: so many of the ids
// stand before it. options: those of the samplers by their library names, with the seed that was
// used. pieces has the tokens of the line that no line before names.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "app/file_bytes.h"
#include "engine.h"

namespace sluice::cli {

class TraceWriter {
 public:
  // Fails as GrowingFile::create does.
  static Result<TraceWriter> create(const std::string& path);

  // The first line, of a session's run whose prompt is computed. `name`: of the model, if its file
  // has none.
  Status begin(const Engine& engine, const Session& session, const std::string& name,
               const GenerateOptions& options);
  bool begun() const { return !named_.empty(); }
  // A line of the run: a token with Event::raw, or done. Each is written at once. All fail as
  // GrowingFile::append does.
  Status add(const Tokenizer& tokenizer, const Event& event, const Stats& stats);

 private:
  explicit TraceWriter(GrowingFile file) : file_(std::move(file)) {}

  GrowingFile file_;
  std::vector<bool> named_;  // the tokens whose pieces the file has
};

// A token as text, in valid UTF-8: of a control token its name.
std::string piece_text(const Tokenizer& tokenizer, TokenId id);

}  // namespace sluice::cli
