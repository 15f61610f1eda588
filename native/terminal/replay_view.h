// Plays a trace on a terminal.
#pragma once

#include "app/trace_reader.h"
#include "sample/choice_view.h"

namespace sluice::terminal {

// What options do with the logits of a token of the trace, before which so many of trace.tokens()
// stand. Not enough if the trace has none. Fails as view_choice() does.
Result<ChoiceView> trace_view(const cli::TraceReader& trace, const cli::TraceToken& token,
                              size_t before, const GenerateOptions& options, int most);

struct PlayOptions {
  int top;       // candidates
  double speed;  // tokens a second; 0: it stands at the first
};
// Shows the tokens under these options, and obeys keys until `q`. Standard input and output are
// terminals. Returns the exit status. Fails as TraceReader does, before it shows anything.
Result<int> play(cli::TraceReader& trace, const GenerateOptions& options, const PlayOptions& how);

}  // namespace sluice::terminal
