internal import ArgumentParser
internal import FerryAppStore
internal import FerryCore
internal import FerryOpenSSL

/// The command `ferry appstore verify`.
struct AppStoreVerifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Verifies a notification, and prints it in plain JSON.",
        discussion: """
            Takes the body of a post, {"signedPayload":"…"}, or the signed text alone. Without --app, any app counts; \
            signature, certificates and environment are always checked.

            Exit status: 0, it is genuine; 1, it is not, and standard error says which check failed; 2, bad usage.

            Examples:
              ferry appstore verify post.json
              ferry appstore verify - --app com.example.app:1234567890 < post.json
              ferry appstore verify many.txt --lines
            """
    )

    /// The longest input in bytes.
    private static let longest = 1 << 30

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

    func run() async throws {
        var configuration = try self.options.configuration()
        configuration.takesAnyApp = configuration.apps.isEmpty
        let verifier: AppStoreVerifier
        do {
            verifier = try AppStoreVerifier(configuration)
        } catch {
            throw CommandFailure.usage("--root: \(error.description)")
        }
        let bytes: [UInt8]
        do {
            bytes = try FileDescriptor.contents(of: self.file == "-" ? "/dev/stdin" : self.file, limit: Self.longest)
        } catch {
            throw CommandFailure.usage(
                FileName(self.file).sentence("cannot be read: \(FileFailure(reason: error.reason))")
            )
        }
        if self.lines { return try await self.verifyLines(bytes, verifier) }
        let notification: AppStoreNotification
        do throws(AppStoreVerificationError) {
            notification = try await Self.verify(bytes[...], verifier)
        } catch {
            Console.error("ferry: \(error.code.rawValue): \(error.description)")
            throw ExitStatus.notAllAccepted
        }
        try Console.print(String(decoding: notification.json, as: UTF8.self))
    }

    private func verifyLines(_ bytes: [UInt8], _ verifier: AppStoreVerifier) async throws {
        var areAllGenuine = true
        for (index, line) in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
            guard !line.isEmpty || index < bytes.count(where: { $0 == UInt8(ascii: "\n") }) else { continue }
            var text = "{\"line\":\(index + 1),\"genuine\":"
            do throws(AppStoreVerificationError) {
                let notification = try await Self.verify(line, verifier)
                text += "true,\"uuid\":\(String(decoding: JSONText.quoted(notification.uuid), as: UTF8.self))}"
            } catch {
                areAllGenuine = false
                text += "false,\"code\":\"\(error.code.rawValue)\",\"reason\":"
                text += "\(String(decoding: JSONText.quoted(error.description), as: UTF8.self))}"
            }
            try Console.print(text)
        }
        guard areAllGenuine else { throw ExitStatus.notAllAccepted }
    }

    private static func verify(
        _ input: ArraySlice<UInt8>,
        _ verifier: AppStoreVerifier
    ) async throws(AppStoreVerificationError) -> AppStoreNotification {
        let space = [UInt8(ascii: " "), UInt8(ascii: "\n"), UInt8(ascii: "\r"), UInt8(ascii: "\t")]
        let start = input.drop { space.contains($0) }
        let end = start.lastIndex { !space.contains($0) }.map { $0 + 1 } ?? start.startIndex
        let text = Array(start[..<end])
        guard text.first == UInt8(ascii: "{") else {
            return try await verifier.verifyOnline(signedPayload: String(decoding: text, as: UTF8.self))
        }
        return try await verifier.verifyOnline(post: text)
    }
}
