internal import DequeModule
internal import NIOCore

/// What is to happen, by time; at one time, in the order in which it was added.
struct Agenda<Element> {
    private var entries: Deque<(due: NIODeadline, element: Element)> = []
    /// The next time that the owner knows of.
    private var wake = NIODeadline.distantFuture

    mutating func add(_ element: Element, at due: NIODeadline) {
        var index = self.entries.count
        // Nearly always the last.
        while index > 0, self.entries[index - 1].due > due { index -= 1 }
        self.entries.insert((due, element), at: index)
    }

    /// Takes the first entry if its time has come.
    mutating func next(at now: NIODeadline) -> Element? {
        if self.wake <= now { self.wake = .distantFuture }
        guard let first = self.entries.first, first.due <= now else { return nil }
        return self.entries.removeFirst().element
    }

    /// The time of the first entry, if the owner does not know it; it does then.
    mutating func newWake() -> NIODeadline? {
        guard let first = self.entries.first, first.due < self.wake else { return nil }
        self.wake = first.due
        return first.due
    }

    /// O(entries).
    mutating func removeAll(where isDone: (Element) -> Bool) {
        guard !self.entries.isEmpty else { return }
        self.entries.removeAll { isDone($0.element) }
    }
}
