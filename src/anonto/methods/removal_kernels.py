"""The compiled loops of grouping by removal: centres go one by one, and then groups are improved step by step.

Groups are lists of distinct records, each with its persons, so that time grows with the distinct records. Each group
has a slot; at the start that of its only record. A near group is named by a record of it: where that record is now, the
near group is.

The steps named below are those of the plain version, `anonto.methods.plain.removal`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import njit

from anonto.methods.grouping.mdav_kernels import sift_down
from anonto.methods.microaggregation_kernels import Centres, cost_at
from anonto.stats.ties import TOLERANCE

if TYPE_CHECKING:
    from anonto.arrays import Bools, Floats, Ints, Longs

RECENTRE_EVERY = 10
"""After so many removals the centres of groups that took in records are found again."""
WORTH_IT = 1e-9
"""What a change must gain."""
DIGITS = 1e9
"""Steps to which gains and costs are rounded before they are compared, so that ties are exact."""
NONE = -1


class GroupDraft(NamedTuple):
    """Groups that still change: which records each has."""

    group_of: Ints
    """The slot of each record's group."""
    first: Ints
    """The first record of each slot's group; −1 for a slot without one."""
    after: Ints
    """The next record of the same group; −1 behind the last."""
    before: Ints
    sizes: Longs
    """Persons of each slot's group."""
    counts: Longs
    """Persons of each record."""
    own: Ints
    """Records × nominal columns: the candidate that the value of a record is itself."""
    near: Ints
    """Slots × places: a record of each near group, nearest first."""
    changed: Bools
    """Slots whose centre is out of date."""


class Offers(NamedTuple):
    """Gain of further centres, and loss without some of the present ones."""

    added: Longs
    """Records, the one that wins most as a centre first."""
    gains: Floats
    removed: Longs
    """Slots, the one without which least is lost first."""
    costs: Floats


@njit(cache=True, nogil=True)
def leave(draft: GroupDraft, record: int) -> None:
    """Take a record out of its group."""
    group, after, before = draft.group_of[record], draft.after[record], draft.before[record]
    if before == NONE:
        draft.first[group] = after
    else:
        draft.after[before] = after
    if after != NONE:
        draft.before[after] = before
    draft.sizes[group] -= draft.counts[record]
    draft.changed[group] = True


@njit(cache=True, nogil=True)
def join(draft: GroupDraft, record: int, group: int) -> None:
    """Put a record that is in no group at the head of one."""
    first = draft.first[group]
    draft.after[record], draft.before[record] = first, NONE
    if first != NONE:
        draft.before[first] = record
    draft.first[group], draft.group_of[record] = record, group
    draft.sizes[group] += draft.counts[record]
    draft.changed[group] = True


@njit(cache=True, nogil=True)
def near_groups_of(draft: GroupDraft, group: int, found: Ints) -> int:
    """Fill in the slots of the groups near one, nearest first; how many there are."""
    n = 0
    for at in range(draft.near.shape[1]):
        other, is_new = draft.group_of[draft.near[group, at]], True
        for i in range(n):
            is_new = is_new and found[i] != other
        if is_new and other != group:
            found[n] = other
            n += 1
    return n


# ------------------------------------------------------------------------------------------------ centres


@njit(cache=True, nogil=True)
def recentre(centres: Centres, draft: GroupDraft) -> None:
    """Step 3: the centre of each group that has changed."""
    codes = centres.codes
    for group in range(draft.first.size):
        first = draft.first[group]
        if not draft.changed[group] or first == NONE:
            continue
        draft.changed[group] = False
        for column in range(centres.units.shape[1]):
            centres.means[group, column] = mean_of(centres.units, draft, group, column)
        for column in range(codes.shape[1]):
            # Where all records have one value, it is the centre.
            record = draft.after[first]
            while record != NONE and codes[record, column] == codes[first, column]:
                record = draft.after[record]
            place = draft.own[first, column] if record == NONE else best_candidate(centres, draft, group, column)
            centres.places[group, column] = place


@njit(cache=True, nogil=True)
def mean_of(units: Floats, draft: GroupDraft, group: int, column: int) -> float:
    """The mean of a number column; exactly the number where all are equal."""
    first = draft.first[group]
    total, record = 0.0, draft.after[first]
    while record != NONE:
        total += draft.counts[record] * (units[record, column] - units[first, column])
        record = draft.after[record]
    return float(units[first, column] + total / draft.sizes[group])


@njit(cache=True, nogil=True)
def best_candidate(centres: Centres, draft: GroupDraft, group: int, column: int) -> int:
    """The candidate with the least sum of squared distances; the first of equals."""
    start, width = centres.starts[column], centres.widths[column]
    sums = np.zeros(width)
    record = draft.first[group]
    while record != NONE:
        value, count = centres.codes[record, column], float(draft.counts[record])
        if start >= 0:
            row = centres.squares[start + value * width : start + (value + 1) * width]
            for candidate in range(width):
                sums[candidate] += count * row[candidate]
        else:
            sums[value] -= count * centres.weights[column]
        record = draft.after[record]
    enough = sums.min() + TOLERANCE * draft.sizes[group]
    place = 0
    while sums[place] > enough:
        place += 1
    return place


@njit(cache=True, nogil=True)
def cost_of(centres: Centres, record: int, group: int) -> float:
    """The squared distance of a record to the centre of a group; compiled once, not into each caller."""
    return float(cost_at(centres, record, group))


@njit(cache=True, nogil=True)
def cost_at_record(centres: Centres, draft: GroupDraft, record: int, other: int) -> float:
    """The squared distance of a record to another one, if that were the centre."""
    units, _, codes, _, squares, starts, widths, weights = centres
    total = 0.0
    for column in range(units.shape[1]):
        difference = units[record, column] - units[other, column]
        total += difference * difference
    for column in range(codes.shape[1]):
        if starts[column] >= 0:
            total += squares[starts[column] + codes[record, column] * widths[column] + draft.own[other, column]]
        elif codes[record, column] != codes[other, column]:
            total += weights[column]
    return total


@njit(cache=True, nogil=True)
def nearest_of(centres: Centres, record: int, groups: Ints) -> tuple[int, float]:
    """The group of some at whose centre a record loses least, and that; the first of equals."""
    best, least = NONE, np.inf
    for i in range(groups.size):
        group = int(groups[i])
        cost = cost_of(centres, record, group)
        if cost < least - TOLERANCE:
            best, least = group, cost
    return best, least


@njit(cache=True, nogil=True)
def loss(centres: Centres, draft: GroupDraft) -> float:
    """Loss of all persons at the centres of their groups."""
    total = 0.0
    for record in range(draft.counts.size):
        total += draft.counts[record] * cost_of(centres, record, draft.group_of[record])
    return total


# ------------------------------------------------------------------------------------------------ removal


@njit(cache=True, nogil=True)
def cost_of_removal(centres: Centres, draft: GroupDraft, group: int, found: Ints) -> float:
    """Loss if each record of a group goes to the nearest of the near centres."""
    n = near_groups_of(draft, group, found)
    if n == 0:
        return np.inf
    total, record = 0.0, draft.first[group]
    while record != NONE:
        _, cost = nearest_of(centres, record, found[:n])
        total += draft.counts[record] * (cost - cost_of(centres, record, group))
        record = draft.after[record]
    return float(np.rint(total * DIGITS) / DIGITS)


@njit(cache=True, nogil=True)
def costs_of_removals(centres: Centres, draft: GroupDraft) -> Floats:
    """Loss without each centre; infinite for slots without one."""
    found, out = np.empty(draft.near.shape[1], np.int32), np.full(draft.first.size, np.inf)
    for group in range(out.size):
        if draft.first[group] != NONE:
            out[group] = cost_of_removal(centres, draft, group, found)
    return out


@njit(cache=True, nogil=True)
def dissolve(centres: Centres, draft: GroupDraft, group: int, found: Ints) -> None:
    """Let each record of a group go to the nearest of the near centres."""
    n = near_groups_of(draft, group, found)
    record = draft.first[group]
    while record != NONE:
        following = draft.after[record]
        to, _ = nearest_of(centres, record, found[:n])
        leave(draft, record)
        join(draft, record, to)
        record = following


@njit(cache=True, nogil=True)
def remove_centres(centres: Centres, draft: GroupDraft, n_groups: int, until: int, least: int) -> int:
    """Step 2: remove the centre whose removal costs least until so many are left; return how many are.

    The cost of a centre is found again when it is the least. Then the groups with fewer persons than ``least`` go.
    """
    found, slots = np.empty(draft.near.shape[1], np.int32), np.arange(draft.first.size, dtype=np.int32)
    score = -costs_of_removals(centres, draft)
    heap = slots[draft.first != NONE]
    size, removed = heap.size, 0
    for at in range(size // 2 - 1, -1, -1):
        sift_down(heap, size, at, score, slots)
    while size > 0 and n_groups > 1:
        group = int(heap[0])
        stays = n_groups <= until and draft.sizes[group] >= least
        cost = 0.0 if stays else cost_of_removal(centres, draft, group, found)
        if not stays and cost > WORTH_IT - score[group]:
            score[group] = -cost
        else:
            size -= 1
            heap[0] = heap[size]
            if not stays and cost < np.inf:
                dissolve(centres, draft, group, found)
                n_groups -= 1
                removed += 1
                if removed % RECENTRE_EVERY == 0:
                    recentre(centres, draft)
        sift_down(heap, size, 0, score, slots)
    recentre(centres, draft)
    return n_groups


# ------------------------------------------------------------------------------------------------ local search


@njit(cache=True, nogil=True)
def move_records(centres: Centres, draft: GroupDraft, least: int) -> int:
    """Step 5: records go to the near centre where they lose least, or change places; how many changes there were."""
    found, changes = np.empty(draft.near.shape[1], np.int32), 0
    for record in range(draft.counts.size):
        here = draft.group_of[record]
        count = draft.counts[record]
        there, cost = nearest_of(centres, record, found[: near_groups_of(draft, here, found)])
        if there == NONE or count * (cost_of(centres, record, here) - cost) <= WORTH_IT:
            continue
        back = NONE
        if draft.sizes[here] - count < least:
            # The group would be too small, unless a record of the other one comes for it.
            gain = count * (cost_of(centres, record, here) - cost)
            back = best_return(centres, draft, record, there, gain, least)
            if back == NONE:
                continue
            leave(draft, back)
        leave(draft, record)
        join(draft, record, there)
        if back != NONE:
            join(draft, back, here)
        changes += 1
    return changes


@njit(cache=True, nogil=True)
def best_return(centres: Centres, draft: GroupDraft, record: int, there: int, gain: float, least: int) -> int:
    """The record of another group that loses least by coming for one that goes there; −1 if no exchange wins."""
    here = draft.group_of[record]
    back, other = NONE, draft.first[there]
    while other != NONE:
        more = draft.counts[other] - draft.counts[record]
        if draft.sizes[here] + more >= least and draft.sizes[there] - more >= least:
            lost = draft.counts[other] * (cost_of(centres, other, here) - cost_of(centres, other, there))
            if lost < gain - WORTH_IT:
                gain, back = lost, int(other)
        other = draft.after[other]
    return back


@njit(cache=True, nogil=True)
def takes_of(centres: Centres, draft: GroupDraft, new: int, least: int, found: Ints, takes: Ints) -> tuple[float, int]:
    """Step 6: fill in the records that would go to a record as a new centre; what that wins, and how many they are.

    Those go that are nearer to it than to their own centre, as long as their group stays large enough. If they are too
    few, further ones of the record's own group go, those first that lose least.
    """
    own, gain, n, size = draft.group_of[new], 0.0, 0, 0
    n_found = near_groups_of(draft, own, found)
    left_of_own = draft.sizes[own]
    for at in range(-1, n_found):
        group = own if at < 0 else found[at]
        left, record = draft.sizes[group], draft.first[group]
        while record != NONE and n < takes.size:
            won = cost_of(centres, record, group) - cost_at_record(centres, draft, record, new)
            if won > 0.0 and left - draft.counts[record] >= least:
                left -= draft.counts[record]
                size += draft.counts[record]
                gain += draft.counts[record] * won
                takes[n] = record
                n += 1
            record = draft.after[record]
        if at < 0:
            left_of_own = left
    while size < least:
        best, lost_by_best, record = NONE, np.inf, draft.first[own]
        while record != NONE:
            lost = cost_at_record(centres, draft, record, new) - cost_of(centres, record, own)
            is_taken = lost < 0.0
            for i in range(n):
                is_taken = is_taken or takes[i] == record
            if not is_taken and draft.counts[record] * lost < lost_by_best:
                best, lost_by_best = int(record), draft.counts[record] * lost
            record = draft.after[record]
        if best == NONE or n == takes.size or left_of_own - draft.counts[best] < least:
            return -np.inf, 0
        left_of_own -= draft.counts[best]
        size += draft.counts[best]
        gain -= lost_by_best
        takes[n] = best
        n += 1
    return float(np.rint(gain * DIGITS) / DIGITS), n


@njit(cache=True, nogil=True)
def gains_of_centres(centres: Centres, draft: GroupDraft, least: int, takes: Ints) -> Floats:
    """Step 6: what is won with each record as a new centre, which takes in as many records as there is room for."""
    found, out = np.empty(draft.near.shape[1], np.int32), np.empty(draft.counts.size)
    for record in range(out.size):
        out[record] = takes_of(centres, draft, record, least, found, takes)[0]
    return out


@njit(cache=True, nogil=True)
def exchange_centres(
    centres: Centres, draft: GroupDraft, offers: Offers, spare: int, least: int, at_most: int, takes: Ints
) -> int:
    """Step 6: split a group at a new centre, and merge another one with those near it; how often that was done.

    Args:
        centres: Of the groups.
        draft: The groups.
        offers: What is won and lost; a group that has changed does not change again.
        spare: How many groups may come before one must go for each.
        least: Persons of a group.
        at_most: How many groups may come.
        takes: Room for the records of a new group.
    """
    touched, found = np.zeros(draft.first.size, np.bool_), np.empty(draft.near.shape[1], np.int32)
    at, slot, made = 0, 0, 0
    for which in range(offers.added.size):
        if made == at_most or offers.gains[which] <= WORTH_IT:
            break
        new = offers.added[which]
        own = draft.group_of[new]
        gain, n = takes_of(centres, draft, new, least, found, takes)
        if n == 0 or touched[own] or touched[draft.group_of[takes[:n]]].any():
            continue
        if spare > 0:
            while draft.first[slot] != NONE:
                slot += 1
            target = slot
            spare -= 1
        else:
            # The group whose centre is missed least goes, unless it has changed or gives records.
            while at < offers.removed.size and touched[offers.removed[at]]:
                at += 1
            if at == offers.removed.size or offers.costs[at] >= gain - WORTH_IT:
                break
            target = int(offers.removed[at])
            n_found = near_groups_of(draft, target, found)
            if n_found == 0 or target == own or (draft.group_of[takes[:n]] == target).any():
                continue
            touched[found[:n_found]] = True
            dissolve(centres, draft, target, found)
        for i in range(n):
            touched[draft.group_of[takes[i]]] = True
            leave(draft, takes[i])
            join(draft, takes[i], target)
        touched[target] = True
        draft.near[target] = draft.near[own]
        made += 1
    return made
