internal import CFerryOpenSSL

/// OpenSSL's error queue, which belongs to the thread. Clear it right before a call and drain it right after, with
/// nothing between. Otherwise a stale entry would turn "wants more input" into a failure.
enum ErrorQueue {
    struct Entry {
        var library: Int32
        var reason: Int32
        var cause: TLSError.Cause
    }

    static func clear() {
        ERR_clear_error()
    }

    /// Takes all entries out, oldest first. An entry loses its data if that could quote a secret.
    static func drain() -> [Entry] {
        var entries: [Entry] = []
        while true {
            var data: UnsafePointer<CChar>?
            var flags: Int32 = 0
            let code = ERR_get_error_all(nil, nil, nil, &data, &flags)
            guard code != 0 else { return entries }
            let library = ERR_GET_LIB(code)
            let reason = ERR_GET_REASON(code)
            let isText = flags & ERR_TXT_STRING != 0
            let cause = TLSError.Cause(
                library: ERR_lib_error_string(code).map { String(cString: $0) } ?? "library \(library)",
                reason: ERR_reason_error_string(code).map { String(cString: $0) } ?? "reason \(reason)",
                data: isText ? data.map { String(cString: $0) } ?? "" : ""
            )
            entries.append(Entry(library: library, reason: reason, cause: cause))
        }
    }
}

extension [ErrorQueue.Entry] {
    /// Whether an algorithm is unknown, or known only to a provider that is not loaded.
    var haveUnsupported: Bool {
        self.contains { entry in
            CFerryOpenSSL_is_unsupported(entry.reason) != 0
                || entry.library == ERR_LIB_PKCS12 && entry.reason == PKCS12_R_UNKNOWN_DIGEST_ALGORITHM
                || entry.library == ERR_LIB_EVP && entry.reason == EVP_R_UNKNOWN_PBE_ALGORITHM
        }
    }

    func contains(_ library: Int32, _ reason: Int32) -> Bool {
        self.contains { $0.library == library && $0.reason == reason }
    }
}
