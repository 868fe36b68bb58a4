/*
 * Ferry for programs in C and in every language that can call C.
 *
 * A program opens a provider, submits notifications as records, and reads one outcome for each. There are no callbacks:
 * ferry_fd() gives a descriptor for the program's own event loop.
 *
 * Every function may be called on any thread, also while another thread closes the handle. No number or text makes the
 * library trap; memory must be as large as the caller says. It keeps no pointer of the caller after a call has returned,
 * and the texts that it returns are static. Do not cancel a thread (pthread_cancel) inside a call.
 *
 * Functions return a number that is not negative, or an error, FERRY_E...: ferry_error_text() explains it.
 */
#ifndef FERRY_H
#define FERRY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A provider. Never 0, and never used twice in a process. */
typedef uint64_t ferry_t;

/* ---- Errors ---- */

#define FERRY_EHANDLE (-1)  /* no such handle, or it was freed */
#define FERRY_EINVAL (-2)   /* an argument, or the framing of the records, is wrong */
#define FERRY_EINTR (-3)    /* a signal came */
#define FERRY_EFORKED (-4)  /* the handle belongs to the parent process: open one here */
#define FERRY_ECLOSED (-5)  /* the handle was closed */
#define FERRY_EOPTIONS (-6) /* the options are wrong: see the message */
#define FERRY_ESYSTEM (-7)  /* the system has no descriptor, thread or memory left */
#define FERRY_ETIME (-8)    /* nothing came in time: call again */
#define FERRY_EPEER (-9)    /* the feedback list could not be read to its end: "lastError" of ferry_report() says why */

/* ---- Notifications ---- */

/*
 * One record, little endian, unaligned:
 *
 *   u32 length          of the whole record, these 4 bytes included
 *   u64 tag             comes back with the outcome
 *   u32 expiration      UNIX seconds; used with FERRY_RECORD_EXPIRATION
 *   u8  flags           FERRY_RECORD_...
 *   u8  priority        1, 5 or 10; 0: without a priority
 *   u8  push type       FERRY_PUSH_...; 0: without a push type
 *   u8  token length    1 to 100
 *   u16 payload length
 *   u8  topic length    0: without a topic
 *   u8  collapse-id length, 0: without a collapse-id
 *   device token, payload (a JSON object), topic, collapse-id, apns-id (16 bytes, with FERRY_RECORD_APNS_ID)
 */
#define FERRY_RECORD_HEADER 24

#define FERRY_RECORD_EXPIRATION 1
#define FERRY_RECORD_APNS_ID 2

#define FERRY_PUSH_ALERT 1
#define FERRY_PUSH_BACKGROUND 2
#define FERRY_PUSH_LOCATION 3
#define FERRY_PUSH_VOIP 4
#define FERRY_PUSH_COMPLICATION 5
#define FERRY_PUSH_FILE_PROVIDER 6
#define FERRY_PUSH_MDM 7
#define FERRY_PUSH_LIVE_ACTIVITY 8
#define FERRY_PUSH_PUSH_TO_TALK 9
#define FERRY_PUSH_WIDGETS 10
#define FERRY_PUSH_CONTROLS 11

/* ---- Outcomes ---- */

/* The outcome of one notification: 40 bytes. A later version may append to it. */
typedef struct ferry_outcome {
    uint64_t tag;
    uint8_t outcome;       /* FERRY_ACCEPTED ... */
    uint8_t detail;        /* how or why; each outcome below names its numbers */
    uint16_t status;       /* of HTTP/2, or of the binary protocol; 0: no status */
    uint16_t reason;       /* for ferry_reason_text(); 0: no reason */
    uint8_t legacy;        /* the status that an old client gets from its gateway, or from Ferry's; 0: no status */
    uint8_t flags;         /* FERRY_OUTCOME_... */
    int64_t timestamp;     /* when the device was gone, in milliseconds of UNIX time; 0: not known */
    uint8_t apns_id[16];   /* with FERRY_OUTCOME_APNS_ID */
} ferry_outcome;

#define FERRY_ACCEPTED 1    /* detail: FERRY_CONFIRMED or FERRY_PRESUMED */
#define FERRY_REJECTED 2    /* detail: FERRY_ORIGIN_... */
#define FERRY_EXPIRED 3     /* before it was written */
#define FERRY_UNDELIVERED 4 /* certainly not delivered; detail: FERRY_CAUSE_... */
#define FERRY_UNCERTAIN 5   /* written, and nothing shows whether it arrived; detail: FERRY_CAUSE_... */

#define FERRY_CONFIRMED 1 /* the peer proved it */
#define FERRY_PRESUMED 2  /* the peer was silent for long enough */

#define FERRY_ORIGIN_GATEWAY 1
#define FERRY_ORIGIN_APNS 2
#define FERRY_ORIGIN_FERRY 3
#define FERRY_ORIGIN_INFERRED 4

#define FERRY_CAUSE_SHUT_DOWN 1
#define FERRY_CAUSE_CANCELLED 2
#define FERRY_CAUSE_EVICTED 3
#define FERRY_CAUSE_DISCARDED 4
#define FERRY_CAUSE_CREDENTIALS 5
#define FERRY_CAUSE_NO_CONNECTION 6
#define FERRY_CAUSE_RELEASED 7
#define FERRY_CAUSE_DEADLINE 8
#define FERRY_CAUSE_POSITION_UNKNOWN 9
#define FERRY_CAUSE_PEER_CLOSES 10
#define FERRY_CAUSE_NOT_REPEATED 11
#define FERRY_CAUSE_NO_ANSWER 12
#define FERRY_CAUSE_RESET 13
#define FERRY_CAUSE_OTHER 255 /* of a later version */

#define FERRY_OUTCOME_APNS_ID 1

/* The numbers of a handle: 88 bytes. A later version may append to it. */
typedef struct ferry_numbers {
    uint64_t taken;       /* notifications that ferry_submit() took */
    uint64_t unsettled;   /* taken notifications without an outcome */
    uint64_t unread;      /* outcomes that ferry_read() would return */
    uint64_t confirmed;
    uint64_t presumed;
    uint64_t rejected;
    uint64_t expired;
    uint64_t undelivered;
    uint64_t uncertain;
    uint64_t contradicted; /* outcomes that turned out wrong */
    uint64_t resent;       /* copies beyond the first */
} ferry_numbers;

/* ---- The bits of ferry_wait(), and how long each is set ---- */

#define FERRY_READY_OUTCOMES 1 /* until ferry_read() has returned all outcomes */
#define FERRY_READY_EVENT 2    /* until ferry_read_event() has returned all events */
#define FERRY_READY_ROOM 4     /* after ferry_submit() took less than it got: until the next ferry_submit() */
/* All have their outcomes: until ferry_submit(), or until ferry_wait() has told it and ferry_read() returns 0. */
#define FERRY_READY_SETTLED 8

/* ---- Functions ---- */

/* The version of the library, such as "0.2.0". */
const char *ferry_version(void);

/* A sentence about an error. */
const char *ferry_error_text(int64_t code);

/* Apple's word for a reason, such as "BadDeviceToken"; "" for an unknown number. */
const char *ferry_reason_text(uint32_t reason);

/*
 * Opens a provider. `json` is one object with the options; Docs/begin/c.md lists them. No connection is made until there
 * is something to send. Returns a ferry_t, or an error. Then `message`, if `size` is not 0, is a sentence that ends with 0.
 */
int64_t ferry_open(const char *json, size_t length, char *message, size_t size);

/*
 * Takes records from the front, as many as there is room for; never waits. Returns their number, 0 if there is no room
 * now, and in `used` (unless NULL) their length. If the framing is wrong anywhere, no record is taken; if there is no room,
 * the framing is not checked. A record that no server would take is taken here, and its outcome is FERRY_REJECTED.
 */
int64_t ferry_submit(ferry_t handle, const uint8_t *records, size_t length, size_t *used);

/*
 * Submits one record to many devices. The token of `record` has the length of all `count` tokens, which follow each other
 * in `tokens`; their tags are first_tag, first_tag + 1 and so on. Returns the number of taken notifications.
 */
int64_t ferry_submit_to(ferry_t handle, const uint8_t *record, size_t length, const uint8_t *tokens, size_t token_length,
                        size_t count, uint64_t first_tag);

/* Copies outcomes, at most `capacity`. `size_of_one` is sizeof(ferry_outcome), at most 4096. Returns their number. */
int64_t ferry_read(ferry_t handle, void *outcomes, size_t size_of_one, size_t capacity);

/*
 * Reads a run: the first outcome, and those after it that differ from it in tag and apns_id alone; at most `capacity`. Copies
 * the first to `outcome`, whose size is `size_of_one`, and the tags of all to `tags`. Returns their number.
 * Most outcomes are alike, and some languages read an array of numbers faster than members of structures.
 */
int64_t ferry_read_run(ferry_t handle, void *outcome, size_t size_of_one, uint64_t *tags, size_t capacity);

/*
 * Copies an outcome in words, as a JSON object: the members of a line of `ferry push --events` ("outcome", "proof", "reason",
 * "status", "timestamp", "origin", "apnsId"), and a "sentence" with the cause and the cure. Call it soon after the outcome
 * was read: of a notification that was not delivered, or may not have been, the sentence is about the handle's present
 * trouble. `size_of_one` is the size of `outcome`. Returns the length; above `size`: nothing is copied.
 */
int64_t ferry_outcome_json(ferry_t handle, const void *outcome, size_t size_of_one, char *json, size_t size);

/*
 * Copies the next event as a JSON object, without a 0 at the end. Returns its length, 0 without an event. If the length
 * is above `size`, nothing is copied and the event stays.
 */
int64_t ferry_read_event(ferry_t handle, char *json, size_t size);

/*
 * A descriptor that is readable while ferry_wait(handle, 0) is not 0. Only poll it: do not read, write or close it. It is
 * closed with ferry_free().
 */
int64_t ferry_fd(ferry_t handle);

/*
 * Waits up to `ms` milliseconds; below 0: without a limit. Returns FERRY_READY_... bits, which it does not clear; 0 after
 * the time; FERRY_EINTR when a signal came on this thread.
 */
int64_t ferry_wait(ferry_t handle, int64_t ms);

/*
 * Waits up to `ms` milliseconds until each notification that was taken before the call was written to the network once, or
 * has its outcome. With the option "wait" it waits until all notifications of the handle have their outcomes. Returns 0
 * then; 1 after the time; FERRY_EINTR when a signal came on this thread. It is for a library whose calls returned after a
 * write to a socket.
 */
int64_t ferry_flush(ferry_t handle, int64_t ms);

/* Waits up to `ms` milliseconds until all notifications have their outcomes. Returns how many still wait for one. */
int64_t ferry_drain(ferry_t handle, int64_t ms);

/* Copies the numbers of the handle. `size` is sizeof(ferry_numbers). Returns 0. Clears nothing. */
int64_t ferry_counts(ferry_t handle, void *numbers, size_t size);

/* Changes an option that may change: {"share": 10}. Returns 0, or an error and a sentence, as ferry_open(). */
int64_t ferry_set(ferry_t handle, const char *json, size_t length, char *message, size_t size);

/* Copies a report as a JSON object, without a 0 at the end. Returns its length; above `size`: nothing is copied. */
int64_t ferry_report(ferry_t handle, char *json, size_t size);

/*
 * Takes no more notifications, sends those that were taken for up to `ms` milliseconds, gives each its outcome, and closes
 * the connections. Outcomes stay readable. Returns 0.
 */
int64_t ferry_close(ferry_t handle, int64_t ms);

/*
 * Frees the handle, and never waits. A handle that was not closed ends as if ferry_close() had 0 milliseconds, or with the
 * option "atExit" as many seconds as that; nobody can read its outcomes then. Returns 0.
 */
int64_t ferry_free(ferry_t handle);

/* ---- Devices that are gone ---- */

/*
 * Opens a feedback list, with the options of ferry_open(). With "feedback" the list is that file; with the host of a service of
 * the binary protocol it is read there; with both, one after the other. Returns a ferry_t for ferry_feedback_read(),
 * ferry_report() and ferry_free(), or an error and a sentence, as ferry_open().
 */
int64_t ferry_feedback_open(const char *json, size_t length, char *message, size_t size);

/*
 * Copies tuples as APNs framed them, big endian: u32 UNIX time, u16 length of the token, token. `size` is at least
 * FERRY_FEEDBACK_TUPLE. Waits up to `ms` milliseconds for the first; below 0: without a limit. Returns their length in bytes,
 * whole tuples only; 0 at the end of the list, which is then removed; FERRY_ETIME, FERRY_EINTR or FERRY_EPEER.
 */
int64_t ferry_feedback_read(ferry_t handle, uint8_t *tuples, size_t size, int64_t ms);

/* The longest tuple: 6 bytes and a token. */
#define FERRY_FEEDBACK_TUPLE 106

#ifdef __cplusplus
}
#endif

#endif
