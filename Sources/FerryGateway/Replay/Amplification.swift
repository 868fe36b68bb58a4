internal import NIOCore

/// The copies that error responses cause, compared with the new notifications of the same time.
///
/// Each error response makes a client repeat the followers. With many bad tokens, most of the traffic would be
/// copies. So above ``GatewayBounds/amplification``, only the rejections of probes are told.
struct Amplification: Sendable {
    private struct Second: Sendable {
        var number: Int64 = -1
        var swallowed = 0
        var new = 0
    }

    private static let seconds = GatewayBounds.amplificationTime.nanoseconds / 1_000_000_000
    private var ring = [Second](repeating: Second(), count: Int(Self.seconds))

    mutating func count(swallowed: Int = 0, new: Int = 0, now: NIODeadline) {
        let number = Self.number(now)
        let index = Int(number % Self.seconds)
        if self.ring[index].number != number { self.ring[index] = Second(number: number) }
        self.ring[index].swallowed += swallowed
        self.ring[index].new += new
    }

    func isExcessive(now: NIODeadline) -> Bool {
        let oldest = Self.number(now) - Self.seconds + 1
        var swallowed = 0
        var new = 0
        for second in self.ring where second.number >= oldest {
            swallowed += second.swallowed
            new += second.new
        }
        return swallowed > GatewayBounds.amplification * new
    }

    private static func number(_ now: NIODeadline) -> Int64 { Int64(now.uptimeNanoseconds / 1_000_000_000) }
}
