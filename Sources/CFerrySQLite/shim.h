#ifndef CFERRY_SQLITE_SHIM_H
#define CFERRY_SQLITE_SHIM_H

#if !__has_include(<sqlite3.h>)
#error "SQLite's headers are missing: install libsqlite3-dev"
#endif

#include <sqlite3.h>

// Swift cannot call a variadic function.
static inline int cferry_sqlite3_keep_log_at_close(sqlite3 *database) {
    return sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}

#endif
