/*
 * An HTTP/1.1 model provider with canned answers: one thread, epoll, keep-alive. It costs a few microseconds a call, so
 * that a bench on few cores measures what stands in front of it.
 *
 * Usage: upstream PATH FILE PAUSE_MS [PATH FILE PAUSE_MS ...]
 *
 * A POST to PATH (the query does not count) is answered with FILE: as one body when PAUSE_MS is "whole"; otherwise as an
 * event stream, whose events are separate writes that many milliseconds apart (0: one in each turn of the event loop).
 * With 20@4 only event 4, counted from 0, comes after a pause of 20 ms, and the events before it come together. A stamp in
 * an event, such as n0007t0000000000000000, gets the time of the write in microseconds, of the monotonic clock.
 * GET /counts returns {"answers", "events"}: whole answers and stream ends, and events written so far.
 * The first line of the output is {"origin"}. Clients must not pipeline.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { STAMP_DIGITS = 16, MAX_STAMPED = 1024, MAX_HEAD = 65536, MAX_ROUTES = 64, MAX_READY = 512, READ_SIZE = 262144, BACKLOG = 4096, MAX_NOTE = 256 };

typedef struct {
  const char *bytes;
  size_t length;
} Slice;

/* An event as a chunk of the stream; `stamp` is the place of the digits, or 0. */
typedef struct {
  Slice chunk;
  size_t stamp;
} Event;

typedef struct Connection Connection;

/* What a path answers. A body is ready to be sent, together with its head. */
typedef struct {
  const char *path;
  bool is_stream;
  long long pause_us;
  /* The only event after a pause; -1 when every event has one. */
  long paused_event;
  Slice head;
  Event *events;
  size_t event_count;
  /* Streams that wait for their next event, the earliest first. */
  Connection *first, *last;
} Route;

typedef enum { HEAD, LENGTH, CHUNK_SIZE, CHUNK_DATA, CHUNK_END, TRAILER, ANSWER } State;

struct Connection {
  int fd;
  State state;
  char head[MAX_HEAD];
  size_t head_length;
  /* Of the body, or of its current chunk. */
  unsigned long long body_left;
  size_t line_length;
  bool is_post, is_closing;
  Route *route;
  char target[MAX_NOTE];
  /* The answer: what is still to be sent now, and the next event of a stream. */
  Slice out;
  size_t next_event;
  bool is_blocked, is_queued, is_dead;
  long long due_us;
  Connection *before, *after;
  char note[MAX_NOTE * 2];
  char stamped[MAX_STAMPED];
};

static Route routes[MAX_ROUTES];
static size_t route_count;
static unsigned long long answers, events;
static int poller;
static char input[READ_SIZE];

static void fail(const char *what) {
  perror(what);
  exit(1);
}

static long long now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000LL + now.tv_nsec / 1000;
}

/* Formats into memory that stays. */
static Slice lasting(const char *format, ...) {
  char *text;
  va_list arguments;
  va_start(arguments, format);
  int length = vasprintf(&text, format, arguments);
  va_end(arguments);
  if (length < 0) fail("vasprintf");
  return (Slice){text, (size_t)length};
}

static Slice joined(Slice a, const char *bytes, size_t length, const char *end) {
  size_t end_length = strlen(end);
  char *whole = malloc(a.length + length + end_length);
  if (!whole) fail("malloc");
  memcpy(whole, a.bytes, a.length);
  memcpy(whole + a.length, bytes, length);
  memcpy(whole + a.length + length, end, end_length);
  return (Slice){whole, a.length + length + end_length};
}

static Slice read_file(const char *name) {
  FILE *file = fopen(name, "rb");
  if (!file) fail(name);
  fseek(file, 0, SEEK_END);
  long size = ftell(file);
  rewind(file);
  char *bytes = malloc((size_t)size + 1);
  if (!bytes || fread(bytes, 1, (size_t)size, file) != (size_t)size) fail(name);
  fclose(file);
  return (Slice){bytes, (size_t)size};
}

static size_t digits_at(const char *at, const char *end) {
  size_t count = 0;
  while (at + count < end && at[count] >= '0' && at[count] <= '9') count++;
  return count;
}

static size_t stamp_of(Slice chunk) {
  const char *end = chunk.bytes + chunk.length;
  for (const char *at = chunk.bytes; at < end; at++) {
    bool is_stamp = *at == 'n' && digits_at(at + 1, end) == 4 && at + 5 < end && at[5] == 't' &&
                    digits_at(at + 6, end) == STAMP_DIGITS;
    if (is_stamp && chunk.length <= MAX_STAMPED) return (size_t)(at + 6 - chunk.bytes);
  }
  return 0;
}

static void add_event(Route *route, Slice chunk) {
  route->events = realloc(route->events, (route->event_count + 1) * sizeof(Event));
  if (!route->events) fail("realloc");
  route->events[route->event_count++] = (Event){chunk, stamp_of(chunk)};
}

/* Events end with an empty line; the last chunk of the stream goes out with the last of them. */
static void cut_events(Route *route, Slice body) {
  const char *at = body.bytes, *end = body.bytes + body.length;
  while (at < end) {
    const char *found = memmem(at, (size_t)(end - at), "\n\n", 2);
    const char *next = found ? found + 2 : end;
    size_t length = (size_t)(next - at);
    add_event(route, joined(lasting("%zx\r\n", length), at, length, "\r\n"));
    at = next;
  }
  if (route->event_count == 0) {
    fprintf(stderr, "%s: the stream has no events\n", route->path);
    exit(1);
  }
  Slice *last = &route->events[route->event_count - 1].chunk;
  *last = joined(*last, "0\r\n\r\n", 5, "");
}

static void add_route(const char *path, const char *file, const char *pause) {
  if (route_count == MAX_ROUTES) {
    fprintf(stderr, "at most %d paths\n", MAX_ROUTES);
    exit(1);
  }
  Route *route = &routes[route_count++];
  Slice body = read_file(file);
  route->path = path;
  route->is_stream = strcmp(pause, "whole") != 0;
  if (!route->is_stream) {
    Slice head = lasting("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %zu\r\n\r\n", body.length);
    route->head = joined(head, body.bytes, body.length, "");
    return;
  }
  const char *only = strchr(pause, '@');
  route->pause_us = atoll(pause) * 1000;
  route->paused_event = only ? atol(only + 1) : -1;
  route->head = lasting("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
                        "transfer-encoding: chunked\r\n\r\n");
  cut_events(route, body);
}

static void leave_queue(Connection *connection) {
  if (!connection->is_queued) return;
  Route *route = connection->route;
  if (connection->before) connection->before->after = connection->after;
  else route->first = connection->after;
  if (connection->after) connection->after->before = connection->before;
  else route->last = connection->before;
  connection->before = connection->after = NULL;
  connection->is_queued = false;
}

static void join_queue(Connection *connection, long long due_us) {
  Route *route = connection->route;
  Connection *before = route->last;
  /* Next to nothing to walk: almost all pauses of a route are equal. */
  while (before && before->due_us > due_us) before = before->before;
  Connection *after = before ? before->after : route->first;
  connection->due_us = due_us;
  connection->before = before;
  connection->after = after;
  if (before) before->after = connection;
  else route->first = connection;
  if (after) after->before = connection;
  else route->last = connection;
  connection->is_queued = true;
}

/* Its memory is freed at the end of the turn, since the turn may still know it. */
static Connection *dead;

static void disconnect(Connection *connection) {
  if (connection->is_dead) return;
  leave_queue(connection);
  close(connection->fd);
  connection->is_dead = true;
  connection->after = dead;
  dead = connection;
}

static void bury(void) {
  while (dead) {
    Connection *next = dead->after;
    free(dead);
    dead = next;
  }
}

static void watch(Connection *connection, bool for_room) {
  struct epoll_event wish = {.events = EPOLLIN | (for_room ? EPOLLOUT : 0), .data.ptr = connection};
  epoll_ctl(poller, EPOLL_CTL_MOD, connection->fd, &wish);
  connection->is_blocked = for_room;
}

/* True when all that was to be sent is sent. */
static bool flush(Connection *connection) {
  while (connection->out.length > 0) {
    ssize_t sent = send(connection->fd, connection->out.bytes, connection->out.length, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) {
      if (!connection->is_blocked) watch(connection, true);
      return false;
    }
    if (sent < 0) {
      disconnect(connection);
      return false;
    }
    connection->out.bytes += sent;
    connection->out.length -= (size_t)sent;
  }
  if (connection->is_blocked) watch(connection, false);
  return true;
}

static void await_request(Connection *connection) {
  if (connection->is_closing) {
    disconnect(connection);
    return;
  }
  connection->state = HEAD;
  connection->head_length = 0;
  connection->route = NULL;
}

static bool has_more(const Connection *connection) {
  const Route *route = connection->route;
  return route && route->is_stream && connection->next_event < route->event_count;
}

/* To be called when a write is complete. */
static void continue_answer(Connection *connection, long long now) {
  if (has_more(connection)) {
    const Route *route = connection->route;
    bool is_paused = route->pause_us > 0 && (route->paused_event < 0 || route->paused_event == (long)connection->next_event);
    bool is_first = connection->next_event == 0 || route->paused_event >= 0;
    /* After a late write the next event keeps to the pace of the stream. */
    join_queue(connection, is_paused ? (is_first ? now : connection->due_us) + route->pause_us : now);
    return;
  }
  if (connection->route) answers++;
  await_request(connection);
}

static void send_slice(Connection *connection, Slice slice) {
  connection->out = slice;
  if (flush(connection)) continue_answer(connection, now_us());
}

static void send_event(Connection *connection) {
  leave_queue(connection);
  events++;
  const Event *event = &connection->route->events[connection->next_event++];
  Slice chunk = event->chunk;
  if (event->stamp > 0) {
    char digits[STAMP_DIGITS + 1];
    memcpy(connection->stamped, chunk.bytes, chunk.length);
    snprintf(digits, sizeof digits, "%016llu", (unsigned long long)now_us() % 10000000000000000ULL);
    memcpy(connection->stamped + event->stamp, digits, STAMP_DIGITS);
    chunk.bytes = connection->stamped;
  }
  send_slice(connection, chunk);
}

static void send_note(Connection *connection, const char *status, const char *text) {
  int length = snprintf(connection->note, sizeof connection->note,
                        "HTTP/1.1 %s\r\ncontent-type: application/json\r\ncontent-length: %zu\r\n\r\n%s", status,
                        strlen(text), text);
  connection->route = NULL;
  send_slice(connection, (Slice){connection->note, (size_t)length});
}

static void answer(Connection *connection) {
  char text[MAX_NOTE];
  connection->state = ANSWER;
  connection->next_event = 0;
  if (connection->is_post && connection->route) {
    send_slice(connection, connection->route->head);
  } else if (!connection->is_post && strcmp(connection->target, "/counts") == 0) {
    snprintf(text, sizeof text, "{\"answers\":%llu,\"events\":%llu}", answers, events);
    send_note(connection, "200 OK", text);
  } else {
    send_note(connection, "404 Not Found", "{\"error\":{\"message\":\"the bench has no answer for this path\"}}");
  }
}

/* Value of a header, or NULL. The head ends with a zero byte. */
static const char *header(const char *head, const char *name) {
  size_t length = strlen(name);
  for (const char *line = strstr(head, "\r\n"); line; line = strstr(line + 2, "\r\n")) {
    if (strncasecmp(line + 2, name, length) == 0 && line[2 + length] == ':') {
      const char *value = line + 3 + length;
      return value + strspn(value, " \t");
    }
  }
  return NULL;
}

static void read_target(Connection *connection) {
  const char *start = strchr(connection->head, ' ');
  size_t length = start ? strcspn(start + 1, " ?\r") : 0;
  if (length >= sizeof connection->target) length = 0;
  if (start) memcpy(connection->target, start + 1, length);
  connection->target[length] = 0;
  connection->route = NULL;
  for (size_t at = 0; at < route_count; at++) {
    if (strcmp(routes[at].path, connection->target) == 0) connection->route = &routes[at];
  }
}

static void begin_body(Connection *connection) {
  const char *coding = header(connection->head, "transfer-encoding");
  const char *length = header(connection->head, "content-length");
  const char *persistence = header(connection->head, "connection");
  connection->is_post = strncmp(connection->head, "POST ", 5) == 0;
  connection->is_closing = persistence && strncasecmp(persistence, "close", 5) == 0;
  read_target(connection);
  connection->body_left = length ? strtoull(length, NULL, 10) : 0;
  connection->line_length = 0;
  if (coding && strncasecmp(coding, "chunked", 7) == 0) {
    connection->state = CHUNK_SIZE;
    connection->body_left = 0;
  } else if (connection->body_left > 0) {
    connection->state = LENGTH;
  } else {
    answer(connection);
  }
}

/* Takes bytes of the head; how many. */
static size_t take_head(Connection *connection, const char *bytes, size_t length) {
  for (size_t at = 0; at < length; at++) {
    if (connection->head_length == MAX_HEAD - 1) {
      disconnect(connection);
      return length;
    }
    connection->head[connection->head_length++] = bytes[at];
    bool is_end = bytes[at] == '\n' && connection->head_length >= 4 &&
                  memcmp(connection->head + connection->head_length - 4, "\r\n\r\n", 4) == 0;
    if (is_end) {
      connection->head[connection->head_length] = 0;
      begin_body(connection);
      return at + 1;
    }
  }
  return length;
}

static size_t take_body(Connection *connection, size_t length) {
  size_t taken = length < connection->body_left ? length : (size_t)connection->body_left;
  connection->body_left -= taken;
  if (connection->body_left > 0) return taken;
  if (connection->state == LENGTH) answer(connection);
  else connection->state = CHUNK_END;
  return taken;
}

static int hex_value(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  digit |= 0x20;
  return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

/* Takes one byte of the lines between chunks. Extensions of a chunk are not supported. */
static void take_line_byte(Connection *connection, char byte) {
  if (byte == '\r') return;
  if (byte != '\n') {
    int value = hex_value(byte);
    if (connection->state == CHUNK_SIZE && value >= 0) connection->body_left = connection->body_left * 16 + (unsigned)value;
    connection->line_length++;
    return;
  }
  bool is_empty = connection->line_length == 0;
  connection->line_length = 0;
  if (connection->state == CHUNK_END) {
    connection->state = CHUNK_SIZE;
    connection->body_left = 0;
  } else if (connection->state == CHUNK_SIZE) {
    connection->state = connection->body_left > 0 ? CHUNK_DATA : TRAILER;
  } else if (is_empty) {
    answer(connection);
  }
}

static void take(Connection *connection, const char *bytes, size_t length) {
  size_t at = 0;
  while (at < length && !connection->is_dead) {
    switch (connection->state) {
    case HEAD:
      at += take_head(connection, bytes + at, length - at);
      break;
    case LENGTH:
    case CHUNK_DATA:
      at += take_body(connection, length - at);
      break;
    case CHUNK_SIZE:
    case CHUNK_END:
    case TRAILER:
      take_line_byte(connection, bytes[at++]);
      break;
    case ANSWER:
      fprintf(stderr, "a client sent more before it had its answer\n");
      disconnect(connection);
      break;
    }
  }
}

static void receive(Connection *connection) {
  ssize_t length = recv(connection->fd, input, sizeof input, 0);
  if (length > 0) take(connection, input, (size_t)length);
  else if (length == 0 || (errno != EAGAIN && errno != EINTR)) disconnect(connection);
}

static void accept_all(int listener) {
  for (;;) {
    int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return;
    int yes = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    Connection *connection = calloc(1, sizeof *connection);
    if (!connection) fail("calloc");
    connection->fd = fd;
    struct epoll_event wish = {.events = EPOLLIN, .data.ptr = connection};
    if (epoll_ctl(poller, EPOLL_CTL_ADD, fd, &wish) < 0) fail("epoll_ctl");
  }
}

/* Sends the events that are due; a stream without pauses gets one in each turn. */
static void send_due_events(void) {
  long long now = now_us();
  for (size_t at = 0; at < route_count; at++) {
    const Connection *last = routes[at].last;
    while (routes[at].first && routes[at].first->due_us <= now) {
      Connection *connection = routes[at].first;
      send_event(connection);
      if (connection == last) break;
    }
  }
}

/* Milliseconds until the next event is due; -1 when none is. */
static int patience_ms(void) {
  long long earliest = -1;
  for (size_t at = 0; at < route_count; at++) {
    const Connection *first = routes[at].first;
    if (first && (earliest < 0 || first->due_us < earliest)) earliest = first->due_us;
  }
  if (earliest < 0) return -1;
  long long left = earliest - now_us();
  return left <= 0 ? 0 : (int)((left + 999) / 1000);
}

static int open_listener(void) {
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  if (listener < 0 || bind(listener, (struct sockaddr *)&address, length) < 0 || listen(listener, BACKLOG) < 0 ||
      getsockname(listener, (struct sockaddr *)&address, &length) < 0)
    fail("listen");
  printf("{\"origin\":\"http://127.0.0.1:%d\"}\n", ntohs(address.sin_port));
  fflush(stdout);
  return listener;
}

int main(int count, char **arguments) {
  if (count < 4 || count % 3 != 1) {
    fprintf(stderr, "usage: upstream PATH FILE PAUSE_MS [PATH FILE PAUSE_MS ...]\n");
    return 1;
  }
  for (int at = 1; at < count; at += 3) add_route(arguments[at], arguments[at + 1], arguments[at + 2]);
  poller = epoll_create1(EPOLL_CLOEXEC);
  int listener = open_listener();
  struct epoll_event wish = {.events = EPOLLIN, .data.ptr = NULL};
  if (poller < 0 || epoll_ctl(poller, EPOLL_CTL_ADD, listener, &wish) < 0) fail("epoll");
  struct epoll_event ready[MAX_READY];
  for (;;) {
    int found = epoll_wait(poller, ready, MAX_READY, patience_ms());
    if (found < 0 && errno != EINTR) fail("epoll_wait");
    for (int at = 0; at < found; at++) {
      Connection *connection = ready[at].data.ptr;
      if (!connection) {
        accept_all(listener);
        continue;
      }
      if (!connection->is_dead && ready[at].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) receive(connection);
      bool has_room = !connection->is_dead && ready[at].events & EPOLLOUT;
      if (has_room && connection->is_blocked && flush(connection)) continue_answer(connection, now_us());
    }
    send_due_events();
    bury();
  }
}
