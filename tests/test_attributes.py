"""Attributes of documents and queries: what is read from which source, what is refused, the versions."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
from refusals import expect_refusal
from shared_cases import CASES, needs_cases

from warehouse.errors import ConflictError, InputError, UsageError
from warehouse.evaluate import file_scoring
from warehouse.evaluate.scope import Scope
from warehouse.readers.attributes import stage_attributes
from warehouse.readers.kinds import Query
from warehouse.store import database
from warehouse.warehouse import Warehouse

pytestmark = pytest.mark.core

CSV = """doc_id,n,flag,day,code,words,none
001,1.50,True,2020-01-01,007,"x, y",
2,+3,false,2020-01-02T10:00:00,1,," "
"""
ROWS = [
    ("001", "code", 1, "007", None),
    ("001", "day", 1, "2020-01-01", None),
    ("001", "flag", 1, "true", None),
    ("001", "n", 1, "1.5", 1.5),
    ("001", "words", 1, "x, y", None),
    ("2", "code", 1, "1", None),
    ("2", "day", 1, "2020-01-02 10:00:00", None),
    ("2", "flag", 1, "false", None),
    ("2", "n", 1, "3", 3.0),
]
FILMS = {"up": {"year": 2009, "genres": ["animation", "comedy"]}, "alien": {"year": 1979}}


@pytest.fixture
def put(tmp_path: Path) -> Callable[[str, str], str]:
    def write(name: str, text: str) -> str:
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    return write


def staged(con: duckdb.DuckDBPyConnection) -> list[tuple]:
    return con.execute("from staged_attribute order by all").fetchall()


def lines(found: pytest.ExceptionInfo[Exception]) -> list[str]:
    return [line.strip() for line in str(found.value).splitlines()[1:]]


def test_a_csv_file_is_typed_by_all_its_values(con, put) -> None:
    read = stage_attributes(con, put("a.csv", CSV), "document")
    assert read.columns == {
        "n": "number",
        "flag": "boolean",
        "day": "date",
        "code": "text",  # a number with a leading zero is a name
        "words": "text",
        "none": "text",
    }
    assert (read.format, read.num_subjects, read.num_values) == ("csv", 2, 9)
    assert staged(con) == ROWS


@pytest.mark.parametrize("packed", [False, True])
def test_a_tsv_file_packed_or_not(con, put, packed: bool) -> None:
    text = "doc_id\tn\nd\t1\n"
    path = Path(put("a.tsv", text))
    if packed:
        path = path.with_suffix(".tsv.gz")
        path.write_bytes(gzip.compress(text.encode()))
    assert stage_attributes(con, path, "document").format == "tsv"
    assert staged(con) == [("d", "n", 1, "1", 1.0)]


def test_json_lines_with_lists_and_absent_values(con, put) -> None:
    text = (
        '{"doc_id": "001", "year": 1999, "tags": ["a", null, "c"], "at": "2020-01-01", "x": 1.50}\n'
        '\n{"doc_id": 2.0, "year": null, "tags": [], "y": [1, 0.5], "mixed": 1}\n'
        '{"doc_id": "3", "mixed": "x"}\n'
    )
    read = stage_attributes(con, put("a.jsonl", text), "document")
    assert read.columns == {
        "year": "number",
        "tags": "list",
        "at": "date",
        "x": "number",
        "y": "list",
        "mixed": "text",
    }
    assert staged(con) == [
        ("001", "at", 1, "2020-01-01", None),
        ("001", "tags", 1, "a", None),
        ("001", "tags", 3, "c", None),
        ("001", "x", 1, "1.5", 1.5),
        ("001", "year", 1, "1999", 1999.0),
        ("2", "mixed", 1, "1", None),
        ("2", "y", 1, "1", 1.0),
        ("2", "y", 2, "0.5", 0.5),
        ("3", "mixed", 1, "x", None),
    ]


def test_json_lists_of_several_kinds_of_values_and_empty_ones(con, put) -> None:
    text = (
        '{"doc_id":1,"v":[1,"x",true],"w":[],"b":true}\n{"doc_id":2,"v":[2],"w":null,"b":false}\n'
    )
    read = stage_attributes(con, put("a.jsonl", text), "document")
    assert read.columns == {"v": "list", "w": "list", "b": "boolean"}
    assert staged(con) == [
        ("1", "b", 1, "true", None),
        ("1", "v", 1, "1", None),
        ("1", "v", 2, "x", None),
        ("1", "v", 3, "true", None),
        ("2", "b", 1, "false", None),
        ("2", "v", 1, "2", None),
    ]


def test_ids_that_look_like_a_date_or_a_uuid_stay_as_they_are_written(con, put) -> None:
    text = '{"doc_id": "2020-01-01T10:00:00", "n": 1}\n{"doc_id": "2020-01-01T11:00:00", "n": 2}\n'
    stage_attributes(con, put("a.jsonl", text), "document")
    assert [row[0] for row in staged(con)] == ["2020-01-01T10:00:00", "2020-01-01T11:00:00"]


def test_a_json_array_and_an_object_of_objects(con, put) -> None:
    stage_attributes(con, put("a.json", '[{"doc_id": "d", "n": 1}]'), "document")
    assert staged(con) == [("d", "n", 1, "1", 1.0)]
    stage_attributes(con, put("b.json", '{"d": {"n": 1}}'), "document")
    assert staged(con) == [("d", "n", 1, "1", 1.0)]


def pandas_frame() -> Any:
    pandas = pytest.importorskip("pandas")
    made = pandas.DataFrame(
        {"doc_id": [1, 2], "tags": [["a", "b"], None], "n": [1.5, float("nan")], "c": ["u", "v"]}
    )
    return made.astype({"c": "category"})


def polars_frame() -> Any:
    return pytest.importorskip("polars").from_pandas(pandas_frame())


def arrow_table() -> Any:
    return pytest.importorskip("pyarrow").Table.from_pandas(pandas_frame())


def relation() -> Any:
    return duckdb.sql(
        "from (values ('1', ['a', 'b'], 1.50, 'u'), ('2', null, null, 'v')) t(doc_id, tags, n, c)"
    )


def dicts() -> Any:
    return {1: {"tags": ["a", "b"], "n": 1.5, "c": "u"}, "2": {"n": float("nan"), "c": "v"}}


@pytest.mark.parametrize("make", [pandas_frame, polars_frame, arrow_table, relation, dicts])
def test_objects_in_memory_say_the_same(con, make: Callable[[], Any]) -> None:
    read = stage_attributes(con, make(), "document")
    assert read.columns == {"tags": "list", "n": "number", "c": "text"}
    assert staged(con) == [
        ("1", "c", 1, "u", None),
        ("1", "n", 1, "1.5", 1.5),
        ("1", "tags", 1, "a", None),
        ("1", "tags", 2, "b", None),
        ("2", "c", 1, "v", None),
    ]


def test_one_content_hash_whatever_the_format(wh: Warehouse, tmp_path: Path, put) -> None:
    relation().to_parquet(str(tmp_path / "films.parquet"))
    text = '{"n": 1.5, "c": "u", "tags": ["a", "b"], "doc_id": 1}\n{"doc_id": 2, "c": "v"}\n'
    assert wh.ingest_attributes("films", dicts(), of="docs", name="films").status == "loaded"
    for source in (str(tmp_path / "films.parquet"), put("films.jsonl", text)):
        assert wh.ingest_attributes("films", source, of="docs").status == "unchanged"


def test_split_makes_lists(con, put) -> None:
    path = put("a.csv", "movie,genres,years\n1,Horror| Sci-Fi||,1|2\n2,,3\n")
    read = stage_attributes(con, path, "document", id="movie", split={"genres": "|", "years": "|"})
    assert read.columns == {"genres": "list", "years": "list"}
    assert staged(con) == [
        ("1", "genres", 1, "Horror", None),
        ("1", "genres", 2, "Sci-Fi", None),
        ("1", "years", 1, "1", 1.0),
        ("1", "years", 2, "2", 2.0),
        ("2", "years", 1, "3", 3.0),
    ]


@needs_cases
def test_the_genres_of_movielens(wh: Warehouse) -> None:
    path = CASES / "ml_latest_small" / "movies.csv.gz"
    made = wh.ingest_attributes("ml", str(path), of="docs", id="movieId", split={"genres": "|"})
    assert (made.name, made.columns) == ("movies", {"title": "text", "genres": "list"})
    text = gzip.decompress(path.read_bytes()).decode()
    rows = text.splitlines()[1:]
    elements = sum(line.rsplit(",", 1)[1].count("|") + 1 for line in rows)
    assert (made.num_subjects, made.num_values) == (len(rows), len(rows) + elements)
    first = wh.query(
        "select list(text order by position) from store.attribute "
        "where subject_id = '1' and attribute = 'genres'"
    )
    assert first.fetchall() == [(["Adventure", "Animation", "Children", "Comedy", "Fantasy"],)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("id,n\n1,2\n", "there is no column doc_id; the source has: id, n. .* id='id'"),
        ("doc_id\n1\n", "there is no attribute: doc_id is its only column"),
        (",doc_id\n1,2\n", "column 1 has no name"),
        ("doc_id,N,n\n1,2,3\n", "the columns 'N' and 'n' have the same name"),
        ("doc_id,n\n", "is empty: there is no row"),
        ("", "is empty"),
    ],
)
def test_tables_that_are_refused(con, put, text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        stage_attributes(con, put("a.csv", text), "document")
    assert con.execute("select count(*) from duckdb_tables()").fetchall() == [(0,)]


def test_rows_that_are_refused_with_their_lines(con, put) -> None:
    text = 'doc_id,n\n1,"two\nlines"\n\n1,3\n ,4\n,5\n'
    with pytest.raises(InputError, match="3 problems") as found:
        stage_attributes(con, put("a.csv", text), "document")
    assert lines(found) == [
        "line 5: the id '1' is there twice, first on line 2",
        "line 6: the id is empty",
        "line 7: the id is empty",
    ]
    with pytest.raises(InputError) as found:
        stage_attributes(con, put("a.csv", "doc_id,n\n1,2\n2,3,4\n3\n"), "document")
    assert lines(found) == [
        "line 3: expected 2 fields, found 3",
        "line 4: expected 2 fields, found 1",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            '{"doc_id":1,"v":1}\n\n{"doc_id":2}\n\n{"doc_id":1,"v":3}',
            "line 5: the id '1' is there twice, first on line 1",
        ),
        ('{"doc_id":1,"v":1}\n\n{"doc_id":2,"v"\n', "line 3: not JSON"),
        ('{"doc_id":1,"v":1}\n{"v":1}\n', "line 2: the id is empty"),
        ('{"doc_id":1,"v":1}\n{"doc_id":2,"v":1e400}\n', "line 2: v is not a finite number"),
        (
            '{"doc_id":1,"v":1}\n{"doc_id":2,"v":[1]}\n',
            "line 2: the value of v is a list or a record; other rows have values of another kind",
        ),
        (
            '{"doc_id":1,"v":[1,"x"]}\n{"doc_id":2,"v":["y",[2]]}\n',
            "line 2: a list of v holds a list or a record",
        ),
        (
            '[{"doc_id":1,"v":1},{"doc_id":1,"v":3}]',
            "row 2: the id '1' is there twice, first in row 1",
        ),
    ],
)
def test_json_that_is_refused(con, put, text: str, expected: str) -> None:
    with pytest.raises(InputError, match="1 problem") as found:
        stage_attributes(con, put("a.jsonl", text), "document")
    assert lines(found) == [expected]


@pytest.mark.parametrize("value", ['{"a": 1}', "[[1]]", '[{"a": 1}]'])
def test_nested_values_are_refused(con, put, value: str) -> None:
    with pytest.raises(InputError, match="column 'v' holds records or lists of lists"):
        stage_attributes(con, put("a.jsonl", f'{{"doc_id":1,"v":{value}}}'), "document")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"d1": {"year": 1}, "d1": {"year": 2}}', "the key 'd1' is there twice"),
        ('{"d1": {"year": 1, "year": 2}}', "the key 'year' is there twice"),
        ('{"d1": {"year": 1}', "not JSON: Expecting"),
        ("3", "not a JSON object of the form"),
        ('{"d1": {"": 1}}', "key without a name|column 2 has no name"),
    ],
)
def test_nested_json_that_is_refused(con, put, text: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        stage_attributes(con, put("a.json", text), "document")


@pytest.mark.parametrize("keys", [1, 20, 300])
def test_attributes_that_few_have(con, put, keys: int) -> None:
    """Many different keys are columns all the same."""
    lines = [json.dumps({"doc_id": f"d{n}", f"k{n % keys}": "v"}) for n in range(1500)]
    found = stage_attributes(con, put("a.jsonl", "\n".join(lines)), "document")
    assert (found.num_subjects, found.num_values, len(found.columns)) == (1500, 1500, keys)


def test_keys_that_differ_in_case_only_are_refused(con, put) -> None:
    """As columns are; the number that DuckDB gives to one of them may be in a name as well."""
    lines = '{"doc_id": "a", "Genre": "x"}\n{"doc_id": "b", "genre": "y"}\n'
    for source in (put("a.jsonl", lines), {"a": {"Genre": "x", "genre": "y"}}):
        with pytest.raises(InputError, match="the columns 'Genre' and 'genre' have the same name"):
            stage_attributes(con, source, "document")
    found = stage_attributes(con, {"a": {"genre": "x", "genre_1": "y"}}, "document")
    assert dict(found.columns) == {"genre": "text", "genre_1": "text"}


def test_ids_of_json_keep_their_digits(con, put) -> None:
    ids = ["1234567890123456789012", "1234567890123456789013", "1.0"]
    lines = "".join(f'{{"movie": {id}, "year": 1}}\n' for id in ids)
    stage_attributes(con, put("a.jsonl", lines), "document", id="movie")
    found = con.execute("select subject_id from staged_attribute order by all").fetchall()
    assert found == [("1",), (ids[0],), (ids[1],)]


def test_python_values(con) -> None:
    numpy, pandas = pytest.importorskip("numpy"), pytest.importorskip("pandas")
    given = {
        "a": {
            "set": {"v", "u"},
            "decimal": Decimal("1.50"),
            "whole": Decimal(3),
            "vector": numpy.array([1.0, 2.0]),
            "day": date(2020, 1, 2),
            "absent": pandas.NA,
            "nan": math.nan,
        }
    }
    found = stage_attributes(con, given, "document")
    assert dict(found.columns) == {
        "set": "list", "decimal": "number", "whole": "number", "vector": "list", "day": "date",
    }  # fmt: skip
    assert con.execute(
        "select attribute, position, coalesce(number::varchar, text) from staged_attribute order by all"
    ).fetchall() == [
        ("day", 1, "2020-01-02"),
        ("decimal", 1, "1.5"),
        ("set", 1, "u"),
        ("set", 2, "v"),
        ("vector", 1, "1.0"),
        ("vector", 2, "2.0"),
        ("whole", 1, "3.0"),
    ]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "is empty"),
        ({"a": 3}, "'a': not a dict of the form"),
        ({"a": {"doc_id": "b"}}, "'a': 'doc_id' names the keys, not a value"),
        (
            Query("select ['a'] as doc_id, 1 as n", "<a>"),
            "'doc_id' holds lists or records, not ids",
        ),
    ],
)
def test_objects_that_are_no_attributes_are_refused(con, given: Any, told: str) -> None:
    with pytest.raises(InputError, match=told):
        stage_attributes(con, given, "document")


@pytest.mark.parametrize("value", [b"x", object()])
def test_python_values_that_have_no_text_are_refused(con, value: object) -> None:
    with pytest.raises(InputError, match=r"<dict>: 'a': .* is neither text nor a number"):
        stage_attributes(con, {"a": {"x": value}}, "document")


def test_wrong_options_are_refused(con, wh: Warehouse, put) -> None:
    path = put("a.csv", "movie,doc_id,genres\n1,2,x\n")
    with expect_refusal("movies … movie", InputError):
        stage_attributes(con, path, "document", id="movies")
    with pytest.raises(InputError, match="there is a column doc_id too"):
        stage_attributes(con, path, "document", id="movie")
    with expect_refusal("split= … genre … genres"):
        stage_attributes(con, path, "document", split={"genre": "|"})
    with pytest.raises(UsageError, match="the separator is a text, not 5"):
        stage_attributes(con, path, "document", split={"genres": 5})
    with pytest.raises(UsageError, match="the separator is empty"):
        stage_attributes(con, path, "document", split={"genres": ""})
    with pytest.raises(
        UsageError, match=r"split={'year': '\|'}: this column of <dict> is not text"
    ):
        stage_attributes(con, FILMS, "document", split={"year": "|"})
    with pytest.raises(UsageError, match="not from trec"):
        stage_attributes(con, path, "document", format="trec")
    with pytest.raises(InputError, match="format is not clear: say it with format="):
        stage_attributes(con, put("b.txt", "1 2\n"), "document")
    with expect_refusal("of='doc' … docs"):
        wh.ingest_attributes("films", path, of="doc")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="give name="):
        wh.ingest_attributes("films", FILMS, of="docs")


def test_stored_with_types_source_and_counts(wh: Warehouse, put) -> None:
    made = wh.ingest_attributes("films", put("films.csv", CSV), of="docs")
    assert (made.status, made.name, made.version) == ("loaded", "films", 1)
    assert wh.query("from store.attribute order by all").fetchall() == [(1, *row) for row in ROWS]
    assert wh.query(
        "select subject, name, version, format, num_subjects, normalise from store.attribute_set"
    ).fetchall() == [("document", "films", 1, "csv", 2, None)]
    assert wh.attributes("films").relation.project(
        "attribute, type, ids, present, different"
    ).fetchall() == [
        ("n", "number", 2, 2, 2),
        ("flag", "boolean", 2, 2, 2),
        ("day", "date", 2, 2, 2),
        ("code", "text", 2, 2, 2),
        ("words", "text", 2, 1, 1),
        ("none", "text", 2, 0, 0),
    ]


def test_versions(wh: Warehouse, counts) -> None:
    wh.ingest_attributes("films", FILMS, of="docs", name="facts")
    before = counts(wh.path)
    again = {"alien": FILMS["alien"], "up": FILMS["up"]}
    assert wh.ingest_attributes("films", again, of="docs", name="facts").status == "unchanged"
    other = {"up": {"year": 2010}}
    with pytest.raises(ConflictError, match=r"other attributes of docs named facts.*replace=True"):
        wh.ingest_attributes("films", other, of="docs", name="facts")
    assert counts(wh.path) == before
    made = wh.ingest_attributes("films", other, of="docs", name="facts", replace=True)
    assert (made.status, made.version) == ("replaced", 2)
    assert wh.attributes().relation.project("name, version, attribute").fetchall() == [
        ("facts", 2, "year")
    ]


def test_another_type_is_other_content(wh: Warehouse) -> None:
    wh.ingest_attributes("films", {"a": {"n": "1"}}, of="docs", name="facts")
    with pytest.raises(ConflictError):
        wh.ingest_attributes("films", {"a": {"n": 1}}, of="docs", name="facts")


def test_a_taken_attribute_is_refused_by_name(wh: Warehouse, counts) -> None:
    wh.ingest_attributes("films", FILMS, of="docs", name="facts")
    before = counts(wh.path)
    more = {"up": {"year": 2009, "length": 96}}
    with pytest.raises(ConflictError, match=r"1 attribute of docs .*: year \(in facts\)"):
        wh.ingest_attributes("films", more, of="docs", name="more")
    # a slice would read the one for the other, and a board would show the values of one under both names
    with pytest.raises(ConflictError, match=r": year \(in facts\)"):
        wh.ingest_attributes("films", {"up": {"Year": "long ago"}}, of="docs", name="more")
    assert counts(wh.path) == before
    # of queries, or in another dataset, it is another attribute; a replaced version holds none
    wh.ingest_attributes("films", more, of="queries", name="more")
    with pytest.raises(ConflictError, match=r"2 attributes of queries .* in the place of more:"):
        wh.ingest_attributes("films", more, of="queries", name="other")
    wh.ingest_attributes("series", more, of="docs", name="more")
    wh.ingest_attributes("films", {"up": {"genre": "x"}}, of="docs", name="facts", replace=True)
    assert wh.ingest_attributes("films", more, of="docs", name="more").status == "loaded"


def test_ids_can_be_normalised(wh: Warehouse) -> None:
    made = wh.ingest_attributes(
        "films", FILMS, of="queries", name="facts", normalise="upper(query_id) || '-' || year"
    )
    assert made.status == "loaded"
    assert wh.query("select distinct subject_id from store.attribute order by all").fetchall() == [
        ("ALIEN-1979",),
        ("UP-2009",),
    ]
    assert wh.query("select normalise from store.attribute_set").fetchall() == [
        ("upper(query_id) || '-' || year",)
    ]
    with pytest.raises(InputError, match="1 id becomes the same as another") as found:
        wh.ingest_attributes("films", FILMS, of="docs", name="facts", normalise="'x'")
    assert lines(found) == ["'alien' becomes 'x', as 'up' does"]


SCOPE = "select doc_id, attribute, position, text, number from scope_attribute order by all"
IN_SCOPE = [
    ("alien", "year", 1, "1979", 1979.0),
    ("up", "genres", 1, "animation", None),
    ("up", "genres", 2, "comedy", None),
    ("up", "year", 1, "2009", 2009.0),
]


def test_stored_attributes_in_scope(wh: Warehouse) -> None:
    wh.ingest_attributes("films", {"up": {"year": 1}}, of="docs", name="facts")
    wh.ingest_attributes("films", FILMS, of="docs", name="facts", replace=True)
    wh.ingest_attributes("films", {"up": {"length": 96}}, of="docs", name="more")
    wh.ingest_attributes("films", {"ann": {"age": 30}}, of="queries", name="people")
    wh.ingest_attributes("series", {"up": {"other": 1}}, of="docs", name="facts")
    with database.read(wh.path) as con:
        Scope(con).attributes("films")
        assert con.execute(SCOPE).fetchall() == sorted([*IN_SCOPE, ("up", "length", 1, "96", 96.0)])


def test_attributes_of_files_in_scope(con, put) -> None:
    file_scoring.scope_attributes(con, [])
    assert con.execute(SCOPE).fetchall() == []
    first = put("years.csv", "doc_id,year\nup,2009\nalien,1979\n")
    second = put("genres.jsonl", json.dumps({"doc_id": "up", "genres": ["animation", "comedy"]}))
    file_scoring.scope_attributes(con, [first, second])
    assert con.execute(SCOPE).fetchall() == IN_SCOPE
    with pytest.raises(InputError, match=r"the attribute year is in .*years\.csv too"):
        file_scoring.scope_attributes(con, [first, FILMS])
    with pytest.raises(InputError, match=r"the attribute YEAR is in .*years\.csv too"):
        file_scoring.scope_attributes(con, [first, {"up": {"YEAR": 1}}])


def test_score_takes_attributes() -> None:
    scores = Warehouse.score({"q": {"up": 1}}, {"q": {"up": 1.0}}, "P@1", attributes=[FILMS])
    assert scores.means() == {"P@1": 1.0}
    # one by itself is the only one: of a dict the ids were taken for files
    asked = "CategoricalDiversity(attribute=genre)@1"
    films = {"up": {"genre": "family"}}
    alone = Warehouse.score({"q": {"up": 1}}, {"q": {"up": 1.0}}, asked, attributes=films)
    assert list(alone.means().values()) == [1.0]
    with pytest.raises(InputError, match="no column doc_id"):
        Warehouse.score(
            {"q": {"up": 1}},
            {"q": {"up": 1.0}},
            "P@1",
            attributes=[duckdb.sql("select 1 as a, 2 as b")],
        )
