internal import ArgumentParser
internal import FerryAdmin
internal import FerryCore
internal import FerryGateway
internal import FerryHTTP1
internal import FerryPlatform
internal import FerryTerminal

/// The command `ferry gateway backup`.
struct GatewayBackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Copies the store of a gateway, which goes on meanwhile.",
        discussion: """
            The gateway that runs makes the copy, so it needs the right to write there, as the user that runs it. FILE must \
            be on the file system of the store: move it afterwards. If no gateway runs, the command makes the copy, on any \
            disk. The copy and its mark, FILE-mark, belong together. They hold device tokens and payloads.

            A gateway that starts with the copy sends everything again that had no answer at the time of the copy. What \
            was answered since then arrives twice.

            The exit status is 0 if the copy is on the disk, 1 if it could not be made within 20 minutes, 2 if the gateway \
            has no store, and 3 if nobody answers.

            Examples:
              ferry gateway backup /var/lib/ferry-gateway/copy.db --config /etc/ferry/gateway.json
              ferry gateway backup copy.db --socket /run/ferry-gateway/gateway-admin
            """
    )

    /// How long the command waits: a little longer than the gateway takes for an answer.
    private static let limit: Duration = GatewayAdmin.backupLimit + .seconds(10)

    @ParentCommand var gateway: GatewayCommand
    @OptionGroup var place: AdminSocketOptions

    @Argument(help: ArgumentHelp("The file of the copy, which must not exist.", valueName: "file"))
    var file: String

    @Flag(help: "Print the result as one JSON object.")
    var json = false

    func validate() throws {
        guard !self.file.isEmpty else { throw ValidationError("The name of the file is empty.") }
    }

    func run() async throws {
        try await self.gateway.reportingFailure {
            let copy = try await self.copy()
            guard !self.json else {
                let encoder = JSONEncoder()
                encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
                return try Console.print(String(decoding: try encoder.encode(copy), as: UTF8.self))
            }
            let time = Date(timeIntervalSince1970: Double(copy.copiedAt)).formatted(.iso8601)
            try Console.print(
                "\(copy.path.printable): the store of \(time), \(copy.bytes) bytes; \(copy.path.printable)-mark belongs to it"
            )
        }
    }

    /// The absolute path of the copy, because the gateway has a working directory of its own.
    private var path: String {
        self.file.hasPrefix("/") ? self.file : "\(FileManager.default.currentDirectoryPath)/\(self.file)"
    }

    private func copy() async throws -> StoreCopy {
        let places = try self.gateway.config.map { try GatewayCommand.places(of: $0) }
        if let places, places.store == nil {
            throw CommandFailure.usage("The gateway has no 'store', so there is nothing to copy.")
        }
        guard let socket = self.place.socket ?? places?.socket else {
            throw CommandFailure.usage("Give --config FILE or --socket PATH.")
        }
        let client = try AdminClient(socket: socket)
        let response: HTTPClientResponse
        do throws(HTTPClientError) {
            response = try await client.post("/backup", Array(self.path.utf8), within: Self.limit)
        } catch {
            guard error.code == .connectFailed, let store = places?.store else {
                throw CommandFailure(.noConnection, "The gateway does not answer: \(error.description)")
            }
            return try await self.copyWithoutGateway(store, socket: socket)
        }
        switch response.status {
        case 404:
            throw CommandFailure(
                .noConnection,
                "The gateway is of a version that makes no copies. Stop it, and run this command then, with --config: without "
                    + "a gateway it copies the store itself."
            )
        // The gateway has no store.
        case 409:
            let sentence = String(decoding: response.body, as: UTF8.self).prefix { $0 != "\n" }
            throw CommandFailure.usage(String(sentence).printable)
        default: break
        }
        let copy = try AdminClient.decoded(StoreCopy.self, try AdminClient.body(of: response))
        // Under systemd the gateway may have a /tmp of its own.
        guard access(copy.path, F_OK) == 0 else {
            throw CommandFailure.refused(
                "The gateway has made \(copy.path.printable) where this command does not see it: its unit gives it "
                    + "directories of its own. Name a file beside its store."
            )
        }
        return copy
    }

    private func copyWithoutGateway(_ store: String, socket: String) async throws(CommandFailure) -> StoreCopy {
        do {
            return try await SQLiteStore.copy(storeAt: store, to: self.path)
        } catch {
            guard error.isInUse else { throw .refused(error.description) }
            throw CommandFailure(
                .noConnection,
                "Another process has the store \(store), and no gateway answers at \(socket): name its socket with --socket, "
                    + "or copy on the machine whose gateway has it."
            )
        }
    }
}
