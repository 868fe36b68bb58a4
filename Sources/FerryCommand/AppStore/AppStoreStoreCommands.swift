internal import ArgumentParser
internal import FerryAppStore
internal import FerryCore
internal import FerryPlatform
internal import FerryTerminal

/// The store that a command looks into.
struct StoreOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The store of 'ferry appstore serve'.", valueName: "file"))
    var store: String

    /// Asks the process that has the store; without such a process, opens the store.
    func ask(_ request: ControlRequest) async throws -> [[UInt8]] { try await Self.ask(self.store, request) }

    static func ask(_ path: String, _ request: ControlRequest) async throws -> [[UInt8]] {
        let lines: [[UInt8]]
        do throws(ControlClient.Failure) {
            lines = try await ControlClient(store: path).ask(request)
        } catch {
            switch error {
            case .noProcess: lines = try await self.askFile(path, request)
            case .failed(let sentence): throw CommandFailure.usage(sentence)
            }
        }
        if let error = lines.first.flatMap({ Self.error($0) }) { throw CommandFailure.refused(error) }
        return lines
    }

    private static func askFile(_ path: String, _ request: ControlRequest) async throws -> [[UInt8]] {
        let store = try await self.open(path)
        let lines = await StoreDesk(store, verifier: nil).answer(request)
        await store.close()
        return lines
    }

    /// Opens a store that no process has.
    ///
    /// - Throws: ``CommandFailure`` with status 2. A file that does not exist is not made.
    static func open(_ path: String) async throws(CommandFailure) -> AppStoreStore {
        guard FileIdentity(path: path)?.isRegular == true else {
            let isThere = FileManager.default.fileExists(atPath: path)
            let fault = isThere ? "is no regular file" : "does not exist; 'ferry appstore serve' makes it"
            throw CommandFailure.usage(FileName(path).sentence(fault, option: "--store"))
        }
        let store = AppStoreStore(withoutOwner: path)
        do {
            if let warning = try await store.open() { Console.error("ferry: warning: \(warning)") }
        } catch {
            throw CommandFailure.usage(error.description)
        }
        return store
    }

    private static func error(_ line: [UInt8]) -> String? {
        line.withUnsafeBufferPointer { bytes in
            var members = JSONMembers(bytes)
            guard let member = try? members.next(), member.key.equals("error", in: bytes) else { return nil }
            return try? member.value.text?.decoded(in: bytes)
        }
    }
}

/// The command `ferry appstore list`.
struct AppStoreListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Prints stored notifications, the newest first, one JSON line each.",
        discussion: """
            Example:
              ferry appstore list --store notifications.db --state dead --limit 10
            """
    )

    @OptionGroup var store: StoreOptions

    @Option(help: ArgumentHelp("At most so many, up to 10000.", valueName: "n"))
    var limit = 100

    @Option(help: ArgumentHelp("Only those before this number: the last one of the page before.", valueName: "n"))
    var before: UInt64?

    @Option(help: "Only those with a delivery in this state: waiting, delivered or dead.")
    var state: StateArgument?

    enum StateArgument: String, ExpressibleByArgument, CaseIterable {
        case waiting, delivered, dead

        var state: StoredNotification.Delivery.State {
            switch self {
            case .waiting: .waiting
            case .delivered: .delivered
            case .dead: .dead
            }
        }
    }

    func validate() throws {
        guard 1...ControlRequest.listLimit ~= self.limit else {
            throw ValidationError("--limit takes a number from 1 to \(ControlRequest.listLimit).")
        }
    }

    func run() async throws {
        let request = ControlRequest.list(limit: self.limit, before: self.before, state: self.state?.state)
        for line in try await self.store.ask(request) where !line.isEmpty {
            try Console.printList(String(decoding: line, as: UTF8.self))
        }
    }
}

/// The command `ferry appstore show`.
struct AppStoreShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Prints a stored notification with its content.",
        discussion: """
            Example:
              ferry appstore show 0f4b3e5a-6c5e-4a43-b7a6-0f3a6e1b2c3d --store notifications.db
            """
    )

    @Argument(help: ArgumentHelp("The notification's notificationUUID.", valueName: "uuid"))
    var uuid: String

    @OptionGroup var store: StoreOptions

    func run() async throws {
        for line in try await self.store.ask(.show(uuid: self.uuid)) {
            try Console.printList(String(decoding: line, as: UTF8.self))
        }
    }
}

/// The command `ferry appstore redeliver`.
struct AppStoreRedeliverCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "redeliver",
        abstract: "Delivers stored notifications once more.",
        discussion: """
            Examples:
              ferry appstore redeliver 0f4b3e5a-6c5e-4a43-b7a6-0f3a6e1b2c3d --store notifications.db
              ferry appstore redeliver --dead --store notifications.db
              ferry appstore redeliver --unsent --store notifications.db
            """
    )

    @Argument(help: ArgumentHelp("The notification's notificationUUID.", valueName: "uuid"))
    var uuid: String?

    @Flag(help: "All that were set aside.")
    var dead = false

    @Flag(
        help: """
            All that nobody gets, to the URLs of now: the URL that they wait for is not named any more, or none was named when \
            they came.
            """
    )
    var unsent = false

    @OptionGroup var store: StoreOptions

    func validate() throws {
        guard [self.uuid != nil, self.dead, self.unsent].count(where: \.self) == 1 else {
            throw ValidationError(
                "Give a UUID, or --dead for all that were set aside, or --unsent for all that nobody gets."
            )
        }
    }

    func run() async throws {
        let lines = try await self.store.ask(self.unsent ? .deliverUnsent : .redeliver(uuid: self.uuid))
        for line in lines { try Console.print(String(decoding: line, as: UTF8.self)) }
        if self.uuid != nil, lines == [Array("{\"redelivered\":0}".utf8)] {
            Console.error(
                "ferry: nothing was delivered of this notification before, or it still waits (perhaps for a URL that is not named "
                    + "any more: --unsent), or there is no such one."
            )
            throw ExitStatus.notAllAccepted
        }
    }
}
