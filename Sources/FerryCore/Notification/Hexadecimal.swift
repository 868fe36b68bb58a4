extension [UInt8] {
    /// Reads pairs of hexadecimal digits, of either case. Nil for other characters, and for half a pair at the end.
    package init?(hexadecimal digits: some Sequence<UInt8>) {
        self = []
        var high: UInt8?
        for digit in digits {
            guard let nibble = DeviceToken.nibble(digit) else { return nil }
            if let high { self.append(high << 4 | nibble) }
            high = high == nil ? nibble : nil
        }
        guard high == nil else { return nil }
    }

    /// The bytes in hexadecimal: two lower-case digits for each.
    package var hexadecimal: String {
        let digits: StaticString = "0123456789abcdef"
        return String(unsafeUninitializedCapacity: self.count * 2) { target in
            for (index, byte) in self.enumerated() {
                target[index * 2] = digits.utf8Start[Int(byte >> 4)]
                target[index * 2 + 1] = digits.utf8Start[Int(byte & 15)]
            }
            return self.count * 2
        }
    }
}
