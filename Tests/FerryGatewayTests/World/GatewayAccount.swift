import FerryBinary
import NIOCore

@testable import FerryGatewayTestSupport

/// What happened to each push of a world, as only the world can see it.
struct GatewayAccount {
    /// The pushes that were written, read, or on their way at a kill, by their numbers.
    private(set) var written: [Int: Push] = [:]
    private var read: Set<Int> = []
    private var stored: Set<Int> = []
    private var killed: Set<Int> = []
    /// What a program lost because it closed a connection while an error response was on its way to it.
    private var raced: Set<Int> = []
    /// How often each name was read for a push that was not read before.
    private var readNames: [UInt32: Int] = [:]
    /// How often APNs got each name, and how often it may have got it once more.
    private(set) var arrivals: [UInt32: Int] = [:]
    private var allowed: [UInt32: Int] = [:]
    /// The notifications that APNs may not have got, and did not refuse.
    private var allowedLosses: [UInt32: Int] = [:]
    private var constants: Set<UInt32> = []
    private(set) var copies = 0

    private(set) var toldPushes: [Int: Int] = [:]
    private var blamedNames: [UInt32] = []
    private var listed: [UInt32: Int] = [:]
    private(set) var longestWait: TimeAmount = .zero

    // MARK: The client's side

    mutating func written(_ push: Push, isCopy: Bool) {
        self.written[push.number] = push
        if push.isConstant { self.constants.insert(push.name) }
        if isCopy { self.copies += 1 }
    }

    mutating func killed(_ push: Push) { self.killed.insert(push.number) }
    mutating func raced(_ push: Push) { self.raced.insert(push.number) }
    mutating func blamed(_ push: Push) { self.blamedNames.append(push.name) }
    mutating func waited(_ time: TimeAmount) { self.longestWait = max(self.longestWait, time) }

    /// Notes that the promises allow one more arrival.
    mutating func allowCopy(of name: UInt32) { self.allowed[name, default: 0] += 1 }

    // MARK: The gateway's side

    mutating func read(_ push: Push) {
        guard self.read.insert(push.number).inserted else { return }
        self.readNames[push.name, default: 0] += 1
    }

    mutating func stored(_ push: Push) { self.stored.insert(push.number) }

    /// Notes that the gateway was killed: it need not know what its store does not have.
    mutating func wasKilled() {
        for (number, push) in self.written where self.read.contains(number) && !self.stored.contains(number) {
            self.read.remove(number)
            self.killed.insert(number)
            self.readNames[push.name, default: 0] -= 1
        }
    }

    mutating func told(_ push: Push) { self.toldPushes[push.number, default: 0] += 1 }
    mutating func listed(_ name: UInt32) { self.listed[name, default: 0] += 1 }

    // MARK: The upstream's side

    mutating func arrived(_ name: UInt32) { self.arrivals[name, default: 0] += 1 }

    /// Notes that the gateway cannot know whether it arrived.
    mutating func unknown(_ name: UInt32, arrives: Bool) {
        if arrives {
            self.arrived(name)
            self.allowCopy(of: name)
        } else {
            self.allowedLosses[name, default: 0] += 1
        }
    }

    // MARK: The course of a name

    /// What happened to each name, in words; nil: it is not noted.
    var courses: [UInt32: [String]]?

    mutating func note(_ name: UInt32, _ words: @autoclosure () -> String) {
        guard self.courses != nil else { return }
        self.courses?[name, default: []].append(words())
    }

    /// The courses of the names that were swallowed or doubled.
    func faultyCourses(bad: Set<UInt32>) -> [String] {
        guard let courses = self.courses else { return [] }
        let faulty = Set(self.written.values.map(\.name)).filter { name in
            let arrivals = self.arrivals[name, default: 0]
            return !bad.contains(name) && (arrivals != self.readNames[name, default: 0] || arrivals == 0)
        }
        return faulty.sorted().map { "\($0): " + courses[$0, default: []].joined(separator: "; ") }
    }

    // MARK: The promises

    /// The figures of a world, and with them its faults.
    func tally(bad: Set<UInt32>) -> GatewayTally {
        var tally = GatewayTally()
        tally.pushes = self.written.count
        tally.copies = self.copies
        for push in self.written.keys where !self.read.contains(push) && !self.killed.contains(push) {
            if self.raced.contains(push) { tally.raced += 1 } else { tally.destroyed += 1 }
        }
        for (name, count) in self.readNames where !bad.contains(name) {
            let arrivals = self.arrivals[name, default: 0] + self.allowedLosses[name, default: 0]
            tally.swallowed += max(count - arrivals, 0)
        }
        for (name, count) in self.arrivals where !self.constants.contains(name) {
            let extra = count - self.readNames[name, default: 0]
            tally.doubled += max(extra - self.allowed[name, default: 0], 0)
            tally.allowedDoubles += min(max(extra, 0), self.allowed[name, default: 0])
        }
        tally.blamed = self.blamedNames.filter { !bad.contains($0) }.count
        tally.toldTwice = self.toldPushes.values.filter { $0 > 1 }.count
        for (name, count) in self.readNames where bad.contains(name) && !self.constants.contains(name) {
            // What a kill leaves without an answer goes out once more.
            let lines = max(count, 1) + self.allowed[name, default: 0]
            tally.listedTwice += max(self.listed[name, default: 0] - lines, 0)
        }
        tally.toldNowhere =
            self.readNames.filter { bad.contains($0.key) && $0.value > 0 && self.listed[$0.key] == nil }.count
        return tally
    }
}

/// The figures of one world, or of many.
struct GatewayTally: Hashable {
    var pushes = 0
    /// What the clients sent again.
    var copies = 0
    /// Written, and destroyed by the gateway or never read.
    var destroyed = 0
    /// Written, and destroyed because its program closed the connection before it had read an error response: no gateway
    /// can prevent it.
    var raced = 0
    /// Read, and never delivered.
    var swallowed = 0
    /// Delivered once more than the promises allow.
    var doubled = 0
    /// Delivered once more, as the promises allow: after a kill, or when APNs did not answer.
    var allowedDoubles = 0
    /// Good notifications that a client took for rejected ones.
    var blamed = 0
    /// Notifications that two error responses named.
    var toldTwice = 0
    /// Rejections that no list has.
    var toldNowhere = 0
    /// Rejections that the list has once more than the program made pushes.
    var listedTwice = 0
    var told = 0
    var deferred = 0

    static func += (left: inout GatewayTally, right: GatewayTally) {
        for field in Self.fields { left[keyPath: field] += right[keyPath: field] }
    }

    private static var fields: [WritableKeyPath<GatewayTally, Int>] {
        [
            \.pushes, \.copies, \.destroyed, \.raced, \.swallowed, \.doubled, \.allowedDoubles, \.blamed, \.toldTwice,
            \.toldNowhere, \.listedTwice, \.told, \.deferred,
        ]
    }
}

extension GatewayTally: CustomStringConvertible {
    /// Whether a seed has to be explained.
    var isFaulty: Bool {
        self.destroyed + self.swallowed + self.doubled + self.blamed > 0
            || self.toldTwice + self.toldNowhere + self.listedTwice > 0
    }

    var description: String {
        """
        \(self.pushes) pushes, \(self.copies) copies: destroyed \(self.destroyed) (\(self.raced) by exits), swallowed \(self.swallowed), doubled \
        \(self.doubled) (allowed: \(self.allowedDoubles)), blamed \(self.blamed), told twice \(self.toldTwice), told \
        nowhere \(self.toldNowhere), listed twice \(self.listedTwice); told \(self.told), deferred \(self.deferred)
        """
    }
}
