/* datatype.h — whether the text of a literal is one that its datatype allows, and the number that it stands for.
 *
 * Known are integer and the integers with a range, decimal, float, double, boolean, string, dateTime and date of XML Schema. Of any
 * other datatype every text is accepted: this room does not know what it allows.
 *
 * Threading: pure. Memory: none.
 */
#ifndef HOST_RULES_DATATYPE_H
#define HOST_RULES_DATATYPE_H
#include <stdbool.h>

#include <quoin/ntriples.h>

#include "rules/exact_decimal.h"

#define XSD_IRI "http://www.w3.org/2001/XMLSchema#"
#define RDF_IRI "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
#define RDFS_IRI "http://www.w3.org/2000/01/rdf-schema#"

/* `iri` without brackets. [any-thread] [no-alloc] */
bool datatype_allows(fmt_str iri, fmt_str text);

/* The IRI that a literal has, written or not: xsd:string and rdf:langString are not written. [any-thread] [no-alloc] */
fmt_str datatype_of(const ntriples_term *literal);

/* The number of a canonical literal, whose text it borrows; false when it is none. [any-thread] [no-alloc] */
bool datatype_number(fmt_str literal, exact_decimal *out_number);

#endif
