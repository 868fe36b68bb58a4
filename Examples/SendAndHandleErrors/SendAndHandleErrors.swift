// Sends one notification to many devices, and handles each outcome as a program should.
//
//     swift run SendAndHandleErrors
//     swift run SendAndHandleErrors CERTIFICATE.pem KEY.pem TOKENS.txt HOST:PORT [CA.pem]
//
// Without arguments it starts a simulated gateway and sends to that, so it needs no credentials. With arguments it
// sends to a real gateway of the binary protocol; Apple's were switched off in 2021. TOKENS.txt has one device token a
// line, in hexadecimal digits. CA.pem is the authority that signed the gateway's certificate, if the system does not
// know it.

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
        // TLS and the certificate are checked here. The first connection is made when there is work.
        let provider = try BinaryProvider(scene.configuration)
        let events = provider.events(bufferingNewest: 1000)

        // Read outcomes while notifications are submitted. Unread outcomes hold their places in the queue.
        async let outcomes = read(provider.outcomes)
        async let corrections = watch(events)

        try await submit(to: scene.devices, provider)
        // Gives every notification its outcome, within a minute at most, and ends `outcomes` and `events`.
        let report = await provider.shutDown(within: .seconds(60))

        let summary = await outcomes
        let late = await corrections
        let counts = report.outcomes
        print("\(scene.devices.count) submitted; \(report.resent) copies beyond the first were sent")
        print("\(counts.confirmed) accepted, confirmed; \(counts.presumed) accepted, presumed")
        print("\(counts.rejected) rejected; \(counts.expired) expired")
        print("\(counts.undelivered) undelivered; \(counts.uncertain) uncertain; \(report.contradicted) contradicted")
        // With credentials of the wrong environment every token is refused. The rule wants to see acceptances first.
        let refused = summary.refused + late.refused
        let dead = Set(
            refused.filter { $0.rejection.tokenIsGone(confirmed: counts.confirmed) }.map { scene.devices[$0.index] }
        )
        let again = summary.again + late.again
        print("\(dead.count) tokens to forget, \(again.count) notifications to send another time")

        try await scene.check(dead)
    }

    /// Fills a batch and submits it. Each notification gets one outcome, with the tag given here.
    static func submit(to devices: [DeviceToken], _ provider: BinaryProvider) async throws {
        var payload = Payload(alert: .init(title: "Ferry", body: "The 10:40 leaves in ten minutes."), sound: "default")
        payload.custom["sailing"] = try JSONFragment(encoding: 1040)
        // This line throws every fault of the notification at once.
        let notification = try PushNotification(payload, expiration: .after(.seconds(600)))

        var batch = PushBatch()
        for (index, device) in devices.enumerated() {
            // A tag is any number of 64 bits. Here it is the index of the device; it may be a row in a database.
            try batch.append(notification, to: device, tag: PushTag(UInt64(index)))
        }
        // Waits while the queue is full. After an error, the notifications that are left in the batch were not taken.
        try await provider.submit(&batch)
    }

    /// The work that is left when everything was sent.
    struct Summary: Sendable {
        /// The notifications that the gateway refused.
        var refused: [(index: Int, rejection: Rejection)] = []
        /// The indices of notifications that certainly did not arrive.
        var again: [Int] = []

        /// Notes a rejection. It may mean that the token is bad, or the notification, or the credentials.
        mutating func note(_ rejection: Rejection, of index: Int) {
            self.refused.append((index, rejection))
            if rejection.tokenIsGone(confirmed: 1) { return }
            print("notification \(index): \(rejection.reason.explanation ?? rejection.reason.rawValue)")
        }
    }

    /// Reads the final outcomes: exactly one for each notification that was taken.
    static func read(_ outcomes: OutcomeStream) async -> Summary {
        var summary = Summary()
        for await record in outcomes {
            let index = Int(record.tag.rawValue)
            switch record.outcome {
            case .accepted:
                // `confirmed`: the gateway proved it. `presumed`: it had the bytes and did not object.
                break
            case .rejected(let rejection):
                summary.note(rejection, of: index)
            case .expired:
                // The expiration passed before the notification was written.
                break
            case .undelivered:
                // It was certainly not delivered, so it may be sent another time.
                summary.again.append(index)
            case .uncertain(let cause):
                // It was written and may have arrived. Sent again, it may show twice: the app must decide.
                print("notification \(index) may have arrived or not: \(cause)")
            @unknown default:
                // Later versions may add outcomes. Outside Ferry's own package a switch needs this case.
                break
            }
        }
        return summary
    }

    /// Watches the events beside the outcomes.
    ///
    /// An outcome is final. If a gateway objects after its silence counted as acceptance, the objection is an event.
    static func watch(_ events: ProviderEvents) async -> Summary {
        var summary = Summary()
        for await event in events {
            switch event {
            case .contradicted(let contradiction):
                // The gateway refused one of several notifications without naming it. Do not forget the tokens of all.
                guard contradiction.upTo == contradiction.count else { break }
                for index in contradiction.tags.map({ Int($0.rawValue) }) {
                    switch contradiction.kind {
                    case .rejected(let rejection): summary.note(rejection, of: index)
                    case .lost: summary.again.append(index)
                    // The repair may have arrived. Sent again, it may show twice: the app must decide.
                    case .uncertain: print("notification \(index) may be missing")
                    @unknown default: break
                    }
                }
            case .error(let error):
                // An error that needs a person: refused credentials, no connection.
                print("error: \(error)")
            default:
                // Connections, resent notifications and more. Handle them if you like to watch.
                break
            }
        }
        return summary
    }
}

/// The gateway to send to, and the devices.
struct Scene {
    var configuration: BinaryConfiguration
    var devices: [DeviceToken]
    /// The simulated gateway and the devices that it rejects; nil with arguments.
    private var simulation: (gateway: SimulatedGateway, bad: Set<DeviceToken>)?

    init(arguments: [String]) async throws {
        switch arguments.count {
        case 0: try await self.init(simulatingFor: 10_000)
        case 4...5: try self.init(arguments)
        default: throw Failure("Usage: SendAndHandleErrors [CERTIFICATE.pem KEY.pem TOKENS.txt HOST:PORT [CA.pem]]")
        }
    }

    /// Uses a real gateway.
    private init(_ arguments: [String]) throws {
        let identity = try TLSIdentity(certificatePath: arguments[0], privateKeyPath: arguments[1])
        let gateway = arguments[3].split(separator: ":")
        guard gateway.count == 2, let port = Int(gateway[1]) else { throw Failure("\(arguments[3]) is not HOST:PORT.") }
        // Outcomes wait until they are read, and are never dropped. A `.sink` gets them without a separate task.
        self.configuration = BinaryConfiguration(
            host: String(gateway[0]),
            port: port,
            identity: identity,
            outcomes: .stream
        )
        if arguments.count == 5 { self.configuration.trustRoots = .file(arguments[4]) }
        let lines = try String(contentsOfFile: arguments[2], encoding: .utf8).split(whereSeparator: \.isNewline)
        self.devices = try lines.map { try DeviceToken(hex: String($0)) }
    }

    /// Uses a simulated gateway. It rejects one device in a thousand, 50 ms after it read the notification, and shuts
    /// down once in between. After an error response it discards the notifications that follow, as Apple's gateway did.
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
        self.configuration = BinaryConfiguration(
            host: gateway.host,
            port: gateway.port,
            identity: credentials.client,
            outcomes: .stream
        )
        self.configuration.trustRoots = credentials.trustRoots
    }

    /// Compares the outcomes with the simulated gateway's counts, if there is one, and stops it.
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

/// An error that ends the program with one sentence.
struct Failure: Error, CustomStringConvertible {
    var description: String

    init(_ description: String) {
        self.description = description
    }
}
