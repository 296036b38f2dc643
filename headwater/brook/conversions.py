"""Input: a checked expression and the type that its place wants. Output: the same with its conversion made explicit;
what the rules do not convert is a ``SourceError``.
"""

from __future__ import annotations

from headwater.brook import ast
from headwater.brook.context import Context, KernelInfo
from headwater.brook.types import COMPONENTS, INT_MAX, RANKS, Type, literal_integer
from headwater.errors import SourceError

_ALLOWED = ", or allow it with -a"
_SIGNED = {"uchar": "char", "ushort": "short", "uint": "int"}


class Conversions:
    """The conversions of one kernel: those of strict typing, and under ``-a`` those of weak typing."""

    def __init__(self, context: Context, kernel: KernelInfo) -> None:
        self.context = context
        self.kernel = kernel
        self.weak = context.options.weak

    def note_type(self, type_: Type) -> None:
        """Remember what using a type needs of the device."""
        if type_.base == "double":
            self.kernel.uses_double = True
        elif type_.is_struct:
            for member in self.context.structs[type_.base].fields:
                self.note_type(Type(member.type.base, member.type.width, member.type.is_struct))

    def coerce(self, node: ast.Expression, target: Type, what: str) -> ast.Expression:
        """The checked expression as a value of the target type, converted where the rules allow; ``what`` names the
        place.
        """
        source = node.type
        if source == target:
            return node
        if (
            source.condition
            and source.width == target.width
            and target.is_numeric
            and (source.base == target.base or target.base in {"int", "uint"} or self.weak)
        ):
            return self.convert(node, target)
        if self.weak and source.is_numeric and target.is_numeric and source.width in {1, target.width}:
            if source.value != target:
                self.context.warn(f"{source.value} is converted to {target} in {what}", node)
            return self.convert(node, target)
        raise self.context.error(
            f"{what} wants {target}, but this is {source.value}", node, self._conversion_hint(node, target)
        )

    def store(self, node: ast.Expression, target: Type, what: str) -> ast.Expression:
        """As ``coerce`` for a value that goes into a variable or is returned: under weak typing a wider vector is cut
        to the first components.
        """
        if node.type.is_numeric and target.is_numeric and node.type.width > target.width:
            if not self.weak:
                raise self.context.error(
                    f"{what} wants {target}, but this is {node.type.value}",
                    node,
                    f"take components, as in v.{COMPONENTS[: target.width]}{_ALLOWED}",
                )
            node = self.cut(node, target.width, what)
        return self.coerce(node, target, what)

    def assign(self, node: ast.Expression, target: Type, what: str) -> ast.Expression:
        """As ``store`` for the operators of assignment: signed and unsigned integers of one size convert to each other,
        under strict typing too.
        """
        if node.type != target and differ_in_sign(node.type, target):
            return self.convert(node, target)
        return self.store(node, target, what)

    def convert(self, node: ast.Expression, target: Type) -> ast.Expression:
        """Wrap an expression in a conversion."""
        result = ast.Convert(node.line, node.column, node)
        result.type = target
        self.note_type(target)
        return result

    def as_value(self, node: ast.Expression) -> ast.Expression:
        """The expression as a number, where it is a condition."""
        return self.convert(node, node.type.value) if node.type.condition else node

    def component(self, node: ast.Expression, name: str) -> ast.Expression:
        """One component of a vector, or the first few."""
        result = ast.Member(node.line, node.column, self.as_value(node), name)
        result.type = node.type.value.widened(len(name))
        return result

    def cut(self, node: ast.Expression, width: int, what: str) -> ast.Expression:
        """The first components of a wider vector (weak typing)."""
        kept = COMPONENTS[:width]
        self.context.warn(f"{node.type.value} is cut to its .{kept} in {what}", node)
        return self.component(node, kept)

    def widen(self, node: ast.Expression, width: int) -> ast.Expression:
        """A scalar repeated in every component."""
        if node.type.width == width:
            return node
        node = self.as_value(node)
        return self.convert(node, node.type.widened(width))

    def narrow(self, left: ast.Expression, right: ast.Expression, what: str) -> tuple[ast.Expression, ast.Expression]:
        """Two vectors of different lengths, the longer cut to the shorter's (weak typing); scalars stay."""
        widths = left.type.width, right.type.width
        if self.weak and 1 < min(widths) < max(widths):
            if widths[0] > widths[1]:
                return self.cut(left, widths[1], what), right
            return left, self.cut(right, widths[0], what)
        return left, right

    def unify(
        self, left: ast.Expression, right: ast.Expression, node: ast.Node, what: str
    ) -> tuple[ast.Expression, ast.Expression]:
        """Two operands of one type: as they are under strict typing, by C's usual conversions under weak typing."""
        if left.type == right.type:
            return left, right
        if not self.weak or not left.type.is_numeric or not right.type.is_numeric:
            raise self.different(left, right, node, what)
        left_type, right_type = left.type.value, right.type.value
        if left_type.width != right_type.width and 1 not in {left_type.width, right_type.width}:
            raise self.different(left, right, node, what)
        # A literal takes the other operand's type: 2.0 * x stays float, as a programmer of the language means it.
        if isinstance(left, ast.Number) and right_type.base in {"float", "double"}:
            base = right_type.base
        elif isinstance(right, ast.Number) and left_type.base in {"float", "double"}:
            base = left_type.base
        else:
            base = max(left_type.base, right_type.base, key=RANKS.index)
        common = Type(base, max(left_type.width, right_type.width))
        return self.coerce(left, common, what), self.coerce(right, common, what)

    def different(self, left: ast.Expression, right: ast.Expression, node: ast.Node, what: str) -> SourceError:
        """An error: two operands have different types."""
        hint = "no conversion is implicit: "
        numbers = left.type.is_numeric and right.type.is_numeric
        if numbers and left.type.width != right.type.width:
            vector, scalar = (left, right) if left.type.width > right.type.width else (right, left)
            if scalar.type.width == 1:
                hint += f"write {vector.type.value.name}(x, …) with the scalar repeated"
            else:
                hint += "take components, as in v.xy"
        elif isinstance(right, ast.Number):
            hint += f"write {_literal_as(right, left.type)}"
        elif isinstance(left, ast.Number):
            hint += f"write {_literal_as(left, right.type)}"
        else:
            hint += f"use a cast such as ({left.type.value.name})x"
        return self.context.error(
            f"{what} have different types: {left.type.value} and {right.type.value}", node, hint + _ALLOWED
        )

    def _conversion_hint(self, node: ast.Expression, target: Type) -> str:
        if not node.type.is_numeric or not target.is_numeric:
            return "the types must be the same"
        if isinstance(node, ast.Number) and target.width == 1:
            return f"no conversion is implicit: write {_literal_as(node, target)}{_ALLOWED}"
        if node.type.width == target.width:
            return f"no conversion is implicit: use a cast, ({target.name})x{_ALLOWED}"
        if node.type.width == 1:
            return f"write {target.name}(x, …) with the scalar repeated{_ALLOWED}"
        if node.type.width < target.width:
            # AMD's compiler fills up with zeros on the GPU and with the last component on the CPU.
            return f"write {target.name}(…) with every component: what would fill it up is not defined"
        return f"take components, as in v.{COMPONENTS[: target.width]}"


def differ_in_sign(first: Type, second: Type) -> bool:
    """Whether two types are integers of one size and number of components, one signed and one not."""
    return (
        first.is_integer
        and second.is_integer
        and not first.condition
        and first.width == second.width
        and first.base != second.base
        and _SIGNED.get(first.base, first.base) == _SIGNED.get(second.base, second.base)
    )


def _literal_as(number: ast.Number, wanted: Type) -> str:
    text = number.text.rstrip("fFuUlL") if not number.text.lower().startswith("0x") else number.text.rstrip("uUlL")
    match wanted.base:
        case "float":
            return f"{text}f" if any(c in text for c in ".eE") else f"{text}.0f"
        case "double":
            return text if any(c in text for c in ".eE") else f"{text}.0"
        case "uint":
            return f"{text}u"
        case "int" if not number.floating and literal_integer(text) <= INT_MAX:
            return text
    return f"({wanted.name}){number.text}"
