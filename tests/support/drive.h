// Steps sessions to the end of their runs.
#pragma once

#include <type_traits>
#include <vector>

#include "engine.h"

namespace sluice {

// Calls on_event(event) for each event but done, whose finish it returns; `working` and `waiting`
// are events, too. If on_event returns false, the run is cancelled. Fails as step() does.
template <typename OnEvent>
Result<Finish> drive(Session& session, OnEvent&& on_event) {
  for (;;) {
    SLUICE_ASSIGN(Event event, session.step());
    if (event.kind == Event::Kind::done) return event.finish;
    if constexpr (std::is_void_v<decltype(on_event(event))>) {
      on_event(event);
    } else if (!on_event(event)) {
      session.cancel();
    }
  }
}

// As drive() for an engine that was opened, waiting for its weights. Returns the tokens that were
// written. Fails as wait() does, too.
inline Result<std::vector<TokenId>> drive_opened(Engine& engine, Session& session) {
  std::vector<TokenId> ids;
  Status waited;
  SLUICE_TRY(drive(session, [&](const Event& event) {
    if (event.kind == Event::Kind::token) ids.push_back(event.id);
    if (event.kind == Event::Kind::waiting) waited = engine.wait();
    return waited.has_value();
  }));
  SLUICE_TRY(waited);
  return ids;
}

}  // namespace sluice
