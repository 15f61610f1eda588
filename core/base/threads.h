// The worker threads of one engine. The build chooses the implementation: threads_pool.cc
// (pthreads) or threads_serial.cc (wasm without shared memory).
//
// The caller of run() is worker 0. The workers that are awake take the parts of a phase; they wait
// only for parts that another worker has begun, never for a worker. So a worker that sleeps, or
// that the system has paused, costs its share of the speed and nothing else. A waiting worker spins
// for a short time and then sleeps, so an idle engine takes no CPU time.
#pragma once  // face

#include <cstdint>
#include <memory>
#include <type_traits>

namespace sluice {

// A range of items: [begin, end).
struct Share {
  int64_t begin;
  int64_t end;
};
// Worker `worker`'s range when n items are divided among n_workers in the workers' order.
inline Share share(int64_t n, int worker, int n_workers) {
  return {n * worker / n_workers, n * (worker + 1) / n_workers};
}

class Pool {
 public:
  // Starts n_threads - 1 threads, or fewer if the system allows no more: see size(). n_threads is
  // clamped to 1..kMaxThreads.
  explicit Pool(int n_threads);
  ~Pool();  // joins the workers; no run() may be in progress
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  static constexpr int kMaxThreads = 64;
  static constexpr size_t kJobBytes = 64;

  int size() const;  // workers: the threads that were started, and the caller

  // Sets how many workers take part in later jobs, 1 to size(); the others sleep. At first all do.
  void limit(int n_workers);

  // Calls job(0) on this thread and job(worker) on every other worker that wakes in time. Returns
  // when job(0) does; by then all phases of the job are done. A late worker still calls the job,
  // perhaps after run() has returned, and finds no part left to do. So the job is copied, and
  // outside of parallel_for's bodies it may only read what stays unchanged as long as the pool
  // lives. Not reentrant.
  template <typename Job>
  void run(const Job& job) {
    static_assert(std::is_trivially_copyable_v<Job> && sizeof(Job) <= kJobBytes);
    start([](const void* bytes, int worker) { (*static_cast<const Job*>(bytes))(worker); }, &job,
          sizeof(Job));
  }

  // One phase of a job. Every worker of the job makes the same calls, in the same order. Calls
  // body(Share) for parts of [0, n) until none is left. Returns when all parts are done, whichever
  // worker did them; their writes are then visible. A worker begins with its share() of n, then
  // takes parts of the other workers' shares.
  template <typename Body>
  void parallel_for(int worker, int64_t n, const Body& body) {
    if (n <= 0) return;
    if (size() == 1) {
      body(Share{0, n});
      return;
    }
    if (!in_time(worker)) return;
    int64_t done = 0;
    for (Share part{}; take(worker, n, part); done += part.end - part.begin) body(part);
    finish(worker, n, done);
  }

  // A phase that worker 0 does alone, while the others wait. Otherwise as parallel_for().
  template <typename Body>
  void only_first(int worker, const Body& body) {
    if (size() == 1) {
      body();
      return;
    }
    if (!in_time(worker)) return;
    if (worker == 0) body();
    finish(worker, 1, worker == 0 ? 1 : 0);
  }

 private:
  void start(void (*call)(const void* job, int worker), const void* job, size_t bytes);
  bool in_time(int worker);
  bool take(int worker, int64_t n, Share& part);
  void finish(int worker, int64_t n, int64_t done);
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sluice
