internal import FerryCore
internal import FerryHTTP2
internal import FerryMachine
internal import FerryOpenSSL
internal import NIOCore

/// The exchange of a fresh token for the token that stands in the shared place. At most one is under way.
///
/// A place that is away, or answers with a token that the key did not sign, does not stop requests: the token before is used
/// until it is an hour old, and then the fresh one is used alone.
struct TokenExchange {
    /// How long requests without a valid token wait for the place. Longer than the round trip to a busy database.
    static let deadline = TimeAmount.seconds(3)
    /// How often those requests look for the answer.
    static let look = TimeAmount.milliseconds(20)

    private enum Answer {
        case none
        case away
        case standing(SharedToken)
    }

    private struct Pending {
        /// The bytes that were signed.
        var input: [UInt8]
        var signature: [UInt8]
        var sentAt: NIODeadline
        var answer = Answer.none
    }

    let place: any SharedTokens
    let teamID: String
    private var pending: Pending?
    /// The number of exchanges, and of the last one.
    private(set) var count = 0
    /// The offer for the place. The owner makes it when it has left its lock, because the place may answer at once.
    private var offer: TokenOffer?

    init(_ place: any SharedTokens, teamID: String) {
        self.place = place
        self.teamID = teamID
    }

    mutating func takeOffer() -> TokenOffer? {
        defer { self.offer = nil }
        return self.offer
    }

    /// Takes the place's answer. An answer to an earlier offer is ignored.
    mutating func answered(_ token: SharedToken?, to number: Int) {
        guard number == self.count else { return }
        self.pending?.answer = token.map { .standing($0) } ?? .away
    }

    /// Ends the exchange: its token is of a key that was replaced.
    mutating func forget() {
        self.pending = nil
        self.offer = nil
    }

    /// Gets the token that stands in the place, in answer to the machine's `.sign`.
    ///
    /// - Parameter input: the bytes of `.sign`.
    mutating func authorize(
        _ input: [UInt8],
        _ key: ES256Key,
        keyID: String,
        _ machine: inout ProviderTokenMachine,
        now: NIODeadline
    ) throws(TLSError) -> Authorization {
        if let pending {
            let given = self.given(pending, by: key)
            if case .standing(let shared) = pending.answer, let given {
                // The age is of a moment after the offer was sent. A process may be stopped before it reads the answer.
                let told = TimeAmount(min(max(shared.age, .zero), .seconds(3600)))
                let age = told + (now - pending.sentAt)
                if let authorization = machine.adopt(given, age: age, now: now) {
                    self.pending = nil
                    return authorization
                }
            }
            // Other bytes: the machine has made a new draft, because nobody has asked for a token for a while.
            if pending.input == input {
                if case .none = pending.answer, now < pending.sentAt + Self.deadline {
                    return Self.meanwhile(machine, now)
                }
                self.pending = nil
                let isPatient = given.map { machine.isPatient(with: $0, now: now) } ?? false
                guard machine.meanwhile(now: now) == nil, !isPatient else { return machine.signFailed(now: now) }
                return machine.signed(pending.signature, now: now, alone: true)
            }
        }
        let signature = try key.sign(input)
        let token = input + [UInt8(ascii: ".")] + Base64URL.encode(signature)
        self.pending = Pending(input: input, signature: signature, sentAt: now)
        self.count += 1
        self.offer = TokenOffer(
            teamID: self.teamID,
            keyID: keyID,
            token: String(decoding: token, as: UTF8.self),
            issuedAt: GivenToken(token)?.issuedAt ?? 0,
            worn: machine.wornToken.map { String(decoding: $0, as: UTF8.self) }
        )
        return Self.meanwhile(machine, now)
    }

    private static func meanwhile(_ machine: ProviderTokenMachine, _ now: NIODeadline) -> Authorization {
        machine.meanwhile(now: now).map { .token($0) } ?? .awaited(until: now + Self.look)
    }

    /// Returns the token that stands in the place; nil without one, or if the key did not sign it.
    private func given(_ pending: Pending, by key: ES256Key) -> GivenToken? {
        guard case .standing(let shared) = pending.answer, let given = GivenToken(shared.token.utf8),
            given.isSigned(by: key)
        else { return nil }
        return given
    }
}

extension GivenToken {
    /// Whether the key has signed the token.
    func isSigned(by key: ES256Key) -> Bool {
        guard let dot = self.text.lastIndex(of: UInt8(ascii: ".")),
            let signature = Base64URL.decode(self.text[(dot + 1)...])
        else { return false }
        return key.isValidSignature(signature, for: Array(self.text[..<dot]))
    }
}
