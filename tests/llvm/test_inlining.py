"""The order of functions in which LLVM inlines them."""

from headwater.llvm.ir import Module
from headwater.llvm.passes.inlining import callers_first, inlined
from headwater.opencl.linking import recursive


def _module(calls: dict[str, list[str]]) -> Module:
    lines = []
    for name, called in calls.items():
        lines += [f"define void @{name}() {{", *(f"  call void @{one}()" for one in called), "  ret void", "}"]
    return Module("\n".join(lines) + "\n")


def test_callers_come_first_and_else_the_order_stays():
    calls = {"a": [], "b": ["a", "a"], "k": ["d", "b"], "c": ["a"], "d": ["c", "b"], "m": [], "n": ["n", "m"]}
    module = _module(calls)
    order = callers_first(module)
    assert sorted(order) == sorted(calls)
    assert all(order.index(name) < order.index(one) for name in calls for one in calls[name] if one != name)
    assert callers_first(_module({"p": [], "q": [], "r": []})) == ["p", "q", "r"]
    inlined(module)
    assert list(Module(str(module)).bodies) == order


def test_functions_that_come_to_call_themselves():
    calls = {"k": ["a", "x"], "a": ["b"], "b": ["c", "e"], "c": ["a"], "e": ["e"], "x": ["y"], "y": ["x", "z"]}
    calls |= {"z": ["v"], "v": [], "w": ["w"], "between": ["x"], "other": ["between"]}
    assert recursive(_module(calls), ["k", "none"]) == ["a", "b", "c", "e", "x", "y"]
    assert recursive(_module(calls), ["other", "v"]) == ["x", "y"]


def test_a_long_chain_of_calls_has_no_recursion():
    chain = {f"f{n}": [f"f{n + 1}"] for n in range(5000)} | {"f5000": []}
    assert recursive(_module(chain), ["f0"]) == []
    assert callers_first(_module(dict(reversed(chain.items())))) == list(chain)
