/* A stand-in for a V4L2 camera, preloaded into a program under test.
 *
 * No kernel module, no device node, no root. It answers just enough of libc for programs that use V4L2 with mapped
 * buffers (the v4l crate that nokhwa uses, ffmpeg): open*, close, ioctl, syscall(SYS_ioctl), mmap, and the listing of
 * /dev. The descriptor it hands out is a timer that ticks at the frame rate, so poll() works without being touched.
 *
 * Build:  cc -O2 -Wall -fPIC -shared -pthread -o libfakecam.so fakecam.c -ldl
 * Use:    FAKECAM_SOURCE=clip.mjpeg LD_PRELOAD=$PWD/libfakecam.so ./program
 *
 *   FAKECAM_SOURCE  concatenated JPEG pictures for MJPG, raw frames otherwise; played in a loop
 *   FAKECAM_FORMAT  MJPG (default), YUYV or NV12
 *   FAKECAM_SIZE    WxH, the only size offered (default 640x480)
 *   FAKECAM_FPS     default 30
 *   FAKECAM_CTRL    a text file, looked at on every open and frame:
 *                     ok       normal; also when the file is missing
 *                     stall    the device stays, but no frame arrives
 *                     unplug   ENODEV on every ioctl, ENOENT on open, not listed
 *                     corrupt  frames arrive full of noise
 *                     deny     open fails with EACCES
 *                     busy     open fails with EBUSY
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/videodev2.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define DEVICE_PATH "/dev/video0"
#define DEVICE_FILE "video0"
#define NAME_PATH "/sys/class/video4linux/video0/name"
#define NAME "Fake Camera"
#define MAX_BUFFERS 8
#define MAX_OPEN 8
#define OFFSET_SHIFT 24 /* of the buffer number inside an mmap offset */

struct device {
  int used, fd, streaming, buffer_count, grace;
  void *map[MAX_BUFFERS];
  int queued[MAX_BUFFERS];
  int fifo[MAX_BUFFERS], head, count; /* the order in which buffers were queued */
  uint32_t sequence;
  size_t frame;
};

static struct device devices[MAX_OPEN];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int width = 640, height = 480, fps = 30;
static uint32_t fourcc = V4L2_PIX_FMT_MJPEG;
static const char *control_path;
static uint8_t *source;
static size_t *frame_start, *frame_len, frame_count, image_size;

/* System calls that do not go through the functions replaced below. */
static long raw(long n, long a, long b, long c, long d, long e, long f) {
  long result;
#if defined(__x86_64__)
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
#elif defined(__aarch64__)
  register long x8 __asm__("x8") = n;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  register long x5 __asm__("x5") = f;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  result = x0;
#else
#error "fakecam: this architecture is not supported"
#endif
  if (result < 0 && result > -4096) {
    errno = (int)-result;
    return -1;
  }
  return result;
}

static void add_frame(size_t start, size_t len) {
  static size_t capacity;
  if (frame_count == capacity) {
    capacity = capacity ? capacity * 2 : 256;
    frame_start = realloc(frame_start, capacity * sizeof *frame_start);
    frame_len = realloc(frame_len, capacity * sizeof *frame_len);
  }
  frame_start[frame_count] = start;
  frame_len[frame_count++] = len;
}

static void split_jpegs(size_t len) {
  size_t start = 0;
  int inside = 0;
  for (size_t i = 0; i + 1 < len; i++) {
    if (source[i] != 0xFF) continue;
    if (source[i + 1] == 0xD8 && !inside) {
      start = i;
      inside = 1;
    } else if (source[i + 1] == 0xD9 && inside) {
      add_frame(start, i + 2 - start);
      inside = 0;
    }
  }
}

__attribute__((constructor)) static void init(void) {
  const char *text;
  if ((text = getenv("FAKECAM_SIZE"))) sscanf(text, "%dx%d", &width, &height);
  if ((text = getenv("FAKECAM_FPS"))) fps = atoi(text);
  if ((text = getenv("FAKECAM_FORMAT")) && strlen(text) == 4) fourcc = v4l2_fourcc(text[0], text[1], text[2], text[3]);
  control_path = getenv("FAKECAM_CTRL");
  size_t pixels = (size_t)width * height;
  image_size = fourcc == V4L2_PIX_FMT_NV12 ? pixels * 3 / 2 : pixels * 2;

  const char *path = getenv("FAKECAM_SOURCE");
  if (!path) return;
  int fd = (int)raw(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
  struct stat info;
  if (fd < 0 || fstat(fd, &info)) {
    fprintf(stderr, "fakecam: cannot read %s\n", path);
    return;
  }
  size_t len = (size_t)info.st_size;
  source = (uint8_t *)raw(SYS_mmap, 0, (long)len, PROT_READ, MAP_PRIVATE, fd, 0);
  raw(SYS_close, fd, 0, 0, 0, 0, 0);
  if (fourcc == V4L2_PIX_FMT_MJPEG) {
    split_jpegs(len);
  } else {
    for (size_t i = 0; i + image_size <= len; i += image_size) add_frame(i, image_size);
  }
}

/* The first letter of the control file: o(k) s(tall) u(nplug) c(orrupt) d(eny) b(usy). */
static char mode(void) {
  char letter = 'o';
  if (!control_path) return letter;
  int fd = (int)raw(SYS_openat, AT_FDCWD, (long)control_path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
  if (fd < 0) return letter;
  if (raw(SYS_read, fd, (long)&letter, 1, 0, 0, 0) != 1) letter = 'o';
  raw(SYS_close, fd, 0, 0, 0, 0, 0);
  return letter;
}

static struct device *find(int fd) {
  for (int i = 0; fd >= 0 && i < MAX_OPEN; i++)
    if (devices[i].used && devices[i].fd == fd) return &devices[i];
  return NULL;
}

static void set_timer(struct device *d, int on) {
  struct itimerspec interval = {{0, 0}, {0, 0}};
  if (on) {
    interval.it_value.tv_nsec = interval.it_interval.tv_nsec = fps > 1 ? 1000000000L / fps : 0;
    interval.it_value.tv_sec = interval.it_interval.tv_sec = fps > 1 ? 0 : 1;
  }
  timerfd_settime(d->fd, 0, &interval, NULL);
}

/* "stall" stops the timers, so that poll() really waits. All else keeps them ticking: a reader woken by "unplug" then
 * gets ENODEV, as from a USB camera. */
static void *watch_for_stalls(void *unused) {
  (void)unused;
  int was_stalled = 0;
  for (;;) {
    struct timespec pause = {0, 10000000};
    raw(SYS_nanosleep, (long)&pause, 0, 0, 0, 0, 0);
    int stalled = mode() == 's';
    if (stalled == was_stalled) continue;
    was_stalled = stalled;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < MAX_OPEN; i++) {
      if (!devices[i].used || !devices[i].streaming) continue;
      devices[i].grace = stalled;
      set_timer(&devices[i], !stalled);
    }
    pthread_mutex_unlock(&lock);
  }
  return NULL;
}

static int open_device(void) {
  switch (mode()) {
  case 'u': errno = ENOENT; return -1;
  case 'b': errno = EBUSY; return -1;
  case 'd': errno = EACCES; return -1;
  }
  static int watching;
  int fd = -1;
  pthread_mutex_lock(&lock);
  pthread_t thread;
  if (control_path && !watching && !pthread_create(&thread, NULL, watch_for_stalls, NULL)) {
    watching = 1;
    pthread_detach(thread);
  }
  struct device *d = NULL;
  for (int i = 0; i < MAX_OPEN && !d; i++)
    if (!devices[i].used) d = &devices[i];
  if (!d) {
    errno = EMFILE;
  } else if ((fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)) >= 0) {
    memset(d, 0, sizeof *d);
    d->used = 1;
    d->fd = fd;
  }
  pthread_mutex_unlock(&lock);
  return fd;
}

static int text_file(const char *text) {
  int fd = memfd_create("fakecam", MFD_CLOEXEC);
  if (fd < 0) return fd;
  if (raw(SYS_write, fd, (long)text, (long)strlen(text), 0, 0, 0) < 0) return -1;
  lseek(fd, 0, SEEK_SET);
  return fd;
}

static int open_hook(const char *path, int *fd) {
  if (!path || !frame_count) return 0;
  if (!strcmp(path, DEVICE_PATH)) {
    *fd = open_device();
    return 1;
  }
  if (!strcmp(path, NAME_PATH) && mode() != 'u') {
    *fd = text_file(NAME);
    return 1;
  }
  return 0;
}

#define OPEN_BODY(dir, path, flags, extra)                                  \
  int permissions = 0, fd;                                                  \
  if ((flags) & (O_CREAT | O_TMPFILE)) {                                    \
    va_list arguments;                                                      \
    va_start(arguments, flags);                                             \
    permissions = va_arg(arguments, int);                                   \
    va_end(arguments);                                                      \
  }                                                                         \
  if (open_hook(path, &fd)) return fd;                                      \
  return (int)raw(SYS_openat, dir, (long)path, (flags) | (extra), permissions, 0, 0);

int open(const char *path, int flags, ...) { OPEN_BODY(AT_FDCWD, path, flags, 0) }
int open64(const char *path, int flags, ...) { OPEN_BODY(AT_FDCWD, path, flags, O_LARGEFILE) }
int openat(int dir, const char *path, int flags, ...) { OPEN_BODY(dir, path, flags, 0) }
int openat64(int dir, const char *path, int flags, ...) { OPEN_BODY(dir, path, flags, O_LARGEFILE) }

int close(int fd) {
  pthread_mutex_lock(&lock);
  struct device *d = find(fd);
  if (d) d->used = 0;
  pthread_mutex_unlock(&lock);
  return (int)raw(SYS_close, fd, 0, 0, 0, 0, 0);
}

static int dequeue(struct device *d, struct v4l2_buffer *b, char m) {
  uint64_t ticks;
  if (!d->streaming) {
    errno = EINVAL;
    return -1;
  }
  if (raw(SYS_read, d->fd, (long)&ticks, 8, 0, 0, 0) != 8) {
    if (!d->grace) {
      errno = EAGAIN;
      return -1;
    }
    ticks = 1; /* poll() said "ready" just before the stall began */
  }
  d->grace = 0;
  if (!d->count) {
    errno = EAGAIN;
    return -1;
  }
  if (ticks > 1) { /* the reader is late: frames are lost, as by a camera */
    d->frame = (d->frame + ticks - 1) % frame_count;
    d->sequence += (uint32_t)(ticks - 1);
  }
  int i = d->fifo[d->head];
  d->head = (d->head + 1) % MAX_BUFFERS;
  d->count--;
  d->queued[i] = 0;
  size_t len = frame_len[d->frame] > image_size ? image_size : frame_len[d->frame];
  uint8_t *to = d->map[i];
  if (to) {
    memcpy(to, source + frame_start[d->frame], len);
    for (size_t k = 0; m == 'c' && k < len; k++) to[k] ^= (uint8_t)(k * 31 + d->sequence * 7 + 1);
  }
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  memset(&b->timecode, 0, sizeof b->timecode);
  b->index = i;
  b->bytesused = len;
  b->flags = V4L2_BUF_FLAG_MAPPED | V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC;
  b->field = V4L2_FIELD_NONE;
  b->timestamp.tv_sec = now.tv_sec;
  b->timestamp.tv_usec = now.tv_nsec / 1000;
  b->sequence = d->sequence++;
  b->length = image_size;
  b->m.offset = (uint32_t)i << OFFSET_SHIFT;
  b->memory = V4L2_MEMORY_MMAP;
  d->frame = (d->frame + 1) % frame_count;
  return 0;
}

static int do_ioctl(struct device *d, unsigned long request, void *argument) {
  char m = mode();
  if (m == 'u') {
    errno = ENODEV;
    return -1;
  }
  switch (request & 0xffffffffUL) {
  case VIDIOC_QUERYCAP: {
    struct v4l2_capability *c = argument;
    memset(c, 0, sizeof *c);
    strcpy((char *)c->driver, "fakecam");
    strcpy((char *)c->card, NAME);
    strcpy((char *)c->bus_info, "platform:fakecam");
    c->version = 0x00060000;
    c->device_caps = V4L2_CAP_VIDEO_CAPTURE | V4L2_CAP_STREAMING;
    c->capabilities = c->device_caps | V4L2_CAP_DEVICE_CAPS;
    return 0;
  }
  case VIDIOC_ENUM_FMT: {
    struct v4l2_fmtdesc *f = argument;
    if (f->index > 0 || f->type != V4L2_BUF_TYPE_VIDEO_CAPTURE) break;
    f->flags = fourcc == V4L2_PIX_FMT_MJPEG ? V4L2_FMT_FLAG_COMPRESSED : 0;
    f->pixelformat = fourcc;
    snprintf((char *)f->description, sizeof f->description, "Fake %.4s", (char *)&fourcc);
    return 0;
  }
  case VIDIOC_ENUM_FRAMESIZES: {
    struct v4l2_frmsizeenum *f = argument;
    if (f->index > 0 || f->pixel_format != fourcc) break;
    f->type = V4L2_FRMSIZE_TYPE_DISCRETE;
    f->discrete.width = width;
    f->discrete.height = height;
    return 0;
  }
  case VIDIOC_ENUM_FRAMEINTERVALS: {
    struct v4l2_frmivalenum *f = argument;
    if (f->index > 0 || f->pixel_format != fourcc || (int)f->width != width || (int)f->height != height) break;
    f->type = V4L2_FRMIVAL_TYPE_DISCRETE;
    f->discrete.numerator = 1;
    f->discrete.denominator = fps;
    return 0;
  }
  case VIDIOC_G_FMT:
  case VIDIOC_S_FMT:
  case VIDIOC_TRY_FMT: {
    struct v4l2_format *f = argument;
    if (f->type != V4L2_BUF_TYPE_VIDEO_CAPTURE) break;
    struct v4l2_pix_format *p = &f->fmt.pix;
    memset(p, 0, sizeof *p);
    p->width = width;
    p->height = height;
    p->pixelformat = fourcc;
    p->field = V4L2_FIELD_NONE;
    p->bytesperline = fourcc == V4L2_PIX_FMT_MJPEG ? 0 : fourcc == V4L2_PIX_FMT_NV12 ? width : width * 2;
    p->sizeimage = image_size;
    p->colorspace = V4L2_COLORSPACE_SRGB;
    return 0;
  }
  case VIDIOC_G_PARM:
  case VIDIOC_S_PARM: {
    struct v4l2_streamparm *p = argument;
    if (p->type != V4L2_BUF_TYPE_VIDEO_CAPTURE) break;
    memset(&p->parm, 0, sizeof p->parm);
    p->parm.capture.capability = V4L2_CAP_TIMEPERFRAME;
    p->parm.capture.timeperframe.numerator = 1;
    p->parm.capture.timeperframe.denominator = fps;
    p->parm.capture.readbuffers = 4;
    return 0;
  }
  case VIDIOC_REQBUFS: {
    struct v4l2_requestbuffers *r = argument;
    if (r->memory != V4L2_MEMORY_MMAP) break;
    if (d->streaming) {
      errno = EBUSY;
      return -1;
    }
    if (r->count > MAX_BUFFERS) r->count = MAX_BUFFERS;
    d->buffer_count = r->count;
    d->count = d->head = 0;
    memset(d->queued, 0, sizeof d->queued);
    if (!r->count) memset(d->map, 0, sizeof d->map);
    r->capabilities = V4L2_BUF_CAP_SUPPORTS_MMAP;
    return 0;
  }
  case VIDIOC_QUERYBUF: {
    struct v4l2_buffer *b = argument;
    if ((int)b->index >= d->buffer_count) break;
    b->length = image_size;
    b->m.offset = b->index << OFFSET_SHIFT;
    b->flags = (d->map[b->index] ? V4L2_BUF_FLAG_MAPPED : 0) | V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC;
    return 0;
  }
  case VIDIOC_QBUF: {
    struct v4l2_buffer *b = argument;
    if ((int)b->index >= d->buffer_count || d->queued[b->index]) break;
    d->queued[b->index] = 1;
    d->fifo[(d->head + d->count++) % MAX_BUFFERS] = b->index;
    return 0;
  }
  case VIDIOC_DQBUF: return dequeue(d, argument, m);
  case VIDIOC_STREAMON:
    d->streaming = 1;
    d->sequence = 0;
    set_timer(d, m != 's');
    return 0;
  case VIDIOC_STREAMOFF:
    d->streaming = 0;
    d->count = d->head = 0;
    memset(d->queued, 0, sizeof d->queued);
    set_timer(d, 0);
    return 0;
  case VIDIOC_G_PRIORITY: *(int *)argument = V4L2_PRIORITY_DEFAULT; return 0;
  case VIDIOC_G_INPUT: *(int *)argument = 0; return 0;
  case VIDIOC_S_INPUT: return 0;
  case VIDIOC_QUERYCTRL:
  case VIDIOC_QUERY_EXT_CTRL:
  case VIDIOC_QUERYMENU:
  case VIDIOC_G_CTRL:
  case VIDIOC_S_CTRL:
  case VIDIOC_G_EXT_CTRLS:
  case VIDIOC_S_EXT_CTRLS: break;
  default: errno = ENOTTY; return -1;
  }
  errno = EINVAL;
  return -1;
}

static int ioctl_hook(int fd, unsigned long request, void *argument, long *result) {
  pthread_mutex_lock(&lock);
  struct device *d = find(fd);
  if (d) *result = do_ioctl(d, request, argument);
  pthread_mutex_unlock(&lock);
  return d != NULL;
}

int ioctl(int fd, unsigned long request, ...) {
  va_list arguments;
  va_start(arguments, request);
  void *argument = va_arg(arguments, void *);
  va_end(arguments);
  long result;
  if (ioctl_hook(fd, request, argument, &result)) return (int)result;
  return (int)raw(SYS_ioctl, fd, (long)request, (long)argument, 0, 0, 0);
}

/* The v4l crate calls syscall(SYS_ioctl, ...). */
long syscall(long n, ...) {
  va_list arguments;
  va_start(arguments, n);
  long a[6];
  for (int i = 0; i < 6; i++) a[i] = va_arg(arguments, long);
  va_end(arguments);
  long result;
  if (n == SYS_ioctl && ioctl_hook((int)a[0], (unsigned long)a[1], (void *)a[2], &result)) return result;
  return raw(n, a[0], a[1], a[2], a[3], a[4], a[5]);
}

void *mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset) {
  void *result = NULL;
  struct device *d = NULL;
  if (fd >= 0 && frame_count) {
    pthread_mutex_lock(&lock);
    if ((d = find(fd))) {
      unsigned i = (unsigned)(offset >> OFFSET_SHIFT);
      if (i >= (unsigned)d->buffer_count) {
        errno = EINVAL;
        result = MAP_FAILED;
      } else {
        result = d->map[i] = (void *)raw(SYS_mmap, 0, (long)length, PROT_READ | PROT_WRITE,
                                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
      }
    }
    pthread_mutex_unlock(&lock);
  }
  if (d) return result;
  return (void *)raw(SYS_mmap, (long)address, (long)length, protection, flags, fd, offset);
}

void *mmap64(void *address, size_t length, int protection, int flags, int fd, off64_t offset) {
  return mmap(address, length, protection, flags, fd, offset);
}

/* A scan of /dev finds the camera behind all real entries. */
static DIR *dev_scan;
static int is_listed;

DIR *opendir(const char *path) {
  static DIR *(*real)(const char *);
  if (!real) real = dlsym(RTLD_NEXT, "opendir");
  DIR *scan = real(path);
  if (scan && frame_count && (!strcmp(path, "/dev") || !strcmp(path, "/dev/"))) {
    dev_scan = scan;
    is_listed = 0;
  }
  return scan;
}

int closedir(DIR *scan) {
  static int (*real)(DIR *);
  if (!real) real = dlsym(RTLD_NEXT, "closedir");
  if (scan == dev_scan) dev_scan = NULL;
  return real(scan);
}

#define READDIR_BODY(type)                                                 \
  static type *(*real)(DIR *);                                             \
  static type fake;                                                        \
  if (!real) real = dlsym(RTLD_NEXT, __func__);                            \
  type *entry = real(scan);                                                \
  if (entry || scan != dev_scan || is_listed || mode() == 'u') return entry; \
  is_listed = 1;                                                           \
  memset(&fake, 0, sizeof fake);                                           \
  fake.d_ino = 81;                                                         \
  fake.d_type = DT_CHR;                                                    \
  fake.d_reclen = sizeof fake;                                             \
  strcpy(fake.d_name, DEVICE_FILE);                                        \
  return &fake;

struct dirent *readdir(DIR *scan) { READDIR_BODY(struct dirent) }
struct dirent64 *readdir64(DIR *scan) { READDIR_BODY(struct dirent64) }
