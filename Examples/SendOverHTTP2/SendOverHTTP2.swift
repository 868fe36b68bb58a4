// Sends one notification to some devices over HTTP/2 with a provider token, and prints the outcome of each.
//
//     swift run SendOverHTTP2
//     swift run SendOverHTTP2 AuthKey_ABCDE12345.p8 ABCDE12345 FGHIJ67890 com.example.app DEVICETOKEN…
//
// Without arguments it starts a simulated APNs and sends to that, so it needs no credentials. With arguments it sends
// to APNs for development: the key, its ID, the team's ID, the app's bundle ID, and device tokens in hexadecimal
// digits.

import Ferry
import FerryTesting
import Foundation

@main
struct SendOverHTTP2 {
    static func main() async {
        do {
            let arguments = Array(CommandLine.arguments.dropFirst())
            if arguments.isEmpty { try await simulate() } else { try await send(arguments) }
        } catch {
            print("\(error)")
            exit(1)
        }
    }

    /// Sends to APNs.
    static func send(_ arguments: [String]) async throws {
        guard arguments.count > 4 else {
            throw Failure("Usage: SendOverHTTP2 [KEY.p8 KEYID TEAMID TOPIC DEVICETOKEN…]")
        }
        // Use one source for all providers of the team and key. It makes a token when one is needed, and renews it in
        // time.
        let tokens = try ProviderTokenSource(
            key: ES256Key(path: arguments[0]),
            keyID: arguments[1],
            teamID: arguments[2]
        )
        let configuration = HTTP2Configuration(
            production: false,
            credentials: .token(tokens),
            topic: arguments[3],
            outcomes: .stream
        )
        _ = try await deliver(to: arguments[4...].map { try DeviceToken(hex: $0) }, configuration)
    }

    /// Sends to a simulated APNs. One device has lost the app.
    static func simulate() async throws {
        let devices = try (1...5).map { try DeviceToken(hex: String(repeating: "0\($0)fc", count: 16)) }
        let credentials = try TestCredentials()
        var simulated = SimulatedAPNs.Configuration(credentials: credentials)
        simulated.script.rules = [HTTP2Rule(tokens: [devices[2]], status: 410)]
        let apns = try await SimulatedAPNs.start(simulated)

        let tokens = try ProviderTokenSource(
            key: credentials.tokenKey,
            keyID: credentials.keyID,
            teamID: credentials.teamID
        )
        var configuration = HTTP2Configuration(
            host: "localhost",
            port: apns.port,
            credentials: .token(tokens),
            topic: "com.example.ferry",
            outcomes: .stream
        )
        configuration.trustRoots = credentials.trustRoots
        let dead = try await deliver(to: devices, configuration)
        let accepted = apns.counts.accepted
        await apns.stop()
        guard dead == [devices[2]], accepted == 4 else { throw Failure("\(accepted) arrived: that is wrong.") }
    }

    /// Sends to all devices at once, and returns the devices that must not be sent to again.
    static func deliver(to devices: [DeviceToken], _ configuration: HTTP2Configuration) async throws -> [DeviceToken] {
        // Ferry appends the push type's suffix to the topic, and finds faults that APNs would refuse.
        let notification = try PushNotification(
            Payload(alert: "The 10:40 leaves in ten minutes."),
            pushType: .alert,
            expiration: .after(.seconds(600))
        )
        let provider = try HTTP2Provider(configuration)

        async let refused = report(provider.outcomes, devices)
        var batch = PushBatch(capacity: devices.count)
        for (index, device) in devices.enumerated() {
            try batch.append(notification, to: device, tag: PushTag(UInt64(index)))
        }
        try await provider.submit(&batch)
        // After the shutdown every notification has its outcome, and the stream ends.
        let counts = await provider.shutDown(within: .seconds(60)).outcomes
        // With credentials of the wrong environment every token is refused. The rule wants to see acceptances first.
        return await refused.filter { $0.rejection.tokenIsGone(confirmed: counts.confirmed) }.map(\.device)
    }

    /// Prints each outcome, and returns what APNs refused.
    static func report(
        _ outcomes: OutcomeStream,
        _ devices: [DeviceToken]
    ) async -> [(device: DeviceToken, rejection: Rejection)] {
        var refused: [(device: DeviceToken, rejection: Rejection)] = []
        for await record in outcomes {
            let device = devices[Int(record.tag.rawValue)]
            switch record.outcome {
            case .accepted:
                print("\(device.hex.prefix(8))… accepted, apns-id \(record.apnsID.map(\.description) ?? "none")")
            case .rejected(let rejection):
                print("\(device.hex.prefix(8))… rejected: \(rejection.reason.explanation ?? rejection.reason.rawValue)")
                refused.append((device, rejection))
            default:
                print("\(device.hex.prefix(8))… \(record.outcome)")
            }
        }
        return refused
    }
}

/// An error that ends the program with one sentence.
struct Failure: Error, CustomStringConvertible {
    var description: String

    init(_ description: String) {
        self.description = description
    }
}
