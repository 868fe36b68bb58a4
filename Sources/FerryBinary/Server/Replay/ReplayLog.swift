/// A list of values that is also a multiset of keys. Each value has a position and is found by its key until it is
/// removed.
///
/// Cost: constant for each operation. Removed values keep their place until the whole log goes.
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
        /// The first live one; nil: all values are removed.
        var first: Int?
        /// The last live one. If there is none: the last.
        var last: Int
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
        if let chain = self.chains[key], let first = chain.first {
            self.items[chain.last].next = position
            self.chains[key] = Chain(first: first, last: position)
        } else {
            self.chains[key] = Chain(first: position, last: position)
        }
        return position
    }

    /// Appends a value that is removed already.
    mutating func appendRemoved(_ key: ReplayKey, _ value: Value) {
        self.items.append(Item(key: key, value: value, isLive: false, next: nil))
        if self.chains[key]?.first == nil { self.chains[key] = Chain(first: nil, last: self.items.count - 1) }
    }

    /// Returns the lowest live position with this key that `condition` accepts. It compares
    /// ``GatewayBounds/equalKeys`` positions at most.
    func first(_ key: ReplayKey, where condition: (Int, Value) -> Bool = { _, _ in true }) -> Int? {
        var next = self.chains[key]?.first
        for _ in 0..<GatewayBounds.equalKeys {
            guard let position = next else { return nil }
            if condition(position, self.items[position].value) { return position }
            next = self.items[position].next
        }
        return nil
    }

    /// Removes the value at `position`; does nothing if it is removed already.
    mutating func remove(_ position: Int) {
        guard self.items[position].isLive else { return }
        self.items[position].isLive = false
        self.liveCount -= 1
        let key = self.items[position].key
        guard let chain = self.chains[key] else { return }
        let next = self.items[position].next
        guard let first = chain.first, position != first else {
            self.chains[key]?.first = next
            return
        }
        var previous = first
        while let following = self.items[previous].next, following != position { previous = following }
        self.items[previous].next = next
        if next == nil { self.chains[key]?.last = previous }
    }

    /// The key at `position`, that of a removed value included; nil: there is no such position.
    func key(at position: Int) -> ReplayKey? { position < self.items.count ? self.items[position].key : nil }

    /// Returns a position with this key, if the log ever had one: a live one, if there is any.
    func any(_ key: ReplayKey) -> Int? { self.chains[key]?.last }

    func isLive(_ position: Int) -> Bool { self.items[position].isLive }

    subscript(position: Int) -> Value {
        get { self.items[position].value }
        set { self.items[position].value = newValue }
    }
}
