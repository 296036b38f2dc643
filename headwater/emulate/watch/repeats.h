/* What translated code calls without saving registers: see repeats.py. */

/* Of functions that use no vector registers, and of what they call. */
#ifdef __x86_64__
#define SCALAR __attribute__((target("general-regs-only")))
#else
#define SCALAR
#endif

HIDDEN void hw_access(struct wave *w, struct site *s, u32 number, u32 wide, u64 base, u64 mask);
HIDDEN void hw_scalar_access(struct wave *w, struct site *s, u32 number, u64 address, u64 lanes);

#if defined(__x86_64__) && (defined(__AVX512BW__) || defined(__AVX2__))
/* The same, with all registers kept but eax: NAME_keep. */
#ifdef __AVX512BW__
#define KEPT "64*33"
#define KEEP_ALL(which) " n = 0\n .rept 32\n HW_" which " %n\n n = n + 1\n .endr\n n = 0\n .rept 8\n HW_" which "_MASK %n\n n = n + 1\n .endr\n"
#else
#define KEPT "32*16"
#define KEEP_ALL(which) " n = 0\n .rept 16\n HW_" which " %n\n n = n + 1\n .endr\n"
#endif
#define KEEPING(name) \
    " .hidden " name "_keep\n .globl " name "_keep\n .type " name "_keep, @function\n" name "_keep:\n" \
    " pushq %rbp\n movq %rsp, %rbp\n" \
    " pushq %rcx\n pushq %rdx\n pushq %rsi\n pushq %rdi\n pushq %r8\n pushq %r9\n pushq %r10\n pushq %r11\n" \
    " andq $-64, %rsp\n subq $(" KEPT "), %rsp\n" KEEP_ALL("KEEP") \
    " vzeroupper\n call " name "\n" KEEP_ALL("BACK") \
    " leaq -64(%rbp), %rsp\n" \
    " popq %r11\n popq %r10\n popq %r9\n popq %r8\n popq %rdi\n popq %rsi\n popq %rdx\n popq %rcx\n popq %rbp\n" \
    " retq\n .size " name "_keep, . - " name "_keep\n"
__asm__(
    ".altmacro\n"
#ifdef __AVX512BW__
    ".macro HW_KEEP n\n vmovdqu64 %zmm\\n, (64*\\n)(%rsp)\n .endm\n"
    ".macro HW_BACK n\n vmovdqu64 (64*\\n)(%rsp), %zmm\\n\n .endm\n"
    ".macro HW_KEEP_MASK n\n kmovq %k\\n, (2048+8*\\n)(%rsp)\n .endm\n"
    ".macro HW_BACK_MASK n\n kmovq (2048+8*\\n)(%rsp), %k\\n\n .endm\n"
#else
    ".macro HW_KEEP n\n vmovdqu %ymm\\n, (32*\\n)(%rsp)\n .endm\n"
    ".macro HW_BACK n\n vmovdqu (32*\\n)(%rsp), %ymm\\n\n .endm\n"
#endif
    ".text\n" KEEPING("hw_access") KEEPING("hw_scalar_access"));
/* The same of functions that use no vector registers. */
#define KEEPING_SCALARS(name) \
    " .hidden " name "_keep\n .globl " name "_keep\n .type " name "_keep, @function\n" name "_keep:\n" \
    " pushq %rcx\n pushq %rdx\n pushq %rsi\n pushq %rdi\n pushq %r8\n pushq %r9\n pushq %r10\n pushq %r11\n" \
    " call " name "\n" \
    " popq %r11\n popq %r10\n popq %r9\n popq %r8\n popq %rdi\n popq %rsi\n popq %rdx\n popq %rcx\n" \
    " retq\n .size " name "_keep, . - " name "_keep\n"
#endif
