// Sends one notification to many devices, and does for each outcome what a provider should do.
//
//     swift run SendAndHandleErrors
//     swift run SendAndHandleErrors CERTIFICATE.pem KEY.pem TOKENS.txt
//
// Without arguments it starts a simulated gateway and sends to that, so it needs no credentials. With arguments it
// sends to a real gateway: TOKENS.txt has one device token a line, in hexadecimal digits. Two environment variables say
// which gateway, if not Apple's own: FERRY_GATEWAY=HOST:PORT, and FERRY_CA=FILE.pem, the authority that vouches for it.

import Ferry
import FerryTesting
import Foundation

@main
struct SendAndHandleErrors {
    static func main() async {
        do {
            try await run()
        } catch {
            print("\(error)")
            exit(1)
        }
    }

    static func run() async throws {
        let scene = try await Scene(arguments: Array(CommandLine.arguments.dropFirst()))
        var configuration = scene.configuration
        // Outcomes wait until they are read, and none is dropped. A `.sink` gets them without a task of its own.
        configuration.outcomes = .stream
        // TLS and the certificate are checked here; the first connection is made when there is work.
        let provider = try BinaryProvider(configuration)
        let events = provider.events(bufferingNewest: 1000)

        // Outcomes have to be read while notifications are submitted: unread ones hold their places in the queue.
        async let outcomes = read(provider.outcomes, scene.devices)
        async let corrections = watch(events, scene.devices)

        try await submit(to: scene.devices, provider)
        // Gives every notification its outcome, within a minute at most, and ends `outcomes` and `events`.
        let report = await provider.shutdown(within: .seconds(60))

        let summary = await outcomes
        let late = await corrections
        let counts = report.outcomes
        print("\(scene.devices.count) submitted; \(report.resent) copies beyond the first were sent")
        print("\(counts.confirmed) accepted, confirmed; \(counts.presumed) accepted, presumed")
        print("\(counts.rejected) rejected; \(counts.expired) expired")
        print("\(counts.undelivered) undelivered; \(counts.uncertain) uncertain; \(report.contradicted) contradicted")
        let dead = summary.dead.union(late.dead)
        let again = summary.again + late.again
        print("\(dead.count) tokens to forget, \(again.count) notifications to send another time")

        try await scene.check(dead)
    }

    /// Fills a batch and submits it. One outcome will come for each notification, with the tag given here.
    static func submit(to devices: [DeviceToken], _ provider: BinaryProvider) async throws {
        var payload = Payload(alert: .init(title: "Ferry", body: "The 10:40 leaves in ten minutes."), sound: "default")
        payload.custom["sailing"] = try JSONFragment(encoding: 1040)
        // Everything that is wrong with a notification is thrown here, all of it at once.
        let notification = try PushNotification(payload, expiration: .after(.seconds(600)))

        var batch = PushBatch()
        for (index, device) in devices.enumerated() {
            // A tag is any number of 64 bits. Here it is the way back to the device; it may be a row in a database.
            try batch.append(notification, to: device, tag: Tag(UInt64(index)))
        }
        // Waits while the queue is full. What is left in the batch when this throws was not taken.
        try await provider.submit(&batch)
    }

    /// What there is to do when everything was sent.
    struct Summary: Sendable {
        /// Devices that must not be sent to again.
        var dead: Set<DeviceToken> = []
        /// Notifications that are known not to have arrived, by their place.
        var again: [Int] = []

        /// A rejection that names the token means the token, any other one the notification or the credentials.
        mutating func note(_ rejection: Rejection, of index: Int, _ devices: [DeviceToken]) {
            switch rejection.reason {
            case .badDeviceToken, .invalidTokenSize: self.dead.insert(devices[index])
            default: print("notification \(index): \(rejection.reason.explanation ?? rejection.reason.rawValue)")
            }
        }
    }

    /// Reads the final outcomes: exactly one for each notification that was taken.
    static func read(_ outcomes: OutcomeStream, _ devices: [DeviceToken]) async -> Summary {
        var summary = Summary()
        for await record in outcomes {
            let index = Int(record.tag.rawValue)
            switch record.outcome {
            case .accepted:
                // `confirmed`: the gateway proved it. `presumed`: it had the bytes and did not object.
                break
            case .rejected(let rejection):
                summary.note(rejection, of: index, devices)
            case .expired:
                // The expiration passed before the notification was written.
                break
            case .undelivered:
                // Known not to have been delivered: it may be sent another time.
                summary.again.append(index)
            case .uncertain(let cause):
                // It was written and may have arrived. To send it again may show it twice: that is for the app to say.
                print("notification \(index) may have arrived or not: \(cause)")
            @unknown default:
                // Later versions may add outcomes. Outside Ferry's own package a switch needs this case.
                break
            }
        }
        return summary
    }

    /// Watches what happens beside the outcomes.
    ///
    /// An outcome is final. If a gateway objects after its silence counted as acceptance, that is an event.
    static func watch(_ events: ProviderEvents, _ devices: [DeviceToken]) async -> Summary {
        var summary = Summary()
        for await event in events {
            switch event {
            case .contradicted(let contradiction):
                // A gateway that names nothing refused one of several: to forget the tokens of all would be too many.
                guard contradiction.upTo == contradiction.count else { break }
                for index in contradiction.tags.map({ Int($0.rawValue) }) {
                    switch contradiction.kind {
                    case .rejected(let rejection): summary.note(rejection, of: index, devices)
                    case .lost: summary.again.append(index)
                    // Its repair may have arrived. To send it again may show it twice: that is for the app to say.
                    case .uncertain: print("notification \(index) may be missing")
                    @unknown default: break
                    }
                }
            case .error(let error):
                // Something that a person has to see to: refused credentials, no connection.
                print("error: \(error)")
            default:
                // Connections, resent notifications and more, for anyone who wants to watch.
                break
            }
        }
        return summary
    }
}

/// Where to send, and to whom.
struct Scene {
    var configuration: BinaryConfiguration
    var devices: [DeviceToken]
    /// Only without arguments, with the devices that it rejects.
    private var simulation: (gateway: SimulatedGateway, bad: Set<DeviceToken>)?

    init(arguments: [String]) async throws {
        switch arguments.count {
        case 0: try await self.init(simulatingFor: 10_000)
        case 3: try self.init(certificate: arguments[0], key: arguments[1], tokens: arguments[2])
        default: throw Failure("Usage: SendAndHandleErrors [CERTIFICATE.pem KEY.pem TOKENS.txt]")
        }
    }

    /// A real gateway.
    private init(certificate: String, key: String, tokens: String) throws {
        let identity = try TLSIdentity(certificatePath: certificate, privateKeyPath: key)
        let environment = ProcessInfo.processInfo.environment
        self.configuration = BinaryConfiguration(production: true, identity: identity)
        if let gateway = environment["FERRY_GATEWAY"] {
            let parts = gateway.split(separator: ":")
            guard parts.count == 2, let port = Int(parts[1]) else { throw Failure("FERRY_GATEWAY is not HOST:PORT.") }
            self.configuration.host = String(parts[0])
            self.configuration.port = port
        }
        if let authority = environment["FERRY_CA"] { self.configuration.trustRoots = .file(authority) }
        let lines = try String(contentsOfFile: tokens, encoding: .utf8).split(whereSeparator: \.isNewline)
        self.devices = try lines.map { try DeviceToken(hex: String($0)) }
    }

    /// A gateway of our own. It rejects one device in a thousand, 50 ms after it read the notification, and shuts down
    /// once in between. After an error response it discards what follows, as Apple's did.
    private init(simulatingFor count: Int) async throws {
        let devices = try (0..<count).map { number in
            try DeviceToken((0..<32).map { UInt8(truncatingIfNeeded: number >> (8 * min($0, 7))) })
        }
        let bad = Set(devices.indices.filter { $0 % 1000 == 750 }.map { devices[$0] })
        let credentials = try TestCredentials()
        var simulated = SimulatedGateway.Configuration(credentials: credentials)
        simulated.script.errorDelay = .milliseconds(50)
        simulated.script.rules = [.reject(bad), .shutDown(after: 500, times: 1)]
        let gateway = try await SimulatedGateway.start(simulated)

        self.devices = devices
        self.simulation = (gateway, bad)
        self.configuration = BinaryConfiguration(host: gateway.host, port: gateway.port, identity: credentials.client)
        self.configuration.trustRoots = credentials.trustRoots
    }

    /// Compares with what the simulated gateway did, if there is one, and stops it.
    func check(_ dead: Set<DeviceToken>) async throws {
        guard let simulation else { return }
        let accepted = simulation.gateway.counts.accepted
        await simulation.gateway.stop()
        guard dead == simulation.bad, accepted == self.devices.count - dead.count else {
            throw Failure("The simulated gateway accepted \(accepted), and \(dead.count) were rejected: that is wrong.")
        }
        print("The simulated gateway accepted \(accepted): every one of the others, once.")
    }
}

/// Ends the program with one sentence.
struct Failure: Error, CustomStringConvertible {
    var description: String

    init(_ description: String) {
        self.description = description
    }
}
