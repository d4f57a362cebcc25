/* builtin.h — backends that are linked into the program. */
#ifndef HOST_BUILTIN_H
#define HOST_BUILTIN_H
#include <quoin/abi.h>

/* The scalar reference: always there. Defined in plugins/reference. */
qn_status QN_CALL quoin_reference_query(const qn_query_in *in, qn_query_out *out);

#endif
