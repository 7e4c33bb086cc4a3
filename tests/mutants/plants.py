"""Small faults in SQL templates, Python modules and scripts of pages, and which of them are planted."""

from __future__ import annotations

import ast
import difflib
import random
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.mutants.reach import HEADER, ROOT

# The first area with the beginning of a file's path has the file.
AREAS = {
    "server": ("warehouse/extensions/server/",),
    "pages": ("warehouse/report/pages/assets/",),
    "metrics": (
        "sql/metrics/", "sql/functions.sql", "sql/curves/", "sql/fusion", "sql/normalisations/",
        "warehouse/metrics/",
    ),
    "relations": ("sql/relations/", "sql/macros/", "warehouse/sql_text/"),
    "statements": ("sql/statements/", "sql/scope/", "sql/slices/"),
    "analyses": ("sql/analyses/",),
    "analyze": ("warehouse/analyze/",),
    "evaluate": ("warehouse/evaluate/",),
    "sync": ("warehouse/sync/",),
    "readers": ("warehouse/readers/",),
    "ingest": ("warehouse/ingest/", "sql/ingest/", "sql/checks/"),
    "store": ("warehouse/store/", "migrations/views.sql"),
    "report": ("warehouse/report/",),
    "extensions": ("warehouse/extensions/",),
}  # fmt: skip
# Not ours: the build takes it from vl-convert.
FOREIGN = "vega.js"
SUFFIXES = (".py", ".sql.j2", "functions.sql", "views.sql", ".js")
# Kinds that are drawn less often: most of these fail at once, or change nothing.
RARE = {"number": 0.4, "argument": 0.5, "join": 0.5}
# What replaces a piece of a file: its start and end, the new text, the kind of fault.
Edit = tuple[int, int, str, str]
Rule = tuple[str, str, str]
_BOTH: list[Rule] = [
    *(("comparison", f" {old} ", f" {new} ") for old, new in (
        ("<=", "<"), (">=", ">"), ("<", "<="), (">", ">="), ("<", ">"), (">", "<"), ("==", "!="),
    )),
    ("sign", r" \+ ", " - "), ("sign", " - ", " + "), ("sign", r"(?<=[(,\s])(?<!\w )-(?=\w)", ""),
    ("logic", r"\btrue\b", "false"), ("logic", r"\bfalse\b", "true"),
]  # fmt: skip
_SQL: list[Rule] = [
    *_BOTH,
    ("comparison", " = ", " <> "), ("comparison", " <> ", " = "),
    ("sign", r"(?<=[\w)]) \* ", " / "),
    ("null", r"\bis not null\b", "is null"), ("null", r"\bis null\b", "is not null"),
    ("null", r"\bis not distinct from\b", "="), ("null", r"\bis distinct from\b", "<>"),
    ("null", r"\bnulls last\b", "nulls first"), ("null", r"\bnulls first\b", "nulls last"),
    ("distinct", r"\bdistinct (?!from|on)", ""), ("distinct", r"\bunion all\b", "union"),
    ("distinct", r"\bunion\b(?! all)", "union all"),
    ("join", r"\bleft join\b", "join"), ("join", r"\bfull join\b", "left join"),
    ("join", r"(?<!left )(?<!semi )(?<!anti )(?<!full )(?<!cross )(?<!asof )\bjoin\b", "left join"),
    ("join", r"\bsemi join\b", "anti join"), ("join", r"\banti join\b", "semi join"),
    *(("order", rf"\b{old}\(", f"{new}(") for one, other in (
        ("min", "max"), ("arg_min", "arg_max"), ("least", "greatest"), ("first", "last"),
    ) for old, new in ((one, other), (other, one))),
    ("order", r"\brow_number\(\)", "rank()"), ("order", r" desc\b", ""),
    ("order", r"(?<=order by )[^\n,()]+, ", ""),
    ("order", r"(?<=order by )([\w.]+)(?=[\n)])", r"\1 desc"),
    ("order", r"(?<=order by )([^\n()]+), [^\n,()]+(?=[\n)])", r"\1"),
    ("partition", r"(?<=partition by )[\w.]+, ", ""), ("partition", r", [\w.]+(?= order by )", ""),
    ("partition", r"\bpartition by [\w., ]+?(?= order|\))", ""),
    ("logic", r"\band\b", "or"), ("logic", r"\bor\b", "and"),
    ("logic", r"\bnot (?!null|dist|in\b|like)(?=\w)", ""),
    ("filter", r" filter \(where [^()]*(?:\([^()]*\)[^()]*)*\)", ""),
    ("filter", r"\n *and [^\n]*(?=\n)", ""), ("filter", r"(?<=where )[^\n()]+? and ", ""),
    ("filter", r" and [\w.]+(?: (?:=|<>|<|>|<=|>=) [\w.$]+)?(?=[\n)])", ""),
    ("filter", r"\n *(?:where|having|qualify) [^\n()]+(?=\n)", ""),
]  # fmt: skip
_JS: list[Rule] = [
    *_BOTH,
    ("comparison", " === ", " !== "), ("comparison", " !== ", " === "),
    ("logic", " && ", " || "), ("logic", r" \|\| ", " && "), ("logic", r"(?<=[( ])!(?=\w)", ""),
]  # fmt: skip
_SQL_TEXT = re.compile(r"/\*.*?\*/|\{#.*?#\}|--[^\n]*|'(?:''|[^'\n])*'|\"[^\"\n]*\"", re.DOTALL)
_JS_TEXT = re.compile(
    r"/\*.*?\*/|(?<![:\"'])//[^\n]*|'(?:\\.|[^'\\\n])*'|\"(?:\\.|[^\"\\\n])*\"|`(?:\\.|[^`\\])*`",
    re.DOTALL,
)
_NUMBER = re.compile(r"(?<![\w.$\[-])(?<!indent\()\d+(?![\w.])")
_DEFAULT = re.compile(
    r'(?m)^(?:default|undefined) = (\d+|true|false)$|(?<=direction = ")(higher|lower)'
)
_TURNED = {"true": "false", "false": "true", "higher": "lower", "lower": "higher"}


@dataclass(frozen=True)
class Mutant:
    """A piece of a file, from `start` to `end`, replaced by another text."""

    file: str
    start: int
    end: int
    new: str
    kind: str

    def apply(self, text: str) -> str:
        return text[: self.start] + self.new + text[self.end :]

    @property
    def area(self) -> str:
        return area(self.file)

    def diff(self) -> str:
        old = (ROOT / self.file).read_text()
        before, after = old.splitlines(), self.apply(old).splitlines()
        return "\n".join(
            difflib.unified_diff(before, after, self.file, self.file, n=2, lineterm="")
        )


def area(file: str) -> str:
    """Return the area of a file, or nothing."""
    return next((name for name, heads in AREAS.items() if file.startswith(heads)), "")


def of_code(text: str, literals: re.Pattern[str], rules: Sequence[Rule]) -> Iterator[Edit]:
    """Yield the edits by rules, none of them in comments and literals."""
    code = literals.sub(lambda found: re.sub(r"[^\n]", "'", found[0]), text)
    for kind, pattern, new in rules:
        for found in re.finditer(pattern, code):
            start, end = found.span(1) if found.groups() else (0, 0)
            yield *found.span(), new.replace(r"\1", text[start:end]), kind
    for found in _NUMBER.finditer(code):
        yield *found.span(), str(int(found[0]) + 1), "number"
    for found in re.finditer(r"\bcoalesce\(", code):
        level, comma = 1, 0
        for at in range(found.end(), len(code)):
            level += {"(": 1, ")": -1}.get(code[at], 0)
            comma = comma or at * (code[at] == "," and level == 1)
            if level == 0:
                yield found.start(), at + 1, text[found.end() : comma or at], "null"
                break


def of_sql(text: str) -> Iterator[Edit]:
    """Yield the edits of a template: of its code, and of what its header sets."""
    yield from of_code(text, _SQL_TEXT, _SQL)
    header = HEADER.match(text)
    for found in _DEFAULT.finditer(header[0] if header else ""):
        old = found[found.lastindex or 0]
        yield *found.span(found.lastindex or 0), _TURNED.get(old) or str(int(old) + 1), "default"


def of_js(text: str) -> Iterator[Edit]:
    return of_code(text, _JS_TEXT, _JS)


_OPPOSITE: dict[type[ast.AST], str] = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
    ast.Sub: "+", ast.Mult: "/", ast.Add: "-",
}  # fmt: skip
# The order of their arguments is a matter of course, or none.
_IN_ORDER = re.compile(r"(is|has|get|set)(instance|attr)|zip|re\.\w+|.*\.(where|join|replace)")
_TEXTS = (ast.JoinedStr, ast.Constant)


def of_python(text: str) -> Iterator[Edit]:
    """Yield the edits of a module: none in annotations, decorators, texts and what is raised."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line.encode()))
    encoded = text.encode()

    def place(line: int, column: int) -> int:
        return len(encoded[: starts[line - 1] + column].decode())

    def span(node: Any) -> tuple[int, int]:
        return place(node.lineno, node.col_offset), place(node.end_lineno, node.end_col_offset)

    def source(node: ast.AST) -> str:
        start, end = span(node)
        return text[start:end]

    def new(node: ast.AST, kind: str, *texts: str) -> Iterator[Edit]:
        for one in texts:
            yield *span(node), one, kind

    def edits(node: ast.AST) -> Iterator[Edit]:
        match node:
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                turned = f"{source(left)} {_OPPOSITE[type(op)]} {source(right)}"
                yield from new(node, "comparison", turned)
            case ast.BoolOp(op=op, values=values):
                this, other = (" and ", " or ")[:: 1 if isinstance(op, ast.And) else -1]
                parts = [f"({source(part)})" for part in values]
                yield from new(node, "logic", f"({other.join(parts)})")
                rests = (parts[:n] + parts[n + 1 :] for n in range(len(parts)))
                yield from new(node, "filter", *(f"({this.join(rest)})" for rest in rests))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yield from new(node, "logic", f"({source(operand)})")
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                yield from new(node, "sign", f"({source(operand)})")
            case ast.BinOp(left=left, op=ast.Sub() | ast.Mult() | ast.Add() as op, right=right):
                kinds = [type(x.value) for x in (left, right) if isinstance(x, ast.Constant)]
                if (int in kinds or not isinstance(op, ast.Add)) and str not in kinds:
                    turned = f"({source(left)} {_OPPOSITE[type(op)]} {source(right)})"
                    yield from new(node, "sign", turned)
            case ast.Constant(value=bool() as value):
                yield from new(node, "logic", str(not value))
            case ast.Constant(value=int() as value):
                yield from new(node, "number", str(value + 1))
            case ast.Call(func=func, args=args, keywords=keywords):
                name = source(func)
                if len(args) == 2 and not _IN_ORDER.fullmatch(name):
                    (start, middle), (then, end) = map(span, args)
                    turned = text[then:end] + text[middle:then] + text[start:middle]
                    yield start, end, turned, "argument"
                for keyword in keywords:
                    start, end = span(keyword)
                    comma = len(text[:start].rstrip())
                    if keyword.arg and text[comma - 1] == ",":
                        yield comma - 1, end, "", "argument"
                if name in ("min", "max"):
                    yield from new(func, "comparison", "max" if name == "min" else "min")
            case ast.If(test=test, orelse=orelse):
                yield from new(test, "filter", *(["False"] if orelse else ["False", "True"]))
            case ast.IfExp(body=body, orelse=orelse):
                yield from new(node, "filter", f"({source(body)})", f"({source(orelse)})")
            case ast.comprehension(ifs=tests):
                for test in tests:
                    yield from new(test, "filter", "True")
            case ast.Expr(value=ast.Call(args=args)) if not (args and isinstance(args[0], _TEXTS)):
                yield from new(node, "check", "pass")
            case ast.Continue():
                yield from new(node, "filter", "break")

    def walk(node: ast.AST) -> Iterator[Edit]:
        yield from edits(node)
        match node:
            case ast.Raise() | ast.JoinedStr() | ast.Assert():
                return
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                arguments = (one for one in node.args.kw_defaults if one is not None)
                children: Any = (*node.args.defaults, *arguments, *node.body)
            case ast.ClassDef():
                children = node.body
            case ast.AnnAssign(value=value):
                children = [] if value is None else [value]
            case _:
                children = ast.iter_child_nodes(node)
        for child in children:
            yield from walk(child)

    return walk(ast.parse(text))


def mutants(file: str) -> list[Mutant]:
    """Return every mutant of a file."""
    text = (ROOT / file).read_text()
    edits = {".py": of_python, ".js": of_js}.get(Path(file).suffix, of_sql)(text)
    return [
        Mutant(file, *edit) for edit in dict.fromkeys(edits) if edit[2] != text[edit[0] : edit[1]]
    ]


def drawn(dice: random.Random, areas: Collection[str], pattern: str = "") -> Iterator[Mutant]:
    """Draw mutants from each area in turn, none twice: a file by its length, then a kind."""
    sizes: dict[str, dict[str, int]] = defaultdict(dict)
    for folder in ("warehouse", "sql", "migrations"):
        for path in sorted((ROOT / folder).rglob("*")):
            file = str(path.relative_to(ROOT))
            is_ours = file.endswith(SUFFIXES) and not file.endswith(FOREIGN)
            if is_ours and area(file) in areas and re.search(pattern, file):
                sizes[area(file)][file] = path.stat().st_size
    left: dict[str, list[Mutant]] = {}
    while sizes:
        for name in list(sizes):
            files = list(sizes[name])
            (file,) = dice.choices(files, list(sizes[name].values()))
            if file not in left:
                left[file] = mutants(file)
            of_file = left[file]
            kinds = sorted({one.kind for one in of_file})
            if kinds:
                (kind,) = dice.choices(kinds, [RARE.get(kind, 1) for kind in kinds])
                one = dice.choice([one for one in of_file if one.kind == kind])
                of_file.remove(one)
                if is_code(one):
                    yield one
            else:
                del sizes[name][file]
                if not sizes[name]:
                    del sizes[name]


def is_code(mutant: Mutant) -> bool:
    """Whether a changed module can be parsed; SQL and scripts show it when they run."""
    try:
        if mutant.file.endswith(".py"):
            ast.parse(mutant.apply((ROOT / mutant.file).read_text()))
    except SyntaxError:
        return False
    return True
