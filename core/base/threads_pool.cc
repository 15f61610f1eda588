// The pool with real threads: pthreads, since std::thread throws where one can't be started. Both a
// new job and the end of a phase are waited for with a short spin and then a sleep
// (std::atomic::wait: futex natively, memory.atomic.wait in wasm; a sleep costs tens of
// microseconds, a spin a quarter of one).
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "base/threads.h"

namespace sluice {
namespace {

// Some 30 to 90 microseconds of looking, longer than any phase's imbalance on an idle machine. (A
// pause takes 40 to 140 cycles; core wasm has none, so a look there takes one or two nanoseconds.)
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

// Waits until `word` is no longer `old`; returns what it is then.
uint32_t wait_for_change(std::atomic<uint32_t>& word, uint32_t old, int spins) {
  for (int i = 0; i < spins; ++i) {
    const uint32_t now = word.load(std::memory_order_acquire);
    if (now != old) return now;
    relax();
  }
  for (;;) {
    const uint32_t now = word.load(std::memory_order_acquire);
    if (now != old) return now;
    word.wait(old, std::memory_order_acquire);
  }
}

// Is counter a behind counter b? Both go round.
bool behind(uint32_t a, uint32_t b) { return static_cast<int32_t>(a - b) < 0; }

constexpr size_t kJobWords = Pool::kJobBytes / sizeof(uint64_t);

}  // namespace

// What several threads poll or change has a cache line of its own.
struct Pool::State {
  // One for each worker. `taken`: the phase in the high half, in the low half how many items of the
  // worker's range were taken in that phase; others may take, too.
  struct alignas(64) Worker {
    std::atomic<uint64_t> taken{0};
    uint32_t phase = 0;  // where this worker is; its own
    State* pool = nullptr;
    int number = 0;
  };

  alignas(64) std::atomic<uint32_t> generation{
      0};                                      // two more for each job; odd while one is written
  alignas(64) std::atomic<uint32_t> phase{0};  // phases that are over
  alignas(64) std::atomic<int64_t> done{0};    // items of the phase in progress
  alignas(64) std::atomic<bool> stopping{false};
  std::atomic<int> active{0};  // the first so many workers take part
  // The job. Atomic, because a worker that is late may read it while the next one is written; it
  // then sees that the generation has changed.
  std::atomic<void (*)(const void* job, int worker)> call{nullptr};
  std::atomic<uint64_t> job[kJobWords] = {};
  std::atomic<uint32_t> job_phase{0};  // the first one of the job
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
  // More workers than cores: whoever spins takes the core from the one that is waited for.
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
    const uint32_t phase = state.phase.load(std::memory_order_relaxed);
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

// Counts the worker's phases. False: this one is over already.
bool Pool::in_time(int worker) {
  State& state = *state_;
  uint32_t& mine = state.workers[static_cast<size_t>(worker)].phase;
  if (!behind(mine, state.phase.load(std::memory_order_acquire))) return true;
  ++mine;
  return false;
}

// Takes a quarter of what is left in a range, so that the parts get small towards the end. A phase
// can't end while an item of it is taken and not done, so success means that it goes on.
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

// Whoever does the last item ends the phase; the others wait for that.
void Pool::finish(int worker, int64_t n, int64_t done) {
  State& state = *state_;
  const uint32_t phase = state.workers[static_cast<size_t>(worker)].phase++;
  if (done > 0 && state.done.fetch_add(done, std::memory_order_acq_rel) + done == n) {
    state.done.store(0, std::memory_order_relaxed);
    state.phase.store(phase + 1, std::memory_order_release);
    state.phase.notify_all();
    return;
  }
  while (!behind(phase, state.phase.load(std::memory_order_acquire))) {
    wait_for_change(state.phase, phase, state.spins);
  }
}

}  // namespace sluice
