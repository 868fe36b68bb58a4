internal import DequeModule
internal import NIOCore

/// A list of future tasks by time. Tasks of the same time keep the order in which they were added.
struct Agenda<Element> {
    private var entries: Deque<(due: NIODeadline, element: Element)> = []
    /// The next wake-up that the owner knows.
    private var wake = NIODeadline.distantFuture

    mutating func add(_ element: Element, at due: NIODeadline) {
        var index = self.entries.count
        // A new entry is nearly always the last, so search from the end.
        while index > 0, self.entries[index - 1].due > due { index -= 1 }
        self.entries.insert((due, element), at: index)
    }

    /// Removes and returns the first entry, if its time has come.
    mutating func next(at now: NIODeadline) -> Element? {
        if self.wake <= now { self.wake = .distantFuture }
        guard let first = self.entries.first, first.due <= now else { return nil }
        return self.entries.removeFirst().element
    }

    /// Returns the time of the first entry, if the owner does not know it yet. From then on, the owner knows it.
    mutating func newWake() -> NIODeadline? {
        guard let first = self.entries.first, first.due < self.wake else { return nil }
        self.wake = first.due
        return first.due
    }

    /// Removes matching entries. O(entries).
    mutating func removeAll(where isDone: (Element) -> Bool) {
        guard !self.entries.isEmpty else { return }
        self.entries.removeAll { isDone($0.element) }
    }
}
