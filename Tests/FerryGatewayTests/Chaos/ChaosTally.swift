/// The figures of a chaos run, and with them its faults.
struct ChaosTally: Hashable {
    var pushes = 0
    var arrived = 0
    var rejected = 0
    /// Arrivals beyond the first, each after a doubt: see ``ChaosAccount``.
    var allowedDoubles = 0
    /// Never arrived, and their last attempt was a doubt.
    var allowedLosses = 0
    /// Those of them that were in doubt once, and did not go out again.
    var unrepeated = 0
    /// All whose last attempt was a doubt.
    var endedInDoubt = 0

    /// Owed, and nowhere. Only at the end is this a fault.
    var owing = 0
    /// A client's copy, which the gateway took for a new push: arrived more often than the doubts allow, or listed twice.
    var unswallowed = 0
    /// Arrived more often than the doubts allow, as one push.
    var doubled = 0
    /// Arrived or listed, and never written.
    var invented = 0
    /// Good, and listed or named by an error response.
    var misjudged = 0
    /// Listed twice, as one push.
    var listedTwice = 0
    /// Listed and delivered, without a doubt.
    var torn = 0
    /// Those whose token came into the feedback list, for a reader.
    var gone = 0
    /// Those whose row of the feedback list was read.
    var read = 0
    var readTwice = 0

    init() {}

    /// The figures of one push.
    init(_ course: ChaosCourse) {
        let isListed = course.listings > 0
        self.pushes = course.writings > 0 ? 1 : 0
        self.arrived = course.arrivals > 0 ? 1 : 0
        self.rejected = isListed ? 1 : 0
        let extra = max(course.arrivals - 1, 0)
        self.endedInDoubt = course.endsInDoubt ? 1 : 0
        self.allowedDoubles = min(extra, course.doubts)
        let isDoubled = extra > course.doubts
        self.doubled = isDoubled && course.jobs <= 1 ? 1 : 0
        self.unswallowed = (isDoubled || course.listings > 1) && course.jobs > 1 ? 1 : 0
        let isNowhere = course.arrivals == 0 && !isListed && !course.isDead
        self.allowedLosses = isNowhere && course.endsInDoubt ? 1 : 0
        self.unrepeated = isNowhere && course.endsInDoubt && course.doubts == 1 ? 1 : 0
        self.owing = isNowhere && !course.endsInDoubt && course.isOwed ? 1 : 0
        self.invented = course.writings == 0 && (course.arrivals > 0 || isListed) ? 1 : 0
        self.misjudged = course.isGood && (isListed || course.isBlamed) ? 1 : 0
        self.listedTwice = course.listings > 1 && course.jobs <= 1 ? 1 : 0
        self.torn = isListed && course.arrivals > 0 && course.doubts == 0 ? 1 : 0
        // The row goes when APNs takes a copy.
        let isLeft = course.isGone && course.arrivals == 0
        self.gone = isLeft ? 1 : 0
        self.read = isLeft && course.rows > 0 ? 1 : 0
        self.readTwice = course.rows > 1 ? 1 : 0
    }

    /// What no promise allows, at any time. The gateway forwards a copy when it doubts that it is one.
    var faults: Int {
        self.doubled + self.invented + self.misjudged + self.listedTwice + self.torn + self.readTwice
    }

    static func += (left: inout ChaosTally, right: ChaosTally) { left.add(right, sign: 1) }
    static func -= (left: inout ChaosTally, right: ChaosTally) { left.add(right, sign: -1) }

    private mutating func add(_ other: ChaosTally, sign: Int) {
        for field in Self.fields { self[keyPath: field] += sign * other[keyPath: field] }
    }

    private static var fields: [WritableKeyPath<ChaosTally, Int>] {
        [
            \.pushes, \.arrived, \.rejected, \.allowedDoubles, \.allowedLosses, \.unrepeated, \.endedInDoubt, \.owing,
            \.doubled, \.unswallowed, \.invented, \.misjudged, \.listedTwice, \.torn, \.gone, \.read, \.readTwice,
        ]
    }
}

extension ChaosTally: CustomStringConvertible {
    var description: String {
        """
        \(self.pushes) pushes: \(self.arrived) at APNs, \(self.rejected) rejected, \(self.allowedDoubles) doubles and \
        \(self.allowedLosses) losses that may be (\(self.unrepeated) after one doubt); owing \(self.owing), doubled \
        \(self.doubled), copies taken for new \(self.unswallowed), invented \(self.invented), \
        misjudged \(self.misjudged), listed twice \(self.listedTwice), torn \(self.torn), \
        \(self.gone) gone, \(self.read) read, read twice \(self.readTwice)
        """
    }
}
