import FerryGateway

extension GatewayFigures {
    /// The first sum of the figures that does not hold.
    var brokenSum: String? {
        if !self.counts.isConserved { return "not conserved: \(self.counts)" }
        for client in self.clients where !client.counts.isConserved { return "not conserved: \(client)" }
        let sums: [(String, (FateCounts) -> Int)] = [
            ("read", { $0.read }), ("recovered", { $0.recovered }), ("forwarded", { $0.forwarded }),
            ("waiting", { $0.waiting }), ("swallowed", { $0.swallowed }), ("refusedHere", { $0.refusedHere }),
            ("knownBad", { $0.knownBad }), ("accepted", { $0.accepted }), ("unanswered", { $0.unanswered }),
        ]
        for (name, value) in sums {
            let sum = self.clients.reduce(0) { $0 + value($1.counts) }
            guard sum == value(self.counts) else {
                return "\(name): the clients have \(sum), all together \(value(self.counts))"
            }
        }
        guard (self.oldestAge == nil) == (self.counts.unanswered == 0) else {
            return "\(self.counts.unanswered) are unanswered, and the oldest is \(String(describing: self.oldestAge))"
        }
        return nil
    }
}
