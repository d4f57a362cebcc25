/* prove_words.h — the words of the profile q42.model-provenance.v1: context, predicates, types, and the beginnings of subjects.
 *
 * Each is hashed as it stands here. What is about a thing has that thing's SHA-256 in its subject, so that nobody gives out names.
 *
 *     metadata   bits 0..31 ordinal of a value that is one of several, otherwise 0; bits 56..59 tier (0; generations 1)
 *     object     the hash of a text, an inline integer, boolean or float; of q42m:tensorBlob alone 1001 in bits 60..63 and the offset
 *     64 bits    two integers: ordinal 2k the low 32 bits, 2k + 1 the high ones
 */
#ifndef HOST_PROVE_WORDS_H
#define HOST_PROVE_WORDS_H

#define PROVE_CONTEXT "urn:qualia:context:model-provenance:v1"
#define PROVE_PROFILE "q42.model-provenance.v1" /* with its terminator: what signatures begin with */
#define PROVE_NAMESPACE "urn:qualia:ns:model-provenance:v1#"
#define PROVE_PROV "http://www.w3.org/ns/prov#"

#define PROVE_SOURCE "urn:qualia:source:sha256:"
#define PROVE_P64 "urn:qualia:p64:sha256:"
#define PROVE_TENSOR "urn:qualia:tensor:"
#define PROVE_TRANSCODE "urn:qualia:transcode:sha256:"
#define PROVE_LICENCE "urn:qualia:licence:sha256:"
#define PROVE_CONSENT "urn:qualia:consent:sha256:"
#define PROVE_RUNTIME "urn:qualia:runtime:sha256:"
#define PROVE_KERNEL "urn:qualia:kernel:sha256:"
#define PROVE_CERT "urn:qualia:cert:sha256:"
#define PROVE_ADAPTER "urn:qualia:adapter:sha256:"
#define PROVE_GENERATION "urn:qualia:gen:sha256:"

#define PROVE_DIGEST "sha256:"
#define PROVE_MAC "hmac-sha256:"

#define Q42M_TYPE "q42m:type"
#define Q42M_SHA256 "q42m:sha256"
#define Q42M_DERIVED PROVE_PROV "wasDerivedFrom"
#define Q42M_GENERATED_BY PROVE_PROV "wasGeneratedBy"
#define Q42M_PRIMARY_SOURCE PROVE_PROV "hadPrimarySource"
#define Q42M_ON_BEHALF PROVE_PROV "actedOnBehalfOf"
#define Q42M_STARTED PROVE_PROV "startedAtTime"
#define Q42M_ENDED PROVE_PROV "endedAtTime"

#define PROVE_MAX_TEXT 4096u /* bytes */
#define PROVE_TENSOR_TAG 9u  /* 1001: the object of q42m:tensorBlob */
#define PROVE_TIER_AT 56

#endif
