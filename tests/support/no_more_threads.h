// Makes the system start no more threads.
#pragma once

#include <pthread.h>

#include <cstddef>

namespace sluice {

// While it lives, threads get stacks too large for any memory, so no thread can start.
class NoMoreThreads {
 public:
  NoMoreThreads() {
    pthread_attr_t huge;
    pthread_getattr_default_np(&usual_);
    pthread_attr_init(&huge);
    pthread_attr_setstacksize(&huge, size_t{1} << 46);
    pthread_setattr_default_np(&huge);
    pthread_attr_destroy(&huge);
  }
  ~NoMoreThreads() {
    pthread_setattr_default_np(&usual_);
    pthread_attr_destroy(&usual_);
  }
  NoMoreThreads(const NoMoreThreads&) = delete;
  NoMoreThreads& operator=(const NoMoreThreads&) = delete;

 private:
  pthread_attr_t usual_{};
};

}  // namespace sluice
