/// The times of a chaos run.
struct ChaosPace: Sendable {
    /// How long clients come and go.
    var duration: Duration
    /// The life of an APNs, in milliseconds.
    var apnsLives = 10_000...40_000
    /// How long APNs is away between two lives, in milliseconds.
    var absences = 200...5000
    /// How long a client writes, in milliseconds.
    var clientLives = 1000...20_000
    /// How long APNs may take for an answer.
    var patience = Duration.seconds(5)
    /// Whether APNs may have trouble with some devices for a whole life. The gateway waits minutes for them.
    var hasBusyDevices = true

    /// The clients at the same time. Each writes 60 pushes a second at most, so that a debug build keeps up.
    static let clients = 8
    static let pushesPerSecond = 5...60
    /// More than all clients together write.
    static let mostPushesPerSecond = 600

    init(_ duration: Duration) {
        self.duration = duration
        guard duration < .seconds(60) else { return }
        self.apnsLives = 400...1500
        self.absences = 50...300
        self.clientLives = 200...1500
        self.patience = .milliseconds(500)
        self.hasBusyDevices = false
    }
}
