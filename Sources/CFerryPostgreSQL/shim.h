#ifndef CFERRY_POSTGRESQL_SHIM_H
#define CFERRY_POSTGRESQL_SHIM_H

#if !__has_include(<libpq-fe.h>)
#error "PostgreSQL's client headers are missing: install libpq-dev"
#endif

#include <libpq-fe.h>

#endif
