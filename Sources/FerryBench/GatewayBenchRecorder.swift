internal import FerryCore
internal import FerryTesting

/// Checks that APNs accepts each notification of a benchmark once, and measures the latency of a sample.
///
/// Notifications have numbers. The last eight bytes of their tokens are the number, so that no two are alike.
final class GatewayBenchRecorder: APNsRecorder {
    /// One notification in this many is timed, in runs where timing all of them would cost too much.
    static let sampling = 1024

    private struct State {
        var count = 0
        var others = 0
        /// A bit for each number.
        var seen: [UInt64]
        var starts: [UInt64]
        var samples: [UInt64] = []
    }

    private let total: Int
    private let warmUp: Int
    private let step: Int
    private let state: Locked<State>

    /// - Parameters:
    ///   - warmUp: the number of notifications before those that are measured.
    ///   - count: the number of notifications that are measured.
    ///   - sampling: one in this many is timed.
    init(warmUp: Int, count: Int, sampling: Int) {
        self.total = warmUp + count
        self.warmUp = warmUp
        self.step = sampling
        let timed = count / sampling + 1
        var state = State(
            seen: [UInt64](repeating: 0, count: (warmUp + count) / 64 + 1),
            starts: [UInt64](repeating: 0, count: timed)
        )
        state.samples.reserveCapacity(timed)
        self.state = Locked(state)
    }

    /// Stores the start time of those notifications that are timed. Call it right before they are submitted.
    func begin(_ numbers: Range<Int>) {
        // The first timed number in the range.
        let first = (max(numbers.lowerBound, self.warmUp) - self.warmUp + self.step - 1) / self.step
        let end = numbers.upperBound - self.warmUp
        guard first * self.step < end else { return }
        let now = ProcessMeter.now
        self.state.withLock { state in
            for index in stride(from: first, to: (end + self.step - 1) / self.step, by: 1) { state.starts[index] = now }
        }
    }

    func accepted(_ request: AcceptedRequest, token: Span<UInt8>, payload: Span<UInt8>) {
        let number = Self.number(of: token)
        self.state.withLock { state in
            guard number < self.total, state.seen[number / 64] & 1 << (number % 64) == 0 else {
                state.others += 1
                return
            }
            state.seen[number / 64] |= 1 << (number % 64)
            state.count += 1
            let measured = number - self.warmUp
            if measured >= 0, measured % self.step == 0 {
                state.samples.append(ProcessMeter.now - state.starts[measured / self.step])
            }
        }
    }

    /// The number of notifications that were accepted, each counted once.
    var count: Int { self.state.withLock { $0.count } }

    /// The number of requests that were accepted beyond ``count``.
    var others: Int { self.state.withLock { $0.others } }

    var latencies: Latencies { Latencies(nanoseconds: self.state.withLock { $0.samples }) }

    /// Returns a token of 32 bytes that ends in the number.
    static func token(_ number: Int) -> [UInt8] {
        (0..<32).map { $0 < 24 ? UInt8($0) : UInt8(truncatingIfNeeded: number >> (8 * (31 - $0))) }
    }

    private static func number(of token: Span<UInt8>) -> Int {
        guard token.count == 32 else { return .max }
        var number: UInt64 = 0
        for index in 24..<32 { number = number << 8 | UInt64(token[index]) }
        return Int(clamping: number)
    }
}
