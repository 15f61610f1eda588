// The worker threads of one engine. Two implementations of one header: threads_pool.cc
// (std::thread) and threads_serial.cc (wasm without shared memory), chosen by the build.
//
// The caller of run() is worker 0. Workers spin for a short bounded time between phases and then
// sleep, so an idle engine costs nothing and an over-subscribed machine does not collapse.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

namespace sluice {

class Pool {
 public:
  // Starts `n_threads - 1` threads (clamped to 1..kMaxThreads).
  explicit Pool(int n_threads);
  ~Pool();  // joins the workers; no run() may be in progress
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  static constexpr int kMaxThreads = 64;

  int size() const;

  // Calls job(worker) on every worker, 0 .. size()-1, at the same time; returns when all are done.
  // Not reentrant. All that a worker wrote is visible to the caller afterwards.
  template <typename Job>
  void run(Job&& job) {
    run_erased([](void* context,
                  int worker) { (*static_cast<std::remove_reference_t<Job>*>(context))(worker); },
               &job);
  }

  // Inside a job: waits until every worker has arrived. All must call it the same number of times.
  void barrier();

 private:
  void run_erased(void (*job)(void* context, int worker), void* context);
  struct State;
  std::unique_ptr<State> state_;
};

// The part of `n` items that worker `worker` of `n_workers` does: [begin, end), contiguous, in
// order.
struct Share {
  int64_t begin;
  int64_t end;
};
inline Share share(int64_t n, int worker, int n_workers) {
  return {n * worker / n_workers, n * (worker + 1) / n_workers};
}

}  // namespace sluice
