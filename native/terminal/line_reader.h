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
    interrupted,  // by Ctrl-C; `text` is what stood in the line, as far as that is known
    end,          // Ctrl-D, a closed terminal, or a signal that ends the program
  };
  Kind kind = Kind::end;
  std::string text;     // UTF-8, without the line's end; a pasted text may have several lines
  bool pasted = false;  // it begins with a pasted text
};

class LineReader {
 public:
  virtual ~LineReader() = default;
  // Shows the prompt and reads. `prefilled` stands in the line at first.
  virtual LineRead read(const std::string& prompt, const std::string& prefilled) = 0;
  // Adds an entry to the history of this reader.
  virtual void remember(const std::string& entry) = 0;
};

// Lines that can be edited, by libedit; null if this build or this terminal has none. `descriptor`
// is the terminal on which it shows them. Takes the user's locale, or C.UTF-8.
std::unique_ptr<LineReader> edited_lines(int descriptor, const std::vector<std::string>& history);
// Lines as the terminal gives them. Prompts go to `descriptor`; -1: there are none.
std::unique_ptr<LineReader> plain_lines(int descriptor);

// Waits for standard input or a noted signal. Adds what was typed to `bytes`. False: there is no
// more to come.
bool wait_for_input(std::string& bytes);

}  // namespace sluice::terminal
