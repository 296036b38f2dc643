// Devices' structures, launches, and what extensions add.
#include <stdio.h>

#include "shim.h"

// -- structures that tell their size

static CALresult fill(struct hw_call *call, uint32_t message, void *structure) {
  CALresult result = hw_call(call, message);
  if (result == CAL_RESULT_OK) {
    CALuint room = *(CALuint *)structure;
    struct hw_bytes data = hw_get_bytes(&call->reply);
    memcpy((char *)structure + 4, data.data, room - 4 < data.size ? room - 4 : data.size);
  }
  hw_end_call(call);
  return result;
}

static CALresult sized(const CALuint *structure, const char *function) {
  if (!structure)
    return hw_null(function, "the structure");
  static const char text[] = "struct_size is not set";
  return *structure >= 4 ? hw_session() : hw_fail(&hw_runtime_errors, CAL_RESULT_INVALID_PARAMETER, text, sizeof text - 1);
}

HW_API CALresult calDeviceGetAttribs(CALdeviceattribs *attribs, CALuint ordinal) {
  CALresult result = sized((CALuint *)attribs, "calDeviceGetAttribs");
  if (result != CAL_RESULT_OK)
    return result;
  struct hw_calDeviceGetAttribs_request request = {ordinal};
  struct hw_call call = {0};
  hw_put_calDeviceGetAttribs_request(&call.request, &request);
  return fill(&call, HW_CALDEVICEGETATTRIBS, attribs);
}

HW_API CALresult calDeviceGetStatus(CALdevicestatus *status, CALdevice dev) {
  CALresult result = sized((CALuint *)status, "calDeviceGetStatus");
  if (result != CAL_RESULT_OK)
    return result;
  struct hw_calDeviceGetStatus_request request = {dev};
  struct hw_call call = {0};
  hw_put_calDeviceGetStatus_request(&call.request, &request);
  return fill(&call, HW_CALDEVICEGETSTATUS, status);
}

HW_API CALresult calDeviceGetInfo(CALdeviceinfo *info, CALuint ordinal) {
  if (!info)
    return hw_null("calDeviceGetInfo", "info");
  struct hw_calDeviceGetInfo_request request = {ordinal};
  struct hw_call call = {0};
  hw_put_calDeviceGetInfo_request(&call.request, &request);
  CALresult result = hw_call(&call, HW_CALDEVICEGETINFO);
  if (result == CAL_RESULT_OK)
    hw_get(&call.reply, info, sizeof *info);
  hw_end_call(&call);
  return result;
}

// -- launches

// What all launches pass back.
static CALresult launch(struct hw_call *call, uint32_t message, CALevent *event) {
  CALresult result = hw_call(call, message);
  if (result == CAL_RESULT_OK)
    *event = hw_get_u32(&call->reply);
  hw_end_call(call);
  return result;
}

HW_API CALresult calCtxRunProgram(CALevent *event, CALcontext ctx, CALfunc func, const CALdomain *domain) {
  if (!event || !domain)
    return hw_null("calCtxRunProgram", event ? "domain" : "event");
  *event = 0;
  struct hw_calCtxRunProgram_request request = {ctx, func, domain->x, domain->y, domain->width, domain->height};
  struct hw_call call = {0};
  hw_put_calCtxRunProgram_request(&call.request, &request);
  return launch(&call, HW_CALCTXRUNPROGRAM, event);
}

CALresult calCtxRunProgramParams(CALevent *event, CALcontext ctx, CALfunc func, const CALdomain *domain,
                                 const CALdomainparam *params) {
  if (!event || !domain || !params)
    return hw_null("calCtxRunProgramParams", event ? "domain or params" : "event");
  *event = 0;
  struct hw_calCtxRunProgramParams_request request = {
      ctx, func, domain->x, domain->y, domain->width, domain->height, {(const char *)params, sizeof *params}};
  struct hw_call call = {0};
  hw_put_calCtxRunProgramParams_request(&call.request, &request);
  return launch(&call, HW_CALCTXRUNPROGRAMPARAMS, event);
}

static CALresult run_grids(CALevent *event, CALcontext ctx, const CALprogramGrid *grids, CALuint count, CALuint flags) {
  *event = 0;
  struct hw_writer list = {0};
  for (CALuint i = 0; i < count; i++) {
    const CALprogramGrid *g = grids + i;
    struct hw_grid record = {g->func,           g->gridBlock.width, g->gridBlock.height, g->gridBlock.depth,
                             g->gridSize.width, g->gridSize.height, g->gridSize.depth,   g->flags};
    hw_put_grid(&list, &record);
  }
  struct hw_calCtxRunProgramGridArray_request request = {ctx, flags, {count, (uint32_t)list.size, list.data}};
  struct hw_call call = {0};
  hw_put_calCtxRunProgramGridArray_request(&call.request, &request);
  call.request.failed |= list.failed;
  free(list.data);
  return launch(&call, HW_CALCTXRUNPROGRAMGRIDARRAY, event);
}

HW_API CALresult calCtxRunProgramGrid(CALevent *event, CALcontext ctx, CALprogramGrid *pProgramGrid) {
  if (!event || !pProgramGrid)
    return hw_null("calCtxRunProgramGrid", event ? "pProgramGrid" : "event");
  return run_grids(event, ctx, pProgramGrid, 1, 0);
}

HW_API CALresult calCtxRunProgramGridArray(CALevent *event, CALcontext ctx, CALprogramGridArray *pGridArray) {
  if (!event || !pGridArray || (!pGridArray->gridArray && pGridArray->num))
    return hw_null("calCtxRunProgramGridArray", event ? "pGridArray" : "event");
  return run_grids(event, ctx, pGridArray->gridArray, pGridArray->num, pGridArray->flags);
}

// -- extensions

CALresult calCtxWaitForEvents(CALcontext ctx, CALevent *events, CALuint num, CALuint flags) {
  if (!events && num)
    return hw_null("calCtxWaitForEvents", "events");
  struct hw_calCtxWaitForEvents_request request = {ctx, flags, {(const char *)events, num * 4}};
  struct hw_call call = {0};
  hw_put_calCtxWaitForEvents_request(&call.request, &request);
  CALresult result = hw_call(&call, HW_CALCTXWAITFOREVENTS);
  hw_end_call(&call);
  return result;
}

CALresult calCtxGetCounter(CALfloat *value, CALcontext ctx, CALcounter counter) {
  if (!value)
    return hw_null("calCtxGetCounter", "result");
  struct hw_calCtxGetCounter_request request = {ctx, counter};
  struct hw_call call = {0};
  hw_put_calCtxGetCounter_request(&call.request, &request);
  CALresult result = hw_call(&call, HW_CALCTXGETCOUNTER);
  if (result == CAL_RESULT_OK)
    hw_get(&call.reply, value, sizeof *value);
  hw_end_call(&call);
  return result;
}

CALresult calCtxSetSamplerParams(CALcontext ctx, CALname name, CALsamplerParameter param, CALvoid *vals) {
  if (!vals && param != CAL_SAMPLER_PARAM_DEFAULT)
    return hw_null("calCtxSetSamplerParams", "vals");
  uint32_t bytes = !vals ? 0 : param == CAL_SAMPLER_PARAM_BORDER_COLOR ? 16 : 4;
  struct hw_calCtxSetSamplerParams_request request = {ctx, name, (uint32_t)param, {vals, bytes}};
  struct hw_call call = {0};
  hw_put_calCtxSetSamplerParams_request(&call.request, &request);
  CALresult result = hw_call(&call, HW_CALCTXSETSAMPLERPARAMS);
  hw_end_call(&call);
  return result;
}

CALresult calCtxGetSamplerParams(CALcontext ctx, CALname name, CALsamplerParameter param, CALvoid *vals) {
  if (!vals)
    return hw_null("calCtxGetSamplerParams", "vals");
  struct hw_calCtxGetSamplerParams_request request = {ctx, name, (uint32_t)param};
  struct hw_call call = {0};
  hw_put_calCtxGetSamplerParams_request(&call.request, &request);
  CALresult result = hw_call(&call, HW_CALCTXGETSAMPLERPARAMS);
  if (result == CAL_RESULT_OK) {
    struct hw_bytes value = hw_get_bytes(&call.reply);
    memcpy(vals, value.data, value.size);
  }
  hw_end_call(&call);
  return result;
}

// Direct3D's and OpenGL's are not there, as on a machine without a display.
static const struct procedure {
  CALextid extension;
  const char *name;
  CALextproc function;
} procedures[] = {
#define PROCEDURE(extension, name) {extension, #name, (CALextproc)name}
    PROCEDURE(CAL_EXT_COUNTERS, calCtxCreateCounter),
    PROCEDURE(CAL_EXT_COUNTERS, calCtxDestroyCounter),
    PROCEDURE(CAL_EXT_COUNTERS, calCtxBeginCounter),
    PROCEDURE(CAL_EXT_COUNTERS, calCtxEndCounter),
    PROCEDURE(CAL_EXT_COUNTERS, calCtxGetCounter),
    PROCEDURE(CAL_EXT_DOMAIN_PARAMS, calCtxRunProgramParams),
    PROCEDURE(CAL_EXT_RES_CREATE, calResCreate2D),
    PROCEDURE(CAL_EXT_RES_CREATE, calResCreate1D),
    PROCEDURE(CAL_EXT_COMPUTE_SHADER, calCtxRunProgramGrid),
    PROCEDURE(CAL_EXT_COMPUTE_SHADER, calCtxRunProgramGridArray),
    PROCEDURE(CAL_EXT_COMPUTE_SHADER, calModuleGetFuncInfo),
    PROCEDURE(CAL_EXT_SAMPLER_PARAM, calCtxSetSamplerParams),
    PROCEDURE(CAL_EXT_SAMPLER_PARAM, calCtxGetSamplerParams),
    PROCEDURE(CAL_EXT_SYNC_OBJECT, calCtxWaitForEvents),
};
enum { PROCEDURES = sizeof procedures / sizeof *procedures };

HW_API CALresult calExtSupported(CALextid extid) {
  CALresult result = hw_session();
  if (result != CAL_RESULT_OK)
    return result;
  for (size_t i = 0; i < PROCEDURES; i++)
    if (procedures[i].extension == extid)
      return CAL_RESULT_OK;
  char text[64];
  int bytes = snprintf(text, sizeof text, "the extension %#x is not supported", (unsigned)extid);
  return hw_fail(&hw_runtime_errors, CAL_RESULT_NOT_SUPPORTED, text, (size_t)bytes);
}

HW_API CALresult calExtGetVersion(CALuint *major, CALuint *minor, CALextid extid) {
  if (!major || !minor)
    return hw_null("calExtGetVersion", major ? "minor" : "major");
  CALresult result = calExtSupported(extid);
  if (result == CAL_RESULT_OK) {
    *major = 1;
    *minor = 0;
  }
  return result;
}

HW_API CALresult calExtGetProc(CALextproc *proc, CALextid extid, const CALchar *procname) {
  if (!proc || !procname)
    return hw_null("calExtGetProc", proc ? "procname" : "proc");
  *proc = NULL;
  CALresult result = calExtSupported(extid);
  if (result != CAL_RESULT_OK)
    return result;
  for (size_t i = 0; i < PROCEDURES; i++)
    if (procedures[i].extension == extid && !strcmp(procedures[i].name, procname)) {
      *proc = procedures[i].function;
      return CAL_RESULT_OK;
    }
  char text[128];
  int bytes = snprintf(text, sizeof text, "the extension %#x has no function %.64s", (unsigned)extid, procname);
  return hw_fail(&hw_runtime_errors, CAL_RESULT_NOT_SUPPORTED, text, (size_t)bytes);
}
