internal import FerryPlatform

extension BootIdentifier {
    /// The identifier of the present run of the operating system. Linux has this identifier in a file. Nil if the file
    /// cannot be read.
    static var current: BootIdentifier? {
        guard let file = fopen("/proc/sys/kernel/random/boot_id", "re") else { return nil }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = fread(&bytes, 1, bytes.count, file)
        return BootIdentifier(String(decoding: bytes.prefix(count), as: UTF8.self))
    }
}
