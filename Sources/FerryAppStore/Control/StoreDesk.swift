internal import FerryCore
internal import FerryHTTP1

/// The answers to an operator's commands about a store, as lines of JSON.
package struct StoreDesk: Sendable {
    private let store: AppStoreStore
    /// The verifier of recovered notifications and signed texts; nil to refuse these texts.
    private let verifier: AppStoreVerifier?

    package init(_ store: AppStoreStore, verifier: AppStoreVerifier?) {
        self.store = store
        self.verifier = verifier
    }

    /// Returns the lines of the answer, without line feeds. An error is `{"error":"…"}`. If the verifier or the store
    /// refuses the text of a ``ControlRequest/take(signedPayload:)``, the answer has `result` and `reason` instead.
    package func answer(_ request: ControlRequest) async -> [[UInt8]] {
        do throws(AppStoreStoreError) {
            switch request {
            case .list(let limit, let before, let state):
                return try await self.store.list(limit: limit, before: before, state: state).map(\.summary)
            case .show(let uuid):
                guard let stored = try await self.store.notification(uuid: uuid) else {
                    return [Self.error("There is no notification with this UUID.")]
                }
                return [stored.json]
            case .redeliver(let uuid):
                return [Self.redelivered(try await self.store.redeliver(uuid: uuid))]
            case .deliverUnsent: return [Self.redelivered(try await self.store.deliverUnsent())]
            case .take(let text): return [await self.take(text)]
            case .learn(let text): return [self.learn(text)]
            }
        } catch {
            return [Self.error(error.description)]
        }
    }

    private func take(_ text: String) async -> [UInt8] {
        guard let verifier else { return Self.error("Nothing is verified here.") }
        let notification: AppStoreNotification
        do {
            notification = try await verifier.verifyInvited(signedPayload: text)
        } catch {
            // If the verifier cannot judge the notification now, the result is not `refused` but `failed`. Then the
            // recovery offers the notification again.
            let result = error.code == .tryAgain ? "failed" : "refused"
            return JSONText.object([
                ("result", JSONText.quoted(result)), ("code", JSONText.quoted(error.code.rawValue)),
                ("reason", JSONText.quoted(error.description)),
            ])
        }
        let post = JSONText.object([("signedPayload", JSONText.quoted(text))])
        switch await self.store.take(notification, post: post, origin: .recovery) {
        case .taken(let isNew):
            return JSONText.object([
                ("result", JSONText.quoted(isNew ? "stored" : "duplicate")),
                ("uuid", JSONText.quoted(notification.uuid)),
            ])
        case .failed(let reason):
            return JSONText.object([("result", JSONText.quoted("failed")), ("reason", JSONText.quoted(reason))])
        }
    }

    private func learn(_ text: String) -> [UInt8] {
        guard let verifier else { return Self.error("Nothing is verified here.") }
        do {
            try verifier.learn(from: Array(text.utf8))
        } catch {
            return Self.error(error.description)
        }
        return JSONText.object([("result", JSONText.quoted("learnt"))])
    }

    private static func redelivered(_ count: Int) -> [UInt8] {
        JSONText.object([("redelivered", Array("\(count)".utf8))])
    }

    static func error(_ sentence: String) -> [UInt8] { JSONText.object([("error", JSONText.quoted(sentence))]) }
}

extension StoredNotification.Delivery.State: CaseIterable {
    /// All states, in the order of their raw values.
    public static var allCases: [Self] { [.waiting, .delivered, .dead] }

    /// The name of the state in lists and requests.
    package var word: String {
        switch self {
        case .waiting: "waiting"
        case .delivered: "delivered"
        case .dead: "dead"
        }
    }
}

extension StoredNotification {
    /// One line of a list: everything but the notification's content.
    var summary: [UInt8] { JSONText.object(self.members) }

    /// One line with the whole notification.
    var json: [UInt8] { JSONText.object(self.members + [("notification", self.notification.json)]) }

    private var members: [(String, [UInt8])] {
        func number(_ number: some BinaryInteger) -> [UInt8] { Array("\(number)".utf8) }
        let notification = self.notification
        var members: [(String, [UInt8])] = [
            ("number", number(self.number)), ("uuid", JSONText.quoted(notification.uuid)),
            ("type", JSONText.quoted(notification.type.rawValue)),
        ]
        if let subtype = notification.subtype { members.append(("subtype", JSONText.quoted(subtype))) }
        members.append(("environment", JSONText.quoted(notification.environment.rawValue)))
        members.append(("bundleId", JSONText.quoted(notification.bundleID)))
        if let customer = notification.customer { members.append(("customer", JSONText.quoted(customer))) }
        if let date = notification.signedDate { members.append(("signedDate", number(date.milliseconds))) }
        members.append(("received", number(self.received.milliseconds)))
        members.append(("origin", JSONText.quoted(self.origin == .post ? "post" : "recovery")))
        members.append(("deliveries", Self.list(self.deliveries.map(\.json))))
        return members
    }

    private static func list(_ elements: [[UInt8]]) -> [UInt8] {
        [UInt8(ascii: "[")] + elements.joined(separator: [UInt8(ascii: ",")]) + [UInt8(ascii: "]")]
    }
}

extension StoredNotification.Delivery {
    fileprivate var json: [UInt8] {
        let failure = self.failure.map { [("failure", JSONText.quoted($0))] } ?? []
        return JSONText.object(
            [
                // Only scheme, host and port of a URL are shown, because path and query may be secret.
                ("destination", JSONText.quoted((try? HTTPURL(self.destination).description) ?? self.destination)),
                ("state", JSONText.quoted(self.state.word)), ("attempts", Array("\(self.attempts)".utf8)),
            ] + failure
        )
    }
}

extension JSONText {
    /// Returns an object of members whose values are JSON.
    static func object(_ members: [(String, [UInt8])]) -> [UInt8] {
        let members = members.map { Self.quoted($0) + [UInt8(ascii: ":")] + $1 }
        return [UInt8(ascii: "{")] + members.joined(separator: [UInt8(ascii: ",")]) + [UInt8(ascii: "}")]
    }
}
