/* identity.h — the words of the statements about who acts. They are hashed as they stand here, as governance volumes have it.
 *
 * Threading: constants.
 */
#ifndef HOST_IDENTITY_H
#define HOST_IDENTITY_H

#define IDENTITY_CONTEXT "urn:qualia:context:agent"
#define IDENTITY_TYPE "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
#define IDENTITY_AGENT_CLASS "http://www.w3.org/ns/prov#SoftwareAgent"
#define IDENTITY_FOR_WHOM "http://www.w3.org/ns/prov#actedOnBehalfOf"
#define IDENTITY_NOBODY "urn:quoin:anonymous"

#endif
