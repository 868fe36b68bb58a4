/* libferry for Node: the functions of ferry.h. The first argument of each is the JavaScript object that has the handle.
 *
 * index.js checks the arguments, and makes objects of the numbers. Numbers below 0 are the library's errors.
 *
 * The event loop of the thread watches the descriptor of a handle. While the handle keeps the loop alive, its object
 * cannot be collected. An object that is collected gives its handle back.
 */
#define _GNU_SOURCE
#define NAPI_VERSION 8
#include <dlfcn.h>
#include <node_api.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <uv.h>

#include "numbers.h"

#ifndef MFD_CLOEXEC
#define MFD_CLOEXEC 1U
#endif

#ifndef __GLIBC__
#error "ferry needs a system with glibc. Systems with musl, such as Alpine, are not served."
#endif

/* ---- The library ---- */

/* What ferry.h declares. There is no header to build against: the library is looked for when the module is loaded. */
static struct {
    const char *(*version)(void);
    const char *(*error_text)(int64_t);
    const char *(*reason_text)(uint32_t);
    int64_t (*open)(const char *, size_t, char *, size_t);
    int64_t (*feedback_open)(const char *, size_t, char *, size_t);
    int64_t (*feedback_read)(uint64_t, uint8_t *, size_t, int64_t);
    int64_t (*submit)(uint64_t, const uint8_t *, size_t, size_t *);
    int64_t (*submit_to)(uint64_t, const uint8_t *, size_t, const uint8_t *, size_t, size_t, uint64_t);
    int64_t (*read)(uint64_t, void *, size_t, size_t);
    int64_t (*read_run)(uint64_t, void *, size_t, uint64_t *, size_t);
    int64_t (*outcome_json)(uint64_t, const void *, size_t, char *, size_t);
    int64_t (*read_event)(uint64_t, char *, size_t);
    int64_t (*fd)(uint64_t);
    int64_t (*wait)(uint64_t, int64_t);
    int64_t (*flush)(uint64_t, int64_t);
    int64_t (*drain)(uint64_t, int64_t);
    int64_t (*counts)(uint64_t, void *, size_t);
    int64_t (*set)(uint64_t, const char *, size_t, char *, size_t);
    int64_t (*report)(uint64_t, char *, size_t);
    int64_t (*close)(uint64_t, int64_t);
    int64_t (*free)(uint64_t);
} ferry;

static const struct {
    const char *name;
    void *place;
} symbols[] = {
    {"ferry_version", &ferry.version},
    {"ferry_error_text", &ferry.error_text},
    {"ferry_reason_text", &ferry.reason_text},
    {"ferry_open", &ferry.open},
    {"ferry_feedback_open", &ferry.feedback_open},
    {"ferry_feedback_read", &ferry.feedback_read},
    {"ferry_submit", &ferry.submit},
    {"ferry_submit_to", &ferry.submit_to},
    {"ferry_read", &ferry.read},
    {"ferry_read_run", &ferry.read_run},
    {"ferry_outcome_json", &ferry.outcome_json},
    {"ferry_read_event", &ferry.read_event},
    {"ferry_fd", &ferry.fd},
    {"ferry_wait", &ferry.wait},
    {"ferry_flush", &ferry.flush},
    {"ferry_drain", &ferry.drain},
    {"ferry_counts", &ferry.counts},
    {"ferry_set", &ferry.set},
    {"ferry_report", &ferry.report},
    {"ferry_close", &ferry.close},
    {"ferry_free", &ferry.free},
};

extern char **environ;

/* Node's executable has a copy of `environ`. With RTLD_DEEPBIND the library sees that of libc.so.6 instead, which is
 * NULL, and the Swift runtime reads it without a check. It gets a list of its own: setenv() may move Node's. */
static void give_libc_the_environment(void) {
    void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    char ***own = libc ? dlsym(libc, "environ") : NULL;
    size_t count = 0;
    char **copy;
    if (!own || *own || !environ) return;
    while (environ[count]) count++;
    copy = calloc(count + 1, sizeof *copy);
    if (!copy) return;
    memcpy(copy, environ, count * sizeof *copy);
    *own = copy;
}

/* Loads the library, once for all threads. Returns NULL, or why it cannot be used. */
static const char *load(const char *path) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static int is_loaded;
    static char message[512];
    const char *fault = NULL;
    size_t i;
    pthread_mutex_lock(&lock);
    if (!is_loaded) {
        void *library;
        give_libc_the_environment();
        /* Node exports its own OpenSSL and nghttp2. Without RTLD_DEEPBIND the library would call them. */
        library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
        if (!library) {
            snprintf(message, sizeof message, "%s", dlerror());
            fault = message;
        }
        for (i = 0; library && i < sizeof symbols / sizeof *symbols; i++) {
            void *found = dlsym(library, symbols[i].name);
            if (!found && !fault) {
                snprintf(message, sizeof message, "%s has no %s: it is of an older version", path, symbols[i].name);
                fault = message;
            }
            memcpy(symbols[i].place, &found, sizeof found);
        }
        is_loaded = !fault;
    }
    pthread_mutex_unlock(&lock);
    return fault;
}

/* ---- Handles ---- */

enum { ignore, watch, hold }; /* the event loop: not watched, watched, watched and kept alive */

typedef struct {
    uint64_t ferry; /* 0: given back */
    napi_env env;
    napi_ref object; /* weak, unless the loop is held */
    napi_async_context context;
    napi_async_cleanup_hook_handle hook;
    uv_poll_t poll;
    int has_poll;
    int mode;
    int references; /* of the object, and of the event loop */
} handle;

static void release(handle *h) {
    if (--h->references == 0) free(h);
}

static void set_mode(handle *h, int mode) {
    if (mode == hold && h->mode != hold) napi_reference_ref(h->env, h->object, NULL);
    if (mode != hold && h->mode == hold) napi_reference_unref(h->env, h->object, NULL);
    h->mode = mode;
}

/* Something is ready: calls the object's `_ready`, which must watch again. If the loop watched on, a descriptor that
 * stays readable would take all its time. */
static void poll_ready(uv_poll_t *poll, int status, int events) {
    handle *h = poll->data;
    napi_env env = h->env;
    napi_handle_scope scope;
    napi_value object, function, result, error;
    (void)status;
    (void)events;
    uv_poll_stop(poll);
    uv_unref((uv_handle_t *)poll);
    napi_open_handle_scope(env, &scope);
    napi_get_reference_value(env, h->object, &object);
    set_mode(h, ignore);
    if (object && napi_get_named_property(env, object, "_ready", &function) == napi_ok
        && napi_make_callback(env, h->context, object, function, 0, NULL, &result) != napi_ok) {
        bool is_pending = false;
        napi_is_exception_pending(env, &is_pending);
        if (is_pending && napi_get_and_clear_last_exception(env, &error) == napi_ok) napi_fatal_exception(env, error);
    }
    napi_close_handle_scope(env, scope);
}

static void poll_closed(uv_handle_t *poll) {
    handle *h = poll->data;
    napi_remove_async_cleanup_hook(h->hook);
    release(h);
}

static void close_poll(handle *h) {
    if (!h->has_poll) return;
    h->has_poll = 0;
    set_mode(h, ignore);
    uv_close((uv_handle_t *)&h->poll, poll_closed);
}

/* Gives a handle back that nobody can use any more. With the option "atExit" the library goes on sending. */
static void give_back(handle *h) {
    if (h->ferry) ferry.free(h->ferry);
    h->ferry = 0;
}

/* The object was collected, or its thread has ended. */
static void finalize(napi_env env, void *data, void *hint) {
    handle *h = data;
    (void)hint;
    close_poll(h);
    give_back(h);
    napi_delete_reference(env, h->object);
    napi_async_destroy(env, h->context);
    release(h);
}

/* The thread of the event loop ends. The poll must be closed before the loop is. */
static void thread_ends(napi_async_cleanup_hook_handle hook, void *data) {
    handle *h = data;
    (void)hook;
    close_poll(h);
    give_back(h);
}

/* ---- Arguments ---- */

static napi_value throw(napi_env env, const char *code, const char *message) {
    napi_throw_error(env, code, message);
    return NULL;
}

static napi_value number(napi_env env, int64_t value) {
    napi_value result = NULL;
    napi_create_int64(env, value, &result);
    return result;
}

/* Tells our objects from those of other addons. */
static const napi_type_tag tag = {0x6665727279206861, 0x6e646c6520303031};

/* Gets the arguments, and the handle of the first one: NULL if it has none. */
static handle *arguments(napi_env env, napi_callback_info info, size_t count, napi_value *values) {
    void *data = NULL;
    bool is_ours = false;
    napi_get_cb_info(env, info, &count, values, NULL, NULL);
    napi_check_object_type_tag(env, values[0], &tag, &is_ours);
    return is_ours && napi_unwrap(env, values[0], &data) == napi_ok ? data : NULL;
}

static uint64_t number_of(handle *h) { return h ? h->ferry : 0; }

static int64_t integer(napi_env env, napi_value value) {
    int64_t result = 0;
    napi_get_value_int64(env, value, &result);
    return result;
}

/* The memory of a Buffer, and in `size` its length. */
static uint8_t *bytes(napi_env env, napi_value value, size_t *size) {
    void *data = NULL;
    *size = 0;
    if (napi_get_buffer_info(env, value, &data, size) != napi_ok) *size = 0;
    return *size == 0 ? NULL : data;
}

/* ---- Functions ---- */

/* load(path): why the library cannot be used, or undefined */
static napi_value js_load(napi_env env, napi_callback_info info) {
    napi_value path, result = NULL;
    char text[4096] = "";
    const char *fault;
    size_t count = 1;
    napi_get_cb_info(env, info, &count, &path, NULL, NULL);
    napi_get_value_string_utf8(env, path, text, sizeof text, NULL);
    fault = load(text);
    if (fault) napi_create_string_utf8(env, fault, NAPI_AUTO_LENGTH, &result);
    return result;
}

static napi_value js_version(napi_env env, napi_callback_info info) {
    napi_value result = NULL;
    (void)info;
    napi_create_string_utf8(env, ferry.version(), NAPI_AUTO_LENGTH, &result);
    return result;
}

/* text(number, isReason) */
static napi_value js_text(napi_env env, napi_callback_info info) {
    napi_value values[2], result = NULL;
    bool is_reason = false;
    arguments(env, info, 2, values);
    napi_get_value_bool(env, values[1], &is_reason);
    napi_create_string_utf8(env,
        is_reason ? ferry.reason_text((uint32_t)integer(env, values[0])) : ferry.error_text(integer(env, values[0])),
        NAPI_AUTO_LENGTH, &result);
    return result;
}

/* memory(bytes): a descriptor of a file in memory. The library takes credentials from files only. */
static napi_value js_memory(napi_env env, napi_callback_info info) {
    napi_value values[1];
    size_t size, done = 0;
    uint8_t *data;
    int file = (int)syscall(SYS_memfd_create, "ferry", MFD_CLOEXEC); /* glibc has it since 2.27 */
    arguments(env, info, 1, values);
    data = bytes(env, values[0], &size);
    while (file >= 0 && done < size) {
        ssize_t written = write(file, data + done, size - done);
        if (written <= 0) {
            close(file);
            file = -1;
        } else done += (size_t)written;
    }
    return number(env, file);
}

/* open(object, json, isFeedback) */
static napi_value js_open(napi_env env, napi_callback_info info) {
    napi_value values[3], name;
    size_t size;
    uint8_t *json;
    bool is_feedback = false;
    char message[1024] = "";
    int64_t opened;
    uv_loop_t *loop;
    handle *h = arguments(env, info, 3, values);
    if (h) return throw(env, "FERRY_EINVAL", "The object has a handle already.");
    json = bytes(env, values[1], &size);
    napi_get_value_bool(env, values[2], &is_feedback);
    opened = (is_feedback ? ferry.feedback_open : ferry.open)((const char *)json, size, message, sizeof message);
    if (opened < 0) {
        const char *code = opened == FERRY_EOPTIONS ? "FERRY_EOPTIONS" : "FERRY_ESYSTEM";
        return throw(env, code, *message ? message : ferry.error_text(opened));
    }
    h = calloc(1, sizeof *h);
    napi_get_uv_event_loop(env, &loop);
    if (!h || (!is_feedback && uv_poll_init(loop, &h->poll, (int)ferry.fd((uint64_t)opened)) != 0)) {
        free(h);
        ferry.free((uint64_t)opened);
        return throw(env, "FERRY_ESYSTEM", "The event loop has no memory left.");
    }
    h->env = env;
    h->ferry = (uint64_t)opened;
    h->references = 1;
    napi_create_string_utf8(env, "ferry", NAPI_AUTO_LENGTH, &name);
    napi_async_init(env, NULL, name, &h->context);
    napi_create_reference(env, values[0], 0, &h->object);
    napi_wrap(env, values[0], h, finalize, NULL, NULL);
    napi_type_tag_object(env, values[0], &tag);
    if (is_feedback) return NULL;
    h->poll.data = h;
    uv_unref((uv_handle_t *)&h->poll);
    h->has_poll = 1;
    h->references++;
    napi_add_async_cleanup_hook(env, thread_ends, h, &h->hook);
    return NULL;
}

/* watch(object, mode): has the event loop call `_ready` once, when something is ready. */
static napi_value js_watch(napi_env env, napi_callback_info info) {
    napi_value values[2];
    handle *h = arguments(env, info, 2, values);
    int mode = (int)integer(env, values[1]);
    if (!h || !h->has_poll || mode == h->mode) return NULL;
    if (mode == ignore) uv_poll_stop(&h->poll);
    else if (h->mode == ignore) uv_poll_start(&h->poll, UV_READABLE, poll_ready);
    if (mode == hold) uv_ref((uv_handle_t *)&h->poll);
    else uv_unref((uv_handle_t *)&h->poll);
    set_mode(h, mode);
    return NULL;
}

/* submit(object, records, their length): how many were taken */
static napi_value js_submit(napi_env env, napi_callback_info info) {
    napi_value values[3];
    handle *h = arguments(env, info, 3, values);
    size_t size;
    uint8_t *records = bytes(env, values[1], &size);
    int64_t length = integer(env, values[2]);
    if (length < 0 || (uint64_t)length > size) return number(env, FERRY_EINVAL);
    return number(env, ferry.submit(number_of(h), records, (size_t)length, NULL));
}

/* submitTo(object, bytes, length of the record, length of a token, count, first tag): how many were taken. The tokens
 * follow the record. */
static napi_value js_submit_to(napi_env env, napi_callback_info info) {
    napi_value values[6];
    handle *h = arguments(env, info, 6, values);
    size_t size;
    uint8_t *record = bytes(env, values[1], &size);
    int64_t length = integer(env, values[2]), one = integer(env, values[3]), count = integer(env, values[4]);
    if (length < 0 || (uint64_t)length > size || one <= 0 || count < 0 || count > ((int64_t)size - length) / one) {
        return number(env, FERRY_EINVAL);
    }
    return number(env, ferry.submit_to(number_of(h), record, (size_t)length, record + length, (size_t)one,
        (size_t)count, (uint64_t)integer(env, values[5])));
}

/* read(object, buffer, size of one): how many outcomes were copied */
static napi_value js_read(napi_env env, napi_callback_info info) {
    napi_value values[3];
    handle *h = arguments(env, info, 3, values);
    size_t size;
    uint8_t *outcomes = bytes(env, values[1], &size);
    int64_t one = integer(env, values[2]);
    return number(env, one <= 0 ? FERRY_EINVAL : ferry.read(number_of(h), outcomes, (size_t)one, size / (size_t)one));
}

/* readRun(object, buffer, size of one, capacity): how many tags were copied behind one outcome */
static napi_value js_read_run(napi_env env, napi_callback_info info) {
    napi_value values[4];
    handle *h = arguments(env, info, 4, values);
    size_t size;
    uint8_t *outcome = bytes(env, values[1], &size);
    int64_t one = integer(env, values[2]), capacity = integer(env, values[3]);
    if (one < 0 || one % 8 || capacity < 0 || (size_t)(one + 8 * capacity) > size) return number(env, FERRY_EINVAL);
    return number(env, ferry.read_run(number_of(h), outcome, (size_t)one, (uint64_t *)(outcome + one), (size_t)capacity));
}

/* outcomeJson(object, outcome, buffer): the length of the text, copied if it fits */
static napi_value js_outcome_json(napi_env env, napi_callback_info info) {
    napi_value values[3];
    handle *h = arguments(env, info, 3, values);
    size_t size, room;
    uint8_t *outcome = bytes(env, values[1], &size), *json = bytes(env, values[2], &room);
    return number(env, ferry.outcome_json(number_of(h), outcome, size, (char *)json, room));
}

/* readEvent(object, buffer), report(object, buffer): the length of the text, copied if it fits */
static napi_value js_read_event(napi_env env, napi_callback_info info) {
    napi_value values[2];
    handle *h = arguments(env, info, 2, values);
    size_t size;
    uint8_t *json = bytes(env, values[1], &size);
    return number(env, ferry.read_event(number_of(h), (char *)json, size));
}

static napi_value js_report(napi_env env, napi_callback_info info) {
    napi_value values[2];
    handle *h = arguments(env, info, 2, values);
    size_t size;
    uint8_t *json = bytes(env, values[1], &size);
    return number(env, ferry.report(number_of(h), (char *)json, size));
}

/* set(object, json) */
static napi_value js_set(napi_env env, napi_callback_info info) {
    napi_value values[2];
    handle *h = arguments(env, info, 2, values);
    size_t size;
    uint8_t *json = bytes(env, values[1], &size);
    char message[1024] = "";
    int64_t result = ferry.set(number_of(h), (const char *)json, size, message, sizeof message);
    return *message ? throw(env, "FERRY_EOPTIONS", message) : number(env, result);
}

/* counts(object, buffer) */
static napi_value js_counts(napi_env env, napi_callback_info info) {
    napi_value values[2];
    handle *h = arguments(env, info, 2, values);
    size_t size;
    uint8_t *counts = bytes(env, values[1], &size);
    return number(env, ferry.counts(number_of(h), counts, size));
}

/* fd(object) */
static napi_value js_fd(napi_env env, napi_callback_info info) {
    napi_value values[1];
    return number(env, ferry.fd(number_of(arguments(env, info, 1, values))));
}

/* wait(object, ms): blocks the thread of the event loop */
static napi_value js_wait(napi_env env, napi_callback_info info) {
    napi_value values[2];
    handle *h = arguments(env, info, 2, values);
    return number(env, ferry.wait(number_of(h), integer(env, values[1])));
}

/* free(object) */
static napi_value js_free(napi_env env, napi_callback_info info) {
    napi_value values[1];
    handle *h = arguments(env, info, 1, values);
    if (!h) return NULL;
    close_poll(h);
    give_back(h);
    return NULL;
}

/* ---- Calls that wait, on a thread of Node's pool ---- */

enum { call_close, call_drain, call_flush, call_feedback_read };

typedef struct {
    int call;
    uint64_t ferry;
    int64_t ms, result;
    napi_ref object;
    napi_deferred promise;
    napi_async_work work;
    uint8_t tuples[16 * 1024];
} call;

static void run(napi_env env, void *data) {
    call *c = data;
    (void)env;
    switch (c->call) {
    case call_close: c->result = ferry.close(c->ferry, c->ms); break;
    case call_drain: c->result = ferry.drain(c->ferry, c->ms); break;
    case call_flush: c->result = ferry.flush(c->ferry, c->ms); break;
    default: c->result = ferry.feedback_read(c->ferry, c->tuples, sizeof c->tuples, c->ms);
    }
}

static void answer(napi_env env, napi_status status, void *data) {
    call *c = data;
    napi_value result = NULL;
    (void)status;
    if (c->call == call_feedback_read && c->result > 0) {
        napi_create_buffer_copy(env, (size_t)c->result, c->tuples, NULL, &result);
    } else result = number(env, c->result);
    napi_resolve_deferred(env, c->promise, result);
    napi_delete_reference(env, c->object);
    napi_delete_async_work(env, c->work);
    free(c);
}

/* call(object, which, ms): a promise of the result. The tuples of a feedback list come as a Buffer. */
static napi_value js_call(napi_env env, napi_callback_info info) {
    napi_value values[3], name, promise;
    handle *h = arguments(env, info, 3, values);
    call *c = calloc(1, sizeof *c);
    if (!c) return throw(env, "FERRY_ESYSTEM", "There is no memory.");
    c->ferry = number_of(h);
    c->call = (int)integer(env, values[1]);
    c->ms = integer(env, values[2]);
    napi_create_reference(env, values[0], 1, &c->object);
    napi_create_promise(env, &c->promise, &promise);
    napi_create_string_utf8(env, "ferry", NAPI_AUTO_LENGTH, &name);
    napi_create_async_work(env, NULL, name, run, answer, c, &c->work);
    napi_queue_async_work(env, c->work);
    return promise;
}

NAPI_MODULE_INIT() {
    static const struct {
        const char *name;
        napi_callback function;
    } functions[] = {
        {"load", js_load}, {"version", js_version}, {"text", js_text}, {"memory", js_memory}, {"open", js_open},
        {"watch", js_watch}, {"submit", js_submit}, {"submitTo", js_submit_to}, {"read", js_read}, {"readRun", js_read_run},
        {"outcomeJson", js_outcome_json}, {"readEvent", js_read_event}, {"report", js_report}, {"set", js_set}, {"counts", js_counts}, {"fd", js_fd},
        {"wait", js_wait}, {"free", js_free}, {"call", js_call},
    };
    size_t i;
    for (i = 0; i < sizeof functions / sizeof *functions; i++) {
        napi_value function;
        napi_create_function(env, functions[i].name, NAPI_AUTO_LENGTH, functions[i].function, NULL, &function);
        napi_set_named_property(env, exports, functions[i].name, function);
    }
    return exports;
}
