/* nfc.h — is this text surely in NFC?
 *
 * The quick check of Unicode (UAX #15), with "maybe" taken as no: a letter with a separate accent that could be one character is refused,
 * and so is the rare text in NFC that holds such an accent on a letter with which it cannot be joined.
 *
 * Threading: pure.
 */
#ifndef HOST_PROVE_NFC_H
#define HOST_PROVE_NFC_H
#include <stdint.h>

#define NFC_ALL UINT64_MAX

/* Offset of the first byte of a character for which it is not sure, or that is no UTF-8; NFC_ALL when there is none. */
uint64_t nfc_first_unsure(const void *text, uint64_t size);

#endif
