// The file of --session: a session is restored from it and saved to it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "app/session_lock.h"
#include "engine.h"

namespace sluice::cli {

// Reports, before the run, a file that can't be read, can't be written or is in use. Returns the
// exit status, kDone if it can be used.
int check_session_path(const std::string& path, bool json);
// Locks the file for this program. Fails with busy. Warns where locks don't work.
Result<SessionLock> lock_session(const std::string& path);
// The session in the file; null if there is no such file. Waits for weights. Fails as SessionReader
// does, with the file's name, or with aborted after Ctrl-C.
Result<std::unique_ptr<Session>> restore_session(Engine& engine, const std::string& path);
// Writes the file, readable for its owner only: all of it, or the file stays as it was. Returns its
// size; 0: interrupted by Ctrl-C before the model was identified, nothing was written.
Result<uint64_t> save_session(Engine& engine, const Session& session, const std::string& path);
// The exit status if that fails: kFailed instead of kUsage.
int unsaved_status(const Error& error);

}  // namespace sluice::cli
