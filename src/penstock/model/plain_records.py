"""The fast path through the records of a batch, for records of the plain shape: nearly all of them.

Plain is a record without headers whose numbers take at most two bytes (its key's length one), with deltas that are not
negative. One turn of the loop takes about a microsecond, a quarter of the path that checks every step
(`records.scan_records`). Nothing is trusted here either: other records are left to that path, which finds the reason.
"""

from __future__ import annotations

from penstock.model.record import Record


def take_plain(payload: bytes, start: int, count: int, offset: int, timestamp: int, taken: list[Record]) -> int:
    """Append records to `taken` until it has `count`, or the next one is not plain. Returns where the next one lies.

    `offset` and `timestamp` are those of the batch, to which a record's deltas are added.
    """
    make, append = tuple.__new__, taken.append
    try:
        for _ in range(count - len(taken)):
            first = payload[start]
            if first < 0x80:
                position = start + 1
                end = position + (first >> 1)
            elif (second := payload[start + 1]) < 0x80:
                position = start + 2
                end = position + ((first & 0x7F | second << 7) >> 1)
            else:
                break
            later = payload[position + 1]  # after the attributes, of which none is defined
            if later >= 0x80:
                position += 1
                if (second := payload[position + 1]) >= 0x80:
                    break
                later = later & 0x7F | second << 7
            further = payload[position + 2]
            if further >= 0x80:
                position += 1
                if (second := payload[position + 2]) >= 0x80:
                    break
                further = further & 0x7F | second << 7
            size = payload[position + 3]
            position += 4
            if size == 1:
                key = None
            elif size < 0x80 and not size & 1:
                size >>= 1
                key = payload[position : position + size]
                position += size
            else:
                break
            size = payload[position]
            position += 1
            if size == 1:
                value = None
            else:
                if size >= 0x80:
                    if (second := payload[position]) >= 0x80:
                        break
                    size = size & 0x7F | second << 7
                    position += 1
                if size & 1:
                    break
                size >>= 1
                value = payload[position : position + size]
                position += size
            # One byte for "no headers" is all that may follow. An odd number stands for a negative one.
            if payload[position] or position + 1 != end or (first | later | further) & 1:
                break
            append(make(Record, (offset + (further >> 1), timestamp + (later >> 1), key, value, ())))
            start = end
    except IndexError:
        pass
    return start
