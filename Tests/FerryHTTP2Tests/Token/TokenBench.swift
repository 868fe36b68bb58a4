import FerryCore
import FerryHTTP2
import FerryMachine
import FerryOpenSSL
import Foundation
import NIOCore
import Testing

/// A token machine with a signer and two clocks, which the test moves.
struct TokenBench {
    static let keyID = "ABCDE12345"
    static let teamID = "FGHIJ67890"

    var machine: ProviderTokenMachine
    /// The monotonic clock in seconds.
    var seconds: Int64 = 1000
    /// The wall clock in UNIX seconds.
    var epochSeconds: UInt32 = 1_700_000_000
    /// When tokens were signed, by the monotonic clock.
    var mints: [Int64] = []
    var canSign = true
    let signature: [UInt8]

    init(signature: [UInt8] = Array(repeating: 7, count: ES256Key.signatureLength)) throws {
        self.signature = signature
        self.machine = ProviderTokenMachine(
            keyID: try #require(DeveloperIdentifier(Self.keyID)),
            teamID: try #require(DeveloperIdentifier(Self.teamID))
        )
    }

    var now: NIODeadline { .uptimeNanoseconds(0) + .seconds(self.seconds) }

    /// Lets time pass on both clocks.
    mutating func pass(minutes: Int64) { self.pass(seconds: minutes * 60) }

    mutating func pass(seconds: Int64) {
        self.seconds += seconds
        self.epochSeconds &+= UInt32(seconds)
    }

    /// Asks for a token, and signs it if necessary.
    mutating func ask() -> Authorization {
        switch self.machine.authorize(now: self.now, epochSeconds: self.epochSeconds) {
        case .token(let token):
            return .token(token)
        case .held(let until):
            return .held(until: until)
        case .sign:
            guard self.canSign else { return self.machine.signFailed(now: self.now) }
            self.mints.append(self.seconds)
            return self.machine.signed(self.signature, now: self.now)
        }
    }

    /// Returns the generation of the token for a request; nil when there is no token.
    mutating func generation() -> UInt64? {
        guard case .token(let token) = self.ask() else { return nil }
        return token.generation
    }

    /// Returns for how many seconds a request is held; nil when it is not held.
    mutating func hold() -> Int64? {
        guard case .held(let until) = self.ask() else { return nil }
        return (until - self.now).nanoseconds / 1_000_000_000
    }

    mutating func refuse(_ reason: Reason, generation: UInt64) {
        self.machine.refused(reason, generation: generation, now: self.now)
    }

    /// Returns the JSON of one part of a token.
    static func json(_ part: Substring) throws -> [String: Any] {
        let padding = String(repeating: "=", count: (4 - part.count % 4) % 4)
        let text = String(part).replacing("-", with: "+").replacing("_", with: "/") + padding
        let data = try #require(Data(base64Encoded: text))
        return try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    }
}
