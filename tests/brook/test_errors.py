"""Every message word for word: place, what is wrong, the line, the remedy."""

import contextlib
import textwrap

import pytest

from headwater.brook import translate
from headwater.errors import SourceError, UsageError


def error(source, options=""):
    with pytest.raises(SourceError) as caught:
        translate(textwrap.dedent(source).lstrip("\n"), "x.br", options)
    return str(caught.value)


def body(statements, head="float a<>, out float b<>"):
    return f"kernel void f({head})\n{{\n    {statements}\n}}\n"


def test_a_message_shows_place_line_and_remedy():
    assert error(body("b = a * 2;")) == (
        "x.br:3:11: error: the operands of '*' have different types: float and int\n"
        "        b = a * 2;\n"
        "              ^\n"
        "  hint: no conversion is implicit: write 2.0f, or allow it with -a"
    )


CASES = [
    # ---- types
    (
        "b = 2;",
        "3:9: the assignment wants float, but this is int",
        "no conversion is implicit: write 2.0f, or allow it with -a",
    ),
    (
        "b = 2.0;",
        "3:9: the assignment wants float, but this is double",
        "no conversion is implicit: write 2.0f, or allow it with -a",
    ),
    (
        "int i = a;",
        "3:13: the initialiser wants int, but this is float",
        "no conversion is implicit: use a cast, (int)x, or allow it with -a",
    ),
    (
        "float4 v = a;",
        "3:16: the initialiser wants float4, but this is float",
        "write float4(x, …) with the scalar repeated, or allow it with -a",
    ),
    (
        "float4 v = float4(a, a, a, a) * a;",
        "3:35: the operands of '*' have different types: float4 and float",
        "no conversion is implicit: write float4(x, …) with the scalar repeated, or allow it with -a",
    ),
    (
        "float2 v = float2(a, a); b = v;",
        "3:34: the assignment wants float, but this is float2",
        "take components, as in v.x, or allow it with -a",
    ),
    ("float4 v = float4(a, a, a);", "3:16: float4(…) wants 4 values, but gets 3", "give one for each component"),
    (
        "float2 u = float2(a, a); float4 v = float4(u, a, a, a);",
        "3:48: float4(…) wants scalars, but argument 1 is float2",
        "give its components one by one",
    ),
    (
        "b = (float)float2(a, a);",
        "3:9: a cast cannot turn float2 into float: the number of components must stay",
        "take components first, as in v.x",
    ),
    (
        "float2 v = (float2)a;",
        "3:16: a cast cannot turn float into float2: the number of components must stay",
        "write float2(…) with every component",
    ),
    ("b = a.x;", "3:11: .x does not apply to float, which has one component", "remove it"),
    (
        "float2 v = float2(a, a); b = v.z;",
        "3:36: .z asks for more than the 2 components of float2",
        "use the letters x, y",
    ),
    (
        "float2 v = float2(a, a); b = v.r;",
        "3:36: .r is not a choice of components",
        "use one to four of the letters x, y, z, w",
    ),
    (
        "float2 v; v.xx = float2(a, a);",
        "3:17: an assignment to .xx, which names a component twice",
        "name each component once",
    ),
    ("b = a % a;", "3:11: '%' does not apply to float", "use fmod(), or cast to an integer type"),
    ("b = a & a;", "3:11: '&' does not apply to float", "it works on int and uint: use a cast"),
    ("b = ~a;", "3:9: '~' does not apply to float", "cast it to int or uint"),
    (
        "float2 v = float2(a, a); if (v > v) b = a;",
        "3:36: the condition of if has 2 components",
        "take one component, or use any() or all()",
    ),
    (
        "char c = 1;",
        "3:14: the initialiser wants char, but this is int",
        "no conversion is implicit: write (char)1, or allow it with -a",
    ),
    (
        "int i = 2147483648;",
        "3:13: the initialiser wants int, but this is uint",
        "no conversion is implicit: write (int)2147483648, or allow it with -a",
    ),
    ("uint i = 4294967296;", "3:14: 4294967296 does not fit in uint", "integers have 32 bits"),
    (
        "uint i = 1;",
        "3:14: the initialiser wants uint, but this is int",
        "no conversion is implicit: write 1u, or allow it with -a",
    ),
    (
        "static float c;",
        "3:5: 'static' does not belong before a variable",
        "kernels keep no state: use a stream or an argument",
    ),
    ("volatile float c;", "3:5: 'volatile' does not belong before a variable", "remove it"),
    ("int i = 089;", "3:13: 089 is not an octal number", "remove the leading 0"),
    ("bool i = 1;", "3:5: bool is not a type of Brook+", "use int, with 0 and 1"),
    ("fixed4 v;", "3:5: fixed4 is not a type of Brook+", "it is BrookGPU's, for fragment units: use float4"),
    ("double4 d;", "3:5: there is no type 'double4'", "double has at most two components, other types one to four"),
    ("flaot c;", "3:5: unknown type 'flaot'", "did you mean 'float'?"),
    # ---- names
    ("b = c;", "3:9: unknown name 'c'", "declare it, or pass it as an argument"),
    ("float count; b = cuont;", "3:22: unknown name 'cuont'", "did you mean 'count'?"),
    ("float c; int c;", "3:18: 'c' is already declared in line 3", "choose another name"),
    ("float a;", "3:11: variable 'a' hides the parameter of that name", "choose another name"),
    ("a = b;", "3:5: an assignment to 'a', an input stream, which is read-only", "copy it to a variable first"),
    ("const float c = a; c = a;", "3:24: an assignment to 'c', which is const", "remove const from its declaration"),
    ("a + b = a;", "3:11: unexpected '=', expected ',' or ';'", "add the missing ';'"),
    ("b = tan(a);", "3:9: unknown function 'tan'", "write sin(x) / cos(x)"),
    ("b = sqr(a);", "3:9: unknown function 'sqr'", "did you mean 'sqrt'?"),
    ("b = sqrt(a, a);", "3:9: sqrt() wants 1 argument, but gets 2", "check the call"),
    (
        "b = max(a, 1);",
        "3:16: the arguments of max() have different types: float and int",
        "no conversion is implicit: write 1.0f, or allow it with -a",
    ),
    ("int i = (int)sqrt(2);", "3:23: sqrt() does not take int", "it takes float, double"),
    (
        "float2 v = cross(float2(a, a), float2(a, a));",
        "3:22: cross() does not take float2",
        "it takes char, short, int, float with 3 components",
    ),
    ("b = f(a);", "3:9: kernel 'f' calls itself: recursion is not possible", "write a loop"),
    # ---- arrays and positions
    ("b = a[0];", "3:10: stream 'a' cannot be indexed", "declare it a[] to read anywhere in it"),
    ("float c; b = c[0];", "3:19: 'c' is not an array", "remove the index"),
    (
        "float c[4];",
        "3:11: local array 'c': kernels have no local arrays",
        "use a constant or gather array, a vector, or shared memory",
    ),
    (
        "int i = instanceInGroup().x;",
        "3:13: instanceInGroup() needs a group",
        "write Attribute[GroupSize(64)] before the kernel",
    ),
    ("syncGroup();", "3:5: syncGroup() needs a group", "write Attribute[GroupSize(64)] before the kernel"),
    ("shared float4 l[64];", "3:19: shared memory needs a group", "write Attribute[GroupSize(64)] before the kernel"),
    ("int2 p = instance(a).xy;", "3:14: instance() takes no arguments", "remove them"),
    ("b = indexof(c).x;", "3:9: unknown name 'c'", "declare it, or pass it as an argument"),
    # ---- statements
    ("break;", "3:5: break outside a loop", "remove it"),
    ("return a;", "3:5: return gives a value, but kernel 'f' is void", "write the value to an output"),
    ("switch (1) { }", "3:5: 'switch' is not part of the kernel language", "use if and else"),
    ("goto end;", "3:5: 'goto' is not part of the kernel language", "use loops, break and continue"),
    ("b = sizeof(a);", "3:9: 'sizeof' is not part of the kernel language", "write the number"),
    ("b = *a;", "3:9: pointers do not exist in kernels", "use a stream, an array or out"),
    ("b = &a;", "3:9: pointers do not exist in kernels", "use a stream, an array or out"),
    ("b = a->x;", "3:10: pointers do not exist in kernels", "write '.' to name a member"),
    ('b = "text";', "3:9: strings do not exist in kernels", "use numbers"),
    ("b = a", "4:1: unexpected '}', expected ',' or ';'", "add the missing ';'"),
    ("b = ;", "3:9: unexpected ';', an expression is expected here", "check what stands before it"),
    ("b = a @ a;", "3:11: '@' has no meaning here", "remove it, or check what stands before it"),
]


@pytest.mark.parametrize(("statements", "message", "hint"), CASES, ids=[case[0] for case in CASES])
def test_statement_errors(statements, message, hint):
    first, *_, last = error(body(statements)).split("\n")
    place, text = message.split(": ", 1)
    assert first == f"x.br:{place}: error: {text}"
    assert last == f"  hint: {hint}"


KERNELS = [
    ("int main() { return 0; }", "x.br holds no kernel", "a kernel looks like: kernel void f(float a<>, out float b<>) { b = a; }"),
    ("kernel void f(float a<>, out float b<>) { b = a;", "x.br:1:41: kernel 'f' is never closed", "add the missing }"),
    ("kernel void f(float a<>, out float f<>) { }", "x.br:1:36: parameter 'f' has the kernel's name", "choose another name"),
    ("kernel void f(float a<>, out float a<>) { }", "x.br:1:36: 'a' is already declared in line 1", "choose another name"),
    ("kernel void f(out float a[], out float b[]) { }", "x.br:1:40: a kernel has at most one scatter array", "write the others as output streams, or use a second kernel"),
    ("kernel void f(out float a[3]) { }", "x.br:1:25: scatter array 'a' cannot have sizes", "leave the brackets empty"),
    ("kernel void f(float a[3][], out float b<>) { }", "x.br:1:21: array 'a' gives only some of its sizes", "give all sizes, for constant memory, or none"),
    ("#define N 3\nkernel void f(float a[N], out float b<>) { b = a[0]; }", "x.br:2:23: an array's size must be a positive integer", "N is a macro of line 1: translate with -pp"),
    ("kernel void f(float a[][][][][], out float b<>) { }", "x.br:1:21: 'a' has 5 dimensions, but arrays have at most 4", "flatten it"),
    ("kernel void f(float a[][], out float b<>) { b = a[0]; }", "x.br:1:50: 'a' has 2 dimensions, but is indexed with 1", "write a[i][i]"),
    ("kernel void f(float a[], out float b<>) { b = a; }", "x.br:1:47: 'a' is an array and needs an index", "write a[i]"),
    ("kernel void f(float a[], out float b<>) { a[0] = b; }", "x.br:1:44: an assignment to 'a', a gather array, which is read-only", "copy it to a variable first"),
    ("kernel void f(float a<>, reduce float b<>) { b += a; }", "x.br:1:13: kernel 'f' has a reduce parameter: specify the reduce qualifier", "write reduce void f(…)"),
    ("reduce void f(float a<>, reduce int b<>) { }", "x.br:1:13: reduction 'f' turns float into int, but both must be the same", "convert in a kernel before the reduction"),
    ("reduce void f(float a<>, float c<>, reduce float b<>) { b += a; }", "x.br:1:13: reduction 'f' needs exactly one input stream, but has 2", "combine streams in a kernel before the reduction"),
    ("reduce void f(float a<>) { }", "x.br:1:13: reduction 'f' needs exactly one reduce parameter, but has 0", "write reduce T result<>"),
    ("reduce void f(float a<>, reduce float b<>) { b += indexof(a).x; }", "x.br:1:51: indexof has no meaning in a reduction", "do it in a kernel before the reduction"),
    ("Attribute[GroupSize(64)]\nkernel void f(float a<>, out float b<>) { b = a; }", "x.br:2:13: kernel 'f' has a group size, so its output must be a scatter array", "write out T name[]"),
    ("Attribute[GroupSize(2048)]\nkernel void f(out float b[]) { }", "x.br:1:11: a group has at most 1024 threads, not 2048", "choose a smaller group"),
    ("Attribute[GroupSize(8, 8)]\nkernel void f(out float b[]) { }", "x.br:1:11: a group has one dimension: other sizes must be 1", "write GroupSize(64, 1, 1)"),
    ("Attribute[GroupSize(64)]\nkernel void f(out float b[]) { shared float l[64]; }", "x.br:2:45: shared elements have 128 bits, so float is not possible", "use float4, int4 or uint4"),
    ("Attribute[GroupSize(64)]\nkernel void f(out float b[]) { shared float4 l[100]; }", "x.br:2:46: the size 100 of 'l' is not a multiple of the group size 64", "use 128"),
    ("Attribute[GroupSize(64)]\nkernel void f(float4 a<>, out float b[]) { shared float4 l[128]; l[instanceInGroup().x] = a; }", "x.br:2:67: a thread writes only its own part of shared array 'l'", "index it with 2 * instanceInGroup().x + k, k from 0 to 1"),
    ("kernel float g(float a);\nkernel void f(float a<>, out float b<>) { b = g(a); }\nkernel float g(float a) { return a; }", "x.br:2:47: kernel 'g' is called before its definition", "move its definition up"),
    ("kernel float g(float a) { }\n", "x.br:1:14: kernel 'g' returns no value, but its type is float", "add a return statement, or make it void"),
    ("kernel void g(float a, out float b<>) { b = a; }\nkernel void f(float a<>, out float b<>) { g(a, a); }", "x.br:2:48: argument 'b' of kernel 'g', which is an output, writes to 'a', an input stream, which is read-only", "copy it to a variable first"),
    ("kernel void g(float a[], out float b<>) { b = a[0]; }\nkernel void f(float a[][], out float b<>) { g(a, b); }", "x.br:2:47: argument 'a' of kernel 'g' wants float[], but 'a' is float[][]", "declare both with the same type"),
    ("kernel void f(iter float a[], out float b<>) { b = a[0]; }", "x.br:1:26: iterator 'a' must be an input stream", "write iter float a<>"),
    ("kernel void f(float a<>, out iter float b<>) { b = a; }", "x.br:1:41: iterator 'b' must be an input stream", "write iter float b<>"),
    ("struct S { float *p; };\nkernel void f(S a<>, out float b<>) { b = 1.0f; }", "x.br:2:17: struct 'S' cannot be used in kernels: pointers do not exist in kernels (line 1)", "use a stream, an array or out"),
    ("struct S { float x, y; };\nkernel void f(S a<>, out float b<>) { b = a.x; }", "x.br:2:17: struct 'S' cannot be used in kernels: each member of a struct needs its own type (line 1)", "write float y; on its own"),
    ("kernel void f(float a<>, out float b<>) {\n#ifdef X\n b = a;\n#endif\n}", "x.br:2:1: directive #ifdef inside kernel 'f'", "translate with -pp"),
    ("#define N 3.0f\nkernel void f(out float b<>) { b = N; }", "x.br:2:36: unknown name 'N'", "it is a macro of line 1: translate with -pp"),
    ("/* kernel void f(", "x.br:1:1: this comment is never closed", "add */"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "message", "hint"), KERNELS, ids=[case[0].split("\n")[-1][:60] for case in KERNELS])
def test_kernel_errors(source, message, hint):
    first, *_, last = error(source).split("\n")
    if message.startswith("x.br:"):
        place, text = message.split(": ", 1)
        message = f"{place}: error: {text}"
    else:
        message = f"error: {message}"
    assert first == message
    assert last == f"  hint: {hint}"


def test_structs_that_double_themselves_end():
    structs = "".join(f"typedef struct s{n} {{ s{n - 1} a; s{n - 1} b; }} s{n};\n" for n in range(1, 40))
    message = error(
        f"typedef struct s0 {{ float x; }} s0;\n{structs}kernel void f(s39 a<>, out float b<>) {{ b = 1.0f; }}"
    )
    assert "the struct 's15' takes more than 65,536 bytes (line 16)" in message


def test_a_place_behind_a_macro_is_the_one_written():
    message = error("#define LONG_NAME (a + a)\nkernel void f(float a<>, out float b<>) { b = LONG_NAME * c; }", "-pp")
    assert message.startswith("x.br:2:59: error: unknown name 'c'\n    kernel void f(float a<>")


def test_warnings_of_weak_typing_name_their_place():
    module = translate(body("b = (int)a + 2.5;"), "x.br", "-a")
    assert module.warnings == (
        "x.br:3:9: warning: int is converted to double in the operands of '+'",
        "x.br:3:16: warning: double is converted to float in the assignment",
    )
    assert translate(body("b = (int)a + 2.5;"), "x.br", "-a -w 0").warnings == ()


def test_warnings_can_be_errors():
    assert error(body("b = (int)a;"), "-a -x") == (
        "x.br:3:9: error: int is converted to float in the assignment\n"
        "        b = (int)a;\n"
        "            ^\n"
        "  hint: this is a warning made an error by -x"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("-z", "unknown Brook+ option '-z'"),
        ("-D", "option -D needs a value"),
        ("-D 3=4", "'3=4' does not define a macro"),
        ("-w 7", "warning level '7' is not one of 0, 1, 2, 3"),
        ("-D 'x", 'cannot read the Brook+ options "-D \'x": No closing quotation'),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(UsageError) as caught:
        translate(body("b = a;"), "x.br", options)
    assert caught.value.message == message


@pytest.mark.parametrize("depth", [300, 3000, 30_000])
@pytest.mark.parametrize("pattern", ["({})", "-({})", "sqrt({})", "a + {}", "{} + a"])
def test_deep_nesting_is_translated_or_refused(depth, pattern):
    before, after = pattern.split("{}")
    with contextlib.suppress(SourceError):
        translate(body(f"b = {before * depth}a{after * depth};"), "x.br")
    if depth == 300 and pattern != "-({})":
        translate(body(f"b = {before * depth}a{after * depth};"), "x.br")


def told(source, options=""):
    """The place and message of every error."""
    lines = error(source, options).split("\n")
    return [line.removeprefix("x.br:") for line in lines if line.startswith("x.br:") or line.startswith("…")]


def test_every_faulty_statement_is_told():
    assert told("""
        kernel float g(float a) { return b; }
        kernel void f(float a<>, fixed c<>, out float o<>)
        {
            int i = 2.0f;
            o = a * 2;
            if (a > 1) { o = u; } else o = g(a);
            while (z) o = a + 1;
            return a;
        }
        kernel void h(float a<>, out int o<>) { o = a; }
    """) == [
        "1:34: error: unknown name 'b'",
        "2:32: error: fixed is not a type of Brook+",
        "4:13: error: the initialiser wants int, but this is float",
        "5:11: error: the operands of '*' have different types: float and int",
        "6:11: error: the operands of '>' have different types: float and int",
        "6:22: error: unknown name 'u'",
        "7:12: error: unknown name 'z'",
        "7:21: error: the operands of '+' have different types: float and int",
        "8:5: error: return gives a value, but kernel 'f' is void",
        "10:45: error: the assignment wants int, but this is float",
    ]


def test_statements_that_cannot_be_read_are_told_beside_others():
    assert told("""
        kernel void f(float a<>, int n, out float o<>)
        {
            float r = 1.0f
            float s = 2.0f;
            int i;
            o = a +;
            for (i = 0; i < n i++) { o += 1; }
            switch (n) { case 0: o = a; break; default: o = 1.0f; }
            if (a > 1.0f) o = ; else o = 2.0f;
            o = (a + s;
        }
        kernel void broken(float a<>, out float) { o = a; }
        kernel void g(float a<>, out float o<>) { o = "a"; o = a }
    """) == [
        "4:5: error: unexpected 'float', expected ',' or ';' or '=' or '['",
        "6:12: error: unexpected ';', an expression is expected here",
        "7:23: error: unexpected 'i', expected '(' or ',' or ';' or '['",
        "7:32: error: the operands of '+=' have different types: float and int",
        "8:5: error: 'switch' is not part of the kernel language",
        "9:23: error: unexpected ';', an expression is expected here",
        "10:15: error: unexpected ';', expected ')' or ','",
        "12:40: error: unexpected ')', expected a name or a type",
        "13:47: error: strings do not exist in kernels",
        "13:58: error: unexpected '}', expected ',' or ';'",
    ]


def test_what_follows_from_a_fault_is_not_told():
    assert told("""
        kernel void g(float a, out float b<>) { b = x; }
        kernel void f(Vec a<>, flaot c<>, out float o<>)
        {
            flaot q = c;
            float p = q + a.x, r = tan(p);
            u = 1;
            u = u + o;
            g(p, o);
            o = q + p + r + u;
        }
    """) == [
        "1:45: error: unknown name 'x'",
        "2:19: error: unknown type 'Vec'",
        "2:30: error: unknown type 'flaot'",
        "4:5: error: unknown type 'flaot'",
        "5:28: error: unknown function 'tan'",
        "6:5: error: unknown name 'u'",
    ]


def test_directives_and_warnings_made_errors_are_all_told():
    source = """
        #include <a.h>
        #define SQUARE(x) ((x) * (x))
        kernel void f(float a<>, out float o<>) { o = SQUARE(a); o = 1; o = a * 2; }
        #if 1
    """
    assert told(source, "-pp -a -x") == [
        "1:2: error: Brook+'s preprocessor does not know #include",
        "2:2: error: macro 'SQUARE' has parameters, which Brook+'s preprocessor does not know",
        "3:62: error: int is converted to float in the assignment",
        "3:73: error: int is converted to float in the operands of '*'",
        "4:2: error: this condition has no #endif",
    ]


def test_only_the_first_twenty_errors_are_told():
    lines = told(body(" ".join(f"b = v{n};" for n in range(25))))
    assert len(lines) == 21
    assert lines[-1] == "… and 5 more errors"
