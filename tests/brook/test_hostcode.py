import pytest

from headwater.brook import translate
from tests.brook import corpus_files

KERNEL = "kernel void f(float a<>, out float b<>) { b = a; }"


@pytest.mark.parametrize(
    "host",
    [
        "int g(int n) { return n; }",
        "template <class T> struct V { T x; T get() const { return x; } };",
        "class A : public B { public: A() : B(1) { } };",
        'const char *s = "} kernel void g( {";',
        "char c = '{';",
        "char c = '\\'';",
        "int table[] = { 1, 2, { 3 } };",
        "enum E { x, y };",
        "using namespace std;",
        "DECLARE_THING(a, b)",
        "float s<10, 20>; // a stream of the host",
        "struct timeval { long a; long b; } now;",
        "typedef std::vector<int> ints;",
        "void kernel(int n) { reduce(n); }",
        "int reduce = 3;",
        "int f2(void) { if (1) { } else { } return 0; };",
        "std::map<int, std::vector<int> > m;",
        "auto l = [](int x) { return x; };",
        "int operator()(int a) { return a; }",
        "#define BODY { int x;",
        "int big = 1'000'000;",
        "double d = 1.5e3;",
        "void g() throw() { }",
        "};",
    ],
)
def test_host_code_is_passed_over(host):
    for source in (f"{host}\n{KERNEL}", f"{KERNEL}\n{host}", f"{host}\n{host}\n{KERNEL}\n{host}"):
        assert list(translate(source, "x.br").kernels) == ["f"]


def test_unbalanced_conditional_code_is_given_up_at_the_next_kernel():
    source = f"#ifdef A\nint g() {{\n#else\nint g(int n) {{\n#endif\n return 0;\n}}\n{KERNEL}"
    assert list(translate(source, "x.br").kernels) == ["f"]


def test_kernels_within_namespaces_and_linkage_blocks_are_found():
    assert list(translate(corpus_files.read("host"), "host.br").kernels) == ["scale", "shift"]


def test_either_order_of_kernel_and_type():
    source = "void kernel f(float a<>, out float b<>) { b = a; }\nfloat kernel g(float a) { return a; }"
    assert list(translate(source, "x.br").kernels) == ["f", "g"]


def test_the_comment_above_a_kernel_is_its_documentation():
    source = f"/**\n * Copies a.\n */\n{KERNEL}\n// Not this.\n\n\n\n{KERNEL.replace(' f(', ' g(')}"
    kernels = translate(source, "x.br").kernels
    assert kernels["f"].doc == "Copies a."
    assert kernels["g"].doc == ""


def test_structs_of_the_host_do_not_disturb():
    source = f"struct Node {{ Node *next; virtual int f(); }};\nstruct P {{ float x; float y; }};\n{KERNEL}"
    assert list(translate(source, "x.br").structs) == ["P"]
