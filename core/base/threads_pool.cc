// The pool with real threads. A job is handed over by a generation counter; both it and the barrier
// are waited for with a short spin and then a sleep (std::atomic::wait: futex natively,
// memory.atomic.wait in wasm; a sleep costs tens of microseconds, a spin a quarter of one).
#include <algorithm>
#include <atomic>
#include <chrono>
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

// Waits until `word` is no longer `old`.
void wait_for_change(std::atomic<uint32_t>& word, uint32_t old, int spins) {
  for (int i = 0; i < spins; ++i) {
    if (word.load(std::memory_order_acquire) != old) return;
    relax();
  }
  while (word.load(std::memory_order_acquire) == old) word.wait(old, std::memory_order_acquire);
}

}  // namespace

struct Pool::State {
  // Each word has a cache line of its own: workers poll them.
  alignas(64) std::atomic<uint32_t> generation{0};  // one more for each job
  alignas(64) std::atomic<uint32_t> arrived{0};
  alignas(64) std::atomic<uint32_t> phase{0};  // one more for each barrier
  alignas(64) std::atomic<bool> stopping{false};
  void (*job)(void* context, int worker) = nullptr;
  void* context = nullptr;
  int n_workers = 1;
  int spins = 0;
  std::vector<std::thread> threads;

  void work(int worker) {
    for (uint32_t seen = 0;; ++seen) {
      wait_for_change(generation, seen, spins);
      if (stopping.load(std::memory_order_acquire)) return;
      job(context, worker);
      barrier();
    }
  }

  void barrier() {
    if (n_workers == 1) return;
    const uint32_t now = phase.load(std::memory_order_relaxed);
    if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == static_cast<uint32_t>(n_workers)) {
      arrived.store(0, std::memory_order_relaxed);
      phase.store(now + 1, std::memory_order_release);
      phase.notify_all();
    } else {
      wait_for_change(phase, now, spins);
    }
  }
};

Pool::Pool(int n_threads) : state_(std::make_unique<State>()) {
  State& state = *state_;
  n_threads = std::clamp(n_threads, 1, kMaxThreads);
  // More workers than cores: whoever spins takes the core from the one that is waited for.
  const unsigned cores = std::thread::hardware_concurrency();
  state.spins = cores != 0 && static_cast<unsigned>(n_threads) > cores ? 0 : kSpins;
  state.n_workers = n_threads;
  for (int worker = 1; worker < n_threads; ++worker) {
    state.threads.emplace_back([&state, worker] { state.work(worker); });
  }
}

Pool::~Pool() {
  state_->stopping.store(true, std::memory_order_release);
  state_->generation.fetch_add(1, std::memory_order_acq_rel);
  state_->generation.notify_all();
  for (std::thread& thread : state_->threads) thread.join();
}

int Pool::size() const { return state_->n_workers; }

void Pool::barrier() { state_->barrier(); }

void Pool::run_erased(void (*job)(void* context, int worker), void* context) {
  State& state = *state_;
  state.job = job;
  state.context = context;
  if (state.n_workers > 1) {
    state.generation.fetch_add(1, std::memory_order_acq_rel);
    state.generation.notify_all();
  }
  job(context, 0);
  state.barrier();
}

}  // namespace sluice
