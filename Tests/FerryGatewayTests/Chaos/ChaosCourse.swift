/// What happened to one push, in 32 bits: an hour has two million of them.
struct ChaosCourse: Hashable {
    private var bits: UInt32 = 0

    /// How often APNs accepted it; 7: at least.
    var arrivals: Int {
        get { self.number(at: 0, width: 3) }
        set { self.set(newValue, at: 0, width: 3) }
    }
    /// How often it went to APNs and no answer came; 7: at least.
    var doubts: Int {
        get { self.number(at: 3, width: 3) }
        set { self.set(newValue, at: 3, width: 3) }
    }
    /// How often it stands in the list of rejections, as rejected or gone; 3: at least.
    var listings: Int {
        get { self.number(at: 6, width: 2) }
        set { self.set(newValue, at: 6, width: 2) }
    }
    /// How often a reader of the feedback list got it; 3: at least.
    var rows: Int {
        get { self.number(at: 8, width: 2) }
        set { self.set(newValue, at: 8, width: 2) }
    }
    /// Whether it is a dead letter.
    var isDead: Bool {
        get { self.number(at: 10, width: 1) == 1 }
        set { self.set(newValue ? 1 : 0, at: 10, width: 1) }
    }
    /// Whether the feedback list has, or had, its token.
    var isGone: Bool {
        get { self.number(at: 11, width: 1) == 1 }
        set { self.set(newValue ? 1 : 0, at: 11, width: 1) }
    }
    /// Whether its client may rely on it: it wrote all of it and closed its connection cleanly, or it has an outcome.
    var isOwed: Bool {
        get { self.number(at: 12, width: 1) == 1 }
        set { self.set(newValue ? 1 : 0, at: 12, width: 1) }
    }
    /// Whether nothing came back when it went to APNs the last time.
    var endsInDoubt: Bool {
        get { self.number(at: 13, width: 1) == 1 }
        set { self.set(newValue ? 1 : 0, at: 13, width: 1) }
    }
    /// Whether an error response named it.
    var isBlamed: Bool {
        get { self.number(at: 14, width: 1) == 1 }
        set { self.set(newValue ? 1 : 0, at: 14, width: 1) }
    }
    /// Whether nobody should refuse it.
    var isGood: Bool {
        get { self.number(at: 15, width: 1) == 1 }
        set { self.set(newValue ? 1 : 0, at: 15, width: 1) }
    }

    /// How often its client wrote it; 7: at least.
    var writings: Int {
        get { self.number(at: 16, width: 3) }
        set { self.set(newValue, at: 16, width: 3) }
    }
    /// How many notifications of the gateway it was: more than one if a copy was taken for a new push. 3: at least.
    var jobs: Int {
        get { self.number(at: 19, width: 2) }
        set { self.set(newValue, at: 19, width: 2) }
    }
    /// The manner of its client.
    var manner: Int {
        get { self.number(at: 21, width: 4) }
        set { self.set(newValue, at: 21, width: 4) }
    }
    /// The last bits of the gateway's number for it.
    private var lastJob: Int {
        get { self.number(at: 25, width: 7) }
        set { self.set(newValue, at: 25, width: 7) }
    }

    /// Notes that it goes to APNs under this number of the gateway.
    mutating func sent(as tag: UInt64) {
        let bits = Int(tag % 128)
        if self.jobs == 0 || self.lastJob != bits { self.jobs += 1 }
        self.lastJob = bits
    }

    private func number(at place: UInt32, width: UInt32) -> Int { Int(self.bits >> place & ((1 << width) - 1)) }

    private mutating func set(_ number: Int, at place: UInt32, width: UInt32) {
        let most: UInt32 = (1 << width) - 1
        self.bits = self.bits & ~(most << place) | UInt32(clamping: min(number, Int(most))) << place
    }
}

extension ChaosCourse: CustomStringConvertible {
    var description: String {
        """
        \(ChaosManner(rawValue: self.manner).map { "\($0)" } ?? "nobody") wrote it \(self.writings) times; \(self.jobs) jobs, \
        \(self.arrivals) arrivals, \(self.doubts) doubts\(self.endsInDoubt ? " (the last)" : ""), \(self.listings) listings, \
        \(self.rows) rows\(self.isDead ? ", dead letter" : "")\
        \(self.isOwed ? ", owed" : "")\(self.isBlamed ? ", blamed" : "")\(self.isGood ? ", good" : "")
        """
    }
}
