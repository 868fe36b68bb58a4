internal import DequeModule

/// The notifications that wait at a shut gate. The type also chooses the notification that tries the gate.
///
/// ```
///   ▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓
///   1       3       2       4          the places of the first tries
/// ```
///
/// There is one try a second. If a list begins with 5,000 bad tokens, tries in the order of arrival would keep a gate
/// shut for 83 minutes. So the tries come from several places, and the flows take turns.
struct Held: Sendable {
    private struct Queue {
        var jobs: Deque<JobID> = []
        var tries = 0
    }

    private var flows: [Int: Queue] = [:]
    /// The flows that have notifications, the next one first.
    private var order: Deque<Int> = []

    var isEmpty: Bool { self.order.isEmpty }

    /// The number of notifications. Cost: one pass over the flows.
    var count: Int { self.flows.values.reduce(0) { $0 + $1.jobs.count } }

    /// Whether a notification of the flow waits.
    func has(flow: Int) -> Bool { self.flows[flow] != nil }

    mutating func append(_ job: JobID, of flow: Int) {
        if self.flows[flow] == nil { self.order.append(flow) }
        self.flows[flow, default: Queue()].jobs.append(job)
    }

    /// Removes and returns the notification that tries the gate next.
    ///
    /// Cost: proportional to the number of notifications before its place or after it, whichever is smaller.
    mutating func takeOne() -> JobID? {
        guard let number = self.order.popFirst() else { return nil }
        guard var flow = self.flows.removeValue(forKey: number) else {
            assertionFailure("a flow in the order has notifications")
            return nil
        }
        let job = flow.jobs.remove(at: Self.place(of: flow.tries, among: flow.jobs.count))
        flow.tries += 1
        if !flow.jobs.isEmpty {
            self.flows[number] = flow
            self.order.append(number)
        }
        return job
    }

    /// Removes and returns all notifications. The notifications of one flow keep their order.
    mutating func takeAll() -> [JobID] {
        defer { self = Held() }
        return self.order.flatMap { self.flows[$0]?.jobs ?? [] }
    }

    /// Removes and returns the notifications of a flow, in their order.
    mutating func takeAll(of flow: Int) -> [JobID] {
        guard let queue = self.flows.removeValue(forKey: flow) else { return [] }
        self.order.removeAll { $0 == flow }
        return Array(queue.jobs)
    }

    /// The place of a try: 0, 1/2, 1/4, 3/4, 1/8, … of the waiting notifications, in 64 steps.
    static func place(of number: Int, among count: Int) -> Int {
        let step = UInt8(truncatingIfNeeded: number & 63)
        let reversed = (0..<6).reduce(0) { $0 << 1 | Int(step >> $1 & 1) }
        return count * reversed / 64
    }
}
