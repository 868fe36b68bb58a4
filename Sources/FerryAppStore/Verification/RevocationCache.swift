internal import FerryOpenSSL

/// The recent answers of OCSP responders, without a clock. Times are seconds since 1970.
struct RevocationCache {
    /// The longest time for which an answer is used, in seconds. Apple's own library has the same limit.
    static let lifetime = 15 * 60
    /// The pause before a responder without a usable answer is asked again, in seconds. Without it, each notification
    /// would wait for the responder.
    static let pause = 10
    /// The largest number of kept answers. Apple uses few certificates.
    static let limit = 128

    private struct Entry {
        var verdict: OCSPVerdict
        var since: Int
        var end: Int
    }

    private var entries: [OCSPQuestion: Entry] = [:]

    func verdict(_ question: OCSPQuestion, at now: Int) -> OCSPVerdict? {
        // An answer whose time is in the future was kept before the clock was set back. Such an answer is not used.
        self.entries[question].flatMap { $0.since <= now && now < $0.end ? $0.verdict : nil }
    }

    mutating func keep(_ verdict: OCSPVerdict, for question: OCSPQuestion, at now: Int) {
        if self.entries.count >= Self.limit, self.entries[question] == nil {
            self.entries = self.entries.filter { now < $0.value.end }
            if self.entries.count >= Self.limit { self.entries.removeAll() }
        }
        let end =
            switch verdict {
            case .good(let until): min(now + Self.lifetime, until ?? .max)
            case .revoked: now + Self.lifetime
            case .unusable: now + Self.pause
            }
        self.entries[question] = Entry(verdict: verdict, since: now, end: end)
    }
}
