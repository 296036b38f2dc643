// Numbers, bytes and lists as the protocol has them in a message: written into memory that grows, read with limits.
#pragma once
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct hw_bytes {
  const char *data;
  uint32_t size;
};

// Entries lie one after the other in `data`.
struct hw_list {
  uint32_t count;
  uint32_t size;
  const char *data;
};

struct hw_writer {
  char *data;
  size_t size, room;
  int failed; // no memory
};

struct hw_reader {
  const char *at, *end;
  int failed; // the message is shorter than it says
};

static inline char *hw_grow(struct hw_writer *w, size_t bytes) {
  if (w->size + bytes > w->room) {
    size_t room = (w->size + bytes) * 2 + 256;
    char *data = w->failed ? NULL : realloc(w->data, room);
    if (!data) {
      w->failed = 1;
      return NULL;
    }
    w->data = data;
    w->room = room;
  }
  char *place = w->data + w->size;
  w->size += bytes;
  return place;
}

static inline void hw_put(struct hw_writer *w, const void *data, size_t bytes) {
  char *place = hw_grow(w, bytes);
  if (place && bytes)
    memcpy(place, data, bytes);
}

static inline void hw_put_u32(struct hw_writer *w, uint32_t value) { hw_put(w, &value, 4); }
static inline void hw_put_u64(struct hw_writer *w, uint64_t value) { hw_put(w, &value, 8); }
static inline void hw_put_bytes(struct hw_writer *w, struct hw_bytes value) {
  hw_put_u32(w, value.size);
  hw_put(w, value.data, value.size);
}
static inline void hw_put_list(struct hw_writer *w, struct hw_list value) {
  hw_put_u32(w, value.count);
  hw_put_u32(w, value.size);
  hw_put(w, value.data, value.size);
}

static inline void hw_get(struct hw_reader *r, void *value, size_t bytes) {
  if ((size_t)(r->end - r->at) < bytes) {
    r->failed = 1;
    memset(value, 0, bytes);
    return;
  }
  memcpy(value, r->at, bytes);
  r->at += bytes;
}

static inline uint32_t hw_get_u32(struct hw_reader *r) {
  uint32_t value;
  hw_get(r, &value, 4);
  return value;
}
static inline uint64_t hw_get_u64(struct hw_reader *r) {
  uint64_t value;
  hw_get(r, &value, 8);
  return value;
}
static inline struct hw_bytes hw_get_bytes(struct hw_reader *r) {
  struct hw_bytes value = {NULL, hw_get_u32(r)};
  if ((size_t)(r->end - r->at) < value.size) {
    r->failed = 1;
    value.size = 0;
  }
  value.data = r->at;
  r->at += value.size;
  return value;
}
static inline struct hw_list hw_get_list(struct hw_reader *r) {
  struct hw_list value = {hw_get_u32(r), 0, NULL};
  struct hw_bytes entries = hw_get_bytes(r);
  value.size = entries.size;
  value.data = entries.data;
  if (r->failed)
    value.count = 0;
  return value;
}
static inline struct hw_reader hw_entries(struct hw_list list) {
  struct hw_reader r = {list.data, list.data + list.size, 0};
  return r;
}
