// Resources' memory: allocating what needs more than numbers, mapping it into this process, and resources that are made
// of the host's own memory.
#include <stdio.h>
#include <stdlib.h>

#include "shim.h"

// A resource that was mapped, or is made of the host's memory (`pinned`). In 64 bits a mapping is kept until the
// resource is freed; in 32 bits there is no address space to spare.
struct mapping {
  struct mapping *next;
  CALresource res;
  char *pointer;
  uint64_t bytes;
  bool pinned;
};
static struct mapping *mappings;
static hw_mutex lock = HW_MUTEX_INIT;
struct hw_arena hw_pinned;

static const bool keep_mappings = sizeof(void *) == 8;

void hw_lock_memory(void) { hw_lock(&lock); }
void hw_unlock_memory(void) { hw_unlock(&lock); }

void hw_forget_parents_memory(void) {
  mappings = NULL;
  hw_pinned = (struct hw_arena){0};
}

// With the lock held.
static struct mapping *find(CALresource res) {
  for (struct mapping *m = mappings; m; m = m->next)
    if (m->res == res)
      return m;
  return NULL;
}

static bool remember(CALresource res, char *pointer, uint64_t bytes, bool pinned) {
  struct mapping *made = malloc(sizeof *made);
  if (!made)
    return false;
  *made = (struct mapping){NULL, res, pointer, bytes, pinned};
  hw_lock(&lock);
  made->next = mappings;
  mappings = made;
  hw_unlock(&lock);
  return true;
}

// Forget a resource's mapping, or all; what is the host's own stays where it is.
static void forget(CALresource res, bool all) {
  hw_lock(&lock);
  for (struct mapping **place = &mappings; *place;) {
    struct mapping *m = *place;
    if (!all && m->res != res) {
      place = &m->next;
      continue;
    }
    *place = m->next;
    if (!m->pinned)
      hw_unmap_shared(m->pointer, m->bytes);
    free(m);
  }
  hw_unlock(&lock);
}

void hw_forget_all_mappings(void) { forget(0, true); }

static CALresult failed(const char *text) {
  return hw_fail(&hw_runtime_errors, CAL_RESULT_ERROR, text, strlen(text));
}

// -- allocating

enum { MOST_DEVICES = 1024 };

// Whether remote memory can be asked for: res is there, and so many devices.
static CALresult remote(const char *function, CALresource *res, const CALdevice *dev, CALuint count) {
  if (!res || (!dev && count))
    return hw_null(function, res ? "dev" : "res");
  *res = 0;
  CALresult result = hw_session();
  static const char text[] = "remote memory is for at most 1024 devices";
  if (result == CAL_RESULT_OK && count > MOST_DEVICES)
    result = hw_fail(&hw_runtime_errors, CAL_RESULT_INVALID_PARAMETER, text, sizeof text - 1);
  return result;
}

HW_API CALresult calResAllocRemote2D(CALresource *res, CALdevice *dev, CALuint deviceCount, CALuint width,
                                     CALuint height, CALformat format, CALuint flags) {
  CALresult result = remote("calResAllocRemote2D", res, dev, deviceCount);
  if (result != CAL_RESULT_OK)
    return result;
  struct hw_calResAllocRemote2D_request request = {
      {(const char *)dev, deviceCount * sizeof *dev}, width, height, (uint32_t)format, flags};
  struct hw_call call = {0};
  hw_put_calResAllocRemote2D_request(&call.request, &request);
  result = hw_call(&call, HW_CALRESALLOCREMOTE2D);
  if (result == CAL_RESULT_OK)
    *res = hw_get_u32(&call.reply);
  hw_end_call(&call);
  return result;
}

HW_API CALresult calResAllocRemote1D(CALresource *res, CALdevice *dev, CALuint deviceCount, CALuint width,
                                     CALformat format, CALuint flags) {
  CALresult result = remote("calResAllocRemote1D", res, dev, deviceCount);
  if (result != CAL_RESULT_OK)
    return result;
  struct hw_calResAllocRemote1D_request request = {
      {(const char *)dev, deviceCount * sizeof *dev}, width, (uint32_t)format, flags};
  struct hw_call call = {0};
  hw_put_calResAllocRemote1D_request(&call.request, &request);
  result = hw_call(&call, HW_CALRESALLOCREMOTE1D);
  if (result == CAL_RESULT_OK)
    *res = hw_get_u32(&call.reply);
  hw_end_call(&call);
  return result;
}

HW_API CALresult calResFree(CALresource res) {
  struct hw_calResFree_request request = {res};
  struct hw_call call = {0};
  hw_put_calResFree_request(&call.request, &request);
  CALresult result = hw_call(&call, HW_CALRESFREE);
  hw_end_call(&call);
  if (result == CAL_RESULT_OK)
    forget(res, false);
  return result;
}

// -- mapping

HW_API CALresult calResMap(CALvoid **pPtr, CALuint *pitch, CALresource res, CALuint flags) {
  if (!pPtr || !pitch)
    return hw_null("calResMap", pPtr ? "pitch" : "pPtr");
  *pPtr = NULL;
  hw_lock(&lock);
  struct mapping *known = find(res);
  char *pointer = known ? known->pointer : NULL;
  hw_unlock(&lock);
  struct hw_calResMap_request request = {res, flags, !pointer};
  struct hw_call call = {0};
  hw_put_calResMap_request(&call.request, &request);
  CALresult result = hw_call_talking(&call, HW_CALRESMAP);
  if (result == CAL_RESULT_OK) {
    struct hw_calResMap_reply reply;
    hw_get_calResMap_reply(&call.reply, &reply);
    if (reply.has_file) {
      intptr_t file = hw_receive_file(call.talk.connection);
      pointer = file < 0 ? NULL : hw_map_shared(file, reply.bytes);
      if (pointer && !remember(res, pointer, reply.bytes, false)) {
        hw_unmap_shared(pointer, reply.bytes);
        pointer = NULL;
      }
    }
    *pPtr = pointer;
    *pitch = reply.pitch;
  }
  hw_end_call(&call);
  if (result == CAL_RESULT_OK && !pointer) {
    calResUnmap(res);
    return failed("this process has no address space left to map the resource");
  }
  return result;
}

HW_API CALresult calResUnmap(CALresource res) {
  struct hw_calResUnmap_request request = {res};
  struct hw_call call = {0};
  hw_put_calResUnmap_request(&call.request, &request);
  CALresult result = hw_call(&call, HW_CALRESUNMAP);
  hw_end_call(&call);
  if (result == CAL_RESULT_OK && !keep_mappings) {
    hw_lock(&lock);
    struct mapping *known = find(res);
    bool pinned = known && known->pinned;
    hw_unlock(&lock);
    if (!pinned)
      forget(res, false);
  }
  return result;
}

// -- the host's own memory (CAL_EXT_RES_CREATE)

enum { PAGE = 4096 };

// Share the pages from `start` to `end`, but those that a resource has already: two resources may have an edge in one
// page. A page's place in the file is its address. Nothing else may write to them meanwhile.
static bool share_pages(char *start, char *end) {
  bool good = true;
  hw_lock(&lock);
  while (good && start < end) {
    char *stop = end, *beyond = NULL;
    for (struct mapping *m = mappings; m; m = m->next) {
      char *first = m->pointer - (uintptr_t)m->pointer % PAGE;
      char *last = m->pointer + m->bytes + (PAGE - ((uintptr_t)m->pointer + m->bytes) % PAGE) % PAGE;
      if (!m->pinned || last <= start || first >= stop)
        continue;
      if (first <= start)
        beyond = last;
      else
        stop = first;
    }
    if (beyond) {
      start = beyond;
      continue;
    }
    good = hw_share_pages(&hw_pinned, start, (uint64_t)(stop - start));
    start = stop;
  }
  hw_unlock(&lock);
  return good;
}

static CALresult create(CALresource *res, struct hw_calResCreate_request request, char *mem) {
  *res = 0;
  if (!mem)
    return hw_null("calResCreate", "mem");
  request.address = (uint64_t)(uintptr_t)mem;
  struct hw_call call = {0};
  hw_put_calResCreate_request(&call.request, &request);
  CALresult result = hw_call(&call, HW_CALRESCREATE);
  if (result == CAL_RESULT_OK)
    *res = hw_get_u32(&call.reply);
  hw_end_call(&call);
  if (result != CAL_RESULT_OK)
    return result;
  char *start = mem - (uintptr_t)mem % PAGE, *end = mem + request.size;
  end += (PAGE - (uintptr_t)end % PAGE) % PAGE;
  if (share_pages(start, end) && remember(*res, mem, request.size, true))
    return CAL_RESULT_OK;
  calResFree(*res);
  *res = 0;
  return failed("the memory cannot be shared with a device");
}

CALresult calResCreate2D(CALresource *res, CALdevice dev, CALvoid *mem, CALuint width, CALuint height, CALformat format,
                         CALuint size, CALuint flags) {
  if (!res)
    return hw_null("calResCreate2D", "res");
  return create(res, (struct hw_calResCreate_request){dev, 0, 2, width, height, (uint32_t)format, size, flags}, mem);
}

CALresult calResCreate1D(CALresource *res, CALdevice dev, CALvoid *mem, CALuint width, CALformat format, CALuint size,
                         CALuint flags) {
  if (!res)
    return hw_null("calResCreate1D", "res");
  return create(res, (struct hw_calResCreate_request){dev, 0, 1, width, 1, (uint32_t)format, size, flags}, mem);
}
