// The text of a conversation's messages for the terminal.
#pragma once  // inside

#include <cstddef>
#include <span>
#include <string>

#include "terminal/conversation.h"

namespace sluice::terminal {

// Each with its role above it. `styled`: roles and thinking are dimmed, and Markdown is rendered.
// `most_lines`: the most lines, of 80 columns, of each message, without thinking; 0: all.
// Nothing in a message controls the terminal.
std::string turns_text(std::span<const Message> messages, bool styled, size_t most_lines);

}  // namespace sluice::terminal
