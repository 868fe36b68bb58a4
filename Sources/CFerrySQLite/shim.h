#ifndef CFERRY_SQLITE_SHIM_H
#define CFERRY_SQLITE_SHIM_H

#if !__has_include(<sqlite3.h>)
#error "SQLite's headers are missing: install libsqlite3-dev"
#endif

#include <sqlite3.h>

#endif
