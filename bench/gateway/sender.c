/*
 * Sends model calls and checks every answer: one thread, epoll. It costs about a microsecond an event, so that a bench on few cores
 * measures what it calls.
 *
 * Usage: sender PORT FILE EXPECTED DELTAS CONNECTIONS CALLS DURATION_MS RAMP_MS THINK_MS STALL_US PATIENCE_MS
 *
 * FILE holds a request, head and body, which CONNECTIONS connections to 127.0.0.1:PORT send again and again: CALLS in all, or for
 * DURATION_MS when CALLS is 0. With DELTAS above 0 an answer is a stream with so many text events, in order, each stamped with its number and
 * the time at which the upstream wrote it (n0007t0000000000000000, microseconds of the monotonic clock), and ends with EXPECTED in its last
 * event or with [DONE]. Otherwise it is a body that contains EXPECTED. Prints one line of JSON: see `LoadResult`.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { READ_SIZE = 65536, HEAD_SIZE = 16384, TAIL_SIZE = 4096, MAX_READY = 512, STAMP = 22, EXCERPT = 200 };

typedef enum { HEAD, SIZE, DATA, DATA_END, LENGTH, TRAILER, UNTIL_CLOSE } Part;

typedef struct {
  int fd; /* -1: not connected */
  bool is_busy, is_answering, is_closing;
  size_t sent;
  /* Of the answer. */
  Part part;
  int status;
  uint64_t left;
  size_t head_length, tail_length;
  char head[HEAD_SIZE], tail[TAIL_SIZE];
  long deltas;
  bool has_disorder, has_expected, has_bytes;
  int64_t late_us;
  uint64_t started_us, begin_at_us;
} Connection;

typedef struct {
  uint32_t *values;
  size_t count, room;
} Times;

static const char *request, *expected;
static size_t request_length, expected_length;
static long wanted_deltas, wanted_calls, begun, ended, broken, lost, stalls, open_now, max_open, connections;
static uint64_t duration_us, think_us, stall_us, patience_us, first_us;
static Times relay, first_byte, first_content, whole;
static char fault[EXCERPT * 2];
static int poll_fd, port;

static void fail(const char *what) {
  perror(what);
  exit(1);
}

static uint64_t now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000ULL + now.tv_nsec / 1000;
}

static void note(Times *times, uint64_t us) {
  if (times->count == times->room) {
    times->room = times->room ? 2 * times->room : 4096;
    times->values = realloc(times->values, times->room * sizeof *times->values);
    if (!times->values) fail("realloc");
  }
  times->values[times->count++] = us > UINT32_MAX ? UINT32_MAX : (uint32_t)us;
}

static void note_fault(const char *text, const char *detail, size_t length) {
  if (*fault) return;
  snprintf(fault, sizeof fault, "%s%.*s", text, (int)(length > EXCERPT ? EXCERPT : length), detail);
  for (char *at = fault; *at; at++)
    if (*at < 0x20 || *at == '"' || *at == '\\' || *at > 0x7e) *at = ' ';
}

static void watch(Connection *connection, int operation, uint32_t events) {
  struct epoll_event event = {.events = events, .data.ptr = connection};
  if (epoll_ctl(poll_fd, operation, connection->fd, &event) < 0) fail("epoll_ctl");
}

static void connect_it(Connection *connection) {
  connection->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  if (connection->fd < 0) fail("socket");
  int on = 1;
  setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  if (connect(connection->fd, (struct sockaddr *)&address, sizeof address) < 0 && errno != EINPROGRESS) fail("connect");
  watch(connection, EPOLL_CTL_ADD, EPOLLIN | EPOLLOUT);
}

static void close_it(Connection *connection) {
  if (connection->fd >= 0) close(connection->fd);
  connection->fd = -1;
  connection->is_closing = false;
}

static bool is_over(void) {
  return wanted_calls > 0 ? begun >= wanted_calls : now_us() - first_us >= duration_us;
}

static void begin(Connection *connection) {
  begun++;
  connection->is_busy = true;
  connection->is_answering = false;
  connection->sent = connection->head_length = connection->tail_length = 0;
  connection->part = HEAD;
  connection->deltas = 0;
  connection->has_disorder = connection->has_expected = connection->has_bytes = false;
  connection->late_us = INT64_MIN;
  connection->started_us = now_us();
  if (connection->fd < 0) connect_it(connection);
  else watch(connection, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
}

static void end(Connection *connection, const char *problem, const char *detail, size_t length) {
  ended++;
  connection->is_busy = false;
  if (connection->is_answering) open_now--;
  if (wanted_deltas > connection->deltas) lost += wanted_deltas - connection->deltas;
  if (!problem && wanted_deltas > 0 && (connection->has_disorder || connection->deltas != wanted_deltas))
    problem = connection->has_disorder ? "events came out of order" : "a stream ended before its last text event";
  if (!problem && !connection->has_expected) problem = "an answer lacks the text that was sent";
  if (problem) {
    broken++;
    note_fault(problem, detail ? detail : "", detail ? length : 0);
  } else {
    note(&whole, now_us() - connection->started_us);
  }
  if (problem || connection->is_closing) close_it(connection);
  connection->begin_at_us = now_us() + think_us;
}

static void take_delta(Connection *connection, const char *at, uint64_t today_us) {
  long number = strtol((char[]){at[1], at[2], at[3], at[4], 0}, NULL, 10);
  int64_t relay_us = (int64_t)(today_us - strtoull(at + 6, NULL, 10));
  if (number != connection->deltas) connection->has_disorder = true;
  if (connection->deltas++ == 0) note(&first_content, today_us - connection->started_us);
  if (connection->late_us != INT64_MIN && relay_us - connection->late_us > (int64_t)stall_us) stalls++;
  connection->late_us = relay_us;
  note(&relay, relay_us < 0 ? 0 : relay_us);
}

static bool is_stamp(const char *at) {
  if (at[5] != 't') return false;
  for (int place = 1; place < STAMP; place++)
    if (place != 5 && !isdigit((unsigned char)at[place])) return false;
  return true;
}

/* Bytes of the body. What may be the beginning of something is kept for the next ones. */
static void take_body(Connection *connection, const char *bytes, size_t length, uint64_t today_us) {
  static char joined[TAIL_SIZE + READ_SIZE];
  if (!connection->has_bytes && length > 0) {
    connection->has_bytes = true;
    note(&first_byte, today_us - connection->started_us);
  }
  memcpy(joined, connection->tail, connection->tail_length);
  memcpy(joined + connection->tail_length, bytes, length);
  size_t size = connection->tail_length + length;
  const char *at = joined, *last = joined + size;
  if (wanted_deltas > 0) {
    const char *found;
    while ((found = memmem(at, last - at, "\":\"n", 4)) && last - found >= 3 + STAMP) {
      at = found + 4;
      if (is_stamp(found + 3)) take_delta(connection, found + 3, today_us);
    }
    if (found) at = found;
  }
  if (memmem(joined, size, expected, expected_length) || (wanted_deltas > 0 && memmem(joined, size, "[DONE]", 6)))
    connection->has_expected = true;
  /* A mark that was read must not be found again. */
  size_t wanted = wanted_deltas > 0 ? 3 + STAMP : expected_length;
  size_t kept = (size_t)(last - at) < wanted ? (size_t)(last - at) : wanted;
  if (kept > TAIL_SIZE) kept = TAIL_SIZE;
  memcpy(connection->tail, last - kept, kept);
  connection->tail_length = kept;
}

static const char *header(const char *head, const char *name) {
  const char *at = strcasestr(head, name);
  return at ? at + strlen(name) : NULL;
}

static void take_head(Connection *connection) {
  connection->head[connection->head_length] = 0;
  connection->status = atoi(connection->head + 9);
  const char *length = header(connection->head, "\r\ncontent-length:");
  connection->is_closing = header(connection->head, "\r\nconnection: close") != NULL;
  if (header(connection->head, "\r\ntransfer-encoding: chunked")) connection->part = SIZE;
  else if (length) connection->part = LENGTH;
  else connection->part = UNTIL_CLOSE;
  connection->left = connection->part == LENGTH ? strtoull(length, NULL, 10) : 0;
  connection->head_length = 0;
  connection->is_answering = true;
  if (++open_now > max_open) max_open = open_now;
}

static void finish_answer(Connection *connection) {
  if (connection->status == 200) end(connection, NULL, NULL, 0);
  else end(connection, "the answer is no success: ", connection->tail, connection->tail_length);
}

/* One line into `head`; true once it is whole. */
static bool take_line(Connection *connection, char byte) {
  if (connection->head_length < HEAD_SIZE - 1) connection->head[connection->head_length++] = byte;
  return byte == '\n';
}

static void take(Connection *connection, const char *bytes, size_t length) {
  uint64_t today_us = now_us();
  for (size_t at = 0; at < length && connection->is_busy;) {
    size_t rest = length - at;
    switch (connection->part) {
      case HEAD:
        take_line(connection, bytes[at++]);
        if (connection->head_length >= 4 && !memcmp(connection->head + connection->head_length - 4, "\r\n\r\n", 4)) {
          take_head(connection);
          if (connection->part == LENGTH && connection->left == 0) finish_answer(connection);
        }
        break;
      case SIZE:
        if (!take_line(connection, bytes[at++])) break;
        connection->head[connection->head_length] = 0;
        connection->left = strtoull(connection->head, NULL, 16);
        connection->head_length = 0;
        connection->part = connection->left > 0 ? DATA : TRAILER;
        break;
      case DATA:
      case LENGTH:
      case UNTIL_CLOSE: {
        size_t part = connection->part != UNTIL_CLOSE && rest > connection->left ? connection->left : rest;
        take_body(connection, bytes + at, part, today_us);
        at += part;
        if (connection->part == UNTIL_CLOSE) break;
        connection->left -= part;
        if (connection->left > 0) break;
        if (connection->part == LENGTH) finish_answer(connection);
        else connection->part = DATA_END;
        break;
      }
      case DATA_END:
        if (bytes[at++] == '\n') connection->part = SIZE;
        break;
      case TRAILER:
        if (bytes[at++] == '\n') finish_answer(connection);
        break;
    }
  }
}

static void on_writable(Connection *connection) {
  if (!connection->is_busy || connection->sent == request_length) {
    watch(connection, EPOLL_CTL_MOD, EPOLLIN);
    return;
  }
  ssize_t sent = send(connection->fd, request + connection->sent, request_length - connection->sent, MSG_NOSIGNAL);
  if (sent < 0 && errno != EAGAIN) {
    end(connection, "the call broke: ", strerror(errno), strlen(strerror(errno)));
    return;
  }
  connection->sent += sent > 0 ? sent : 0;
  if (connection->sent == request_length) watch(connection, EPOLL_CTL_MOD, EPOLLIN);
}

static void on_readable(Connection *connection) {
  static char buffer[READ_SIZE];
  ssize_t got = recv(connection->fd, buffer, sizeof buffer, 0);
  if (got > 0) {
    take(connection, buffer, got);
    return;
  }
  if (got < 0 && errno == EAGAIN) return;
  if (!connection->is_busy) close_it(connection);
  else if (got == 0 && connection->part == UNTIL_CLOSE) finish_answer(connection);
  else end(connection, "the connection was closed before the answer was whole", NULL, 0);
}

/* Calls that are due; milliseconds until the next one, at most `most`. */
static int begin_due(Connection *all, int most) {
  uint64_t now = now_us();
  for (long at = 0; at < connections; at++) {
    Connection *connection = &all[at];
    if (connection->is_busy) continue;
    if (is_over()) return most;
    if (connection->begin_at_us <= now) begin(connection);
    else if ((connection->begin_at_us - now) / 1000 < (uint64_t)most) most = (connection->begin_at_us - now) / 1000 + 1;
  }
  return most;
}

/* Connections that are opened while streams already run wait long or break: that would be measured in place of the streams. */
static void connect_all(Connection *all, uint64_t ramp_us) {
  for (long at = 0; at < connections; at++) {
    connect_it(&all[at]);
    usleep(ramp_us / connections);
  }
  usleep(200000);
}

static int by_value(const void *one, const void *other) {
  uint32_t a = *(const uint32_t *)one, b = *(const uint32_t *)other;
  return (a > b) - (a < b);
}

static double at_share(const Times *times, double share) {
  size_t place = (size_t)(share * times->count);
  return times->values[place < times->count ? place : times->count - 1] / 1000.0;
}

static void print_spread(const char *name, Times *times) {
  printf(",\"%s\":", name);
  if (times->count == 0) {
    printf("null");
    return;
  }
  qsort(times->values, times->count, sizeof *times->values, by_value);
  printf("{\"p50\":%.3f,\"p99\":%.3f}", at_share(times, 0.5), at_share(times, 0.99));
}

static const char *contents(const char *path, size_t *length) {
  int fd = open(path, O_RDONLY);
  if (fd < 0) fail(path);
  off_t size = lseek(fd, 0, SEEK_END);
  char *bytes = malloc(size + 1);
  if (!bytes || pread(fd, bytes, size, 0) != size) fail(path);
  close(fd);
  *length = size;
  return bytes;
}

int main(int count, char **words) {
  if (count != 12) {
    fprintf(stderr, "11 arguments are needed\n");
    return 1;
  }
  port = atoi(words[1]);
  request = contents(words[2], &request_length);
  expected = words[3];
  expected_length = strlen(expected);
  wanted_deltas = atol(words[4]);
  connections = atol(words[5]);
  wanted_calls = atol(words[6]);
  duration_us = strtoull(words[7], NULL, 10) * 1000;
  uint64_t ramp_us = strtoull(words[8], NULL, 10) * 1000;
  think_us = strtoull(words[9], NULL, 10) * 1000;
  stall_us = strtoull(words[10], NULL, 10);
  patience_us = strtoull(words[11], NULL, 10) * 1000;

  poll_fd = epoll_create1(0);
  Connection *all = calloc(connections, sizeof *all);
  if (poll_fd < 0 || !all) fail("memory");
  for (long at = 0; at < connections; at++) all[at].fd = -1;
  if (ramp_us > 0) connect_all(all, ramp_us);
  first_us = now_us();
  for (long at = 0; at < connections; at++) all[at].begin_at_us = first_us + ramp_us * at / connections;
  while (ended < begun || !is_over()) {
    int wait = begin_due(all, 100);
    if (now_us() - first_us > patience_us) {
      note_fault("the calls did not end in time", "", 0);
      broken += begun - ended;
      break;
    }
    struct epoll_event ready[MAX_READY];
    int number = epoll_wait(poll_fd, ready, MAX_READY, wait);
    for (int at = 0; at < number; at++) {
      Connection *connection = ready[at].data.ptr;
      if (connection->fd >= 0 && ready[at].events & EPOLLOUT) on_writable(connection);
      if (connection->fd >= 0 && ready[at].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) on_readable(connection);
    }
  }
  printf("{\"elapsedMs\":%.3f,\"calls\":%ld,\"broken\":%ld,\"lostEvents\":%ld,\"stalls\":%ld,\"maxOpen\":%ld",
         (now_us() - first_us) / 1000.0, begun, broken, lost, stalls, max_open);
  if (*fault) printf(",\"fault\":\"%s\"", fault);
  print_spread("relay", &relay);
  print_spread("firstByte", &first_byte);
  print_spread("firstContent", &first_content);
  print_spread("whole", &whole);
  printf("}\n");
  return 0;
}
