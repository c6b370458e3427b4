"""OWL classes and SKOS concepts from RDF/XML, Turtle or N-Triples.

Statements are read one by one; only those that name, label or order concepts are kept. The only class axiom used is
``rdfs:subClassOf`` between named classes. Ids under the OBO namespace become ``DOID:162``; other IRIs are kept.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from anonto.errors import MalformedFileError
from anonto.ontology.readers import Reader
from anonto.ontology.safe_xml import TURTLE, root_tag, safe_xml
from anonto.taxonomy.build import Draft
from anonto.wording import clip

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyoxigraph import Quad

    from anonto.ontology.readers import Start
    from anonto.ontology.source import Source
    from anonto.taxonomy.taxonomy import Taxonomy

OBO = "http://purl.obolibrary.org/obo/"
OBO_IN_OWL = "http://www.geneontology.org/formats/oboInOwl#"
OWL = "http://www.w3.org/2002/07/owl#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
SKOS = "http://www.w3.org/2004/02/skos/core#"
DCT = "http://purl.org/dc/terms/"

_BASE_OF_RELATIVE_IRIS = "http://relative.invalid/"
_OBO_NAME = re.compile(r"([A-Za-z]+)_(\w+)")

_CLASS_TYPES = {OWL + "Class", RDFS + "Class", OWL + "DeprecatedClass"}
_NO_CLASSES = {OWL + "Thing", OWL + "Nothing"}
_PREFERRED = {"owl": RDFS + "label", "skos": SKOS + "prefLabel"}
_LABELS = (
    RDFS + "label",
    SKOS + "prefLabel",
    SKOS + "altLabel",
    SKOS + "hiddenLabel",
    *(f"{OBO_IN_OWL}has{scope}Synonym" for scope in ("Exact", "Broad", "Narrow", "Related")),
)
_REPLACED_BY = {OBO + "IAO_0100001", DCT + "isReplacedBy"}
_ALTERNATIVE_IDS = {OBO_IN_OWL + "hasAlternativeId", SKOS + "notation"}
_VERSIONS = (OWL + "versionIRI", OWL + "versionInfo")
_RELATIONS = {
    "owl": {RDFS + "subClassOf": "rdfs:subClassOf"},
    "skos": {SKOS + "broader": "skos:broader", SKOS + "narrower": "skos:narrower"},
}


class _Facts:
    """Statements of a file about its concepts, by id."""

    def __init__(self) -> None:
        self.concepts: dict[str, dict[str, None]] = {"owl": {}, "skos": {}}
        self.edges: dict[str, dict[tuple[str, str], None]] = {"owl": {}, "skos": {}}
        self.relations: dict[str, dict[str, None]] = {"owl": {}, "skos": {}}
        self.labels: defaultdict[str, dict[tuple[str, str, str], None]] = defaultdict(dict)
        self.alternatives: defaultdict[str, dict[str, None]] = defaultdict(dict)
        self.deprecated: dict[str, None] = {}
        self.replacements: dict[str, str] = {}
        self.versions: dict[str, str] = {}


def read_rdf(source: Source) -> Taxonomy:
    """Read OWL or SKOS, whichever has more concepts in the file."""
    facts = _facts(source)
    return _taxonomy(facts, max(facts.concepts, key=lambda kind: len(facts.concepts[kind])), source)


def read_owl(source: Source) -> Taxonomy:
    """Read the OWL and RDFS classes of a file."""
    return _taxonomy(_facts(source), "owl", source)


def read_skos(source: Source) -> Taxonomy:
    """Read the SKOS concepts of a file."""
    return _taxonomy(_facts(source), "skos", source)


# ---------------------------------------------------------------------------------------------- statements


def _facts(source: Source) -> _Facts:
    from pyoxigraph import Literal, NamedNode

    facts = _Facts()
    for statement in _statements(source):
        subject, predicate, value = statement.subject, statement.predicate.value, statement.object
        if not isinstance(subject, NamedNode):
            continue
        if isinstance(value, NamedNode):
            _note_link(facts, concept_id(subject.value), predicate, value.value)
        elif isinstance(value, Literal):
            _note_text(facts, concept_id(subject.value), predicate, value.value, value.language or "")
    return facts


def _statements(source: Source) -> Iterator[Quad]:
    from pyoxigraph import RdfFormat, parse

    text, syntax, name = source.text, RdfFormat.TURTLE, "Turtle"
    if root_tag(text, source.name) is not None:
        text, syntax, name = safe_xml(text, source.name), RdfFormat.RDF_XML, "RDF/XML"
    try:
        yield from parse(input=text, format=syntax, base_iri=_BASE_OF_RELATIVE_IRIS, lenient=True)
    except SyntaxError as error:
        raise MalformedFileError(source.name, name, _fault(error), error.lineno) from None
    except (ValueError, OSError) as error:
        raise MalformedFileError(source.name, name, _fault(error)) from None


def _fault(error: Exception) -> str:
    message = error.msg if isinstance(error, SyntaxError) else str(error)
    return clip(re.sub(r"^Parser error at line .*?: ", "", message.split("\n")[0]).rstrip("."))


def _note_link(facts: _Facts, subject: str, predicate: str, iri: str) -> None:
    if predicate == RDF + "type":
        if iri in _CLASS_TYPES and subject not in _NO_CLASSES:
            facts.concepts["owl"][subject] = None
        elif iri == SKOS + "Concept":
            facts.concepts["skos"][subject] = None
        if iri == OWL + "DeprecatedClass":
            facts.deprecated[subject] = None
    elif predicate == RDFS + "subClassOf":
        if iri not in _NO_CLASSES:
            _note_edge(facts, "owl", predicate, (subject, concept_id(iri)))
    elif predicate == SKOS + "broader":
        _note_edge(facts, "skos", predicate, (subject, concept_id(iri)))
    elif predicate == SKOS + "narrower":
        _note_edge(facts, "skos", predicate, (concept_id(iri), subject))
    elif predicate in _REPLACED_BY:
        facts.replacements.setdefault(subject, concept_id(iri))
    elif predicate in _VERSIONS:
        facts.versions.setdefault(predicate, iri)


def _note_edge(facts: _Facts, kind: str, predicate: str, edge: tuple[str, str]) -> None:
    facts.edges[kind][edge] = None
    facts.relations[kind][_RELATIONS[kind][predicate]] = None


def _note_text(facts: _Facts, subject: str, predicate: str, text: str, language: str) -> None:
    if predicate in _LABELS:
        facts.labels[subject][predicate, language, text] = None
    elif predicate in _ALTERNATIVE_IDS:
        facts.alternatives[subject][concept_id(text)] = None
    elif predicate in _REPLACED_BY:
        facts.replacements.setdefault(subject, concept_id(text))
    elif predicate == OWL + "deprecated":
        if text in {"true", "1"}:
            facts.deprecated[subject] = None
    elif predicate in _VERSIONS:
        facts.versions.setdefault(predicate, text)


def concept_id(iri: str) -> str:
    """The id of a concept: ``DOID:162`` for OBO ontologies, else its IRI (relative without a base)."""
    if iri.startswith(OBO) and (found := _OBO_NAME.fullmatch(iri, len(OBO))):
        return f"{found.group(1)}:{found.group(2)}"
    return iri.removeprefix(_BASE_OF_RELATIVE_IRIS) or iri


# ---------------------------------------------------------------------------------------------- assembly


def _taxonomy(facts: _Facts, kind: str, source: Source) -> Taxonomy:
    draft = Draft()
    for concept in facts.concepts[kind]:
        labels = _best_first(facts.labels.get(concept, ()), _PREFERRED[kind])
        draft.concept(concept, labels[0] if labels else "")
        for synonym in labels[1:]:
            draft.synonym(concept, synonym)
        for other in facts.alternatives.get(concept, ()):
            draft.alternative(other, concept)
        replacement = facts.replacements.get(concept)
        if concept in facts.deprecated or (kind == "skos" and replacement):
            draft.obsolete(concept, replacement)
    for child, parent in facts.edges[kind]:
        draft.edge(child, parent)
    version = next((facts.versions[v] for v in _VERSIONS if v in facts.versions), "")
    return draft.finish(source.provenance(kind, version=version, relations=tuple(facts.relations[kind])))


def _best_first(labels: Iterable[tuple[str, str, str]], preferred: str) -> list[str]:
    """All labels: preferred ones first, in English, without a language, by language tag; then the others."""

    def order(label: tuple[str, str, str]) -> tuple[bool, bool, bool, str]:
        predicate, language, _ = label
        english = language == "en" or language.startswith("en-")
        return predicate != preferred, not english, bool(language), language

    return [text for _, _, text in sorted(labels, key=order)]


def _is_rdf(start: Start) -> bool:
    return start.element == "RDF" or RDF in start.tag or TURTLE.match(start.first) is not None


OWL_READER = Reader(
    name="owl",
    sentence="OWL or RDFS classes in RDF/XML, Turtle or N-Triples",
    relations="`rdfs:subClassOf` between named classes",
    ids="`DOID:162` in the OBO namespace, otherwise the IRI",
    endings=(".owl", ".owl.gz", ".ttl", ".ttl.gz", ".xml", ".rdf"),
    read=read_owl,
    recognises=_is_rdf,
    read_recognised=read_rdf,
    rank=40,
)
SKOS_READER = Reader(
    name="skos",
    sentence="SKOS concepts in RDF/XML, Turtle or N-Triples",
    relations="`skos:broader`, `skos:narrower`",
    ids="the IRI",
    endings=(".ttl", ".ttl.gz", ".xml", ".rdf"),
    read=read_skos,
)
