internal import FerryMachine
internal import NIOCore

/// The failed connections of a lane, in a row.
struct ConnectionFailures {
    private var backOff: BackOff
    /// When the first of them began.
    private(set) var since = NIODeadline.uptimeNanoseconds(0)

    init(backOff: BackOff) {
        self.backOff = backOff
    }

    var count: Int { self.backOff.failures }

    var firstWait: TimeAmount { self.backOff.first }

    var longestWait: TimeAmount { self.backOff.cap }

    /// Notes a failure of an attempt that began at `start`; returns how long to wait.
    mutating func add(since start: NIODeadline, using generator: inout some RandomNumberGenerator) -> TimeAmount {
        if self.count == 0 { self.since = start }
        return self.backOff.fail(using: &generator)
    }

    mutating func reset() { self.backOff.reset() }
}
