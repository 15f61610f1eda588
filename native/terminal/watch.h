// `run --watch`: the text, and below it what its newest token was chosen from.
#pragma once

#include <termios.h>

#include <string>
#include <string_view>
#include <vector>

#include "app/output.h"
#include "engine.h"

namespace sluice::terminal {

// While it lives, Ctrl-C doesn't make the terminal drop what it hasn't shown yet: rows are counted.
class KeptOutput {
 public:
  KeptOutput();
  ~KeptOutput();
  KeptOutput(const KeptOutput&) = delete;
  KeptOutput& operator=(const KeptOutput&) = delete;

 private:
  termios before_ = {};
  bool changed_ = false;
};

class Watch {
 public:
  // All must outlive it. `options`: of the run, with trace.
  Watch(cli::Output& output, const Engine& engine, const GenerateOptions& options);

  // Text that comes before the run's own.
  void write(std::string_view text);
  // A token of the session's run, with Event::raw.
  void add(const Session& session, const Event& event);
  // Leaves the text alone on the screen.
  void finish();

 private:
  std::string erased();
  std::vector<std::string> lines(const Session& session, const Event& event);

  cli::Output& output_;
  const Engine& engine_;
  const GenerateOptions& options_;
  std::vector<TokenId> before_;
  size_t n_tokens_ = 0;  // that were written
  std::string line_;     // the text's last line
  size_t rows_ = 0;      // below it
  bool styled_;
  KeptOutput kept_;
};

}  // namespace sluice::terminal
