"""RF2 release folders."""

from __future__ import annotations

import gzip

import pytest

from anonto.errors import FileError, MalformedFileError
from anonto.ontology.read import read_ontology

CONCEPT = "id effectiveTime active moduleId definitionStatusId"
RELATIONSHIP = (
    "id effectiveTime active moduleId sourceId destinationId relationshipGroup typeId characteristicTypeId modifierId"
)
DESCRIPTION = "id effectiveTime active moduleId conceptId languageCode typeId term caseSignificanceId"
ASSOCIATION = "id effectiveTime active moduleId refsetId referencedComponentId targetComponentId"
IS_A, INFERRED, STATED = "116680003", "900000000000011006", "900000000000010007"
FSN, SYNONYM = "900000000000003001", "900000000000013009"
REPLACED_BY, SAME_AS = "900000000000526001", "900000000000527005"


def concept(number, active=1, time=20200101):
    return [number, time, active, 9, 8]


def is_a(child, parent, *, active=1, kind=IS_A, view=INFERRED, number=0, time=20200101):
    return [number or child * 1000 + parent, time, active, 9, child, parent, 0, kind, view, 7]


def term(number, text, kind=FSN, active=1, language="en"):
    return [number * 77, 20200101, active, 9, number, language, kind, text, 6]


@pytest.fixture
def release(tmp_path):
    folder = tmp_path / "Release_20200101"

    def write(table, header, rows, *, name=None, packed=False):
        where = folder / "Snapshot" / ("Refset" if table.startswith("der2") else "Terminology")
        where.mkdir(parents=True, exist_ok=True)
        lines = [header.replace(" ", "\t"), *("\t".join(map(str, row)) for row in rows)]
        content = "".join(line + "\r\n" for line in lines).encode()
        path = where / (name or f"{table}_Snapshot_INT_20200101.txt" + (".gz" if packed else ""))
        path.write_bytes(gzip.compress(content) if packed else content)
        return path

    def standard(*, packed=False):
        concepts = [concept(n) for n in (10, 20, 30, 40, 50)] + [concept(60, 0), concept(70, 0)]
        write("sct2_Concept", CONCEPT, concepts, packed=packed)
        edges = [is_a(20, 10), is_a(30, 10), is_a(30, 60), is_a(40, 20), is_a(40, 30), is_a(40, 10, active=0)]
        edges += [is_a(20, 30, kind="363698007"), is_a(20, 30, view=STATED), is_a(60, 10)]
        write("sct2_Relationship", RELATIONSHIP, edges, packed=packed)
        terms = [
            term(10, "Root concept (root)"),
            term(20, "Mal (trastorno)", language="es"),
            term(20, 'A "bad" thing (disorder)'),
            term(20, "Bad thing", SYNONYM),
            term(20, "Gone", SYNONYM, active=0),
            term(30, 'Unbalanced " quote (finding)'),
            term(30, 'Unbalanced " quote', SYNONYM),
            term(40, "Only a synonym", SYNONYM),
            term(50, "Alone (disorder)"),
        ]
        write("sct2_Description", DESCRIPTION, terms, name="sct2_Description_Snapshot-en_INT_20200101.txt")
        return folder

    standard.write = write
    standard.folder = folder
    return standard


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_active_inferred_is_a_rows_make_the_taxonomy(release, packed):
    taxonomy = read_ontology(release(packed=packed))
    assert taxonomy.ids == ("10", "20", "30", "40")
    assert taxonomy.roots == ("10",)
    assert taxonomy.parents("40") == ("20", "30")
    assert taxonomy.provenance.isolated_concepts == 1
    assert taxonomy.provenance.dangling_edges == 1
    assert taxonomy.provenance.version == "20200101"
    assert taxonomy.name == "Release_20200101"


def test_the_folder_of_the_tables_is_enough(release):
    assert len(read_ontology(release() / "Snapshot" / "Terminology", format="rf2")) == 4


def test_labels_are_english_full_names_and_the_rest_are_synonyms(release):
    taxonomy = read_ontology(release())
    assert taxonomy.label("20") == 'A "bad" thing (disorder)'
    assert set(taxonomy.synonyms("20")) == {'A "bad" thing', "Mal", "Bad thing"}
    assert taxonomy.label("30") == 'Unbalanced " quote (finding)'
    assert taxonomy.synonyms("30") == ('Unbalanced " quote',)
    assert taxonomy.label("40") == "Only a synonym"


def test_inactive_concepts_are_obsolete_with_their_replacement(release):
    folder = release()
    assert read_ontology(folder).obsolete == {"60": None, "70": None}
    rows = [
        ["a-1", 20200101, 1, 9, SAME_AS, 60, 30],
        ["a-2", 20200101, 1, 9, REPLACED_BY, 60, 20],
        ["a-3", 20200101, 0, 9, REPLACED_BY, 70, 20],
        ["a-4", 20200101, 1, 9, SAME_AS, 70, 40],
        ["a-5", 20200101, 1, 9, "900000000000523009", 70, 10],
    ]
    release.write(
        "der2_cRefset_Association",
        ASSOCIATION,
        rows,
        name="der2_cRefset_AssociationSnapshot_INT_20200101.txt",
    )
    assert read_ontology(folder).obsolete == {"60": "20", "70": "40"}


def test_a_full_history_gives_the_latest_state(release):
    folder = release()
    (folder / "Snapshot/Terminology/sct2_Relationship_Snapshot_INT_20200101.txt").unlink()
    history = [
        is_a(20, 10, number=1, time=20190101, active=0),
        is_a(20, 10, number=1, time=20180101),
        is_a(30, 10, number=2, time=20190101),
        is_a(40, 10, number=3, time=20190101, active=0),
        is_a(40, 10, number=3, time=20190101),
    ]
    release.write("sct2_Relationship", RELATIONSHIP, history, name="sct2_Relationship_Full_INT_20200101.txt")
    taxonomy = read_ontology(folder)
    assert taxonomy.ids == ("10", "30", "40")
    assert taxonomy.provenance.isolated_concepts == 2


def test_an_extension_is_read_together_with_the_international_part(release):
    folder = release()
    release.write(
        "sct2_Concept",
        CONCEPT,
        [concept(80), concept(20, time=20190101, active=0)],
        name="sct2_Concept_Snapshot_ES_20200601.txt",
    )
    release.write("sct2_Relationship", RELATIONSHIP, [is_a(80, 40)], name="sct2_Relationship_Snapshot_ES_20200601.txt")
    taxonomy = read_ontology(folder)
    assert taxonomy.parents("80") == ("40",)
    assert "20" in taxonomy
    assert taxonomy.provenance.version == "20200601"


def test_other_tables_are_ignored(release):
    folder = release()
    for name in (
        "sct2_StatedRelationship_Snapshot_INT_1.txt",
        "sct2_RelationshipConcreteValues_Snapshot_INT_1.txt",
    ):
        release.write("sct2_X", RELATIONSHIP, [is_a(10, 40)], name=name)
    release.write("sct2_X", CONCEPT, [concept(99)], name="sct2_Concept_Delta_INT_1.txt")
    assert read_ontology(folder).roots == ("10",)


def test_the_hash_follows_names_and_contents(release):
    folder = release()
    first = read_ontology(folder).provenance.sha256
    assert read_ontology(folder).provenance.sha256 == first
    path = folder / "Snapshot/Terminology/sct2_Concept_Snapshot_INT_20200101.txt"
    path.write_bytes(path.read_bytes() + b"90\t20200101\t1\t9\t8\r\n")
    assert read_ontology(folder).provenance.sha256 != first


def test_the_folder_that_one_is_in_is_called_by_its_name(release, tmp_path, monkeypatch):
    monkeypatch.chdir(release())
    assert read_ontology(".").name == "Release_20200101"
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    for options in ({}, {"format": "obo"}):
        with pytest.raises(MalformedFileError, match=r"^'elsewhere' "):
            read_ontology(".", **options)


def test_a_folder_without_release_is_refused(tmp_path):
    with pytest.raises(MalformedFileError, match="sct2_Concept"):
        read_ontology(tmp_path)


@pytest.mark.parametrize("table", ["Concept", "Relationship", "Description"])
def test_a_release_without_one_of_its_tables_is_refused(release, table):
    folder = release()
    next(folder.rglob(f"sct2_{table}_*")).unlink()
    with pytest.raises(MalformedFileError, match=f"sct2_{table}"):
        read_ontology(folder)


@pytest.mark.parametrize(
    ("table", "row"),
    [
        ("Concept", b"10\t20200101"),
        ("Concept", b"ten\t20200101\t1\t9\t8"),
        ("Relationship", b"1\t20200101\t1\t9\t20"),
        ("Relationship", b"1\t20200101\t1\t9\t20\tten\t0\t116680003\t900000000000011006\t7"),
        ("Description", b"1\t20200101\t1"),
        ("Description", b"1\t20200101\t1\t9\t20\ten\t900000000000013009\ta tab\there\t6"),
        ("Description", b"1\t20200101\t1\t9\tten\ten\t900000000000013009\ta term\t6"),
    ],
)
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_a_faulty_row_is_refused_with_its_line(release, table, row, packed):
    folder = release()
    path = next(folder.rglob(f"sct2_{table}_*"))
    lines = path.read_bytes().split(b"\r\n")
    content = b"\r\n".join([*lines[:2], row, *lines[2:]])
    path.write_bytes(gzip.compress(content) if packed else content)
    with pytest.raises(MalformedFileError) as caught:
        read_ontology(folder)
    assert caught.value.line == 3


def test_a_missing_column_is_refused(release):
    folder = release()
    path = next(folder.rglob("sct2_Relationship_*"))
    path.write_bytes(path.read_bytes().replace(b"characteristicTypeId", b"other", 1))
    with pytest.raises(MalformedFileError, match="characteristicTypeId"):
        read_ontology(folder)


def test_undecodable_bytes_are_refused_with_their_line(release):
    folder = release()
    path = next(folder.rglob("sct2_Description_*"))
    path.write_bytes(path.read_bytes().replace(b"Bad thing", b"B\xe4d thing"))
    with pytest.raises(FileError, match="line 5 has a byte that is not text"):
        read_ontology(folder)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-16-le"])
@pytest.mark.parametrize("table", ["Concept", "Description"])
def test_a_release_in_utf_16_is_reported_as_not_utf_8(release, table, encoding):
    folder = release()
    path = next(folder.rglob(f"sct2_{table}_*"))
    path.write_bytes(path.read_bytes().decode().encode(encoding))
    with pytest.raises(FileError, match=r"is not UTF-8: .* save the file as UTF-8\."):
        read_ontology(folder)


def test_a_header_with_undecodable_bytes_is_refused_with_its_line(release):
    folder = release()
    path = next(folder.rglob("sct2_Concept_*"))
    path.write_bytes(path.read_bytes().replace(b"moduleId", b"m\xe4duleId", 1) + b"x\t1\t1\t1\t1\r\n")
    with pytest.raises(FileError, match="line 1 has a byte that is not text"):
        read_ontology(folder)


def test_relationships_of_undeclared_concepts_are_counted(release):
    folder = release()
    release.write("sct2_Relationship", RELATIONSHIP, [is_a(20, 10), is_a(60, 10), is_a(77, 10)])
    provenance = read_ontology(folder).provenance
    assert (provenance.edges_read, provenance.dangling_edges, provenance.orphaned_edges) == (2, 1, 1)


def test_an_empty_or_binary_table_is_refused(release):
    folder = release()
    path = next(folder.rglob("sct2_Concept_*"))
    path.write_bytes(b"")
    with pytest.raises(FileError, match="is empty"):
        read_ontology(folder)
    path.write_bytes(b"PK\x03\x04 and more")
    with pytest.raises(FileError, match="it looks like"):
        read_ontology(folder)


def test_a_release_of_inactive_concepts_describes_none(release):
    folder = release()
    release.write("sct2_Concept", CONCEPT, [concept(10, 0)])
    with pytest.raises(FileError, match="describes no concept"):
        read_ontology(folder)


def test_a_blank_last_line_is_accepted(release):
    folder = release()
    path = next(folder.rglob("sct2_Concept_*"))
    path.write_bytes(path.read_bytes() + b"\r\n")
    assert len(read_ontology(folder)) == 4
