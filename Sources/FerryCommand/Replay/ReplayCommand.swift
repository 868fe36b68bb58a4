internal import ArgumentParser
internal import Ferry
internal import FerryCore
internal import FerryTerminal
internal import FerryTesting

/// The command `ferry replay`.
struct ReplayCommand: AsyncParsableCommand, SocketCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Replays a transcript to a client or to a server, and says where that does something else.",
        discussion: """
            With --listen it is the server of the transcript: it prints its port as one JSON line, and waits for the \
            client. With --to it is the client. Exit status: 0, everything was as in the transcript; 1, something was \
            not, and the line, what it says and what came stand on standard error.

            Examples:
              ferry replay session.transcript --to localhost:2195 --ca tls/ca.pem --cert tls/client.pem \\
                --key tls/client-key.pem
              ferry replay session.transcript --listen 2195 --tls-dir tls --mode exact --varying identifiers,times
            """
    )

    enum Mode: String, ExpressibleByArgument, CaseIterable {
        case exact, semantic
    }

    enum PaceOption: String, ExpressibleByArgument, CaseIterable {
        case immediate, recorded
    }

    enum SplitOption: String, ExpressibleByArgument, CaseIterable {
        case recorded, everywhere, random
    }

    @Argument(help: ArgumentHelp("The transcript.", valueName: "file"))
    var file: String

    @Option(parsing: .unconditional, help: ArgumentHelp("Be the server, on this port; 0 for any.", valueName: "port"))
    var listen: Int?

    @Option(help: ArgumentHelp("With --listen: the address to listen on.", valueName: "address"))
    var host = "127.0.0.1"

    @Option(help: ArgumentHelp("With --listen: a directory of certificates, made when empty.", valueName: "dir"))
    var tlsDir: String?

    @Option(help: ArgumentHelp("Be the client, and connect here.", valueName: "host:port"))
    var to: Endpoint?

    @OptionGroup(title: "With --to")
    var tls: ClientTLSOptions

    @Flag(help: "With --listen: clients speak no TLS.")
    var plain = false

    @Option(help: "Compare every byte (exact), or what messages mean (semantic).")
    var mode = Mode.semantic

    @Option(
        help: ArgumentHelp(
            "What may be otherwise than recorded: identifiers, times, both with a comma, or none.",
            discussion: "Semantic comparison allows both unless this is given, exact comparison none.",
            valueName: "what"
        )
    )
    var varying: VaryingOption?

    @Option(help: "Answer at once, or after the recorded time.")
    var pace = PaceOption.immediate

    @Option(help: "How to cut what is sent into pieces: as recorded, everywhere, or at random.")
    var split = SplitOption.recorded

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Delay what is sent by up to this at random.", valueName: "seconds")
    )
    var delay = Seconds(.zero)

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("End the connection after sending so many bytes on it.", valueName: "n")
    )
    var cut: Int?

    @OptionGroup var progress: ProgressOptions

    @Option(help: ArgumentHelp("Decides what is random.", valueName: "n"))
    var seed: UInt64 = 0

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("How long everything may take.", valueName: "seconds")
    )
    var limit = Seconds(.seconds(60))

    func validate() throws {
        try HostName.require(self.host, "--host")
        guard (self.listen == nil) != (self.to == nil) else {
            throw ValidationError("Say which side to be: --listen PORT, or --to HOST:PORT.")
        }
        if let listen, !(0...65_535 ~= listen) { throw ValidationError("--listen takes a port, 0 to 65535.") }
        if let cut, cut < 0 { throw ValidationError("--cut must not be negative.") }
        try self.delay.validate("--delay", isZeroGood: true)
        try self.limit.validate("--limit")
    }

    // There are the listener, and a few clients.
    var socketCount: Int { 5 }

    func run() async throws {
        var replay = try self.replay()
        let happened = Locked(0)
        replay.onEvents = { count in happened.withLock { $0 = count } }
        let total = replay.transcript.events.count
        let shown = self.progress.display?.show {
            let count = happened.withLock { $0 }
            return WorkProgress(
                fraction: total > 0 ? Double(count) / Double(total) : nil,
                count: count,
                words: ["\(count) of \(total) events"]
            )
        }
        do {
            try await self.play(replay)
        } catch {
            await shown?.end()
            throw Self.failure(error)
        }
        await shown?.end()
        Console.error(
            self.cut == nil
                ? "Replayed \(total) events; nothing differs."
                : "Nothing differs before the place where connections are cut."
        )
    }

    private func play(_ replay: Replay) async throws {
        guard let to else {
            let socket = try await self.socket(replay)
            try Console.print(#"{"port":\#(socket.port)}"#)
            return try await socket.finish(within: self.limit.duration)
        }
        try await ReplaySocket.connect(
            replay,
            to: to.host,
            port: to.port ?? replay.transcript.service.defaultPort,
            tls: self.tls.clientTLS(),
            within: self.limit.duration
        )
    }

    private static func failure(_ error: any Error) -> CommandFailure {
        switch error {
        case let mismatch as ReplayMismatch: CommandFailure(.notAllAccepted, "\(mismatch)")
        case let failure as CommandFailure: failure
        default: CommandFailure(.noConnection, "No connection: \(Sentence.of(error))")
        }
    }

    private func socket(_ replay: Replay) async throws -> ReplaySocket {
        let credentials = self.plain ? nil : try TestCredentials.open(self.tlsDir)
        do {
            return try await ReplaySocket.listen(replay, as: credentials, host: self.host, port: self.listen ?? 0)
        } catch {
            throw CommandFailure.usage(
                "Cannot listen on \(self.host), port \(self.listen ?? 0): \(Sentence.of(error))"
            )
        }
    }

    private func replay() throws -> Replay {
        let transcript: Transcript
        do {
            transcript = try Transcript(contentsOfFile: self.file)
        } catch {
            let name = FileName(self.file).shown ?? "The transcript"
            throw CommandFailure.usage("\(name) cannot be replayed: \(Sentence.of(error))")
        }
        let mode: ReplayMode =
            switch (self.mode, self.varying?.value) {
            case (.exact, let varying): .exact(varying: varying ?? [])
            case (.semantic, let varying?): .semantic(varying: varying)
            case (.semantic, nil): .semantic
            }
        var replay = Replay(transcript, playing: self.to == nil ? .server : .client, mode: mode)
        replay.pace = self.pace == .recorded ? .recorded : .immediate
        var chaos = ReplayChaos(seed: self.seed)
        chaos.delay = self.delay.duration
        chaos.cut = self.cut
        chaos.split =
            switch self.split {
            case .recorded: .asRecorded
            case .everywhere: .everywhere
            case .random: .random
            }
        replay.chaos = chaos
        return replay
    }
}

/// The value of an option: `identifiers`, `times`, both, or `none`.
struct VaryingOption: ExpressibleByArgument {
    var value: ReplayMode.Varying = []

    init?(argument: String) {
        guard argument != "none" else { return }
        for word in argument.split(separator: ",", omittingEmptySubsequences: false) {
            switch word {
            case "identifiers": self.value.insert(.identifiers)
            case "times": self.value.insert(.times)
            default: return nil
            }
        }
    }
}
