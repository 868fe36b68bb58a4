internal import CFerryOpenSSL

/// A memory BIO that belongs to no connection. Through it, bytes enter and leave OpenSSL's readers and writers.
struct MemoryBIO: ~Copyable {
    let pointer: OpaquePointer

    init?(_ bytes: [UInt8] = []) {
        guard let pointer = BIO_new(BIO_s_mem()) else { return nil }
        var written = 0
        guard bytes.isEmpty || BIO_write_ex(pointer, bytes, bytes.count, &written) == 1 else {
            BIO_free_all(pointer)
            return nil
        }
        self.pointer = pointer
    }

    deinit { BIO_free_all(self.pointer) }

    /// Takes all bytes out.
    func bytes() -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: BIO_ctrl_pending(self.pointer)) { storage, count in
            guard let base = storage.baseAddress, storage.count > 0 else { return }
            BIO_read_ex(self.pointer, base, storage.count, &count)
        }
    }
}

/// Returns the bytes that `write` put into a fresh memory BIO; nil if `write` did not return 1.
func bytesWritten(_ write: (OpaquePointer) -> Int32) -> [UInt8]? {
    guard let bio = MemoryBIO(), write(bio.pointer) == 1 else { return nil }
    return bio.bytes()
}

/// Returns the object that one of OpenSSL's `d2i_` functions makes from DER bytes. The function moves its cursor.
func decodedDER(
    _ bytes: [UInt8],
    _ decode: (UnsafeMutablePointer<UnsafePointer<UInt8>?>, Int) -> OpaquePointer?
) -> OpaquePointer? {
    bytes.withUnsafeBufferPointer { buffer in
        var cursor = buffer.baseAddress
        return decode(&cursor, buffer.count)
    }
}

/// Returns the DER form from one of OpenSSL's `i2d_` functions. It is called once for the length, once for the bytes.
func encodedDER(_ encode: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32) -> [UInt8]? {
    let length = Int(encode(nil))
    guard length > 0 else { return nil }
    return [UInt8](unsafeUninitializedCapacity: length) { storage, count in
        var cursor = storage.baseAddress
        count = encode(&cursor) == length ? length : 0
    }
}
