# SPDX-License-Identifier: MIT
"""The fate of each message, from the records of the publisher and the reader."""

import bisect
import collections


def percentile(values, share):
    """The value that this share of the sorted values does not exceed."""
    return values[min(int(len(values) * share), len(values) - 1)] if values else 0.0


def rows(path):
    with open(path, encoding="ascii") as file:
        return [tuple(map(int, line.split())) for line in file]


class Books:
    """Messages by number; times in seconds since 1970."""

    def __init__(self, put, take):
        self.due, self.confirmed, self.published = {}, {}, {}
        for number, due, confirmed, published in rows(put):
            if confirmed:
                self.due[number] = due / 1e6
                self.confirmed[number] = confirmed / 1e6
                self.published[number] = published
        self.arrived = collections.defaultdict(list)
        for number, arrived, again in rows(take):
            self.arrived[number].append((arrived / 1e6, again))
        self.received = [number for number in self.due if number in self.arrived]
        self.lost = [number for number in self.due if number not in self.arrived]
        self.early = [number for number in self.received
                      if self.arrived[number][0][0] < self.due[number]]

    def twice(self):
        """Deliveries that were not the first of their message, by reason."""
        causes = collections.Counter()
        for number in self.received:
            for _, again in self.arrived[number][1:]:
                if again:
                    causes["read again"] += 1
                elif self.published[number] > 1:
                    causes["published again"] += 1
                else:
                    causes["dead-lettered again"] += 1
        return causes

    def lateness(self):
        """Lateness in seconds, sorted; for a message that was confirmed late, from its confirm."""
        return sorted(max(0.0, self.arrived[number][0][0]
                          - max(self.due[number], self.confirmed[number]))
                      for number in self.received)

    def pauses(self, moments, shards):
        """For each moment, the seconds until all shards have delivered again."""
        arrivals = [sorted(self.arrived[number][0][0] for number in self.received
                           if number % shards == shard) for shard in range(shards)]
        result = []
        for moment in moments:
            after = [times[bisect.bisect(times, moment):][:1] for times in arrivals]
            waits = [times[0] - moment for times in after if times]
            if waits:
                result.append(max(waits))
        return sorted(result)

    def verdict(self, kills):
        return "delayed: in=%d out=%d lost=%d early=%d kills=%d twice=%d" % (
            len(self.due), len(self.received), len(self.lost), len(self.early), kills,
            sum(self.twice().values()))
