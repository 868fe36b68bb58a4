import FerryCore
import FerryHTTP2
import FerryMachine
import NIOCore

/// The maker of provider tokens, with a key that signs nothing.
struct TokenOwner {
    private(set) var machine: ProviderTokenMachine
    /// The origin that its tokens claim.
    var origin = ProviderToken.Origin.signed
    /// Whether the next token is on its way.
    var isAwaiting = false

    init() {
        guard let key = DeveloperIdentifier("KEYKEYKEY1"), let team = DeveloperIdentifier("TEAMTEAM01") else {
            preconditionFailure("identifiers have ten characters")
        }
        self.machine = ProviderTokenMachine(keyID: key, teamID: team)
    }

    mutating func authorize(_ now: Moment) -> Authorization {
        if self.isAwaiting { return .awaited(until: now.monotonic + .milliseconds(20)) }
        guard case .token(var token) = self.ask(now) else { return self.ask(now) }
        token.origin = self.origin
        return .token(token)
    }

    private mutating func ask(_ now: Moment) -> Authorization {
        switch self.machine.authorize(now: now.monotonic, epochSeconds: now.epochSeconds) {
        case .token(let token): .token(token)
        case .held(let until): .held(until: until)
        case .sign:
            self.machine.signed(
                [UInt8](repeating: UInt8(truncatingIfNeeded: self.machine.mintCount), count: 64),
                now: now.monotonic
            )
        }
    }

    mutating func replaceKey() {
        guard let key = DeveloperIdentifier("KEYKEYKEY2") else {
            preconditionFailure("identifiers have ten characters")
        }
        self.machine.replaceKey(key)
    }

    mutating func refused(_ reason: Reason, _ token: ProviderToken, _ now: Moment) {
        self.machine.refused(reason, generation: token.generation, now: now.monotonic)
    }
}
