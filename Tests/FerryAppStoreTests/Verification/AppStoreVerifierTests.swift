import FerryAppStore
import FerryAppStoreTesting
import FerryOpenSSL
import Foundation
import Testing

@Suite struct AppStoreVerifierTests {
    private func code(_ signing: Signing, _ text: String) throws -> AppStoreVerificationError.Code? {
        let verifier = try signing.verifier()
        do throws(AppStoreVerificationError) {
            _ = try verifier.verify(post: Signing.post(text))
            return nil
        } catch {
            return error.code
        }
    }

    @Test func `a genuine notification is read, and its signed texts become plain objects`() throws {
        let signing = try Signing()
        let date = Date(timeIntervalSince1970: 1_790_000_000.123)
        let text = try signing.renewal(uuid: "U-1", date: date)
        let notification = try signing.verifier().verify(post: Signing.post(text))
        #expect(notification.uuid == "U-1")
        #expect(notification.type == .didRenew)
        #expect(notification.subtype == "BILLING_RECOVERY")
        #expect(notification.version == .two)
        #expect(notification.signedDate == date)
        #expect(notification.environment == .production)
        #expect(notification.bundleID == Signing.bundleID)
        #expect(notification.appAppleID == Signing.appAppleID)
        #expect(notification.customer == "2000000000000001")
        struct Plain: Decodable {
            struct Data: Decodable {
                struct Transaction: Decodable { var price: Int }
                struct Renewal: Decodable { var originalTransactionId: String }
                var transactionInfo: Transaction
                var renewalInfo: Renewal
                var status: Int
            }
            var data: Data
        }
        let plain = try notification.decoded(as: Plain.self)
        #expect(plain.data.transactionInfo.price == 9990)
        #expect(plain.data.renewalInfo.originalTransactionId == "2000000000000001")
        #expect(plain.data.status == 1)
        #expect(!String(decoding: notification.json, as: UTF8.self).contains("signedTransactionInfo"))
    }

    @Test func `certificates must be valid at the date of signing`() throws {
        var shape = ThrowAwaySigningChain.Shape()
        shape.leafValidity = -30 * 86_400 ... -10 * 86_400
        let signing = try Signing(shape)
        #expect(try self.code(signing, signing.renewal(date: .now - 20 * 86_400)) == nil)
        #expect(try self.code(signing, signing.renewal(date: .now)) == .forged)
        #expect(try self.code(signing, signing.renewal(date: .now - 40 * 86_400)) == .forged)
    }

    @Test func `only chains with Apple's marks count`() throws {
        for change in [\ThrowAwaySigningChain.Shape.marksLeaf, \.marksIntermediate, \.isIntermediateAuthority] {
            var shape = ThrowAwaySigningChain.Shape()
            shape[keyPath: change] = false
            let signing = try Signing(shape)
            #expect(try self.code(signing, signing.renewal()) == .forged)
        }
        var shape = ThrowAwaySigningChain.Shape()
        shape.hasKeyIdentifiers = false
        let signing = try Signing(shape)
        #expect(try self.code(signing, signing.renewal()) == nil)
    }

    @Test func `a notification under another root is forged, even with the trusted root as third certificate`() throws {
        let (ours, theirs) = (try Signing(), try Signing())
        #expect(try self.code(ours, theirs.renewal()) == .forged)
        let apple = try AppStoreVerifier(.init(apps: [AppStoreApp(bundleID: Signing.bundleID)]))
        #expect(throws: AppStoreVerificationError.self) {
            try apple.verify(post: Signing.post(theirs.renewal()))
        }
    }

    @Test func `a text with a changed byte is refused, wherever the byte is`() throws {
        let signing = try Signing()
        let verifier = try signing.verifier()
        let text = Array(try signing.renewal().utf8)
        var generator = SystemRandomNumberGenerator()
        for place in stride(from: 0, to: text.count, by: 37) {
            var changed = text
            let other = "ABCDEFGHIJKLMNOPabcdefghijklmnop0123456789-_.=+/".utf8.filter { $0 != text[place] }
            changed[place] = try #require(other.randomElement(using: &generator))
            let post = Signing.post(String(decoding: changed, as: UTF8.self))
            #expect(throws: AppStoreVerificationError.self) { try verifier.verify(post: post) }
        }
    }

    @Test func `a notification for another app or environment is refused as such`() throws {
        let signing = try Signing()
        #expect(try self.code(signing, signing.renewal(bundleID: "com.example.other")) == .otherApp)
        #expect(try self.code(signing, signing.renewal(environment: "Xcode")) == .otherEnvironment)
        var configuration = signing.configuration
        configuration.environments = [.sandbox]
        let verifier = try AppStoreVerifier(configuration)
        do {
            _ = try verifier.verify(post: Signing.post(signing.renewal()))
            Issue.record("it was taken")
        } catch let error as AppStoreVerificationError {
            #expect(error.code == .otherEnvironment)
        }
    }

    @Test(
        arguments: [
            "", "null", "[]", "{}", #"{"signedPayload":1}"#, #"{"signedPayload":"a.b"}"#, #"{"signedPayload":"..""#,
            #"{"signedPayload":"eyJhbGciOiJub25lIn0.e30."}"#, #"{"signedPayload":"a","signedPayload":"b"}"#,
            #"{"notification_type":"CANCEL","bid":"com.example.app","environment":"PROD","password":"x"}"#,
        ]
    )
    func `a post that is not a notification is malformed`(post: String) throws {
        let verifier = try Signing().verifier()
        do throws(AppStoreVerificationError) {
            _ = try verifier.verify(post: Array(post.utf8))
            Issue.record("it was taken")
        } catch {
            #expect(error.code == .malformed)
        }
    }

    @Test func `a notification of a later kind is kept as it is`() throws {
        let signing = try Signing()
        let json = """
            {"notificationType":"NEW_THING","notificationUUID":"U-2","signedDate":1790000000000,"extra":1.50,\
            "newData":{"bundleId":"com.example.app","environment":"Sandbox","x":"\\u0041"}}
            """
        let notification = try signing.verifier().verify(signedPayload: signing.signer.sign(Array(json.utf8)))
        #expect(notification.type.rawValue == "NEW_THING")
        #expect(notification.json == Array(json.utf8))
    }

    @Test func `a notification of version 1 counts with a shared secret, and its JSON has no password`() throws {
        let signing = try Signing()
        var configuration = signing.configuration
        configuration.sharedSecrets = ["old secret", "new secret"]
        let verifier = try AppStoreVerifier(configuration)
        func post(_ receipt: String, password: String = "new secret", type: String = "DID_RENEW") -> [UInt8] {
            Array(
                """
                {"notification_type":"\(type)","password":"\(password)","environment":"PROD","bid":"com.example.app",\
                "unified_receipt":{"latest_receipt":"\(receipt)","latest_receipt_info":[\
                {"original_transaction_id":"7","transaction_id":"9","purchase_date_ms":"1790000000000"}]}}
                """.utf8
            )
        }
        let notification = try verifier.verify(post: post("AAAA"))
        #expect(notification.version == .one)
        #expect(notification.environment == .production)
        #expect(notification.customer == "7")
        #expect(notification.signedDate == Date(timeIntervalSince1970: 1_790_000_000))
        #expect(!String(decoding: notification.json, as: UTF8.self).contains("secret"))
        #expect(try verifier.verify(post: post("BBBB", password: "old secret")).uuid == notification.uuid)
        #expect(try verifier.verify(post: post("AAAA", type: "CANCEL")).uuid != notification.uuid)
        // No date of a post stops the process.
        for date in ["9223372036854775807", "-9223372036854775808", "253402300800000", "-1", "x"] {
            let json = String(decoding: post("A"), as: UTF8.self).replacing("1790000000000", with: date)
            #expect(try verifier.verify(post: Array(json.utf8)).signedDate == nil)
        }
        for wrong in ["", "new secre", "new secret "] {
            #expect(throws: AppStoreVerificationError.self) { try verifier.verify(post: post("A", password: wrong)) }
        }
    }
}

@Suite struct FloodTests {
    @Test func `any number of texts that a forger signed does not keep the first genuine one out`() throws {
        let (signing, forger) = (try Signing(), try Signing())
        let verifier = try signing.verifier()
        for number in 0..<300 {
            let forged = try forger.renewal(uuid: "\(number)")
            let error = #expect(throws: AppStoreVerificationError.self) { try verifier.verify(signedPayload: forged) }
            #expect(error?.code == .forged)
            #expect(error?.description.contains("do not lead to a trusted root") == true)
        }
        _ = try verifier.verify(signedPayload: signing.renewal())
    }

    @Test func `genuine certificates of a text that their key did not sign are not checked`() throws {
        let (signing, forger) = (try Signing(), try Signing())
        let verifier = try signing.verifier()
        let parts = try forger.renewal().split(separator: ".")
        let header = try signing.renewal().split(separator: ".")[0]
        for _ in 0..<300 {
            let error = #expect(throws: AppStoreVerificationError.self) {
                try verifier.verify(signedPayload: "\(header).\(parts[1]).\(parts[2])")
            }
            #expect(error?.description == "The signature of signedPayload is not that of its certificate.")
        }
        _ = try verifier.verify(signedPayload: signing.renewal())
    }

    @Test func `any number of texts without certificates does not keep the first genuine one out`() throws {
        let signing = try Signing()
        let verifier = try signing.verifier()
        let genuine = try signing.renewal()
        let parts = genuine.split(separator: ".")
        let header = Data(#"{"alg":"ES256","x5c":["AAAA","AAAA","AAAA"]}"#.utf8).base64EncodedString()
            .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
        for _ in 0..<200 {
            let error = #expect(throws: AppStoreVerificationError.self) {
                try verifier.verify(signedPayload: "\(header).\(parts[1]).\(parts[2])")
            }
            #expect(error?.code == .malformed)
        }
        _ = try verifier.verify(signedPayload: genuine)
    }
}

@Suite struct UnknownFormTests {
    private func verify(_ signing: Signing, _ json: String) throws -> AppStoreVerificationError.Code? {
        let verifier = try signing.verifier()
        let text = try signing.signer.sign(Array(json.utf8))
        do throws(AppStoreVerificationError) {
            _ = try verifier.verify(signedPayload: text)
            return nil
        } catch {
            return error.code
        }
    }

    @Test func `new members whose names look like those of signed texts stay as they are`() throws {
        let signing = try Signing()
        for member in [
            #""signedUpDate":7"#, #""signedInUser":true"#, #""signedRenewalInfo":null"#, #""signedOffer":"a""#,
        ] {
            let json = """
                {"notificationType":"NEW","notificationUUID":"U","signedDate":1790000000000,\
                "data":{"bundleId":"\(Signing.bundleID)","environment":"Sandbox",\(member)}}
                """
            #expect(try self.verify(signing, json) == nil)
        }
    }

    @Test
    func `a genuine text that names its app in an unknown way is not understood, and a forged one is forged`() throws {
        let signing = try Signing()
        let json =
            #"{"notificationType":"NEW","notificationUUID":"U","signedDate":1790000000000,"app":"com.example.app"}"#
        #expect(try self.verify(signing, json) == .notUnderstood)
        let forged = try Signing().signer.sign(Array(json.utf8))
        let verifier = try signing.verifier()
        do throws(AppStoreVerificationError) {
            _ = try verifier.verify(signedPayload: forged)
            Issue.record("it was taken")
        } catch {
            #expect(error.code == .forged)
        }
    }

    @Test(
        arguments: ["1790000000000.5", "1.79e12", #""1790000000000""#, #""2026-09-21T14:13:20Z""#, "-1", "null", ""]
    )
    func `a date in an unknown form is not understood in a genuine text, and forged in a forged one`(date: String)
        throws
    {
        let signing = try Signing()
        let member = date.isEmpty ? "" : "\"signedDate\":\(date),"
        let json = """
            {"notificationType":"NEW","notificationUUID":"U",\(member)\
            "data":{"bundleId":"\(Signing.bundleID)","environment":"Sandbox"}}
            """
        #expect(try self.verify(signing, json) == .notUnderstood)
        // Inside a genuine notification, too.
        let transaction = try signing.signer.sign(
            Array(#"{\#(member)"transactionId":"1","bundleId":"\#(Signing.bundleID)","environment":"Sandbox"}"#.utf8)
        )
        let outer = """
            {"notificationType":"NEW","notificationUUID":"U","signedDate":1790000000000,"data":{"bundleId":\
            "\(Signing.bundleID)","environment":"Sandbox","signedTransactionInfo":"\(transaction)"}}
            """
        #expect(try self.verify(signing, outer) == .notUnderstood)
        let verifier = try signing.verifier()
        let forged = try Signing().signer.sign(Array(json.utf8))
        do throws(AppStoreVerificationError) {
            _ = try verifier.verify(signedPayload: forged)
            Issue.record("it was taken")
        } catch {
            #expect(error.code == .forged)
        }
    }

    @Test func `a sentence quotes no text of a forged post`() throws {
        let signing = try Signing()
        let json = """
            {"signedDate":1790000000000,"x\\nferry: a line":{"bundleId":"\(Signing.bundleID)"}}
            """
        let verifier = try signing.verifier()
        let text = try Signing().signer.sign(Array(json.utf8))
        do throws(AppStoreVerificationError) {
            _ = try verifier.verify(signedPayload: text)
            Issue.record("it was taken")
        } catch {
            #expect(!error.description.contains("a line"))
        }
    }
}
