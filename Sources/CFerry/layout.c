#include "ferry.h"

/* Programs that were compiled with an older header rely on these. */
_Static_assert(sizeof(ferry_outcome) == 40, "ferry_outcome has 40 bytes");
_Static_assert(offsetof(ferry_outcome, outcome) == 8, "outcome is at 8");
_Static_assert(offsetof(ferry_outcome, detail) == 9, "detail is at 9");
_Static_assert(offsetof(ferry_outcome, status) == 10, "status is at 10");
_Static_assert(offsetof(ferry_outcome, reason) == 12, "reason is at 12");
_Static_assert(offsetof(ferry_outcome, legacy) == 14, "legacy is at 14");
_Static_assert(offsetof(ferry_outcome, flags) == 15, "flags is at 15");
_Static_assert(offsetof(ferry_outcome, timestamp) == 16, "timestamp is at 16");
_Static_assert(offsetof(ferry_outcome, apns_id) == 24, "apns_id is at 24");
_Static_assert(sizeof(ferry_numbers) == 88, "ferry_numbers has 88 bytes");
