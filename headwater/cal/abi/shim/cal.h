/* CAL's interface for programs in C: functions and structures as the ATI CAL Programming Guide describes them. */
#ifndef HEADWATER_CAL_H
#define HEADWATER_CAL_H

#include "cal_constants.h"

#ifdef _WIN32
#define CALAPIENTRY __stdcall
#else
#define CALAPIENTRY
#endif
#define CALAPIENTRYP CALAPIENTRY *

#ifdef __cplusplus
extern "C" {
#endif

typedef void CALvoid;
typedef char CALchar;
typedef signed char CALbyte;
typedef unsigned char CALubyte;
typedef short CALshort;
typedef unsigned short CALushort;
typedef int CALint;
typedef unsigned int CALuint;
typedef float CALfloat;
typedef double CALdouble;
typedef long CALlong;
typedef unsigned long CALulong;
typedef long long CALint64;
typedef unsigned long long CALuint64;

/* Enumerations; their values are in cal_constants.h. */
typedef int CALboolean;
typedef int CALresult;
typedef int CALtarget;
typedef int CALformat;
typedef int CALlanguage;
typedef int CALCLprogramType;
typedef int CALextid;
typedef int CALdimension;
typedef int CALresallocflags;
typedef int CALcountertype;
typedef int CALsamplerParameter;
typedef int CALsamplerParamMinFilter;
typedef int CALsamplerParamMagFilter;
typedef int CALsamplerParamWrapMode;

/* Handles; 0 is none. */
typedef CALuint CALdevice;
typedef CALuint CALcontext;
typedef CALuint CALresource;
typedef CALuint CALmem;
typedef CALuint CALfunc;
typedef CALuint CALname;
typedef CALuint CALmodule;
typedef CALuint CALevent;
typedef CALuint CALcounter;
typedef struct CALobjectRec *CALobject;
typedef struct CALimageRec *CALimage;

typedef struct CALdomainRec {
  CALuint x, y, width, height;
} CALdomain;

typedef struct CALdomain3DRec {
  CALuint width, height, depth;
} CALdomain3D;

typedef struct CALprogramGridRec {
  CALfunc func;
  CALdomain3D gridBlock; /* work-items of a group */
  CALdomain3D gridSize;  /* groups */
  CALuint flags;
} CALprogramGrid;

typedef struct CALprogramGridArrayRec {
  CALprogramGrid *gridArray;
  CALuint num, flags;
} CALprogramGridArray;

typedef struct CALdeviceinfoRec {
  CALtarget target;
  CALuint maxResource1DWidth, maxResource2DWidth, maxResource2DHeight;
} CALdeviceinfo;

/* struct_size is the caller's; no more is written. Memory in megabytes, clocks in megahertz. */
typedef struct CALdeviceattribsRec {
  CALuint struct_size;
  CALtarget target;
  CALuint localRAM, uncachedRemoteRAM, cachedRemoteRAM, engineClock, memoryClock, wavefrontSize, numberOfSIMD;
  CALboolean doublePrecision, localDataShare, globalDataShare, globalGPR, computeShader, memExport;
  CALuint pitch_alignment;   /* elements */
  CALuint surface_alignment; /* bytes */
  CALuint numberOfUAVs;
  CALboolean bUAVMemExport, b3dProgramGrid;
  CALuint numberOfShaderEngines, targetRevision;
  CALuint totalVisibleHeap, totalInvisibleHeap, totalDirectHeap, totalCoherentHeap, totalRemoteSharedHeap,
      totalCachedRemoteSharedHeap;
  CALuint pciTopologyInformation;
  CALchar boardName[128];
  CALboolean vectorBufferInstructionAddr64, memRandomAccessTargetInstructions, asyncDispatchSupported;
} CALdeviceattribs;

typedef struct CALdevicestatusRec {
  CALuint struct_size;
  CALuint availLocalRAM, availUncachedRemoteRAM, availCachedRemoteRAM;
} CALdevicestatus;

typedef struct CALfuncInfoRec {
  CALuint maxScratchRegsNeeded, numSharedGPRUser, numSharedGPRTotal;
  CALboolean eCsSetupMode;
  CALuint numThreadPerGroup, numThreadPerGroupX, numThreadPerGroupY, numThreadPerGroupZ, totalNumThreadGroup;
  CALuint numWavefrontPerSIMD;
  CALboolean isMaxNumWavePerSIMD, setBufferForNumGroup;
  CALuint wavefrontSize, numGPRsAvailable, numGPRsUsed, LDSSizeAvailable, LDSSizeUsed, stackSizeAvailable,
      stackSizeUsed;
} CALfuncInfo;

typedef struct CALvec4fRec {
  CALfloat x, y, z, w;
} CALvec4f;

typedef struct CALparamRec {
  CALvec4f ul, ll, lr; /* at the upper left, lower left and lower right corner of the domain */
} CALparam;

typedef struct CALdomainparamRec {
  CALparam param0, param1, param2, param3, param4, param5, param6, param7;
} CALdomainparam;

typedef CALvoid *CALextproc;
typedef void (*CALLogFunction)(const CALchar *text);

CALresult CALAPIENTRY calInit(void);
CALresult CALAPIENTRY calShutdown(void);
CALresult CALAPIENTRY calGetVersion(CALuint *major, CALuint *minor, CALuint *imp);
const CALchar *CALAPIENTRY calGetErrorString(void);

CALresult CALAPIENTRY calDeviceGetCount(CALuint *count);
CALresult CALAPIENTRY calDeviceGetInfo(CALdeviceinfo *info, CALuint ordinal);
CALresult CALAPIENTRY calDeviceGetAttribs(CALdeviceattribs *attribs, CALuint ordinal);
CALresult CALAPIENTRY calDeviceGetStatus(CALdevicestatus *status, CALdevice dev);
CALresult CALAPIENTRY calDeviceOpen(CALdevice *dev, CALuint ordinal);
CALresult CALAPIENTRY calDeviceClose(CALdevice dev);

CALresult CALAPIENTRY calResAllocLocal2D(CALresource *res, CALdevice dev, CALuint width, CALuint height,
                                         CALformat format, CALuint flags);
CALresult CALAPIENTRY calResAllocLocal1D(CALresource *res, CALdevice dev, CALuint width, CALformat format,
                                         CALuint flags);
CALresult CALAPIENTRY calResAllocRemote2D(CALresource *res, CALdevice *dev, CALuint deviceCount, CALuint width,
                                          CALuint height, CALformat format, CALuint flags);
CALresult CALAPIENTRY calResAllocRemote1D(CALresource *res, CALdevice *dev, CALuint deviceCount, CALuint width,
                                          CALformat format, CALuint flags);
CALresult CALAPIENTRY calResFree(CALresource res);
CALresult CALAPIENTRY calResMap(CALvoid **pPtr, CALuint *pitch, CALresource res, CALuint flags);
CALresult CALAPIENTRY calResUnmap(CALresource res);

CALresult CALAPIENTRY calCtxCreate(CALcontext *ctx, CALdevice dev);
CALresult CALAPIENTRY calCtxDestroy(CALcontext ctx);
CALresult CALAPIENTRY calCtxGetMem(CALmem *mem, CALcontext ctx, CALresource res);
CALresult CALAPIENTRY calCtxReleaseMem(CALcontext ctx, CALmem mem);
CALresult CALAPIENTRY calCtxSetMem(CALcontext ctx, CALname name, CALmem mem);
CALresult CALAPIENTRY calCtxRunProgram(CALevent *event, CALcontext ctx, CALfunc func, const CALdomain *domain);
CALresult CALAPIENTRY calCtxRunProgramGrid(CALevent *event, CALcontext ctx, CALprogramGrid *pProgramGrid);
CALresult CALAPIENTRY calCtxRunProgramGridArray(CALevent *event, CALcontext ctx, CALprogramGridArray *pGridArray);
CALresult CALAPIENTRY calCtxIsEventDone(CALcontext ctx, CALevent event);
CALresult CALAPIENTRY calCtxFlush(CALcontext ctx);
CALresult CALAPIENTRY calMemCopy(CALevent *event, CALcontext ctx, CALmem srcMem, CALmem dstMem, CALuint flags);

CALresult CALAPIENTRY calImageRead(CALimage *image, const CALvoid *buffer, CALuint size);
CALresult CALAPIENTRY calImageFree(CALimage image);
CALresult CALAPIENTRY calModuleLoad(CALmodule *module, CALcontext ctx, CALimage image);
CALresult CALAPIENTRY calModuleUnload(CALcontext ctx, CALmodule module);
CALresult CALAPIENTRY calModuleGetEntry(CALfunc *func, CALcontext ctx, CALmodule module, const CALchar *procName);
CALresult CALAPIENTRY calModuleGetName(CALname *name, CALcontext ctx, CALmodule module, const CALchar *varName);
CALresult CALAPIENTRY calModuleGetFuncInfo(CALfuncInfo *pInfo, CALcontext ctx, CALmodule module, CALfunc func);

CALresult CALAPIENTRY calExtSupported(CALextid extid);
CALresult CALAPIENTRY calExtGetVersion(CALuint *major, CALuint *minor, CALextid extid);
CALresult CALAPIENTRY calExtGetProc(CALextproc *proc, CALextid extid, const CALchar *procname);

CALresult CALAPIENTRY calclGetVersion(CALuint *major, CALuint *minor, CALuint *imp);
CALresult CALAPIENTRY calclCompile(CALobject *obj, CALlanguage language, const CALchar *source, CALtarget target);
CALresult CALAPIENTRY calclAssembleObject(CALobject *obj, CALCLprogramType type, const CALchar *source,
                                          CALtarget target);
CALresult CALAPIENTRY calclLink(CALimage *image, CALobject *obj, CALuint objCount);
CALresult CALAPIENTRY calclFreeObject(CALobject obj);
CALresult CALAPIENTRY calclFreeImage(CALimage image);
void CALAPIENTRY calclDisassembleImage(const CALimage image, CALLogFunction logfunc);
void CALAPIENTRY calclDisassembleObject(const CALobject *obj, CALLogFunction logfunc);
CALresult CALAPIENTRY calclImageGetSize(CALuint *size, CALimage image);
CALresult CALAPIENTRY calclImageWrite(CALvoid *buffer, CALuint size, CALimage image);
const CALchar *CALAPIENTRY calclGetErrorString(void);
CALresult CALAPIENTRY calclExtSupported(CALextid extid);
CALresult CALAPIENTRY calclExtGetProc(CALextproc *proc, CALextid extid, const CALchar *procname);

/* What calExtGetProc gives. */
typedef CALresult(CALAPIENTRYP PFNCALCTXRUNPROGRAMPARAMS)(CALevent *event, CALcontext ctx, CALfunc func,
                                                          const CALdomain *domain, const CALdomainparam *params);
typedef CALresult(CALAPIENTRYP PFNCALCTXRUNPROGRAMGRID)(CALevent *event, CALcontext ctx, CALprogramGrid *grid);
typedef CALresult(CALAPIENTRYP PFNCALCTXRUNPROGRAMGRIDARRAY)(CALevent *event, CALcontext ctx,
                                                             CALprogramGridArray *grids);
typedef CALresult(CALAPIENTRYP PFNCALMODULEGETFUNCINFO)(CALfuncInfo *info, CALcontext ctx, CALmodule module,
                                                        CALfunc func);
typedef CALresult(CALAPIENTRYP PFNCALRESCREATE2D)(CALresource *res, CALdevice dev, CALvoid *mem, CALuint width,
                                                  CALuint height, CALformat format, CALuint size, CALuint flags);
typedef CALresult(CALAPIENTRYP PFNCALRESCREATE1D)(CALresource *res, CALdevice dev, CALvoid *mem, CALuint width,
                                                  CALformat format, CALuint size, CALuint flags);
typedef CALresult(CALAPIENTRYP PFNCALSETSAMPLERPARAMS)(CALcontext ctx, CALname name, CALsamplerParameter param,
                                                       CALvoid *vals);
typedef CALresult(CALAPIENTRYP PFNCALGETSAMPLERPARAMS)(CALcontext ctx, CALname name, CALsamplerParameter param,
                                                       CALvoid *vals);
typedef CALresult(CALAPIENTRYP PFNCALCTXCREATECOUNTER)(CALcounter *counter, CALcontext ctx, CALcountertype type);
typedef CALresult(CALAPIENTRYP PFNCALCTXDESTROYCOUNTER)(CALcontext ctx, CALcounter counter);
typedef CALresult(CALAPIENTRYP PFNCALCTXBEGINCOUNTER)(CALcontext ctx, CALcounter counter);
typedef CALresult(CALAPIENTRYP PFNCALCTXENDCOUNTER)(CALcontext ctx, CALcounter counter);
typedef CALresult(CALAPIENTRYP PFNCALCTXGETCOUNTER)(CALfloat *result, CALcontext ctx, CALcounter counter);
typedef CALresult(CALAPIENTRYP PFNCALCTXWAITFOREVENTS)(CALcontext ctx, CALevent *events, CALuint num, CALuint flags);

#ifdef __cplusplus
}
#endif
#endif
