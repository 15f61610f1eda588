// The headers that both NEON tables include, outside of their unnamed namespaces.
#pragma once

#include <arm_neon.h>
#include <string.h>
#if defined(__APPLE__)
#include <sys/sysctl.h>
#else
#include <sys/auxv.h>
#endif

#include "kernels/kernels.h"
