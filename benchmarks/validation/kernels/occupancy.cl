/* RRZE-HPC, gpu-benches, gpu-stream: an element a work-item, SPOILER doubles of LDS so that one or two work-groups fit;
   gpu-l2-stream: the same of LENGTH elements, again and again. */
#ifdef LENGTH
#define PLACE get_global_id(0) % LENGTH
#else
#define PLACE get_global_id(0)
#endif
#define BEGIN \
  local double spoiler[SPOILER]; \
  int at = PLACE; \
  if (at >= n) return; \
  if (secret) spoiler[get_local_id(0)] = b[get_local_id(0)];
#define END \
  if (secret) a[at] = spoiler[at % SPOILER];
#define KERNEL(name, body) \
  kernel void name(global double *restrict a, global const double *restrict b, global const double *restrict c, \
                   global const double *restrict d, int n, int secret) { \
    BEGIN \
    body \
    END \
  }
KERNEL(init, a[at] = 0.23;)
KERNEL(read, double found = b[at]; if (secret || found == 123.0) a[at] = found + spoiler[get_local_id(0)];)
KERNEL(scale, a[at] = b[at] * 1.2;)
KERNEL(triad, a[at] = b[at] * d[at] + c[at];)
