// The line of progress and the notes are written by two threads. ThreadSanitizer sees whether they
// share more than they may.
#include "app/load_line.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "app/diagnostics.h"
#include "app/exit_status.h"
#include "base/format.h"
#include "support/engine_fixture.h"

// What a thread reads of a pipe doesn't order what it shares with the writer otherwise.
extern "C" const char* __tsan_default_options();
extern "C" const char* __tsan_default_options() { return "io_sync=0"; }

namespace sluice::cli {
namespace {

// While it lives, what is written to standard error comes here.
class StandardError {
 public:
  StandardError() {
    int ends[2] = {};
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    from_ = ends[0];
    usual_ = ::dup(STDERR_FILENO);
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[1]);
  }
  ~StandardError() {
    ::dup2(usual_, STDERR_FILENO);
    ::close(usual_);
    ::close(from_);
  }
  StandardError(const StandardError&) = delete;
  StandardError& operator=(const StandardError&) = delete;

  // Waits for more, and returns all so far.
  const std::string& more() {
    char bytes[4096];
    const ssize_t n = ::read(from_, bytes, sizeof bytes);
    EXPECT_GT(n, 0);
    if (n > 0) text_.append(bytes, static_cast<size_t>(n));
    return text_;
  }

 private:
  int usual_ = -1, from_ = -1;
  std::string text_;
};

TEST(ThreadsOfTheLoadLine, ShareStandardError) {
  auto engine = Engine::create(small(), {tiny_bytes().size()});
  ASSERT_TRUE(engine.has_value());
  StandardError error;
  std::string text;
  {
    LoadLine line("model.gguf", tiny_bytes().size());
    line.follow(**engine);
    // Notes come between the thread's lines, each in the place of one that was shown.
    for (int i = 0; i < 3; ++i) {
      const size_t before = text.size();
      while (text.find("layers", before) == std::string::npos) text = error.more();
      note(concat("note ", i));
      const std::string noted = concat("\r\033[Ksluice: note ", i, "\n");
      while (text.find(noted, before) == std::string::npos) text = error.more();
    }
    // So do errors.
    EXPECT_EQ(report({Code::busy, "why"}, false), kFailed);
    while (text.find("\r\033[Ksluice: error: why\n") == std::string::npos) text = error.more();
  }
  while (!text.ends_with("\r\033[K")) text = error.more();
  EXPECT_EQ(text.find("ThreadSanitizer"), std::string::npos) << text;
}

}  // namespace
}  // namespace sluice::cli
