// The compiler, and modules. An object and an image are the bytes that calclImageWrite writes: they outlive a server.
#include <stdlib.h>

#include "shim.h"

enum { MAGIC = 0x4c414348 };

struct CALobjectRec {
  uint32_t magic, target, size;
  char data[];
};
struct CALimageRec {
  struct CALobjectRec object;
};

static bool is(const struct CALobjectRec *object) { return object && object->magic == MAGIC; }

static CALresult invalid(struct hw_errors *errors, const char *text) {
  return hw_fail(errors, CAL_RESULT_INVALID_PARAMETER, text, strlen(text));
}

static struct CALobjectRec *make(uint32_t target, const void *data, uint32_t size) {
  struct CALobjectRec *made = malloc(sizeof *made + size);
  if (made) {
    *made = (struct CALobjectRec){MAGIC, target, size};
    memcpy(made->data, data, size);
  }
  return made;
}

// What a call of the compiler made.
static CALresult take(struct hw_call *call, CALresult result, uint32_t target, struct CALobjectRec **made) {
  if (result == CAL_RESULT_OK) {
    struct hw_bytes data = hw_get_bytes(&call->reply);
    *made = make(target, data.data, data.size);
    if (!*made)
      result = hw_fail(&hw_compiler_errors, CAL_RESULT_ERROR, "no memory is left", 17);
  }
  hw_end_call(call);
  return result;
}

static CALresult release(struct CALobjectRec *object, struct hw_errors *errors) {
  if (!is(object))
    return invalid(errors, "this is no object or image");
  object->magic = 0; // a handle that is used afterwards is refused, as long as nothing else lies there
  free(object);
  return CAL_RESULT_OK;
}

HW_API CALresult calclCompile(CALobject *obj, CALlanguage language, const CALchar *source, CALtarget target) {
  if (!obj || !source)
    return hw_null("calclCompile", obj ? "source" : "obj");
  *obj = NULL;
  struct hw_calclCompile_request request = {(uint32_t)language, (uint32_t)target, {source, (uint32_t)strlen(source)}};
  struct hw_call call = {0};
  hw_put_calclCompile_request(&call.request, &request);
  return take(&call, hw_call_any(&call, HW_CALCLCOMPILE, &hw_compiler_errors), (uint32_t)target, obj);
}

HW_API CALresult calclAssembleObject(CALobject *obj, CALCLprogramType type, const CALchar *source, CALtarget target) {
  if (!obj || !source)
    return hw_null("calclAssembleObject", obj ? "source" : "obj");
  *obj = NULL;
  struct hw_calclAssembleObject_request request = {(uint32_t)type, (uint32_t)target, {source, (uint32_t)strlen(source)}};
  struct hw_call call = {0};
  hw_put_calclAssembleObject_request(&call.request, &request);
  return take(&call, hw_call_any(&call, HW_CALCLASSEMBLEOBJECT, &hw_compiler_errors), (uint32_t)target, obj);
}

HW_API CALresult calclLink(CALimage *image, CALobject *obj, CALuint objCount) {
  if (!image || !obj)
    return hw_null("calclLink", image ? "obj" : "image");
  *image = NULL;
  struct hw_writer objects = {0};
  for (CALuint i = 0; i < objCount; i++) {
    if (!is(obj[i])) {
      free(objects.data);
      return invalid(&hw_compiler_errors, "this is no object");
    }
    struct hw_object record = {obj[i]->target, {obj[i]->data, obj[i]->size}};
    hw_put_object(&objects, &record);
  }
  struct hw_calclLink_request request = {{objCount, (uint32_t)objects.size, objects.data}};
  struct hw_call call = {0};
  hw_put_calclLink_request(&call.request, &request);
  call.request.failed |= objects.failed;
  CALresult result = hw_call_any(&call, HW_CALCLLINK, &hw_compiler_errors);
  free(objects.data);
  return take(&call, result, 0, (CALobject *)image);
}

HW_API CALresult calclFreeObject(CALobject obj) { return release(obj, &hw_compiler_errors); }
HW_API CALresult calclFreeImage(CALimage image) { return release((CALobject)image, &hw_compiler_errors); }
HW_API CALresult calImageFree(CALimage image) { return release((CALobject)image, &hw_runtime_errors); }

HW_API CALresult calclImageGetSize(CALuint *size, CALimage image) {
  if (!size)
    return hw_null("calclImageGetSize", "size");
  *size = 0;
  if (!is((CALobject)image))
    return invalid(&hw_compiler_errors, "this is no image");
  *size = image->object.size;
  return CAL_RESULT_OK;
}

HW_API CALresult calclImageWrite(CALvoid *buffer, CALuint size, CALimage image) {
  if (!buffer)
    return hw_null("calclImageWrite", "buffer");
  if (!is((CALobject)image))
    return invalid(&hw_compiler_errors, "this is no image");
  if (size < image->object.size)
    return invalid(&hw_compiler_errors, "the buffer is smaller than the image");
  memcpy(buffer, image->object.data, image->object.size);
  return CAL_RESULT_OK;
}

// Line by line, as the guide says.
static void disassemble(const struct CALobjectRec *object, CALLogFunction log) {
  if (!is(object) || !log) {
    invalid(&hw_compiler_errors, log ? "this is no object or image" : "there is no function to call");
    return;
  }
  struct hw_calclDisassembleImage_request request = {{object->data, object->size}};
  struct hw_call call = {0};
  hw_put_calclDisassembleImage_request(&call.request, &request);
  if (hw_call_any(&call, HW_CALCLDISASSEMBLEIMAGE, &hw_compiler_errors) == CAL_RESULT_OK) {
    struct hw_bytes text = hw_get_bytes(&call.reply);
    char *line = malloc((size_t)text.size + 1);
    for (uint32_t at = 0; line && at < text.size;) {
      const char *end = memchr(text.data + at, '\n', text.size - at);
      uint32_t bytes = end ? (uint32_t)(end + 1 - (text.data + at)) : text.size - at;
      memcpy(line, text.data + at, bytes);
      line[bytes] = 0;
      log(line);
      at += bytes;
    }
    free(line);
  }
  hw_end_call(&call);
}

HW_API void calclDisassembleImage(const CALimage image, CALLogFunction logfunc) {
  disassemble((CALobject)image, logfunc);
}

HW_API void calclDisassembleObject(const CALobject *obj, CALLogFunction logfunc) {
  disassemble(obj ? *obj : NULL, logfunc);
}

static CALresult no_extension(void) {
  return hw_fail(&hw_compiler_errors, CAL_RESULT_NOT_SUPPORTED, "the compiler has no extensions", 30);
}

HW_API CALresult calclExtSupported(CALextid extid) {
  (void)extid;
  return no_extension();
}

HW_API CALresult calclExtGetVersion(CALuint *major, CALuint *minor, CALextid extid) {
  (void)major, (void)minor, (void)extid;
  return no_extension();
}

HW_API CALresult calclExtGetProc(CALextproc *proc, CALextid extid, const CALchar *procname) {
  (void)extid, (void)procname;
  if (proc)
    *proc = NULL;
  return no_extension();
}

// -- images and modules

HW_API CALresult calImageRead(CALimage *image, const CALvoid *buffer, CALuint size) {
  if (!image || !buffer)
    return hw_null("calImageRead", image ? "buffer" : "image");
  *image = NULL;
  struct hw_calImageRead_request request = {{buffer, size}};
  struct hw_call call = {0};
  hw_put_calImageRead_request(&call.request, &request);
  CALresult result = hw_call_any(&call, HW_CALIMAGEREAD, &hw_runtime_errors);
  hw_end_call(&call);
  if (result == CAL_RESULT_OK) {
    *image = (CALimage)make(0, buffer, size);
    if (!*image)
      result = hw_fail(&hw_runtime_errors, CAL_RESULT_ERROR, "no memory is left", 17);
  }
  return result;
}

HW_API CALresult calModuleLoad(CALmodule *module, CALcontext ctx, CALimage image) {
  if (!module)
    return hw_null("calModuleLoad", "module");
  *module = 0;
  if (!is((CALobject)image))
    return hw_session() == CAL_RESULT_OK ? invalid(&hw_runtime_errors, "this is no image")
                                         : CAL_RESULT_NOT_INITIALIZED;
  struct hw_calModuleLoad_request request = {ctx, {image->object.data, image->object.size}};
  struct hw_call call = {0};
  hw_put_calModuleLoad_request(&call.request, &request);
  CALresult result = hw_call(&call, HW_CALMODULELOAD);
  if (result == CAL_RESULT_OK)
    *module = hw_get_u32(&call.reply);
  hw_end_call(&call);
  return result;
}

HW_API CALresult calModuleGetEntry(CALfunc *func, CALcontext ctx, CALmodule module, const CALchar *procName) {
  if (!func || !procName)
    return hw_null("calModuleGetEntry", func ? "procName" : "func");
  *func = 0;
  struct hw_calModuleGetEntry_request request = {ctx, module, {procName, (uint32_t)strlen(procName)}};
  struct hw_call call = {0};
  hw_put_calModuleGetEntry_request(&call.request, &request);
  CALresult result = hw_call(&call, HW_CALMODULEGETENTRY);
  if (result == CAL_RESULT_OK)
    *func = hw_get_u32(&call.reply);
  hw_end_call(&call);
  return result;
}

HW_API CALresult calModuleGetName(CALname *name, CALcontext ctx, CALmodule module, const CALchar *varName) {
  if (!name || !varName)
    return hw_null("calModuleGetName", name ? "varName" : "name");
  *name = 0;
  struct hw_calModuleGetName_request request = {ctx, module, {varName, (uint32_t)strlen(varName)}};
  struct hw_call call = {0};
  hw_put_calModuleGetName_request(&call.request, &request);
  CALresult result = hw_call(&call, HW_CALMODULEGETNAME);
  if (result == CAL_RESULT_OK)
    *name = hw_get_u32(&call.reply);
  hw_end_call(&call);
  return result;
}

HW_API CALresult calModuleGetFuncInfo(CALfuncInfo *pInfo, CALcontext ctx, CALmodule module, CALfunc func) {
  if (!pInfo)
    return hw_null("calModuleGetFuncInfo", "pInfo");
  struct hw_calModuleGetFuncInfo_request request = {ctx, module, func};
  struct hw_call call = {0};
  hw_put_calModuleGetFuncInfo_request(&call.request, &request);
  CALresult result = hw_call(&call, HW_CALMODULEGETFUNCINFO);
  if (result == CAL_RESULT_OK)
    hw_get(&call.reply, pInfo, sizeof *pInfo); // callers compiled before Catalyst's last headers have no more room
  hw_end_call(&call);
  return result;
}
_Static_assert(sizeof(CALfuncInfo) == 76, "as the SDK 2.x has it");
