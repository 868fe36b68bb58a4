internal import CFerryOpenSSL

/// The memory of OpenSSL's library, in a process that ends.
package enum OpenSSLMemory {
    /// Leaves the memory to the operating system when the process ends.
    ///
    /// Otherwise `exit` frees it while event loops still use it, and the process ends with a segmentation fault in place
    /// of its exit status. The call must come before every other one of OpenSSL, because the first of them registers the
    /// handler that frees the memory. Source: `OPENSSL_INIT_NO_ATEXIT` in OPENSSL_init_crypto(3).
    package static func keepAtExit() {
        OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil)
    }

    /// Lets OpenSSL register the handler that frees its memory at `exit`, unless it did so before.
    ///
    /// Exit handlers run in the reverse order of their registration. So a handler that is registered after this call runs
    /// while OpenSSL can still be used.
    package static func registerExitHandler() {
        // Without an option the function returns at once. Every use of TLS loads the words of errors, too.
        OPENSSL_init_crypto(UInt64(OPENSSL_INIT_LOAD_CRYPTO_STRINGS), nil)
    }
}
