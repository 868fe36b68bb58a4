@testable import FerryAppStore
@testable import FerryAppStoreTesting
@testable import FerryCore
@testable import FerryHTTP1
@testable import FerryOpenSSL

/// The property: nothing that is not signed by the App Store is accepted; what is signed gives plain JSON without the
/// signed texts that Apple documents, or a sentence; a sentence shows nothing of the post. The first byte chooses what the
/// rest is.
func fuzzAppStorePosts(_ input: inout FuzzInput) {
    let kind = input.byte()
    let rest = Array(input.rest)
    switch kind {
    case UInt8(ascii: "b"):
        requireRefusal { () throws(AppStoreVerificationError) in try fixture.verifier.verify(post: rest) }
    case UInt8(ascii: "t"): requireForgery(rest)
    case UInt8(ascii: "h"):
        requireForgery(Base64URL.encode(rest) + Array(".e30.".utf8) + Array(repeating: 65, count: 86))
    case UInt8(ascii: "p"): readSigned(rest)
    case UInt8(ascii: "n"): readNested(rest)
    case UInt8(ascii: "1"): readVersion1(rest)
    case UInt8(ascii: "c"): readRequest(rest)
    default:
        // A responder's key is not among the bytes.
        for subject in OCSPSubject.allCases {
            guard case .unusable = fixture.chain.ocspVerdict(rest, on: subject) else {
                fatalError("an unsigned verdict")
            }
        }
    }
}

/// A verifier, and the signer that it trusts.
private struct Fixture {
    let signer: AppStoreSigner
    let verifier: AppStoreVerifier
    let chain: SigningChain

    init() throws {
        self.signer = AppStoreSigner(try ThrowAwaySigningChain())
        var configuration = AppStoreVerifier.Configuration(apps: [AppStoreApp(bundleID: "com.example.app")])
        configuration.trustRoots = .pem(self.signer.rootPEM)
        configuration.sharedSecrets = ["sesame"]
        self.verifier = try AppStoreVerifier(configuration)
        let content = #"{"notificationType":"TEST","notificationUUID":"A","signedDate":1790000000000,"#
        let data = #""data":{"bundleId":"com.example.app","environment":"Sandbox"}}"#
        let text = try self.signer.sign(Array((content + data).utf8))
        self.chain = try self.verifier.notifications.verify(signedPayload: Array(text.utf8)).chains[0]
    }
}

// A fuzzer has no caller that could take an error.
private let fixture = try! Fixture()

private func requireRefusal(
    _ body: () throws(AppStoreVerificationError) -> AppStoreNotification
) {
    do throws(AppStoreVerificationError) {
        let notification = try body()
        // Only the shared secret makes an unsigned text genuine.
        require(notification.version == .one)
    } catch {
        check(error)
    }
}

private func requireForgery(_ text: [UInt8]) {
    requireRefusal { () throws(AppStoreVerificationError) in
        try fixture.verifier.notifications.verify(signedPayload: text).notification
    }
}

private func readSigned(_ payload: [UInt8]) {
    guard let text = try? fixture.signer.sign(payload) else { return }
    do throws(AppStoreVerificationError) {
        check(try fixture.verifier.verify(signedPayload: text))
    } catch {
        check(error)
    }
    if let signed = try? fixture.verifier.verify(signedObject: text) { require(signed.json == payload) }
}

private func readNested(_ payload: [UInt8]) {
    guard let text = try? fixture.signer.sign(payload) else { return }
    let notification = """
        {"notificationType":"TEST","notificationUUID":"A","signedDate":1790000000000,"data":{"bundleId":"com.example.app",\
        "environment":"Sandbox","signedTransactionInfo":"\(text)"}}
        """
    guard let outer = try? fixture.signer.sign(Array(notification.utf8)) else { return }
    do throws(AppStoreVerificationError) {
        let verified = try fixture.verifier.verify(signedPayload: outer)
        check(verified)
        require(JSONObject(verified.json)?.object("data")?.object("transactionInfo")?.text == payload)
    } catch {
        check(error)
    }
}

private func readVersion1(_ post: [UInt8]) {
    do throws(AppStoreVerificationError) {
        let notification = try fixture.verifier.verify(post: post)
        require(notification.version == .one && JSONObject(notification.json)?.has("password") == false)
        require(notification.uuid.hasPrefix("v1-"))
    } catch {
        check(error)
    }
}

/// The first line is the target of a request for a store, and the rest its body.
private func readRequest(_ bytes: [UInt8]) {
    let target = bytes.prefix { $0 != UInt8(ascii: "\n") }
    let body = Array(bytes.dropFirst(target.count + 1))
    for method in ["GET", "POST"] {
        let request = HTTPServerRequest(method: method, target: String(decoding: target, as: UTF8.self), body: body)
        guard let read = ControlRequest(request) else { continue }
        let route = read.route
        let again = HTTPServerRequest(method: method, target: route.target, body: Array(route.body.utf8))
        require(ControlRequest(again) == read)
    }
}

private func check(_ notification: AppStoreNotification) {
    let json = JSONObject(notification.json)
    require(json != nil && json?.string("notificationUUID") == notification.uuid)
    require(1...64 ~= notification.uuid.utf8.count && notification.bundleID == "com.example.app")
    guard let data = json?.object("data"), data.string("bundleId") != nil else { return }
    for name in PlainJSON.knownSigned { require(data.string(name) == nil) }
}

private func check(_ error: AppStoreVerificationError) {
    // Sentences are Ferry's own words, with a member's name at most.
    require(error.description.utf8.count <= 300 && error.description.utf8.allSatisfy { 0x20...0x7e ~= $0 })
}
