/// A list of values that is also a multiset of keys. Each value has a position and is found by its key until it is
/// removed.
///
/// Cost: constant for each operation, but a removal also looks at the earlier live values with the same key. A removed
/// value keeps its place until the whole log is dropped.
struct ReplayLog<Value: Sendable>: Sendable {
    private struct Item {
        var key: ReplayKey
        var value: Value
        var isLive: Bool
        /// The next live position with the same key.
        var next: Int?
    }

    /// The positions of one key.
    private struct Chain {
        /// The first position, live or not.
        let earliest: Int
        /// The first and the last live position; nil if all values are removed.
        var live: ClosedRange<Int>?
    }

    private var items: [Item] = []
    private var chains: [ReplayKey: Chain] = [:]
    private(set) var liveCount = 0

    /// The number of positions, those of removed values included.
    var count: Int { self.items.count }

    /// Returns the position of the new value.
    @discardableResult
    mutating func append(_ key: ReplayKey, _ value: Value) -> Int {
        let position = self.items.count
        self.items.append(Item(key: key, value: value, isLive: true, next: nil))
        self.liveCount += 1
        let chain = self.chains[key] ?? Chain(earliest: position)
        if let live = chain.live { self.items[live.upperBound].next = position }
        let first = chain.live?.lowerBound ?? position
        self.chains[key] = Chain(earliest: chain.earliest, live: first...position)
        return position
    }

    /// Appends a value that is removed already.
    mutating func appendRemoved(_ key: ReplayKey, _ value: Value) {
        self.items.append(Item(key: key, value: value, isLive: false, next: nil))
        if self.chains[key] == nil { self.chains[key] = Chain(earliest: self.items.count - 1) }
    }

    /// Returns the lowest live position with this key that `condition` accepts; nil if the first
    /// ``GatewayBounds/equalKeys`` live positions have none.
    func first(_ key: ReplayKey, where condition: (Int, Value) -> Bool = { _, _ in true }) -> Int? {
        var next = self.chains[key]?.live?.lowerBound
        for _ in 0..<GatewayBounds.equalKeys {
            guard let position = next else { return nil }
            if condition(position, self.items[position].value) { return position }
            next = self.items[position].next
        }
        return nil
    }

    /// Returns the highest live position with this key.
    func last(_ key: ReplayKey) -> Int? { self.chains[key]?.live?.upperBound }

    /// Removes the value at `position`; does nothing if it is removed already.
    mutating func remove(_ position: Int) {
        guard self.items[position].isLive else { return }
        self.items[position].isLive = false
        self.liveCount -= 1
        let key = self.items[position].key
        guard let live = self.chains[key]?.live else { return assertionFailure("a live value is in its key's chain") }
        let next = self.items[position].next
        guard position != live.lowerBound else {
            self.chains[key]?.live = next.map { $0...live.upperBound }
            return
        }
        var previous = live.lowerBound
        while let following = self.items[previous].next, following != position { previous = following }
        self.items[previous].next = next
        if next == nil { self.chains[key]?.live = live.lowerBound...previous }
    }

    /// The first position that ever had this key; nil if no position had this key.
    func earliest(_ key: ReplayKey) -> Int? { self.chains[key]?.earliest }

    func isLive(_ position: Int) -> Bool { self.items[position].isLive }

    subscript(position: Int) -> Value {
        get { self.items[position].value }
        set { self.items[position].value = newValue }
    }
}
