@testable import FerryGateway

/// A gateway of a world: a small model, or the real machine. There is one for each take.
protocol WorldGateway: AnyObject {
    var owner: ModelOwner { get }
    /// The number of its take among all.
    var take: Int { get }
    /// Whether new connections reach it.
    var isOpen: Bool { get }
    /// The names of the pushes that it has in memory.
    var names: Set<Int> { get }

    /// Reads the store, and begins.
    func recover()
    func late(_ segments: [StoredSegment])
    func answered(commit number: UInt64, _ answer: StoreAnswer)
    func rightChanged()
    /// Ends in order.
    func drain()
    /// Hands over.
    func fence()
    /// The process has ended.
    func killed()
}

extension WorldGateway {
    var process: ModelProcess { self.owner.process }
    var world: ShardWorld { self.process.world }
}
