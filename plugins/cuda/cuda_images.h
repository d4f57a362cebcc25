/* cuda_images.h — the compiled kernels inside the plugin: one image (PTX and machine code, as nvcc packs them) for each kernel source.
 *
 * cuda_images.c is written by the build: it takes in the files that nvcc made, or, where there is no nvcc, has images of a few letters that
 * only the driver of tests/fake_cuda takes.
 */
#ifndef CUDA_IMAGES_H
#define CUDA_IMAGES_H
#include <stdint.h>

#define CUDA_MOST_IMAGES 64
#define CUDA_MOST_KERNELS 1024

typedef struct cuda_image {
    const char *source;        /* "matmul" */
    const unsigned char *data;
} cuda_image;

extern const cuda_image cuda_images[];
extern const uint32_t cuda_n_images;

/* "nvcc 13.0; PTX 7.5; machine code 8.0, 9.0" */
extern const char cuda_built_with[];

#endif
