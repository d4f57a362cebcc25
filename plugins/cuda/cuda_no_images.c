/* cuda_no_images.c — in the place of the images where there is no nvcc: a driver library that knows kernels by name alone
 * (tests/fake_cuda) takes them, a real one refuses them. */
#include "cuda_images.h"

static const unsigned char no_image[] = "no kernels";

const cuda_image cuda_images[] = {{"", no_image}};
const uint32_t cuda_n_images = 1;
const char cuda_built_with[] = "no kernels: nvcc was not found";
