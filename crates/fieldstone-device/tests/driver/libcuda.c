/* A double of the CUDA driver, for tests: its functions do over host memory what the driver's documentation says.
 *
 * It is no GPU: of PTX it reads the names of kernels, and runs those that it knows by name, `add`. It is stricter than the driver
 * where that shows mistakes:
 * - addresses of devices are those of pages that nobody may touch, so that the host faults on them;
 * - work with pinned or device memory is put off until somebody waits for it, so that whoever does not finds old data;
 * - what is freed twice, is left behind, is gone before its work is done, or is used with no context ends the process with a
 *   message.
 *
 * Environment variables make it fail:
 *   DOUBLE_DEVICES=n            how many devices there are (1)
 *   DOUBLE_INIT=code            what cuInit returns
 *   DOUBLE_MEMORY=bytes         memory of each device
 *   DOUBLE_OUT_OF_MEMORY=n      the n-th allocation from now on has none, counted from 1
 *   DOUBLE_MISALIGNED=n         blocks begin n bytes after a multiple of 4096
 *   DOUBLE_FAULT=n              the n-th piece of work, when it is done, breaks its device
 *   DOUBLE_MAX_PITCH=bytes      how far apart rows may lie that are copied at once
 *   DOUBLE_NO_MANAGED=1         devices have no managed memory
 *   DOUBLE_VERSION=number       version of the driver
 *   DOUBLE_IDLE=1               kernels that are not known do nothing
 *   DOUBLE_TRACE=1              copies and kernels are told of when they are done
 *   DOUBLE_REGISTERS=n          registers of each thread of a kernel (16)
 *   DOUBLE_SPILLING=n           kernels for blocks of more than n threads have too few of them
 * and compiled with -DOLD it lacks a function.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct Context *CUcontext;
typedef struct Stream *CUstream;
typedef struct Event *CUevent;
typedef struct Module *CUmodule;
typedef struct Function *CUfunction;
typedef struct Graph *CUgraph;
typedef struct Link *CUlinkState;

enum {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NOT_INITIALIZED = 3,
    DEINITIALIZED = 4,
    NO_DEVICE = 100,
    INVALID_DEVICE = 101,
    INVALID_CONTEXT = 201,
    INVALID_PTX = 218,
    INVALID_HANDLE = 400,
    NOT_FOUND = 500,
    NOT_READY = 600,
    ILLEGAL_ADDRESS = 700,
    NOT_SUPPORTED = 801
};

enum { MOST_DEVICES = 8, MOST_DEPTH = 16, PAGE = 4096 };

struct Context {
    CUdevice device;
    int retained;
    CUresult broken; /* what every call returns since a fault */
};

struct Stream {
    struct Context *context;
    struct Stream *next;
    bool destroyed;
    bool apart; /* it and the default stream do not wait for each other */
    struct Graph *recorded; /* what takes its work while it is captured */
};

struct Event {
    struct Context *context;
    struct Event *next;
    bool destroyed, timed, recorded;
    unsigned long long work; /* the piece of work that recorded it last */
    double time;
};

enum Kind { OF_DEVICE, PINNED, MANAGED };

struct Block {
    enum Kind kind;
    struct Context *context;
    CUdeviceptr address; /* as the caller knows it */
    char *memory;        /* where the bytes are */
    char *mapping;
    size_t bytes, length;
    struct Block *next;
};

struct Module {
    struct Context *context;
    char *text;
    struct Function *functions;
    struct Module *next;
};

enum { MOST_THREADS = 1024, SHARED = 48 << 10, SHARED_OPTIN = 227 << 10, WORDS = 3 };

struct Function {
    struct Module *module;
    char *name;
    unsigned most_shared;
    struct Function *next;
};

/* Launches in order, as a graph and as what can be launched of it. */
struct Graph {
    struct Context *context;
    struct Item *first;
    unsigned long long last; /* piece of work of the launch before */
    struct Graph *next;
};

struct Link {
    char *text;
    size_t bytes;
};

enum Work { COPY, SET, RECORD, WAIT, LAUNCH };

struct Item {
    unsigned long long number;
    struct Context *context;
    struct Stream *stream; /* NULL: the default stream of the context */
    pthread_t thread;      /* of a thread's default stream */
    bool of_thread;
    enum Work work;
    char *target;
    const char *source;
    char *staged;
    unsigned char value;
    size_t bytes;
    struct Event *event;
    struct Function *function;
    unsigned long long threads; /* in all blocks */
    unsigned long long words[WORDS];
    unsigned long long until;
    bool needed;
    struct Item *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool initialised;
static pid_t process;
static struct Context contexts[MOST_DEVICES];
static struct Stream *streams;
static struct Event *events;
static struct Block *blocks;
static struct Module *modules;
static struct Graph *graphs;
static struct Item *items;
static unsigned long long numbers;
static long allocations, done;
static __thread struct Context *stack[MOST_DEPTH];
static __thread int depth;

static long setting(const char *name, long otherwise) {
    const char *value = getenv(name);
    return value ? atol(value) : otherwise;
}

static void misused(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "MISUSE OF THE DRIVER: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    abort();
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e3 + time.tv_nsec * 1e-6;
}

/* Every function begins with one of these two. */
#define ENTER \
    __attribute__((cleanup(leave))) int entered = enter(__func__); \
    (void)entered; \
    if (!initialised) return NOT_INITIALIZED;
#define ENTER_CONTEXT \
    ENTER \
    if (depth == 0) return INVALID_CONTEXT; \
    struct Context *context = stack[depth - 1]; \
    if (context->broken) return context->broken;

static int enter(const char *function) {
    if (process && process != getpid()) misused("%s in a fork", function);
    pthread_mutex_lock(&lock);
    return 0;
}

static void leave(int *entered) {
    (void)entered;
    pthread_mutex_unlock(&lock);
}

/* What is left behind when the process ends. */
__attribute__((destructor)) static void end(void) {
    if (process != getpid() || !getenv("DOUBLE_REPORT")) return;
    int left[6] = {0};
    for (struct Block *block = blocks; block; block = block->next) left[0]++;
    for (struct Stream *stream = streams; stream; stream = stream->next) left[1] += !stream->destroyed;
    for (struct Event *event = events; event; event = event->next) left[2] += !event->destroyed;
    left[3] = depth;
    for (struct Module *module = modules; module; module = module->next) left[4]++;
    for (struct Graph *graph = graphs; graph; graph = graph->next) left[5]++;
    printf("\nleft behind: %d blocks, %d streams, %d events, %d contexts, %d modules, %d graphs\n", left[0], left[1],
        left[2], left[3], left[4], left[5]);
}

/* ---- devices and contexts */

static int device_count(void) { return (int)setting("DOUBLE_DEVICES", 1); }

CUresult cuInit(unsigned flags) {
    if (flags) misused("cuInit(%u)", flags);
    CUresult code = (CUresult)setting("DOUBLE_INIT", SUCCESS);
    if (code) return code;
    if (device_count() == 0) return NO_DEVICE;
    process = getpid();
    for (int device = 0; device < MOST_DEVICES; device++) contexts[device].device = device;
    initialised = true;
    return SUCCESS;
}

CUresult cuDriverGetVersion(int *version) {
    *version = (int)setting("DOUBLE_VERSION", 10020);
    return SUCCESS;
}

static const struct {
    CUresult code;
    const char *name, *message;
} texts[] = {
    {INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {INVALID_PTX, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    {ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
};

static CUresult text_of(CUresult code, const char **text, bool name) {
    for (size_t place = 0; place < sizeof texts / sizeof *texts; place++)
        if (texts[place].code == code) {
            *text = name ? texts[place].name : texts[place].message;
            return SUCCESS;
        }
    *text = NULL;
    return INVALID_VALUE;
}

CUresult cuGetErrorName(CUresult code, const char **text) { return text_of(code, text, true); }
CUresult cuGetErrorString(CUresult code, const char **text) { return text_of(code, text, false); }

CUresult cuDeviceGetCount(int *count) {
    ENTER
    *count = device_count();
    return SUCCESS;
}

static bool is_device(CUdevice device) { return device >= 0 && device < device_count(); }

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
    ENTER
    if (!is_device(ordinal)) return INVALID_DEVICE;
    *device = ordinal;
    return SUCCESS;
}

CUresult cuDeviceGetName(char *name, int length, CUdevice device) {
    ENTER
    if (!is_device(device)) return INVALID_DEVICE;
    snprintf(name, (size_t)length, "Double of a GPU %d", device);
    return SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device) {
    ENTER
    if (!is_device(device)) return INVALID_DEVICE;
    switch (attribute) {
    case 1: *value = MOST_THREADS; return SUCCESS; /* threads per block */
    case 8: *value = SHARED; return SUCCESS;       /* shared memory per block */
    case 10: *value = 32; return SUCCESS;          /* warp size */
    case 11: *value = (int)setting("DOUBLE_MAX_PITCH", 0x7fffffff); return SUCCESS;
    case 16: *value = 100 + device; return SUCCESS; /* multiprocessors */
    case 39: *value = 2048; return SUCCESS;         /* threads per multiprocessor */
    case 41: *value = 1; return SUCCESS;            /* unified addressing */
    case 75: *value = 9; return SUCCESS;            /* compute capability */
    case 76: *value = device; return SUCCESS;
    case 81: *value = 228 << 10; return SUCCESS; /* shared memory per multiprocessor */
    case 82: *value = 65536; return SUCCESS;     /* registers per multiprocessor */
    case 83: *value = !setting("DOUBLE_NO_MANAGED", 0); return SUCCESS;
    case 89: *value = 1; return SUCCESS; /* concurrent managed access */
    case 97: *value = SHARED_OPTIN; return SUCCESS;
    case 106: *value = 32; return SUCCESS;      /* blocks per multiprocessor */
    case 111: *value = 1 << 10; return SUCCESS; /* shared memory that each block takes beside its own */
    default: return INVALID_VALUE;
    }
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
    ENTER
    if (!is_device(device)) return INVALID_DEVICE;
    contexts[device].retained++;
    *context = &contexts[device];
    return SUCCESS;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active) {
    ENTER
    if (!is_device(device)) return INVALID_DEVICE;
    *flags = 0;
    *active = contexts[device].retained > 0;
    return SUCCESS;
}

CUresult cuCtxPushCurrent_v2(CUcontext context) {
    ENTER
    if (context < contexts || context >= contexts + MOST_DEVICES || !context->retained) return INVALID_CONTEXT;
    if (depth == MOST_DEPTH) misused("contexts are pushed and never popped");
    stack[depth++] = context;
    return SUCCESS;
}

CUresult cuCtxPopCurrent_v2(CUcontext *context) {
    ENTER
    if (depth == 0) misused("a context is popped that was not pushed");
    *context = stack[--depth];
    return SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *context) {
    ENTER
    *context = depth ? stack[depth - 1] : NULL;
    return SUCCESS;
}

/* ---- memory */

static size_t memory_of_device(void) { return (size_t)setting("DOUBLE_MEMORY", 1 << 30); }

static size_t used(struct Context *context) {
    size_t bytes = 0;
    for (struct Block *block = blocks; block; block = block->next)
        if (block->context == context && block->kind != PINNED) bytes += block->bytes;
    return bytes;
}

CUresult cuMemGetInfo_v2(size_t *free, size_t *total) {
    ENTER_CONTEXT
    *total = memory_of_device();
    *free = *total - used(context);
    return SUCCESS;
}

static char *mapped(size_t length, int protection) {
    char *mapping = mmap(NULL, length, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return mapping == MAP_FAILED ? NULL : mapping;
}

static CUresult new_block(struct Context *context, enum Kind kind, size_t bytes, struct Block **made) {
    if (bytes == 0) return INVALID_VALUE;
    if (++allocations == setting("DOUBLE_OUT_OF_MEMORY", 0)) return OUT_OF_MEMORY;
    if (kind != PINNED && bytes > memory_of_device() - used(context)) return OUT_OF_MEMORY;
    size_t shift = (size_t)setting("DOUBLE_MISALIGNED", 0);
    struct Block *block = calloc(1, sizeof *block);
    block->kind = kind;
    block->context = context;
    block->bytes = bytes;
    block->length = bytes + PAGE;
    block->mapping = mapped(block->length, kind == OF_DEVICE ? PROT_NONE : PROT_READ | PROT_WRITE);
    if (!block->mapping) return OUT_OF_MEMORY;
    block->address = (CUdeviceptr)(uintptr_t)block->mapping + shift;
    block->memory = kind == OF_DEVICE ? malloc(bytes) : block->mapping + shift;
    memset(block->memory, 0xa5, bytes);
    block->next = blocks;
    blocks = block;
    *made = block;
    return SUCCESS;
}

static struct Block *block_at(CUdeviceptr address, size_t bytes) {
    for (struct Block *block = blocks; block; block = block->next)
        if (address >= block->address && address - block->address < block->bytes
            && bytes <= block->bytes - (address - block->address))
            return block;
    return NULL;
}

static void finish_all(void);

static CUresult free_block(const char *function, CUdeviceptr address, bool pinned) {
    /* The driver waits for the work of the device. */
    finish_all();
    for (struct Block **link = &blocks; *link; link = &(*link)->next) {
        struct Block *block = *link;
        if (block->address != address || (block->kind == PINNED) != pinned) continue;
        *link = block->next;
        if (block->kind == OF_DEVICE) free(block->memory);
        /* The address is not used again: whoever still has it faults, or is found out. */
        mmap(block->mapping, block->length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
        free(block);
        return SUCCESS;
    }
    misused("%s of %#llx, which is freed already or never was allocated", function, address);
    return INVALID_VALUE;
}

CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes) {
    ENTER_CONTEXT
    struct Block *block;
    CUresult code = new_block(context, OF_DEVICE, bytes, &block);
    if (!code) *address = block->address;
    return code;
}

CUresult cuMemAllocManaged(CUdeviceptr *address, size_t bytes, unsigned flags) {
    ENTER_CONTEXT
    if (flags != 1) misused("cuMemAllocManaged with flags %u", flags);
    if (setting("DOUBLE_NO_MANAGED", 0)) return NOT_SUPPORTED;
    struct Block *block;
    CUresult code = new_block(context, MANAGED, bytes, &block);
    if (!code) *address = block->address;
    return code;
}

CUresult cuMemHostAlloc(void **pointer, size_t bytes, unsigned flags) {
    ENTER_CONTEXT
    if (flags != 1) misused("cuMemHostAlloc with flags %u", flags);
    struct Block *block;
    CUresult code = new_block(context, PINNED, bytes, &block);
    if (!code) *pointer = block->memory;
    return code;
}

CUresult cuMemFree_v2(CUdeviceptr address) {
    ENTER_CONTEXT
    return free_block(__func__, address, false);
}

CUresult cuMemFreeHost(void *pointer) {
    ENTER_CONTEXT
    return free_block(__func__, (CUdeviceptr)(uintptr_t)pointer, true);
}

CUresult cuPointerGetAttribute(void *data, int attribute, CUdeviceptr address) {
    ENTER_CONTEXT
    struct Block *block = block_at(address, 1);
    if (!block) return INVALID_VALUE;
    switch (attribute) {
    case 2: *(unsigned *)data = block->kind == OF_DEVICE ? 2 : 1; return SUCCESS;
    case 8: *(unsigned *)data = block->kind == MANAGED; return SUCCESS;
    case 9: *(int *)data = block->context->device; return SUCCESS;
    default: return INVALID_VALUE;
    }
}

/* ---- work */

static bool is_default(const struct Item *item) { return !item->stream && !item->of_thread; }

static bool same_queue(const struct Item *one, const struct Item *other) {
    return one->context == other->context && one->stream == other->stream && one->of_thread == other->of_thread
        && (!one->of_thread || pthread_equal(one->thread, other->thread));
}

/* Whether the driver promises that the later one is not done before the earlier one. */
static bool waits_for(const struct Item *later, const struct Item *earlier) {
    if (later->work == WAIT && later->until == earlier->number) return true;
    if (later->context != earlier->context) return false;
    bool apart = (later->stream && later->stream->apart) || (earlier->stream && earlier->stream->apart);
    return same_queue(later, earlier) || (!apart && (is_default(later) || is_default(earlier)));
}

static char *of_device(CUdeviceptr address, size_t bytes);

/* The one kernel there is: each thread adds a number to an element, if there are as many. */
static void add(struct Item *item) {
    unsigned long long count = item->words[1] < item->threads ? item->words[1] : item->threads;
    if (!item->threads) return;
    unsigned long long *elements = (unsigned long long *)of_device(item->words[0], count * sizeof *elements);
    if (!elements) {
        item->context->broken = ILLEGAL_ADDRESS;
        return;
    }
    for (unsigned long long place = 0; place < count; place++) elements[place] += item->words[2];
}

static void trace(const struct Item *item) {
    const char *what = item->work == COPY ? "copy" : item->work == LAUNCH ? "kernel" : NULL;
    bool apart = item->stream && item->stream->apart;
    if (what && getenv("DOUBLE_TRACE")) printf("done: %s%s\n", what, apart ? " beside the default stream" : "");
}

static void perform(struct Item *item) {
    trace(item);
    if (++done == setting("DOUBLE_FAULT", 0)) item->context->broken = ILLEGAL_ADDRESS;
    if (item->context->broken) return;
    switch (item->work) {
    case COPY: memcpy(item->target, item->staged ? item->staged : item->source, item->bytes); break;
    case SET: memset(item->target, item->value, item->bytes); break;
    case RECORD: item->event->time = now(); break;
    case WAIT: break;
    case LAUNCH: add(item); break;
    }
}

/* Marks an item and all it waits for, and what those wait for. */
static void need(struct Item *wanted) {
    if (wanted->needed) return;
    wanted->needed = true;
    for (struct Item *item = items; item != wanted; item = item->next)
        if (waits_for(wanted, item)) need(item);
}

/* Does what is needed, in the order in which it was put. */
static void finish_needed(void) {
    for (struct Item **link = &items; *link;) {
        struct Item *item = *link;
        if (!item->needed) {
            link = &item->next;
            continue;
        }
        perform(item);
        *link = item->next;
        free(item->staged);
        free(item);
    }
}

static void finish(unsigned long long number) {
    for (struct Item *item = items; item; item = item->next)
        if (item->number == number) need(item);
    finish_needed();
}

static void finish_all(void) {
    for (struct Item *item = items; item; item = item->next) need(item);
    finish_needed();
}

/* A stream as a caller names it: 0 and 1 are the default one, 2 is the thread's. */
static CUresult queue_of(struct Context *context, CUstream stream, struct Item *item) {
    uintptr_t number = (uintptr_t)stream;
    item->context = context;
    item->thread = pthread_self();
    item->of_thread = number == 2;
    item->stream = NULL;
    if (number <= 2) return SUCCESS;
    for (struct Stream *known = streams; known; known = known->next)
        if (known == stream && !known->destroyed) {
            item->stream = stream;
            item->context = stream->context;
            return SUCCESS;
        }
    misused("stream %#lx is none", (unsigned long)number);
    return INVALID_HANDLE;
}

static CUresult put(struct Context *context, CUstream stream, struct Item item, unsigned long long *number) {
    CUresult code = queue_of(context, stream, &item);
    if (code) return code;
    struct Item *kept = malloc(sizeof *kept);
    *kept = item;
    kept->number = ++numbers;
    kept->next = NULL;
    struct Graph *recorded = item.stream ? item.stream->recorded : NULL;
    if (recorded && item.work != LAUNCH && item.work != SET) misused("work that is no kernel is captured");
    struct Item **link = recorded ? &recorded->first : &items;
    while (*link) link = &(*link)->next;
    *link = kept;
    if (number) *number = kept->number;
    return SUCCESS;
}

/* Does what is in a stream. */
static CUresult wait_for(struct Context *context, CUstream stream) {
    struct Item queue = {0};
    CUresult code = queue_of(context, stream, &queue);
    if (code) return code;
    for (struct Item *item = items; item; item = item->next)
        if (item->context == queue.context
            && (same_queue(item, &queue) || (is_default(&queue) && waits_for(&queue, item))))
            need(item);
    finish_needed();
    return queue.context->broken;
}

/* Where the bytes of device memory are; NULL if they are none. */
static char *of_device(CUdeviceptr address, size_t bytes) {
    struct Block *block = block_at(address, bytes);
    return block && block->kind != PINNED ? block->memory + (address - block->address) : NULL;
}

static bool is_pinned(const void *pointer, size_t bytes) {
    struct Block *block = block_at((CUdeviceptr)(uintptr_t)pointer, bytes);
    return block && block->kind == PINNED;
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr target, const void *source, size_t bytes, CUstream stream) {
    ENTER_CONTEXT
    struct Item item = {.work = COPY, .target = of_device(target, bytes), .source = source, .bytes = bytes};
    struct Block *block = block_at((CUdeviceptr)(uintptr_t)source, 1);
    if (!item.target || (block && block->kind == OF_DEVICE)) return INVALID_VALUE;
    if (!is_pinned(source, bytes)) {
        item.staged = malloc(bytes);
        memcpy(item.staged, source, bytes);
    }
    return put(context, stream, item, NULL);
}

CUresult cuMemcpyDtoHAsync_v2(void *target, CUdeviceptr source, size_t bytes, CUstream stream) {
    ENTER_CONTEXT
    struct Item item = {.work = COPY, .target = target, .source = of_device(source, bytes), .bytes = bytes};
    struct Block *block = block_at((CUdeviceptr)(uintptr_t)target, 1);
    if (!item.source || (block && block->kind == OF_DEVICE)) return INVALID_VALUE;
    CUresult code = put(context, stream, item, NULL);
    return code || is_pinned(target, bytes) ? code : wait_for(context, stream);
}

struct Side {
    size_t x, y;
    unsigned memory_type;
    void *host;
    CUdeviceptr device;
    void *array;
    size_t pitch;
};

struct Rows {
    struct Side source, target;
    size_t width, height;
};

static size_t reach(const struct Side *side, const struct Rows *rows) {
    return (rows->height - 1) * side->pitch + rows->width;
}

static char *of_side(const struct Side *side, const struct Rows *rows) {
    if (side->x || side->y || side->array) misused("cuMemcpy2DAsync with an offset or an array");
    if (side->memory_type == 1) return side->host;
    return side->memory_type == 2 ? of_device(side->device, reach(side, rows)) : NULL;
}

CUresult cuMemcpy2DAsync_v2(const struct Rows *rows, CUstream stream) {
    ENTER_CONTEXT
    const struct Side *from = &rows->source, *to = &rows->target;
    size_t most = (size_t)setting("DOUBLE_MAX_PITCH", 0x7fffffff);
    if (!rows->width || !rows->height) misused("cuMemcpy2DAsync of nothing");
    if (from->pitch < rows->width || to->pitch < rows->width || from->pitch > most || to->pitch > most)
        return INVALID_VALUE;
    char *source = of_side(from, rows), *target = of_side(to, rows);
    if (!source || !target) return INVALID_VALUE;
    bool staged = from->memory_type == 1 && !is_pinned(source, reach(from, rows));
    for (size_t row = 0; row < rows->height; row++) {
        struct Item item = {.work = COPY, .bytes = rows->width};
        item.target = target + row * to->pitch;
        item.source = source + row * from->pitch;
        if (staged) {
            item.staged = malloc(rows->width);
            memcpy(item.staged, item.source, rows->width);
        }
        CUresult code = put(context, stream, item, NULL);
        if (code) return code;
    }
    bool waits = to->memory_type == 1 && !is_pinned(target, reach(to, rows));
    return waits ? wait_for(context, stream) : SUCCESS;
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr target, CUdeviceptr source, size_t bytes, CUstream stream) {
    ENTER_CONTEXT
    struct Item item
        = {.work = COPY, .target = of_device(target, bytes), .source = of_device(source, bytes), .bytes = bytes};
    if (!item.target || !item.source) return INVALID_VALUE;
    return put(context, stream, item, NULL);
}

CUresult cuMemcpyPeerAsync(
    CUdeviceptr target, CUcontext to, CUdeviceptr source, CUcontext from, size_t bytes, CUstream stream) {
    ENTER_CONTEXT
    struct Block *read = block_at(source, bytes), *written = block_at(target, bytes);
    if (!read || !written || read->context != from || written->context != to) return INVALID_VALUE;
    struct Item item
        = {.work = COPY, .target = of_device(target, bytes), .source = of_device(source, bytes), .bytes = bytes};
    return put(context, stream, item, NULL);
}

CUresult cuMemsetD8Async(CUdeviceptr target, unsigned char value, size_t count, CUstream stream) {
    ENTER_CONTEXT
    struct Item item = {.work = SET, .target = of_device(target, count), .value = value, .bytes = count};
    if (!item.target) return INVALID_VALUE;
    return put(context, stream, item, NULL);
}

CUresult cuCtxSynchronize(void) {
    ENTER_CONTEXT
    for (struct Item *item = items; item; item = item->next)
        if (item->context == context) need(item);
    finish_needed();
    return context->broken;
}

/* ---- streams and events */

CUresult cuStreamCreate(CUstream *stream, unsigned flags) {
    ENTER_CONTEXT
    if (flags & ~1u) misused("cuStreamCreate with flags %u", flags);
    struct Stream *made = calloc(1, sizeof *made);
    made->apart = flags & 1;
    made->context = context;
    made->next = streams;
    streams = made;
    *stream = made;
    return SUCCESS;
}

CUresult cuStreamDestroy_v2(CUstream stream) {
    ENTER_CONTEXT
    struct Item item;
    CUresult code = queue_of(context, stream, &item);
    if (!code) stream->destroyed = true;
    return code;
}

CUresult cuStreamGetFlags(CUstream stream, unsigned *flags) {
    ENTER_CONTEXT
    struct Item queue;
    CUresult code = queue_of(context, stream, &queue);
    *flags = queue.stream && queue.stream->apart;
    return code;
}

CUresult cuStreamSynchronize(CUstream stream) {
    ENTER_CONTEXT
    return wait_for(context, stream);
}

static bool is_event(CUevent event) {
    for (struct Event *known = events; known; known = known->next)
        if (known == event && !known->destroyed) return true;
    misused("event %p is none", (void *)event);
    return false;
}

#ifndef OLD
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
    ENTER_CONTEXT
    if (flags) misused("cuStreamWaitEvent with flags %u", flags);
    if (!is_event(event)) return INVALID_HANDLE;
    if (!event->recorded) return SUCCESS;
    return put(context, stream, (struct Item){.work = WAIT, .until = event->work}, NULL);
}
#endif

CUresult cuEventCreate(CUevent *event, unsigned flags) {
    ENTER_CONTEXT
    if (flags & ~2u) misused("cuEventCreate with flags %u", flags);
    struct Event *made = calloc(1, sizeof *made);
    made->context = context;
    made->timed = !(flags & 2);
    made->next = events;
    events = made;
    *event = made;
    return SUCCESS;
}

CUresult cuEventDestroy_v2(CUevent event) {
    ENTER_CONTEXT
    if (!is_event(event)) return INVALID_HANDLE;
    event->destroyed = true;
    return SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
    ENTER_CONTEXT
    struct Item queue;
    CUresult code = queue_of(context, stream, &queue);
    if (!is_event(event) || code) return INVALID_HANDLE;
    if (event->context != queue.context) return INVALID_HANDLE;
    event->recorded = true;
    return put(context, stream, (struct Item){.work = RECORD, .event = event}, &event->work);
}

static bool is_pending(unsigned long long number) {
    for (struct Item *item = items; item; item = item->next)
        if (item->number == number) return true;
    return false;
}

CUresult cuEventQuery(CUevent event) {
    ENTER_CONTEXT
    if (!is_event(event)) return INVALID_HANDLE;
    if (!event->recorded || !is_pending(event->work)) return SUCCESS;
    /* Who asks again and again is to have an end. */
    finish(event->work);
    return NOT_READY;
}

CUresult cuEventSynchronize(CUevent event) {
    ENTER_CONTEXT
    if (!is_event(event)) return INVALID_HANDLE;
    if (event->recorded) finish(event->work);
    return context->broken;
}

CUresult cuEventElapsedTime(float *milliseconds, CUevent from, CUevent to) {
    ENTER_CONTEXT
    if (!is_event(from) || !is_event(to) || !from->recorded || !to->recorded || !from->timed || !to->timed)
        return INVALID_HANDLE;
    if (is_pending(from->work) || is_pending(to->work)) return NOT_READY;
    *milliseconds = (float)(to->time - from->time);
    return SUCCESS;
}

/* ---- kernels */

/* What machine code begins with here. */
#define MACHINE_CODE "\x7f" "ELF double\n"

/* Compiles: what is no PTX, or says so itself, is told of. */
static CUresult compile(const char *text, unsigned count, int *options, void **values) {
    const char *wrong = strstr(text, "mistake");
    if (strstr(text, ".version") && !wrong) return SUCCESS;
    char *log = NULL;
    size_t bytes = 0;
    for (unsigned option = 0; option < count; option++) {
        if (options[option] == 5) log = values[option];
        if (options[option] == 6) bytes = (size_t)(uintptr_t)values[option];
    }
    if (log) snprintf(log, bytes, "ptxas application ptx input, line 1; fatal : %s", wrong ? wrong : "no .version");
    return INVALID_PTX;
}

static struct {
    unsigned count;
    int *options;
    void **values;
} linked;

CUresult cuLinkCreate_v2(unsigned count, int *options, void **values, CUlinkState *state) {
    ENTER_CONTEXT
    linked.count = count, linked.options = options, linked.values = values;
    *state = calloc(1, sizeof **state);
    return SUCCESS;
}

CUresult cuLinkAddData_v2(CUlinkState state, int kind, void *data, size_t bytes, const char *name, unsigned count,
    int *options, void **values) {
    ENTER_CONTEXT
    if (kind != 1 || count || options || values || !name) misused("cuLinkAddData of something else than PTX");
    if (bytes == 0 || ((char *)data)[bytes - 1]) misused("PTX without an end");
    CUresult code = compile(data, linked.count, linked.options, linked.values);
    if (code) return code;
    state->bytes = strlen(MACHINE_CODE) + bytes;
    state->text = malloc(state->bytes);
    memcpy(state->text, MACHINE_CODE, strlen(MACHINE_CODE));
    memcpy(state->text + strlen(MACHINE_CODE), data, bytes);
    return SUCCESS;
}

CUresult cuLinkComplete(CUlinkState state, void **code, size_t *bytes) {
    ENTER_CONTEXT
    *code = state->text;
    *bytes = state->bytes;
    return SUCCESS;
}

CUresult cuLinkDestroy(CUlinkState state) {
    ENTER_CONTEXT
    /* Whoever uses the code after this finds nothing. */
    if (state->text) memset(state->text, 0, state->bytes);
    free(state->text);
    free(state);
    return SUCCESS;
}

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count, int *options, void **values) {
    ENTER_CONTEXT
    const char *text = image;
    if (strncmp(text, MACHINE_CODE, strlen(MACHINE_CODE)) == 0) text += strlen(MACHINE_CODE);
    CUresult code = compile(text, count, options, values);
    if (code) return code;
    struct Module *made = calloc(1, sizeof *made);
    made->context = context;
    made->text = strdup(text);
    made->next = modules;
    modules = made;
    *module = made;
    return SUCCESS;
}

static bool is_module(CUmodule module) {
    for (struct Module *known = modules; known; known = known->next)
        if (known == module) return true;
    misused("module %p is none", (void *)module);
    return false;
}

CUresult cuModuleUnload(CUmodule module) {
    ENTER_CONTEXT
    is_module(module);
    if (module->context != context) misused("a module is unloaded in another context");
    for (struct Item *item = items; item; item = item->next)
        if (item->function && item->function->module == module) misused("a module is unloaded before its work is done");
    struct Module **link = &modules;
    while (*link != module) link = &(*link)->next;
    *link = module->next;
    while (module->functions) {
        struct Function *function = module->functions;
        module->functions = function->next;
        free(function->name);
        free(function);
    }
    free(module->text);
    free(module);
    return SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
    ENTER_CONTEXT
    is_module(module);
    char wanted[256];
    snprintf(wanted, sizeof wanted, ".entry %s(", name);
    if (!strstr(module->text, wanted)) return NOT_FOUND;
    struct Function *made = calloc(1, sizeof *made);
    made->module = module;
    made->name = strdup(name);
    made->most_shared = SHARED;
    made->next = module->functions;
    module->functions = made;
    *function = made;
    return SUCCESS;
}

/* Threads of a block, as the text of a kernel says. */
static long threads_of(CUfunction function) {
    char wanted[256];
    snprintf(wanted, sizeof wanted, ".entry %s(", function->name);
    const char *start = strstr(function->module->text, wanted);
    const char *said = start ? strstr(start, ".maxntid ") : NULL;
    return said ? atol(said + strlen(".maxntid ")) : MOST_THREADS;
}

CUresult cuFuncGetAttribute(int *value, int attribute, CUfunction function) {
    ENTER_CONTEXT
    is_module(function->module);
    switch (attribute) {
    case 0: *value = MOST_THREADS; return SUCCESS;
    case 1: *value = 0; return SUCCESS;
    case 3: *value = threads_of(function) > setting("DOUBLE_SPILLING", MOST_THREADS) ? 8 : 0; return SUCCESS;
    case 4: *value = (int)setting("DOUBLE_REGISTERS", 16); return SUCCESS;
    default: return INVALID_VALUE;
    }
}

CUresult cuFuncSetAttribute(CUfunction function, int attribute, int value) {
    ENTER_CONTEXT
    is_module(function->module);
    if (attribute != 8 || value < 0 || value > SHARED_OPTIN) return INVALID_VALUE;
    function->most_shared = (unsigned)value > SHARED ? (unsigned)value : SHARED;
    return SUCCESS;
}

CUresult cuLaunchKernel(CUfunction function, unsigned x, unsigned y, unsigned z, unsigned along_x, unsigned along_y,
    unsigned along_z, unsigned shared, CUstream stream, void **parameters, void **extra) {
    ENTER_CONTEXT
    is_module(function->module);
    if (function->module->context != context) misused("a kernel is launched in another context");
    if (extra || !parameters) misused("cuLaunchKernel without parameters");
    unsigned long long threads = (unsigned long long)along_x * along_y * along_z;
    if (!x || !y || !z || y > 65535 || z > 65535 || !threads || threads > MOST_THREADS || along_z > 64
        || shared > function->most_shared)
        return INVALID_VALUE;
    bool known = strcmp(function->name, "add") == 0;
    if (!known && !setting("DOUBLE_IDLE", 0)) misused("kernel '%s' is not known here", function->name);
    struct Item item = {.work = LAUNCH, .function = function, .threads = known ? threads * x * y * z : 0};
    memcpy(item.words, parameters[0], sizeof item.words);
    return put(context, stream, item, NULL);
}

CUresult cuStreamBeginCapture_v2(CUstream stream, int mode) {
    ENTER_CONTEXT
    struct Item queue;
    CUresult code = queue_of(context, stream, &queue);
    if (code || !queue.stream || mode != 1) return INVALID_VALUE;
    struct Graph *made = calloc(1, sizeof *made);
    made->context = context;
    made->next = graphs;
    graphs = made;
    stream->recorded = made;
    return SUCCESS;
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph) {
    ENTER_CONTEXT
    struct Item queue;
    CUresult code = queue_of(context, stream, &queue);
    if (code || !stream->recorded) return INVALID_VALUE;
    *graph = stream->recorded;
    stream->recorded = NULL;
    return SUCCESS;
}

CUresult cuGraphInstantiateWithFlags(CUgraph *executable, CUgraph graph, unsigned long long flags) {
    ENTER_CONTEXT
    if (flags) misused("cuGraphInstantiateWithFlags with flags %llu", flags);
    struct Graph *made = calloc(1, sizeof *made);
    made->context = graph->context;
    made->next = graphs;
    graphs = made;
    struct Item **link = &made->first;
    for (struct Item *item = graph->first; item; item = item->next) {
        *link = malloc(sizeof **link);
        **link = *item;
        link = &(*link)->next;
    }
    *executable = made;
    return SUCCESS;
}

CUresult cuGraphLaunch(CUgraph executable, CUstream stream) {
    ENTER_CONTEXT
    if (executable->context != context) misused("a graph is launched in another context");
    /* A launch is behind the one before. */
    struct Item before = {.work = WAIT, .until = executable->last};
    CUresult code = executable->last ? put(context, stream, before, NULL) : SUCCESS;
    for (struct Item *item = executable->first; item && !code; item = item->next) {
        if (item->function) is_module(item->function->module);
        struct Item again = *item;
        code = put(context, stream, again, &executable->last);
    }
    return code;
}

static CUresult forget(CUgraph graph) {
    struct Graph **link = &graphs;
    while (*link && *link != graph) link = &(*link)->next;
    if (!*link) misused("graph %p is none", (void *)graph);
    *link = graph->next;
    while (graph->first) {
        struct Item *item = graph->first;
        graph->first = item->next;
        free(item);
    }
    free(graph);
    return SUCCESS;
}

CUresult cuGraphDestroy(CUgraph graph) {
    ENTER_CONTEXT
    (void)context;
    return forget(graph);
}

CUresult cuGraphExecDestroy(CUgraph executable) {
    ENTER_CONTEXT
    (void)context;
    return forget(executable);
}
