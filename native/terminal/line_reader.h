// Reads lines from a terminal.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sluice::terminal {

struct LineRead {
  enum class Kind : uint8_t {
    line,
    interrupted,  // by Ctrl-C; `text` is the line so far, if that is known
    end,          // Ctrl-D, a closed terminal, or a signal that ends the program
  };
  Kind kind = Kind::end;
  std::string text;     // UTF-8, without the line's end; a pasted text may have several lines
  bool pasted = false;  // it begins with a pasted text
};

class LineReader {
 public:
  virtual ~LineReader() = default;
  // Shows the prompt and reads a line, which begins with the text `prefilled`.
  virtual LineRead read(const std::string& prompt, const std::string& prefilled) = 0;
  // Adds an entry to the history of this reader.
  virtual void remember(const std::string& entry) = 0;
};

// Lines that can be edited, by libedit; null if this build or this terminal has none. `descriptor`
// is the terminal on which it shows them. Takes the user's locale, or C.UTF-8.
std::unique_ptr<LineReader> edited_lines(int descriptor, const std::vector<std::string>& history);
// Lines as the terminal gives them. Prompts go to `descriptor`; -1: there are none.
std::unique_ptr<LineReader> plain_lines(int descriptor);

// Waits for standard input or a noted signal, at most so many milliseconds unless they are
// negative. Appends the input to `bytes`. False: the input has ended.
bool wait_for_input(std::string& bytes, int timeout_ms = -1);

}  // namespace sluice::terminal
