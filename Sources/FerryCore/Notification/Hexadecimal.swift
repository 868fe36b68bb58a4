extension [UInt8] {
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
