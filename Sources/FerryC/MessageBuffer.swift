/// The caller's memory for a message. A message ends with a zero byte, and is cut if it is too long.
struct MessageBuffer {
    private let target: UnsafeMutablePointer<CChar>?
    private let size: Int

    init(_ target: UnsafeMutablePointer<CChar>?, _ size: Int) {
        self.target = target
        self.size = target == nil ? 0 : max(size, 0)
        if self.size > 0 { target?.pointee = 0 }
    }

    func write(_ message: String) {
        guard let target, self.size > 0 else { return }
        let bytes = message.utf8.prefix(self.size - 1)
        for (index, byte) in bytes.enumerated() { target[index] = CChar(bitPattern: byte) }
        target[bytes.count] = 0
    }
}
