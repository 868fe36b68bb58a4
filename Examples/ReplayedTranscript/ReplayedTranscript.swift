import Ferry
import FerryTesting

/// A test without a gateway: a provider against a recorded session of a gateway.
///
/// In this session the gateway rejected the second of three notifications. A test would read the transcript from a file
/// that `ferry record` wrote.
@main
struct ReplayedTranscript {
    static let session = """
        ferry transcript 1
        service: gateway

        0.000 1> open
        0.001 1> bytes 02 00000024 03 0004 00000001 01 0004 aaaaaaaa 02 0013 7b22617073223a7b226261646765223a317d7d
        0.002 1> bytes 02 00000024 03 0004 00000002 01 0004 bbbbbbbb 02 0013 7b22617073223a7b226261646765223a317d7d
        0.003 1> bytes 02 00000024 03 0004 00000003 01 0004 cccccccc 02 0013 7b22617073223a7b226261646765223a317d7d
        0.053 1< bytes 08 08 00000002
        0.054 1< half-close
        0.055 1> end
        0.060 2> open
        0.061 2> bytes 02 00000024 03 0004 00000001 01 0004 cccccccc 02 0013 7b22617073223a7b226261646765223a317d7d
        """

    static func main() async throws {
        let credentials = try TestCredentials()
        let replay = Replay(try Transcript(parsing: self.session), playing: .server)
        let socket = try await ReplaySocket.listen(replay, as: credentials)

        var configuration = BinaryConfiguration(
            host: socket.host,
            port: socket.port,
            identity: credentials.client,
            outcomes: .stream
        )
        configuration.trustRoots = credentials.trustRoots

        var batch = PushBatch()
        for (index, hex) in ["aaaaaaaa", "bbbbbbbb", "cccccccc"].enumerated() {
            let notification = try PushNotification(Payload(badge: 1))
            try batch.append(notification, to: DeviceToken(hex: hex), tag: PushTag(UInt64(index)))
        }
        let provider = try BinaryProvider(configuration)
        try await provider.submit(&batch)
        let report = await provider.shutDown(within: .seconds(10), proof: .silence)
        var outcomes: [PushTag: Outcome] = [:]
        for await record in provider.outcomes { outcomes[record.tag] = record.outcome }

        // Throws, with the line of the transcript, if the provider sent anything else.
        try await socket.finish(within: .seconds(10))
        guard case .rejected(let rejection) = outcomes[PushTag(1)], rejection.reason == .badDeviceToken else {
            throw UnexpectedOutcome()
        }
        print("\(report.outcomes.accepted) accepted, and the second rejected: \(rejection.reason.explanation ?? "")")
    }

    struct UnexpectedOutcome: Error {}
}
