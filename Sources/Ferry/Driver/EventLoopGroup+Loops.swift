internal import NIOCore

extension EventLoopGroup {
    /// Returns up to `count` event loops of the group, at least one, each once. The first is the group's next one, so that
    /// several providers spread.
    func loops(atMost count: Int) -> [any EventLoop] {
        let first = self.next()
        guard count > 1 else { return [first] }
        let all = Array(self.makeIterator())
        guard let start = all.firstIndex(where: { $0 === first }) else { return [first] }
        let number = min(count, all.count, LoopSet.limit)
        return (0..<number).map { all[(start + $0) % all.count] }
    }
}
