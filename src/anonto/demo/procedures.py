"""A small taxonomy of procedures for generated discharges: body systems, kinds of procedures, procedures.

Codes are digits with a leading zero, a digit more on each level: 03 heart and vessels, 034 repair there, 0342
repair of the heart valve.
"""

from __future__ import annotations

ROOT = "PROC"
ROOT_LABEL = "Procedure"
BIRTHS = 7
"""The body system whose procedures belong to mothers and, in one kind, to newborns."""
NEWBORN_CARE = "074"

_SYSTEMS = {
    "Nervous system": ("brain", "spinal cord", "peripheral nerve"),
    "Eye, ear, nose and throat": ("lens", "middle ear", "nasal sinus"),
    "Heart and vessels": ("coronary artery", "heart valve", "leg vein"),
    "Airways and lungs": ("bronchus", "lung", "pleura"),
    "Digestive organs": ("bowel", "gallbladder", "stomach"),
    "Urinary and genital organs": ("bladder", "kidney", "genital tract"),
    "Birth": (),
    "Bones, joints and skin": ("hip", "knee", "skin"),
}
_KINDS = ("Imaging", "Biopsy", "Drainage", "Repair", "Partial removal")
_BIRTH_KINDS = {
    "Delivery": ("Spontaneous delivery", "Delivery by vacuum or forceps", "Delivery by caesarean section"),
    "Monitoring before birth": ("Ultrasound of the unborn", "Recording of the heart of the unborn"),
    "Repair after birth": ("Repair of a tear of the perineum", "Removal of the placenta by hand"),
    "Care of the newborn": ("Phototherapy", "Ventilation of a newborn", "Hearing test of a newborn"),
}


def procedure_taxonomy() -> list[tuple[str, str, str]]:
    """Id, parent and label of every concept; the root has no parent."""
    edges = [(ROOT, "", ROOT_LABEL)]
    for number, (system, organs) in enumerate(_SYSTEMS.items(), start=1):
        code = f"0{number}"
        edges.append((code, ROOT, system))
        kinds = {f"{kind}, {system.lower()}": [f"{kind} of the {organ}" for organ in organs] for kind in _KINDS}
        for place, (kind, procedures) in enumerate((kinds if organs else _BIRTH_KINDS).items(), start=1):
            edges.append((f"{code}{place}", code, kind))
            edges += [(f"{code}{place}{n}", f"{code}{place}", label) for n, label in enumerate(procedures, start=1)]
    return edges


def procedures_by_system() -> list[list[str]]:
    """The codes that a record can have, by body system; the care of newborns is an extra group at the end."""
    edges = procedure_taxonomy()
    parents = {parent for _, parent, _ in edges}
    codes = [code for code, _, _ in edges if code not in parents]
    of_newborns = [code for code in codes if code.startswith(NEWBORN_CARE)]
    of_others = [code for code in codes if code not in of_newborns]
    systems = [[code for code in of_others if code.startswith(f"0{number}")] for number in range(1, len(_SYSTEMS) + 1)]
    return [*systems, of_newborns]
