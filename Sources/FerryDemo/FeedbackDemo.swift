internal import Ferry
internal import FerryTerminal
internal import FerryTesting
internal import Logging

/// The part of the demo about a feedback service. The gateway accepted notifications for devices that no longer have the
/// app; the list names those devices.
struct FeedbackDemo {
    /// The devices that must be on the list.
    var gone: Set<DeviceToken>
    /// The beginning of each row of the report.
    var title = ""
    var narrator: DemoNarrator

    /// Reads the list twice. The second reading must bring nothing, because the first one clears the list.
    func run(host: String, port: Int, _ credentials: TestCredentials) async throws -> [DemoReport.Row] {
        var configuration = FeedbackConfiguration(host: host, port: port, identity: credentials.client)
        configuration.logger = .silent
        configuration.trustRoots = credentials.trustRoots
        configuration.serverName = "localhost"
        let reader = try FeedbackReader(configuration)
        let listed = try await self.read(reader)
        let again = try await self.read(reader)
        return [
            .init(
                what: "\(self.title)devices that lost the app, and those on the list",
                expected: self.gone.count,
                actual: self.gone.intersection(listed).count
            ),
            .init(what: "\(self.title)tuples on the list", expected: self.gone.count, actual: listed.count),
            .init(what: "\(self.title)tuples on the list after it was read", expected: 0, actual: again.count),
        ]
    }

    private func read(_ reader: FeedbackReader) async throws -> [DeviceToken] {
        var tokens: [DeviceToken] = []
        for try await tuple in reader.sweep() { tokens.append(tuple.token) }
        let count = tokens.isEmpty ? "nothing" : tokens.count == 1 ? "1 device" : "\(tokens.count) devices"
        self.narrator.say("the feedback list was read to its end: \(count)")
        return tokens
    }
}
