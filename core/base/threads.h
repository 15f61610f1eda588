// The worker threads of one engine. Two implementations of one header: threads_pool.cc
// (pthreads) and threads_serial.cc (wasm without shared memory), chosen by the build.
//
// The caller of run() is worker 0. Nobody waits for a worker that isn't there: whoever is awake
// takes the parts of a phase, and only a part that was begun is waited for. So a worker that
// sleeps, or that the system has put aside for another process, costs its share of the speed and no
// more. Workers spin for a short bounded time and then sleep: an idle engine costs nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

namespace sluice {

// The part of `n` items that worker `worker` of `n_workers` does: [begin, end), contiguous, in
// order.
struct Share {
  int64_t begin;
  int64_t end;
};
inline Share share(int64_t n, int worker, int n_workers) {
  return {n * worker / n_workers, n * (worker + 1) / n_workers};
}

class Pool {
 public:
  // Starts `n_threads - 1` threads (clamped to 1..kMaxThreads), or as many of them as the system
  // allows: size() tells.
  explicit Pool(int n_threads);
  ~Pool();  // joins the workers; no run() may be in progress
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  static constexpr int kMaxThreads = 64;
  static constexpr size_t kJobBytes = 64;

  int size() const;  // the threads that were started, and the caller

  // How many workers take part in the jobs to come, 1 to size(); the others sleep. At first all.
  void limit(int n_workers);

  // Calls job(worker) here as worker 0, and on every other worker that comes in time; returns when
  // this call does, which is when all that the job shares out has been done. A worker that comes
  // late runs through the job, maybe after run() has returned, and finds nothing left to do in it:
  // so the job is copied, and what it does outside of share_out's bodies may only read what lives
  // unchanged as long as the pool. Not reentrant.
  template <typename Job>
  void run(const Job& job) {
    static_assert(std::is_trivially_copyable_v<Job> && sizeof(Job) <= kJobBytes);
    start([](const void* bytes, int worker) { (*static_cast<const Job*>(bytes))(worker); }, &job,
          sizeof(Job));
  }

  // Inside a job, called by every worker with the same n in the same order: a phase. Calls
  // body(Share) for parts of 0..n-1 until none is left, and returns when all of them are done,
  // whoever did them; what they wrote is then visible. Each worker has a contiguous range of its
  // own, the same one for the same n, and takes from others' ranges when that is done.
  template <typename Body>
  void share_out(int worker, int64_t n, const Body& body) {
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

 private:
  void start(void (*call)(const void* job, int worker), const void* job, size_t bytes);
  bool in_time(int worker);
  bool take(int worker, int64_t n, Share& part);
  void finish(int worker, int64_t n, int64_t done);
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sluice
