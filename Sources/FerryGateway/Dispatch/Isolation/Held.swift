internal import DequeModule
internal import FerryBinary

/// The notifications that wait at a shut gate, and the choice which one tries it.
///
/// ```
///   ▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓
///   1       3       2       4          the places of the first tries
/// ```
///
/// In the order of their arrival, a list that begins with 5,000 bad tokens would keep a gate shut for 83 minutes. So the
/// tries come from several places, and the lanes take turns.
struct Held: Sendable {
    private struct Queue {
        var jobs: Deque<JobID> = []
        var tries = 0
    }

    private var lanes: [Int: Queue] = [:]
    /// The lanes that have something, the next one first.
    private var order: Deque<Int> = []

    var isEmpty: Bool { self.order.isEmpty }

    /// Appends a notification of a lane.
    mutating func append(_ job: JobID, of lane: Int) {
        if self.lanes[lane] == nil { self.order.append(lane) }
        self.lanes[lane, default: Queue()].jobs.append(job)
    }

    /// Removes and returns the notification that tries the gate next.
    ///
    /// Cost: the notifications behind its place, or before it, move.
    mutating func takeOne() -> JobID? {
        guard let number = self.order.popFirst(), var lane = self.lanes.removeValue(forKey: number) else { return nil }
        let job = lane.jobs.remove(at: Self.place(of: lane.tries, among: lane.jobs.count))
        lane.tries += 1
        if !lane.jobs.isEmpty {
            self.lanes[number] = lane
            self.order.append(number)
        }
        return job
    }

    /// Removes and returns everything, each lane in its order.
    mutating func takeAll() -> [JobID] {
        defer { self = Held() }
        return self.order.flatMap { self.lanes[$0]?.jobs ?? [] }
    }

    /// The place of a try: 0, 1/2, 1/4, 3/4, 1/8, … of what waits, in 64 steps.
    static func place(of number: Int, among count: Int) -> Int {
        let step = UInt8(truncatingIfNeeded: number & 63)
        let reversed = (0..<6).reduce(0) { $0 << 1 | Int(step >> $1 & 1) }
        return count * reversed / 64
    }
}
