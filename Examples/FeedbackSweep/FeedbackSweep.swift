// Reads the feedback list once, and forgets the devices that no longer have the app.
//
//     swift run FeedbackSweep
//     swift run FeedbackSweep CERTIFICATE.pem KEY.pem HOST:PORT [CA.pem]
//
// Without arguments it starts a simulated feedback service and reads from that, so it needs no credentials. With
// arguments it reads from a real service, and only prints the list. CA.pem is the authority that signed the service's
// certificate, if the system does not know it. Reading clears the list, so keep the printed list.

import Ferry
import FerryTesting
import Foundation

@main
struct Program {
    static func main() async {
        do {
            let arguments = Array(CommandLine.arguments.dropFirst())
            if arguments.isEmpty { try await simulate() } else { try await read(arguments) }
        } catch {
            print("\(error)")
            exit(1)
        }
    }

    /// Reads from a simulated service. Its list has a device that came back, a device that occurs twice, and a bad
    /// entry.
    static func simulate() async throws {
        let (gone, back) = (try DeviceToken(hex: "00fc13ad"), try DeviceToken(hex: "11fc13ad"))
        let credentials = try TestCredentials()
        var simulated = SimulatedFeedback.Configuration(credentials: credentials)
        simulated.script = FeedbackScript([
            .init(time: Date(timeIntervalSince1970: 1_700_000_000), token: gone.bytes),
            .init(time: Date(timeIntervalSince1970: 1_700_000_000), token: back.bytes),
            .init(time: Date(timeIntervalSince1970: 1_700_000_100), token: []),
            .init(time: Date(timeIntervalSince1970: 1_700_000_200), token: gone.bytes),
        ])
        let service = try await SimulatedFeedback.start(simulated)
        var configuration = FeedbackConfiguration(
            host: service.host,
            port: service.port,
            identity: credentials.client
        )
        configuration.trustRoots = credentials.trustRoots

        // The registrations that a provider keeps.
        var devices = [
            gone: Date(timeIntervalSince1970: 1_600_000_000),
            back: Date(timeIntervalSince1970: 1_700_000_500),
        ]
        let whole = try await sweep(configuration) { tuple in
            // A device that registered after the entry's time has the app again.
            guard let registered = devices[tuple.token], registered <= tuple.time else { return }
            devices[tuple.token] = nil
        }
        await service.stop()
        guard !whole, devices.keys.map(\.hex) == [back.hex], service.tuples.isEmpty else {
            throw Failure("\(devices.count) devices are left: that is wrong.")
        }
        print("1 device forgotten; 1 has registered since and stays")
    }

    /// Reads from a real service.
    static func read(_ arguments: [String]) async throws {
        let peer = arguments.dropFirst(2).first?.split(separator: ":") ?? []
        guard (3...4).contains(arguments.count), peer.count == 2, let port = Int(peer[1]) else {
            throw Failure("Usage: FeedbackSweep [CERTIFICATE.pem KEY.pem HOST:PORT [CA.pem]]")
        }
        let identity = try TLSIdentity(certificatePath: arguments[0], privateKeyPath: arguments[1])
        var configuration = FeedbackConfiguration(host: String(peer[0]), port: port, identity: identity)
        if arguments.count == 4 { configuration.trustRoots = .file(arguments[3]) }
        _ = try await sweep(configuration) { tuple in print(tuple.time, tuple.token.hex) }
    }

    /// Reads the list and returns whether all of it was good. Throws if the list did not come to its end, because a cut
    /// list would look like a short one. The entries before the error were handled.
    static func sweep(_ configuration: FeedbackConfiguration, _ handle: (FeedbackTuple) -> Void) async throws -> Bool {
        let sweep = try FeedbackReader(configuration).sweep()
        for try await tuple in sweep { handle(tuple) }
        guard let report = sweep.report else { return false }
        print("\(report.tuples) entries; \(report.skipped) bad ones were left out")
        return report.isWhole
    }
}

/// An error that ends the program with one sentence.
struct Failure: Error, CustomStringConvertible {
    var description: String

    init(_ description: String) {
        self.description = description
    }
}
