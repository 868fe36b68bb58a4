import FerryAdmin
import Testing

@testable import FerryCommand

/// The screen of the commands `status` and `top`.
@Suite struct ShownStatusTests {
    private struct Status: ShownStatus {
        static var server: AdministeredServer { .gateway }

        var ferry = "1.0.0"
        var now = 1_700_000_000
        var startedAt: Int
        var condition = Condition(.well, "Ready.")
        var troubles: [Condition] = []
        var ready = Health(isGood: true, "")
        var delivering = Health(isGood: true, "")
        var certificates: [CertificateStatus] = []
        var alarms: [AlarmLine] = []
        var lines: [String] { ["read 0"] }
    }

    @Test(
        arguments: [
            (-3, "0 s", "now"), (0, "0 s", "now"), (1, "1.0 s", "now"), (45, "45 s", "45 s ago"),
        ]
    )
    func `no time of the screen is negative, or in milliseconds`(seconds: Int, since: String, ago: String) {
        let time = 1_700_000_000 - seconds
        let status = Status(startedAt: time, alarms: [AlarmLine(at: time, "The disk is full.")])
        #expect(
            status.screen == """
                ferry gateway 1.0.0, since \(since): well
                Ready.

                read 0

                last alarm, \(ago): The disk is full.
                """
        )
    }
}
