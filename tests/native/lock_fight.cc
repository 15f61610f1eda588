// Fights for a lock with other processes, until COUNT.end exists or somebody kills it. Run by
// tests/cli/locks.test.mjs beside lock-fight.mjs, which does the same in Node.
//   lock_fight LOCK STATE COUNT SEED
// STATE: a file of 16 bytes. Whoever holds the lock exclusively changes it again and again, and
// whoever holds it at all sees only its own changes.
// COUNT.shared and COUNT.exclusive get a byte for each lock.
// Says on standard output that it begins. Ends with 9 if STATE changed while it had the lock.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>

#include "pull/lock.h"

namespace {

using sluice::pull::Hold;
using sluice::pull::Lock;
using State = std::array<uint64_t, 2>;

State read_state(int fd) {
  State state = {};
  if (::pread(fd, state.data(), sizeof state, 0) < 0) std::abort();
  return state;
}

void write_state(int fd, const State& state) {
  if (::pwrite(fd, state.data(), sizeof state, 0) != sizeof state) std::abort();
}

[[noreturn]] void overlap(const char* which) {
  std::fprintf(stderr, "another process changed the state of a lock that is held %s\n", which);
  _exit(9);
}

void count(const std::string& file) {
  const int fd = ::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || ::write(fd, "n", 1) != 1) std::abort();
  ::close(fd);
}

struct Fighter {
  std::string lock, count_file;
  int state;
  std::mt19937 random;

  void dawdle() { std::this_thread::sleep_for(std::chrono::microseconds(random() % 300)); }

  void read(const char* which) {
    const State before = read_state(state);
    dawdle();
    const State after = read_state(state);
    if (before != after) overlap(which);
  }

  void write() {
    // One that was killed may have left two different numbers.
    State mine = read_state(state);
    for (int i = 0; i < 2; ++i) {
      ++mine[0];
      write_state(state, mine);
      dawdle();
      if (read_state(state) != mine) overlap("exclusively");
      mine[1] = mine[0];
      write_state(state, mine);
      dawdle();
      if (read_state(state) != mine) overlap("exclusively");
    }
  }

  void round() {
    const bool exclusive = random() % 5 < 3;
    auto taken = Lock::try_take(lock, exclusive ? Hold::exclusive : Hold::shared);
    if (!taken) {
      std::fprintf(stderr, "%s\n", taken.error().message.c_str());
      _exit(8);
    }
    if (!*taken) return;
    count(count_file + (exclusive ? ".exclusive" : ".shared"));
    if (!exclusive) return read("shared");
    write();
    if (random() % 2 == 0) return;
    (*taken)->share();
    read("shared, and exclusively before");
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const int state = ::open(argv[2], O_RDWR | O_CLOEXEC);
  if (state < 0) return 2;
  const std::string end = std::string(argv[3]) + ".end";
  const auto fight = [&](unsigned more) {
    Fighter fighter{argv[1], argv[3], state,
                    std::mt19937(static_cast<unsigned>(std::atoi(argv[4])) * 2 + more)};
    while (::access(end.c_str(), F_OK) != 0) {
      fighter.round();
      fighter.dawdle();
    }
  };
  std::puts("it begins");
  std::fflush(stdout);
  std::thread other(fight, 1);
  fight(0);
  other.join();
  return 0;
}
