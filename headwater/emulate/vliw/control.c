/* The control-flow stack of VLIW shaders: masks of 64 lanes in the wavefront's frame.

   Compiled after support.c. `active` is the mask that instructions are executed under, `stack` what was pushed of it. A
   loop remembers how high the stack was, which lanes entered and which have not left; a call likewise. Functions that
   return int return 1 if the instruction's jump is taken, and -1 after a fault. */

static int stack_fault(struct wave *w, u64 pc, u64 what) {
    hw_fault(w, FAULT_STACK, pc, 0, what, 0, what);
    return -1;
}

HIDDEN int hw_cf_push(struct wave *w, struct cf *f, u64 pc) {
    if (f->depth == STACK_LIMIT) return stack_fault(w, pc, TOO_DEEP);
    f->stack[f->depth++] = f->active;
    return 0;
}

HIDDEN int hw_cf_pop(struct wave *w, struct cf *f, u64 count, u64 pc) {
    if (count == 0) return 0;
    if (count > f->depth) return stack_fault(w, pc, NOTHING_PUSHED);
    f->depth -= count;
    f->active = f->stack[f->depth];
    return 0;
}

HIDDEN int hw_cf_jump(struct wave *w, struct cf *f, u64 count, u64 pc) {
    if (f->active) return 0;
    return hw_cf_pop(w, f, count, pc) < 0 ? -1 : 1;
}

HIDDEN int hw_cf_else(struct wave *w, struct cf *f, u64 count, u64 pc) {
    if (f->depth == 0) return stack_fault(w, pc, NOTHING_PUSHED);
    f->active = f->stack[f->depth - 1] & ~f->active;
    return hw_cf_jump(w, f, count, pc);
}

/* Take lanes out of everything that was pushed from `base` on; what is left there. */
static u64 without(struct cf *f, u64 base, u64 lanes) {
    u64 left = 0;
    for (u64 n = base; n < f->depth; n++) left |= f->stack[n] &= ~lanes;
    return left;
}

HIDDEN int hw_cf_loop(struct wave *w, struct cf *f, u64 pc) {
    if (f->active == 0) return 1;
    if (f->loops == LOOP_LIMIT) return stack_fault(w, pc, TOO_MANY_LOOPS);
    u64 n = f->loops++;
    f->loop_base[n] = f->depth;
    f->loop_entry[n] = f->loop_live[n] = f->active;
    f->loop_index[n] = 0;
    return 0;
}

/* Lanes leave the loop, or (`again`) wait for its end. The rest of its body is left out if it has no lanes. */
HIDDEN int hw_cf_leave(struct wave *w, struct cf *f, u64 lanes, u64 again, u64 pc) {
    if (f->loops == 0) return stack_fault(w, pc, NO_LOOP);
    u64 n = f->loops - 1;
    f->active &= ~lanes;
    if (!again) f->loop_live[n] &= ~lanes;
    return (without(f, f->loop_base[n], lanes) | f->active) == 0;
}

HIDDEN int hw_cf_loop_end(struct wave *w, struct cf *f, u64 pc) {
    if (f->loops == 0) return stack_fault(w, pc, NO_LOOP);
    u64 n = f->loops - 1;
    f->depth = f->loop_base[n];
    f->loop_index[n]++;
    if ((f->active = f->loop_live[n])) return 1;
    f->active = f->loop_entry[n];
    f->loops = n;
    return 0;
}

HIDDEN void hw_cf_kill(struct cf *f, u64 lanes) {
    f->active &= ~lanes;
    f->killed |= lanes;
    without(f, 0, lanes);
    for (u64 n = 0; n < f->loops; n++) {
        f->loop_entry[n] &= ~lanes;
        f->loop_live[n] &= ~lanes;
    }
    for (u64 n = 0; n < f->calls; n++) f->call_mask[n] &= ~lanes;
}

HIDDEN int hw_cf_call(struct wave *w, struct cf *f, u64 next, u64 pc) {
    if (f->active == 0) return 0;
    if (f->calls == LOOP_LIMIT) return stack_fault(w, pc, TOO_MANY_CALLS);
    u64 n = f->calls++;
    f->call_base[n] = f->depth;
    f->call_loops[n] = f->loops;
    f->call_mask[n] = f->active;
    f->call_next[n] = next;
    return 1;
}

/* Where the wavefront goes on: the number of an instruction, -1 for the next one as some lanes have not returned, -2 for the
   end of the program, as none was called. */
HIDDEN i64 hw_cf_return(struct cf *f) {
    u64 n = f->calls, base = n ? f->call_base[n - 1] : 0, loops = n ? f->call_loops[n - 1] : 0, lanes = f->active;
    f->active = 0;
    u64 left = without(f, base, lanes);
    for (u64 at = loops; at < f->loops; at++) {
        f->loop_entry[at] &= ~lanes;
        left |= f->loop_live[at] &= ~lanes;
    }
    if (left) return -1;
    if (n == 0) return -2;
    f->calls = n - 1;
    f->depth = base;
    f->loops = loops;
    f->active = f->call_mask[n - 1];
    return f->call_next[n - 1];
}
