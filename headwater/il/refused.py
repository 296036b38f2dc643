"""Operations of IL that a pixel or compute program of CAL cannot use, each with the reason.

The operations are those of AMD's Intermediate Language Specification, version 2, appendix B, that ``operations.txt``
has no row for.
"""

from __future__ import annotations

import functools

_REASONS: dict[str, tuple[str, str]] = {
    "it belongs to vertex, geometry and tessellation programs: pixel and compute programs have no vertices": (
        "",
        """cut cut_stream emit emitcut emit_then_cut emit_stream emit_then_cut_stream initv hs_cp_phase hs_fork_phase
        hs_join_phase endphase dcl_input_primitive dcl_output_topology dcl_max_output_vertex_count dcl_vprim
        dcl_num_icp dcl_num_ocp dcl_num_instances dcl_ts_domain dcl_ts_partition dcl_ts_output_primitive
        dcl_max_tessfactor dcl_stream scatter""",
    ),
    "Direct3D 9's stages, streams and interpolators belong to graphics: CAL sets up none": (
        "dcl_resource_id and sample_resource read textures, dcl_input_position_interp has the pixel's place",
        """dclarray dcldef dclpin dclpp dclpt dclv dclvout texld texldb texldd texldms texweight texlweight
        project lod getlod colorclamp clg precomp""",
    ),
    "a resource of CAL has one sample for each texel": (
        "",
        "sampleinfo samplepos eval_snapped eval_sample_index eval_centroid",
    ),
    "CAL's samplers have no comparison": ("compare what fetch4 gives", "fetch4c fetch4poc"),
    "CAL's programs write colour only": ("dcl_output_generic o0", "dcl_odepth"),
    "memory is exported and imported by the global buffer's name": (
        "mov g[r0.x], r1 and mov r1, g[r0.x]",
        "memexport memimport",
    ),
    "the counter of an append buffer is set and read by Direct3D 11, CAL has no function for it": (
        "uav_read_add_id counts in a view, gds_read_add_id in the global data share",
        "append_buf_alloc append_buf_consume",
    ),
    "no document describes its text form": (
        "resinfo gives a texture's size; offsets of fetch4 are _aoffimmi's",
        "bufinfo fetch4po load_fptr prefix sample_return_code",
    ),
    "IL's macros are expanded before a program is given to CAL": (
        "write functions: func, call",
        "mdef mend mcall macrodef macroend macrocall",
    ),
    "Direct3D 11's interfaces choose among functions at launch: CAL has none": (
        "switch and call choose, too",
        "dcl_function_body dcl_function_table dcl_interface_ptr fcall",
    ),
    "it came with the HD 7000 series, whose programs are GCN code: this IL is of the HD 2000 to HD 6000": (
        "",
        """f2f16_near f2f16_neg_inf f2f16_plus_inf ldexp frexp_exp frexp_mant dfrexp_exp dfrexp_mant ftoi_rpi ftoi_flr
        min3 med3 max3 imin3 imed3 imax3 umin3 umed3 umax3 class dclass cu_id wave_id i64div u64div i64mod u64mod
        div_scale div_fmas div_fixup d_div_scale d_div_fmas d_div_fixup d_trig_preop msad_u8 qsad_u8 mqsad_u8""",
    ),
    "semaphores and barriers across a launch are not emulated": (
        "two launches, one after the other, wait for all work-groups",
        "dcl_gws_thread_count dcl_semaphore semaphore_init semaphore_signal semaphore_wait",
    ),
}


@functools.cache
def refusals() -> dict[str, tuple[str, str]]:
    """Each such operation by its name: the reason, and what to do instead ("" where there is nothing)."""
    return {name: (why, hint) for why, (hint, names) in _REASONS.items() for name in names.split()}
