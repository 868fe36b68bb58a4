internal import ArgumentParser
internal import FerryAppStore
internal import FerryCore
internal import FerryTerminal

/// The command `ferry appstore test`.
struct AppStoreTestCommand: AsyncParsableCommand, SocketCommand {
    static let configuration = CommandConfiguration(
        commandName: "test",
        abstract: "Asks Apple for a test notification, and tells what became of it.",
        discussion: """
            Apple sends it to the URL in App Store Connect. Prints one JSON line: {"uuid":…,"result":"SUCCESS",\
            "stored":true}; 'stored' only with --store.

            Exit status: 0, it was taken; 1, it was not, and standard error says why; 2, bad usage; 3, no connection, or \
            refused credentials.

            Example:
              ferry appstore test --app com.example.app --environment sandbox \\
                --p8 SubscriptionKey_ABCDE12345.p8 --key-id ABCDE12345 \\
                --issuer-id 57246542-96fe-1a63-e053-0824d011072a --store notifications.db
            """
    )

    @OptionGroup var options: AppStoreAPIOptions

    @Option(
        help: ArgumentHelp(
            "The store of 'ferry appstore serve', in which the notification must be then.",
            valueName: "file"
        )
    )
    var store: String?

    @Option(help: ArgumentHelp("How long to wait for Apple.", valueName: "seconds"))
    var wait = 60

    var socketCount: Int { 4 }

    func validate() throws {
        guard 1...3600 ~= self.wait else { throw ValidationError("--wait takes a number of seconds from 1 to 3600.") }
    }

    func run() async throws {
        let client = try self.options.client(try self.options.verifier())
        // Before Apple is asked: the store must be there.
        if let store { _ = try await StoreOptions.ask(store, .list(limit: 1, before: nil, state: nil)) }
        let test = try await self.test(client)
        let uuid = test.notification.uuid
        if let store { await Self.teach(store, test) }
        guard let attempt = test.attempts.last else {
            throw CommandFailure.refused("Apple has not sent the notification yet. Try again with a longer --wait.")
        }
        let isStored = try await self.isStored(uuid)
        let stored = isStored.map { ",\"stored\":\($0)" } ?? ""
        try Console.print("{\"uuid\":\(Self.json(uuid)),\"result\":\(Self.json(attempt.result.rawValue))\(stored)}")
        guard attempt.result == .success else { throw CommandFailure.refused(Self.explanation(attempt.result)) }
        if isStored == false {
            throw CommandFailure.refused(
                "Apple's URL answered with success, and the notification is not in the store: the URL in App Store Connect is "
                    + "another receiver's, or something in front of the receiver answers in its place."
            )
        }
    }

    private func test(_ client: AppStoreServerClient) async throws -> AppStoreTestNotification {
        do {
            let token = try await client.requestTestNotification()
            let end = ContinuousClock.now + .seconds(self.wait)
            while true {
                do throws(AppStoreServerError) {
                    let test = try await client.testNotification(token)
                    if !test.attempts.isEmpty || ContinuousClock.now >= end { return test }
                } catch {
                    // Apple may know the notification only a moment after it took the request.
                    guard error.code == .testNotificationNotFound, ContinuousClock.now < end else { throw error }
                }
                try await Task.sleep(for: .seconds(1))
            }
        } catch let error as AppStoreServerError {
            throw CommandFailure.api(error)
        }
    }

    /// Passes Apple's current certificates to the process that has the store, even if the post failed.
    private static func teach(_ store: String, _ test: AppStoreTestNotification) async {
        // A failure is ignored: without such a process, or with one of an earlier version, nobody learns the
        // certificates.
        _ = try? await ControlClient(store: store).ask(.learn(signedPayload: test.signedPayload))
    }

    private func isStored(_ uuid: String) async throws -> Bool? {
        guard let store else { return nil }
        do {
            return try await !StoreOptions.ask(store, .show(uuid: uuid)).isEmpty
        } catch let failure as CommandFailure where failure.status == .notAllAccepted {
            return false
        }
    }

    private static func json(_ text: String) -> String { String(decoding: JSONText.quoted(text), as: UTF8.self) }

    /// What a result means, and what to do about it.
    static func explanation(_ result: AppStoreSendAttempt.Result) -> String {
        switch result {
        case .timedOut:
            "Apple waited for an answer in vain: the receiver works too long before it answers, or is overloaded."
        case .tlsIssue:
            "Apple could not agree on TLS with the receiver: look at its certificate and chain with 'ferry doctor https://…'."
        case .circularRedirect: "The URL redirects in a circle: enter the URL at the end in App Store Connect."
        case .noResponse:
            "Nobody answers at the URL: is the receiver running, has it the same scheme (http, https), and does the firewall let "
                + "Apple (17.0.0.0/8) in?"
        case .socketIssue:
            "There was no connection, or it broke: is the receiver running, and what do the firewall and the proxy in front of "
                + "it do?"
        case .unsupportedCharset: "The answer names a character set that Apple does not know: send no content type."
        case .invalidResponse: "The answer is not HTTP: is another program at the port?"
        case .prematureClose:
            "The receiver closed the connection before its answer: look at its log and at limits for bodies."
        case .unsuccessfulStatus:
            "The receiver answered with another status than 200 to 206: its log says why, and 'ferry doctor https://…' shows it."
        default: "Apple says \(result.rawValue.printable), and no more."
        }
    }
}
