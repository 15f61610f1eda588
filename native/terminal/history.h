// The file of what was typed in chats.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sluice::terminal {

// Where it is: $XDG_STATE_HOME/sluice/chat_history, or in ~/.local/state; "" if neither is known.
std::string history_path();

// Several programs may use the file at once: each holds a lock while it reads or writes. Where the
// file or its folder can't be used there is no history.
class HistoryFile {
 public:
  static constexpr size_t kMostEntries = 1000;

  // "": no file.
  explicit HistoryFile(std::string path) : path_(std::move(path)) {}
  // The last entries, the oldest first. Makes the folder, and rewrites a file that has grown.
  std::vector<std::string> load() const;
  // Adds an entry, which may have several lines, at the end.
  void add(std::string_view entry) const;

 private:
  std::string path_;
};

}  // namespace sluice::terminal
