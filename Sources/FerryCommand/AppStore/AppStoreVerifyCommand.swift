internal import ArgumentParser
internal import FerryAppStore
internal import FerryCore
internal import FerryOpenSSL
internal import FerryTerminal

/// The command `ferry appstore verify`.
struct AppStoreVerifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Verifies a notification, and prints it in plain JSON.",
        discussion: """
            Takes the body of a post, {"signedPayload":"…"}, or the signed text alone. Without --app, any app counts; \
            signature, certificates and environment are always checked. With --transaction it takes a signed transaction or \
            renewal, as the App Store Server API and apps have them.

            Exit status: 0, it is genuine; 1, it is not, and standard error says which check failed; 2, bad usage, or input of \
            another kind.

            Examples:
              ferry appstore verify post.json
              ferry appstore verify - --app com.example.app:1234567890 < post.json
              ferry appstore verify many.txt --lines
              ferry appstore verify transaction.txt --transaction
            """
    )

    /// The longest input in bytes, and the limit for a line: the longest post of version 1 that the receiver takes.
    private static let longest = 2 << 20

    @Argument(help: ArgumentHelp("The file; - for standard input.", valueName: "file"))
    var file: String

    @OptionGroup var options: AppStoreOptions

    @Flag(
        help: """
            Each line is a notification. Prints for each a line: {"line":1,"genuine":true,"uuid":…}, or \
            {"line":1,"genuine":false,"code":"forged","reason":…}.
            """
    )
    var lines = false

    @Flag(help: "The input is a signed transaction, app transaction or renewal, and no notification.")
    var transaction = false

    func validate() throws {
        if self.lines, self.transaction { throw ValidationError("--lines and --transaction exclude each other.") }
    }

    func run() async throws {
        var configuration = try self.options.configuration()
        configuration.takesAnyApp = configuration.apps.isEmpty
        let verifier: AppStoreVerifier
        do {
            verifier = try AppStoreVerifier(configuration)
        } catch {
            throw CommandFailure.usage("--root: \(error.description)")
        }
        if self.lines { return try await self.verifyLines(verifier) }
        let input = SignedInput(try self.bytes())
        if let sentence = input.otherKind(wantsTransaction: self.transaction) { throw CommandFailure.usage(sentence) }
        let json: [UInt8]
        do throws(AppStoreVerificationError) {
            json = try await self.transaction ? input.object(verifier).json : input.notification(verifier).json
        } catch {
            Console.error("ferry: \(error.code.rawValue): \(error.description)")
            throw ExitStatus.notAllAccepted
        }
        try Console.print(String(decoding: json, as: UTF8.self))
    }

    /// Reads the whole input.
    private func bytes() throws(CommandFailure) -> [UInt8] {
        let bytes: [UInt8]
        do {
            bytes = try FileDescriptor.contents(of: self.file == "-" ? "/dev/stdin" : self.file, limit: Self.longest)
        } catch {
            throw self.unreadable(error)
        }
        guard bytes.count <= Self.longest else {
            throw .usage(
                "The input has more than \(Self.longest >> 20) MiB, too much for one notification; --lines takes many."
            )
        }
        return bytes
    }

    private func unreadable(_ failure: FileFailure) -> CommandFailure {
        .usage(FileName(self.file).sentence("cannot be read: \(FileFailure(reason: failure.reason))"))
    }

    private func verifyLines(_ verifier: AppStoreVerifier) async throws {
        let reader: LineReader
        do {
            reader = try LineReader(path: self.file, limit: Self.longest)
        } catch {
            throw self.unreadable(error)
        }
        var areAllGenuine = true
        var number = 0
        repeat {
            while let line = reader.next() {
                number += 1
                let (isGenuine, text) = await self.verify(line, number, verifier)
                areAllGenuine = areAllGenuine && isGenuine
                try Console.printList(text, end: areAllGenuine ? .success : .notAllAccepted)
            }
        } while try await self.fill(reader)
        guard areAllGenuine else { throw ExitStatus.notAllAccepted }
    }

    private func fill(_ reader: LineReader) async throws -> Bool {
        do {
            return try await reader.fill()
        } catch let failure as FileFailure {
            throw self.unreadable(failure)
        }
    }

    private func verify(_ line: LineReader.Line, _ number: Int, _ verifier: AppStoreVerifier) async -> (
        isGenuine: Bool, text: String
    ) {
        var text = "{\"line\":\(number),\"genuine\":"
        var isGenuine = false
        do throws(AppStoreVerificationError) {
            guard case .bytes(let bytes) = line else {
                throw AppStoreVerificationError(.malformed, "The line is longer than \(Self.longest >> 20) MiB.")
            }
            let input = SignedInput(Array(bytes))
            if let sentence = input.otherKind(wantsTransaction: false) {
                throw AppStoreVerificationError(.malformed, sentence)
            }
            let notification = try await input.notification(verifier)
            isGenuine = true
            text += "true,\"uuid\":\(String(decoding: JSONText.quoted(notification.uuid), as: UTF8.self))}"
        } catch {
            text += "false,\"code\":\"\(error.code.rawValue)\",\"reason\":"
            text += "\(String(decoding: JSONText.quoted(error.description), as: UTF8.self))}"
        }
        return (isGenuine, text)
    }
}
