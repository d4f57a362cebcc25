/* ocl_api.h — the OpenCL library: opened when the plugin starts, called through a table.
 *
 * The library is the ICD loader, which opens the drivers that the system lists in /etc/OpenCL/vendors (or in $OCL_ICD_VENDORS).
 * It stays mapped for good, as the drivers do: they leave threads and handlers behind.
 *
 * Threading: the table is constant once it is open.
 * Memory:    fixed storage.
 * Errors:    UNAVAILABLE with the library's name and the loader's text; TOO_OLD when it lacks a function of OpenCL 1.2.
 */
#ifndef OCL_API_H
#define OCL_API_H
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <CL/cl_ext.h>

#include <quoin/glue.h>

#define OCL_LIBRARY "libOpenCL.so.1"

#define OCL_FUNCTIONS(F) \
    F(GetPlatformIDs) F(GetPlatformInfo) F(GetDeviceIDs) F(GetDeviceInfo) F(CreateContext) F(ReleaseContext) \
    F(CreateCommandQueue) F(ReleaseCommandQueue) F(CreateBuffer) F(ReleaseMemObject) F(EnqueueWriteBuffer) \
    F(EnqueueReadBuffer) F(EnqueueCopyBuffer) F(EnqueueMapBuffer) F(EnqueueUnmapMemObject) F(EnqueueNDRangeKernel) \
    F(CreateProgramWithSource) F(CreateProgramWithBinary) F(BuildProgram) F(GetProgramInfo) F(GetProgramBuildInfo) \
    F(ReleaseProgram) F(CreateKernel) F(SetKernelArg) F(GetKernelWorkGroupInfo) F(ReleaseKernel) F(Flush) F(Finish) \
    F(WaitForEvents) F(GetEventInfo) F(GetEventProfilingInfo) F(ReleaseEvent)

typedef struct ocl_api {
    void *library;
#define OCL_MEMBER(name) __typeof__(&cl##name) name;
    OCL_FUNCTIONS(OCL_MEMBER)
#undef OCL_MEMBER
} ocl_api;

qn_status ocl_api_open(ocl_api *api, qn_error *err);
void ocl_api_close(ocl_api *api);

/* "CL_OUT_OF_RESOURCES"; "an unknown OpenCL error" for what no header has. Static. */
const char *ocl_error_name(cl_int code);

/* What a failed call means: memory, a lost device, or INTERNAL. */
qn_status ocl_error_status(cl_int code);

/* Fills *err with "WHAT: NAME (code)", the native code and the status of the code, which it returns. */
qn_status ocl_fail(qn_error *err, cl_int code, const char *what);

#endif
