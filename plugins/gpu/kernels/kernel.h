/* kernel.h — what every kernel source includes behind its lists BUFFERS and SHARED: the prelude of the language that is being
 * compiled, the parameters, and what all kernels share. A build that embeds sources as text may put the files here in its stead. */
#ifndef KERNEL_H
#define KERNEL_H
#if defined(KERNEL_OPENCL)
#include "prelude_opencl.h"
#elif defined(KERNEL_GLSL)
#include "prelude_glsl.h"
#elif defined(KERNEL_CUDA)
#include "prelude_cuda.h"
#else
#include "prelude_emulator.h"
#endif
#include "kernel_params.h"
#include "common.kernel"
#ifdef KERNEL_DECLARATIONS
KERNEL_DECLARATIONS
#endif
#endif
