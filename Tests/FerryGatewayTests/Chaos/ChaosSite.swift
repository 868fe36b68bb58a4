import FerryCore
import FerryMachine
import FerryOpenSSL
import FerryTesting

/// What the clients of a chaos run need to know.
struct ChaosSite: Sendable {
    let host: String
    let port: Int
    let feedbackPort: Int
    let credentials: TestCredentials
    /// One for each manner: the gateway learns the habits of a certificate.
    let identities: [TLSIdentity]
    let contexts: [TLSContext]
    let account: ChaosAccount
    let pace: ChaosPace

    /// Connects as an old library.
    func connect(_ manner: ChaosManner, from address: String?) async throws -> ChaosConnection {
        self.account.connected()
        return try await ChaosConnection.open(
            to: self.host,
            port: self.port,
            self.contexts[manner.rawValue],
            from: address
        )
    }

    /// Returns a new push. One in ten is refused in some way.
    func push(using random: inout SplitMix64) -> ChaosPush {
        let kind: ChaosPush.Kind =
            switch Int.random(in: 0..<100, using: &random) {
            case ..<5: .bad
            case ..<8: .gone
            case ..<10: .faulty
            default: .good
            }
        return self.push(kind, using: &random)
    }

    func push(_ kind: ChaosPush.Kind, using random: inout SplitMix64) -> ChaosPush {
        self.account.makePush(kind, weather: .random(in: 0...255, using: &random))
    }
}

/// The manners of clients. Each has a certificate of its own.
enum ChaosManner: Int, CaseIterable, Sendable {
    /// Ferry's own provider.
    case ferry
    /// Writes and closes, and never reads.
    case writesAndCloses
    /// Reads error responses, and sends again what followed, as far as its small cache has it.
    case resends
    /// Writes for long, and reads when it has written everything.
    case readsLate
    /// Writes byte by byte.
    case drips
    /// Resets the connection in the middle of a push.
    case resets
    /// Writes bytes that are no notification, behind some that are.
    case garbles
    /// Connects, and says nothing.
    case saysNothing
    /// Reads the feedback list, or breaks off.
    case readsFeedback
}
