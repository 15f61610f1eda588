// The pool with real threads. They are pthreads, since std::thread throws if a thread can't be
// started. A worker waits for a new job and for the end of a phase by spinning for a short time and
// then sleeping (std::atomic::wait: futex natively, memory.atomic.wait in wasm). Waking from sleep
// takes tens of microseconds, leaving a spin a quarter of one.
#include <pthread.h>
#if defined(__linux__)
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>
#endif

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "base/threads.h"

namespace sluice {
namespace {

// A spin lasts 30 to 90 microseconds. On an idle machine workers finish a phase closer together
// than that. (A pause takes 40 to 140 cycles. Wasm has none; there a turn takes 1 or 2 ns.)
#if defined(__x86_64__)
inline void relax() { __builtin_ia32_pause(); }
constexpr int kSpins = 2000;
#elif defined(__aarch64__)
inline void relax() { __asm__ __volatile__("yield"); }
constexpr int kSpins = 10000;
#else
inline void relax() {}
constexpr int kSpins = 20000;
#endif

// Spins until `word` differs from `old`, or its turns are over; returns its value.
uint32_t spin_until_change(const std::atomic<uint32_t>& word, uint32_t old, int spins) {
  uint32_t now = word.load(std::memory_order_acquire);
  for (int i = 0; i < spins && now == old; ++i) {
    relax();
    now = word.load(std::memory_order_acquire);
  }
  return now;
}

// Waits until `word` differs from `old`; returns its new value.
uint32_t wait_for_change(std::atomic<uint32_t>& word, uint32_t old, int spins) {
  uint32_t now = spin_until_change(word, old, spins);
  for (; now == old; now = word.load(std::memory_order_acquire))
    word.wait(old, std::memory_order_acquire);
  return now;
}

// Whether counter a is behind counter b. Both wrap around.
bool behind(uint32_t a, uint32_t b) { return static_cast<int32_t>(a - b) < 0; }

constexpr size_t kJobWords = Pool::kJobBytes / sizeof(uint64_t);

}  // namespace

// Every value that several threads poll or change has its own cache line.
struct Pool::State {
  // A counter that others wait for while they can do nothing else: a lost wake must not stop them
  // for ever. On Linux a sleeper looks again ten times a second, since one was lost there once.
  class Phases {
   public:
    uint32_t over() const { return over_.load(std::memory_order_acquire); }

    void end(uint32_t phase) {
      // Sequentially consistent: either this sees the sleeper, or that sees the new value.
      over_.store(phase + 1, std::memory_order_seq_cst);
#if defined(__linux__)
      if (sleepers_.load(std::memory_order_seq_cst) == 0) return;
      syscall(SYS_futex, &over_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
#else
      over_.notify_all();
#endif
    }

    void wait_while(uint32_t phase, int turns) {
      if (spin_until_change(over_, phase, turns) != phase) return;
#if defined(__linux__)
      sleepers_.fetch_add(1, std::memory_order_seq_cst);
      while (over_.load(std::memory_order_seq_cst) == phase) {
        const timespec most{.tv_sec = 0, .tv_nsec = 100'000'000};
        syscall(SYS_futex, &over_, FUTEX_WAIT_PRIVATE, phase, &most, nullptr, 0);
      }
      sleepers_.fetch_sub(1, std::memory_order_relaxed);
#else
      wait_for_change(over_, phase, 0);
#endif
    }

   private:
    std::atomic<uint32_t> over_{0};
#if defined(__linux__)
    static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));
    std::atomic<uint32_t> sleepers_{0};
#endif
  };

  // One for each worker. `taken` has a phase in its high half and, in its low half, how many items
  // of this worker's share were taken in that phase, by this worker or by others.
  struct alignas(64) Worker {
    std::atomic<uint64_t> taken{0};
    uint32_t phase = 0;  // the phase that this worker is in; no other worker reads it
    State* pool = nullptr;
    int number = 0;
  };

  alignas(64) std::atomic<uint32_t> generation{
      0};  // 2 more for each job; odd while a job is written
  alignas(64) Phases phases;
  alignas(64) std::atomic<int64_t> done{0};  // items of the current phase
  alignas(64) std::atomic<bool> stopping{false};
  std::atomic<int> active{0};  // workers below this number take part
  // The job. It is atomic because a late worker may read it while the next one is written; the
  // worker then sees that the generation has changed.
  std::atomic<void (*)(const void* job, int worker)> call{nullptr};
  std::atomic<uint64_t> job[kJobWords] = {};
  std::atomic<uint32_t> job_phase{0};  // the job's first phase
  int n_workers = 1;
  int spins = 0;
  std::unique_ptr<Worker[]> workers;
  std::vector<pthread_t> threads;

  static void* enter(void* worker) {
    const auto* self = static_cast<const Worker*>(worker);
    self->pool->work(self->number);
    return nullptr;
  }

  void sleep_until_active(int worker) {
    for (;;) {
      const int now = active.load(std::memory_order_acquire);
      if (worker < now || stopping.load(std::memory_order_acquire)) return;
      active.wait(now, std::memory_order_acquire);
    }
  }

  void work(int worker) {
    alignas(64) uint64_t bytes[kJobWords];
    for (uint32_t seen = 0;;) {
      sleep_until_active(worker);
      const uint32_t now = wait_for_change(generation, seen, spins);
      if (stopping.load(std::memory_order_acquire)) return;
      seen = now;
      if (now % 2 != 0) continue;
      const auto call_now = call.load(std::memory_order_acquire);
      for (size_t i = 0; i < kJobWords; ++i) bytes[i] = job[i].load(std::memory_order_acquire);
      workers[static_cast<size_t>(worker)].phase = job_phase.load(std::memory_order_acquire);
      if (generation.load(std::memory_order_relaxed) == now) call_now(bytes, worker);
    }
  }
};

Pool::Pool(int n_threads) : state_(std::make_unique<State>()) {
  State& state = *state_;
  n_threads = std::clamp(n_threads, 1, kMaxThreads);
  // With more workers than cores, a spinning worker may hold the core of the one that it waits for.
  const unsigned cores = std::thread::hardware_concurrency();
  state.spins = cores != 0 && static_cast<unsigned>(n_threads) > cores ? kSpins / 50 : kSpins;
  state.active = n_threads;
  state.workers = std::make_unique<State::Worker[]>(static_cast<size_t>(n_threads));
  state.threads.reserve(static_cast<size_t>(n_threads));
  for (int number = 1; number < n_threads; ++number) {
    State::Worker& worker = state.workers[static_cast<size_t>(number)];
    worker.pool = &state;
    worker.number = number;
    pthread_t thread = {};
    if (pthread_create(&thread, nullptr, State::enter, &worker) != 0) break;
    state.threads.push_back(thread);
  }
  state.n_workers = static_cast<int>(state.threads.size()) + 1;
  state.active = state.n_workers;
}

Pool::~Pool() {
  state_->stopping.store(true, std::memory_order_release);
  limit(size());
  state_->generation.fetch_add(2, std::memory_order_acq_rel);
  state_->generation.notify_all();
  for (const pthread_t thread : state_->threads) pthread_join(thread, nullptr);
}

int Pool::size() const { return state_->n_workers; }

void Pool::limit(int n_workers) {
  State& state = *state_;
  n_workers = std::clamp(n_workers, 1, state.n_workers);
  if (state.active.exchange(n_workers, std::memory_order_acq_rel) < n_workers) {
    state.active.notify_all();
  }
}

void Pool::start(void (*call)(const void* job, int worker), const void* job, size_t bytes) {
  State& state = *state_;
  if (state.n_workers > 1) {
    uint64_t words[kJobWords] = {};
    std::memcpy(words, job, bytes);
    const uint32_t now = state.generation.load(std::memory_order_relaxed);
    const uint32_t phase = state.phases.over();
    state.generation.store(now + 1, std::memory_order_relaxed);
    state.call.store(call, std::memory_order_release);
    for (size_t i = 0; i < kJobWords; ++i) state.job[i].store(words[i], std::memory_order_release);
    state.job_phase.store(phase, std::memory_order_release);
    state.generation.store(now + 2, std::memory_order_release);
    state.generation.notify_all();
    state.workers[0].phase = phase;
  }
  call(job, 0);
}

// Whether the worker's phase is still in progress. If it is over, moves the worker to the next one.
bool Pool::in_time(int worker) {
  State& state = *state_;
  uint32_t& mine = state.workers[static_cast<size_t>(worker)].phase;
  if (!behind(mine, state.phases.over())) return true;
  ++mine;
  return false;
}

// Takes a quarter of what is left of a share, so that parts get smaller towards the end. A phase
// can't end before all items that were taken are done, so after a success it is still in progress.
bool Pool::take(int worker, int64_t n, Share& part) {
  State& state = *state_;
  const uint32_t phase = state.workers[static_cast<size_t>(worker)].phase;
  for (int i = 0; i < state.n_workers; ++i) {
    const int owner = (worker + i) % state.n_workers;
    const Share range = share(n, owner, state.n_workers);
    const auto size = static_cast<uint64_t>(range.end - range.begin);
    if (size == 0) continue;
    std::atomic<uint64_t>& taken = state.workers[static_cast<size_t>(owner)].taken;
    uint64_t old = taken.load(std::memory_order_acquire);
    for (;;) {
      const auto at = static_cast<uint32_t>(old >> 32);
      if (behind(phase, at)) return false;
      const uint64_t first = at == phase ? old & 0xffffffffu : 0;
      if (first >= size) break;
      const uint64_t count = (size - first + 3) / 4;
      const uint64_t wanted = static_cast<uint64_t>(phase) << 32 | (first + count);
      if (taken.compare_exchange_weak(old, wanted, std::memory_order_acq_rel,
                                      std::memory_order_acquire)) {
        part = {range.begin + static_cast<int64_t>(first),
                range.begin + static_cast<int64_t>(first + count)};
        return true;
      }
    }
  }
  return false;
}

// The worker that does the last item ends the phase; the others wait for the end.
void Pool::finish(int worker, int64_t n, int64_t done) {
  State& state = *state_;
  const uint32_t phase = state.workers[static_cast<size_t>(worker)].phase++;
  if (done > 0 && state.done.fetch_add(done, std::memory_order_acq_rel) + done == n) {
    state.done.store(0, std::memory_order_relaxed);
    state.phases.end(phase);
    return;
  }
  while (!behind(phase, state.phases.over())) state.phases.wait_while(phase, state.spins);
}

}  // namespace sluice
