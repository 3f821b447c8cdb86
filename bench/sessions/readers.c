/*
 * Readers of event streams: one thread, epoll. It costs about a microsecond a frame, so that a bench on few cores measures
 * what writes to them.
 *
 * Usage: readers PORT KEY COUNT SECONDS FILE
 *
 * FILE has the path of a stream a line. COUNT connections to 127.0.0.1:PORT are opened, which take the paths in turns. The
 * first line of the output is {"connectedMs"}, once all have the head of their answer. SECONDS later the second one is
 * {"frames", "readers", "p50Ms", "p99Ms", "maxMs", "cut"}: the events that came in that time, the connections that got any, the time from
 * `processed_at` of an event to its arrival, and connections that were closed.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MAX_PATHS = 100000, READ_SIZE = 65536, CARRY = 96, MAX_MS = 120000, MAX_READY = 512, DAY_MS = 86400000, BATCH = 64 };

typedef struct {
  int fd;
  bool is_open, has_frames;
  size_t carried;
  char carry[CARRY];
} Reader;

static const char MARK[] = "\"processed_at\":\"";
/* `2026-11-24T03:20:00.123` behind the mark. */
enum { STAMP = 23 };

static long histogram[MAX_MS + 1], frames, cut;
static bool is_counting;

static void fail(const char *what) {
  perror(what);
  exit(1);
}

static long long now_ms(void) {
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  return time.tv_sec * 1000LL + time.tv_nsec / 1000000;
}

static long two(const char *at) { return (at[0] - '0') * 10 + (at[1] - '0'); }

/* Milliseconds of the day. */
static long stamp_ms(const char *at) {
  return (two(at + 11) * 60 + two(at + 14)) * 60000 + two(at + 17) * 1000 + (at[20] - '0') * 100 + two(at + 21);
}

static void count(Reader *reader, const char *stamp, long today_ms) {
  if (!is_counting) return;
  long late = today_ms - stamp_ms(stamp);
  if (late < -DAY_MS / 2) late += DAY_MS;
  if (late < 0) late = 0;
  histogram[late > MAX_MS ? MAX_MS : late]++;
  frames++;
  reader->has_frames = true;
}

static void take(Reader *reader, char *buffer, size_t length) {
  long today_ms = now_ms() % DAY_MS;
  const char *at = buffer, *end = buffer + length;
  for (;;) {
    const char *found = memmem(at, end - at, MARK, sizeof MARK - 1);
    if (!found || found + sizeof MARK - 1 + STAMP > end) break;
    count(reader, found + sizeof MARK - 1, today_ms);
    at = found + sizeof MARK - 1 + STAMP;
  }
  /* A mark may have been cut in two. */
  size_t rest = end - at;
  reader->carried = rest < CARRY ? rest : CARRY;
  memcpy(reader->carry, end - reader->carried, reader->carried);
}

static int connect_to(int port) {
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  if (fd < 0) fail("socket");
  if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0) fail("connect");
  return fd;
}

static void ask(Reader *reader, int port, const char *key, const char *path) {
  char request[1024];
  reader->fd = connect_to(port);
  int length = snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer %s\r\n\r\n", path, key);
  if (write(reader->fd, request, length) != length) fail("write");
}

static void await_head(Reader *reader) {
  char buffer[READ_SIZE];
  ssize_t length = read(reader->fd, buffer, sizeof buffer);
  if (length < 12 || strncmp(buffer, "HTTP/1.1 200", 12) != 0) {
    fprintf(stderr, "a stream answered: %.*s\n", (int)(length > 0 ? length : 0), buffer);
    exit(1);
  }
  reader->is_open = true;
}

static long quantile(double part) {
  long before = 0;
  for (long ms = 0; ms <= MAX_MS; ms++) {
    before += histogram[ms];
    if (frames > 0 && before >= part * frames) return ms;
  }
  return MAX_MS;
}

int main(int argc, char **argv) {
  if (argc != 6) {
    fprintf(stderr, "Usage: readers PORT KEY COUNT SECONDS FILE\n");
    return 2;
  }
  int port = atoi(argv[1]), readers = atoi(argv[3]), seconds = atoi(argv[4]), paths = 0;
  static char *path[MAX_PATHS];
  FILE *file = fopen(argv[5], "r");
  if (!file) fail(argv[5]);
  char line[512];
  while (paths < MAX_PATHS && fgets(line, sizeof line, file)) {
    line[strcspn(line, "\n")] = 0;
    path[paths++] = strdup(line);
  }
  if (paths == 0) return 2;

  Reader *all = calloc(readers, sizeof(Reader));
  int poll = epoll_create1(0);
  long long started = now_ms();
  for (int from = 0; from < readers; from += BATCH) {
    int to = from + BATCH < readers ? from + BATCH : readers;
    for (int at = from; at < to; at++) ask(&all[at], port, argv[2], path[at % paths]);
    for (int at = from; at < to; at++) {
      await_head(&all[at]);
      struct epoll_event wanted = {.events = EPOLLIN, .data.ptr = &all[at]};
      if (epoll_ctl(poll, EPOLL_CTL_ADD, all[at].fd, &wanted) < 0) fail("epoll_ctl");
    }
  }
  printf("{\"connectedMs\":%lld}\n", now_ms() - started);
  fflush(stdout);

  is_counting = true;
  long long until = now_ms() + seconds * 1000LL;
  static char buffer[CARRY + READ_SIZE];
  struct epoll_event ready[MAX_READY];
  for (;;) {
    long long rest = until - now_ms();
    if (rest <= 0) break;
    int found = epoll_wait(poll, ready, MAX_READY, rest > 100 ? 100 : (int)rest);
    for (int at = 0; at < found; at++) {
      Reader *reader = ready[at].data.ptr;
      memcpy(buffer, reader->carry, reader->carried);
      ssize_t length = read(reader->fd, buffer + reader->carried, READ_SIZE);
      if (length > 0) take(reader, buffer, reader->carried + length);
      else if (length == 0 || errno != EAGAIN) {
        epoll_ctl(poll, EPOLL_CTL_DEL, reader->fd, NULL);
        reader->is_open = false;
        cut++;
      }
    }
  }
  long heard = 0;
  for (int at = 0; at < readers; at++) heard += all[at].has_frames;
  printf("{\"frames\":%ld,\"readers\":%ld,\"p50Ms\":%ld,\"p99Ms\":%ld,\"maxMs\":%ld,\"cut\":%ld}\n", frames, heard, quantile(0.5),
         quantile(0.99), quantile(1), cut);
  return 0;
}
