/* raw_tensors.h — tensors of a container that was made of Safetensors, under the names that the decoder asks for.
 *
 * Such a container keeps names and bytes of its source. Three things differ from what a GGUF holds, and each is settled in
 * one place:
 *
 *     names            here: each tensor is found by the GGUF name that it would have
 *     RoPE factors     here: GGUF has them as tensors, the companion volume as arrays "quoin.tensor.NAME"
 *     Q and K rows     decoder.c: halves of a head are turned together, also in architectures whose GGUF has them adjacent
 *     Gemma's norms    decoder.c: stored less one, see arch.h
 *
 * Threading: one thread, during model_open.
 */
#ifndef HOST_RAW_TENSORS_H
#define HOST_RAW_TENSORS_H
#include "model/model.h"

#define RAW_NAME_SIZE 96

/* The GGUF name of a tensor that Hugging Face's library calls `name`; a GGUF name stands for itself. False: there is
 * none. `has_post_norms` as in arch_traits: there the norm behind the attention has another meaning. */
bool raw_name_to_gguf(fmt_str name, bool has_post_norms, char out[RAW_NAME_SIZE]);

/* True for a name of the text model's layers or output that has no GGUF name: leaving it out would change the result. */
bool raw_is_of_decoder(fmt_str name);

/* Gives m->tensors their hashes by GGUF name, adds those that the facts hold as arrays, and sorts again. Call it once the
 * architecture is known. QN_BAD_FILE: two tensors would have one name. */
qn_status raw_tensors_prepare(model *m, error_context *err);

#endif
