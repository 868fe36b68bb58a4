internal import ArgumentParser
internal import FerryDemo
internal import FerryTerminal

/// The command `ferry demo`.
struct DemoCommand: AsyncParsableCommand, SocketCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Shows Ferry at work, without credentials and without a server.",
        discussion: """
            Starts a simulated APNs with a throw-away certificate authority on loopback, sends to it over real TLS, by \
            the binary protocol, by HTTP/2, from the one to the other through a gateway, and by both while devices move \
            from the one to the other and back. Then a simulated App Store posts its notifications to a receiver. Lets things \
            go wrong, and compares what the one recorded with what the other reported.
            """
    )

    // Both ends of each connection are in this process.
    var socketCount: Int { 24 }

    func run() async throws {
        let report: DemoReport
        do {
            report = try await Demo.run()
        } catch {
            throw CommandFailure(.noConnection, "The demo cannot run: \(Sentence.of(error))")
        }
        try Console.print("")
        try Console.print(report.table)
        if report.isRight {
            try Console.print("")
            try Console.print(
                "Every good token got its notification once, and every bad one was reported, whatever went wrong."
            )
        }
        guard report.isRight else { throw CommandFailure(.notAllAccepted, "Not every count is right.") }
    }
}
