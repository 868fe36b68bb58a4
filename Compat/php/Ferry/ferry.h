#define FFI_SCOPE "ferry"
#define FFI_LIB "libferry.so.0"
/* Made by Compat/generate from the header of libferry. Do not change it here. */
typedef uint64_t ferry_t;
typedef struct ferry_outcome {
    uint64_t tag;
    uint8_t outcome;
    uint8_t detail;
    uint16_t status;
    uint16_t reason;
    uint8_t legacy;
    uint8_t flags;
    int64_t timestamp;
    uint8_t apns_id[16];
} ferry_outcome;
typedef struct ferry_numbers {
    uint64_t taken;
    uint64_t unsettled;
    uint64_t unread;
    uint64_t confirmed;
    uint64_t presumed;
    uint64_t rejected;
    uint64_t expired;
    uint64_t undelivered;
    uint64_t uncertain;
    uint64_t contradicted;
    uint64_t resent;
} ferry_numbers;
const char *ferry_version(void);
const char *ferry_error_text(int64_t code);
const char *ferry_reason_text(uint32_t reason);
int64_t ferry_open(const char *json, size_t length, char *message, size_t size);
int64_t ferry_submit(ferry_t handle, const char *records, size_t length, size_t *used);
int64_t ferry_submit_to(ferry_t handle, const char *record, size_t length, const char *tokens, size_t token_length,
                        size_t count, uint64_t first_tag);
int64_t ferry_read(ferry_t handle, void *outcomes, size_t size_of_one, size_t capacity);
int64_t ferry_read_run(ferry_t handle, void *outcome, size_t size_of_one, uint64_t *tags, size_t capacity);
int64_t ferry_outcome_json(ferry_t handle, const void *outcome, size_t size_of_one, char *json, size_t size);
int64_t ferry_read_event(ferry_t handle, char *json, size_t size);
int64_t ferry_fd(ferry_t handle);
int64_t ferry_wait(ferry_t handle, int64_t ms);
int64_t ferry_flush(ferry_t handle, int64_t ms);
int64_t ferry_drain(ferry_t handle, int64_t ms);
int64_t ferry_counts(ferry_t handle, void *numbers, size_t size);
int64_t ferry_set(ferry_t handle, const char *json, size_t length, char *message, size_t size);
int64_t ferry_report(ferry_t handle, char *json, size_t size);
int64_t ferry_close(ferry_t handle, int64_t ms);
int64_t ferry_free(ferry_t handle);
int64_t ferry_feedback_open(const char *json, size_t length, char *message, size_t size);
int64_t ferry_feedback_read(ferry_t handle, uint8_t *tuples, size_t size, int64_t ms);
