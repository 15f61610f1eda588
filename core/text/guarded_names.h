// Names of the marks that divide a prompt: turns, roles, tools and their results, ends. A text of
// somebody else must not count as one of them, or it could speak for the user or the system. Their
// type in a file doesn't say that: many files type some or all of them as user-defined, and this is
// also the type of marks that models write and people quote as plain text (<think>, <tool_call>),
// which are not in this table. A name that is missing here is guarded all the same if the file says
// that it is a control token or ends a text.
#pragma once  // inside

#include <string_view>

namespace sluice {

bool is_guarded_name(std::string_view text);

}  // namespace sluice
