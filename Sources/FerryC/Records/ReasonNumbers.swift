internal import FerryCore

/// The numbers of reasons. The numbers of known reasons are in ``Reason/table``, and never change. A reason that APNs
/// invents later gets the next free number when it first arrives.
struct ReasonNumbers {
    /// The first number for reasons that are not in the table.
    static let firstUnknown: UInt16 = 0xf000
    /// The count of such reasons that get a number of their own. All further reasons have the number of
    /// ``Reason/unknown``.
    static let unknownLimit = 256

    /// The texts of known reasons in the order of their numbers, which begin at 1. The texts live as long as the
    /// process, because a caller may keep them.
    private static let texts = Reason.table.sorted { $0.number < $1.number }.map { ForeverText($0.reason.rawValue) }
    private static let unknown = Monitor(ReasonNumbers())

    private var reasons: [Reason: UInt16] = [:]
    private var texts: [ForeverText] = []

    static func number(of reason: Reason) -> UInt16 {
        if let row = reason.row { return row.number }
        return self.unknown.withLock { $0.number(of: reason) }
    }

    private mutating func number(of reason: Reason) -> UInt16 {
        if let number = self.reasons[reason] { return number }
        guard self.texts.count < Self.unknownLimit else { return Reason.unknown.row?.number ?? 0 }
        let number = Self.firstUnknown + UInt16(truncatingIfNeeded: self.texts.count)
        self.reasons[reason] = number
        self.texts.append(ForeverText(reason.rawValue))
        return number
    }

    /// Returns the reason with this number; nil if no reason has the number.
    static func reason(of number: UInt16) -> Reason? {
        self.text(of: UInt32(number)).map { Reason(rawValue: String(cString: $0)) }
    }

    /// Returns the text of a number; nil if no reason has the number.
    static func text(of number: UInt32) -> UnsafePointer<CChar>? {
        if number >= 1, number <= self.texts.count { return self.texts[Int(number) - 1].pointer }
        guard number >= self.firstUnknown else { return nil }
        return self.unknown.withLock { unknown in
            let index = Int(number) - Int(self.firstUnknown)
            return index < unknown.texts.count ? unknown.texts[index].pointer : nil
        }
    }
}
