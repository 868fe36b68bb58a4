internal import FerryAppStoreTesting
internal import FerryOpenSSL
internal import FerryPlatform

/// A notification in Apple's form that a correct receiver refuses, because its certificates are made for one run.
///
/// A receiver that verifies nothing accepts it. So its type is TEST, its environment is the sandbox, and its app and
/// purchase do not exist.
struct ForgedNotification: Sendable {
    static let bundleID = "com.example.ferry-doctor"
    /// The size of a large notification in bytes. Apple's largest of version 2 have 18.8 KB.
    static let largeSize = 19 * 1024

    let uuid: String
    /// The body of the post.
    let post: [UInt8]

    /// Makes a notification with the size of Apple's TEST, about 5 KB.
    ///
    /// - Throws: `TLSError` with `internalFailure`.
    static func small(_ signer: AppStoreSigner, at date: Date) throws(TLSError) -> ForgedNotification {
        try Self(signer, at: date, data: "")
    }

    /// Makes a notification of ``largeSize``, with a signed transaction and a signed renewal.
    ///
    /// - Throws: `TLSError` with `internalFailure`.
    static func large(_ signer: AppStoreSigner, at date: Date) throws(TLSError) -> ForgedNotification {
        let missing = max(0, self.largeSize - (try self.large(signer, at: date, filler: 0)).post.count)
        // Base64 turns 3 bytes into 4, and the transaction is encoded twice.
        return try self.large(signer, at: date, filler: (missing * 9 + 15) / 16)
    }

    /// Makes certificates and a signer. No receiver trusts its root.
    ///
    /// - Throws: `TLSError` with `internalFailure`.
    static func signer() throws(TLSError) -> AppStoreSigner {
        AppStoreSigner(try ThrowAwaySigningChain(name: "Ferry doctor, not Apple,"))
    }

    private static func large(
        _ signer: AppStoreSigner,
        at date: Date,
        filler: Int
    ) throws(TLSError) -> ForgedNotification {
        let now = date.millisecondsOfApple
        let purchase = """
            "bundleId":"\(self.bundleID)","environment":"Sandbox","originalTransactionId":"0",\
            "productId":"\(self.bundleID).none","signedDate":\(now)
            """
        let transaction = try signer.sign(
            Array("{\(purchase),\"transactionId\":\"0\",\"filler\":\"\(String(repeating: "-", count: filler))\"}".utf8)
        )
        let renewal = try signer.sign(Array("{\(purchase),\"autoRenewStatus\":0}".utf8))
        return try Self(
            signer,
            at: date,
            data: ",\"signedTransactionInfo\":\"\(transaction)\",\"signedRenewalInfo\":\"\(renewal)\",\"status\":1"
        )
    }

    /// - Parameter data: further members of `data`, each with a comma before it.
    private init(_ signer: AppStoreSigner, at date: Date, data: String) throws(TLSError) {
        self.uuid = UUID().uuidString.lowercased()
        let payload = """
            {"notificationType":"TEST","notificationUUID":"\(self.uuid)",\
            "data":{"bundleId":"\(Self.bundleID)","environment":"Sandbox"\(data)},\
            "version":"2.0","signedDate":\(date.millisecondsOfApple)}
            """
        self.post = Array("{\"signedPayload\":\"\(try signer.sign(Array(payload.utf8)))\"}".utf8)
    }
}

extension Date {
    /// The date in Apple's form: milliseconds since 1970.
    fileprivate var millisecondsOfApple: Int64 { Int64((self.timeIntervalSince1970 * 1000).rounded()) }
}
