internal import FerryOpenSSL

/// The answers of OCSP responders, for a while, without a clock. Times are seconds since 1970.
struct RevocationCache {
    /// How long an answer is used, as Apple's own library does.
    static let lifetime = 15 * 60
    /// How long a responder is left alone that gave no usable answer. Without it, each notification would wait for it.
    static let pause = 10
    /// The answers that are kept. Apple has a few certificates.
    static let limit = 128

    private struct Entry {
        var verdict: OCSPVerdict
        var since: Int
        var end: Int
    }

    private var entries: [OCSPQuestion: Entry] = [:]

    func verdict(_ question: OCSPQuestion, at now: Int) -> OCSPVerdict? {
        // An answer of the future was kept before the clock was set back.
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
