// Attaches an observer to a session's passes.
#pragma once

#include "engine.h"
#include "pass/observer.h"

namespace sluice {

// From now on the session's passes call `observer`, or nobody if it is null. The caller owns it; it
// must outlive its use. Its clones have no observer. Tokens that the session has already keep their
// state; an observer that adds to rows wants a session without tokens (Session::reset). Fails with
// busy during a run.
Status set_observer(Session& session, Observer* observer);

}  // namespace sluice
