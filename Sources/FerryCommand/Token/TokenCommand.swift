internal import ArgumentParser
internal import Ferry
internal import FerryHTTP2
internal import FerryPlatform
internal import FerryTerminal
internal import NIOCore

/// The command `ferry token`.
struct TokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token",
        abstract: "Prints a provider token for APNs over HTTP/2.",
        discussion: """
            A new token, good for an hour, as it stands behind "bearer" in the field authorization. APNs wants a token \
            to be changed no more than once in 20 minutes: keep it for so long, and do not make one for each request. \
            Whoever has it can send to every device of the team's apps.

            Exit status: 0; 2, bad usage, or a file that is no key for tokens.

            Examples:
              ferry token --p8 AuthKey_ABCDE12345.p8 --key-id ABCDE12345 --team-id FGHIJ67890
              ferry token --p8 tls/token-key.p8 --key-id FERRYKEY01 --team-id FERRYTEAM1 --json
              curl --http2 https://api.sandbox.push.apple.com/3/device/00fc… \\
                -H "authorization: bearer $TOKEN" -H "apns-topic: com.example.app" \\
                -d '{"aps":{"alert":"Hello"}}'
            """
    )

    @OptionGroup(title: "Provider token")
    var token: TokenKeyOptions

    @Flag(help: #"Print one JSON object: {"token":"…","issuedAt":1700000000,"expiresAt":1700003600}."#)
    var json = false

    func validate() throws {
        guard self.token.areGiven else {
            throw ValidationError("Say whose token: --p8 FILE, --key-id ID and --team-id ID.")
        }
        try self.token.validateIdentifiers()
    }

    func run() async throws {
        guard let source = try self.token.source() else { return }
        let (token, issuedAt) = try self.issue(source)
        guard self.json else { return try Console.print(token) }
        let lifetime = ProviderTokenMachine.longestAge.nanoseconds / 1_000_000_000
        // A token contains only Base64 and dots, so JSON needs no escapes.
        try Console.print(
            #"{"token":"\#(token)","issuedAt":\#(issuedAt),"expiresAt":\#(Int64(issuedAt) + lifetime)}"#
        )
    }

    private func issue(_ source: ProviderTokenSource) throws -> (token: String, issuedAt: UInt32) {
        do {
            return try source.issue(now: .now(), epochSeconds: UInt32(clamping: time(nil)))
        } catch {
            throw CommandFailure.usage("\(error)")
        }
    }
}
