// A file's header, rewritten in place. Its data, which may be many gigabytes, don't move.
//
// A rewrite that is broken off would leave a header that is half old and half new. So both headers
// are first kept in a file beside it, NAME.edit, which is there whole or not at all; whoever opens
// NAME next finishes what is there. Each byte of a header that was broken off is the old or the new
// one; a NAME.edit of which that isn't true belongs to another file and is left alone.
//
//   "sluice edit 1\n" | u64 the file's size | u64 n | n bytes of the old header | n of the new one
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace sluice::cli {

// Replaces the file's first bytes, which are `before`, by `after`, of the same size. After a crash
// or a loss of power it is the old or the new file once finish_rewrite() has seen it. Fails with
// busy if another program does the same or has changed the file, with storage_full, or with
// invalid_argument and the system's reason.
Status rewrite_header(const std::string& path, std::string_view before, std::string_view after);

// Finishes a rewrite of this file that was broken off. Does nothing if there is none. Fails with
// busy while another program is at it, or with bad_file if it can't be done here.
Status finish_rewrite(const std::string& path);

}  // namespace sluice::cli
