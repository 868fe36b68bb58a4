internal import FerrySQLite

/// A customer's waiting deliveries to a destination go out in the order in which Apple signed the notifications. Only
/// the waiting delivery with the earliest signature has a real due time. The customer's other waiting deliveries have
/// ``StoreFile/never`` until that delivery has ended.
extension StoreFile {
    /// Adds a delivery, or starts an ended delivery again with 0 attempts. The delivery comes after the customer's
    /// waiting deliveries that were signed earlier.
    ///
    /// - Parameter customer: the customer; empty if the notification belongs to no customer. Then the delivery is due
    ///   at once.
    func addDelivery(
        _ destination: Int64,
        _ number: UInt64,
        customer: [UInt8],
        signed: Int64,
        now: Int64
    ) throws(SQLiteError) {
        let number = Int64(bitPattern: number)
        var due = now
        if !customer.isEmpty {
            var head: (number: Int64, signed: Int64)?
            try self.statements.head.run([.integer(destination), .blob(customer)]) { row in
                head = (row.integer(0), row.integer(1))
            }
            if let head, head.number != number {
                if (head.signed, head.number) < (signed, number) {
                    due = Self.never
                } else {
                    // The new delivery was signed before `head`, which was the earliest. So the new delivery goes
                    // first, and `head` is blocked.
                    try self.statements.setDue.run([
                        .integer(Self.never), .integer(destination), .integer(head.number),
                    ])
                }
            }
        }
        try self.statements.addDelivery.run([
            .integer(destination), .integer(number), .integer(due), .blob(customer), .integer(signed), .integer(now),
        ])
    }

    /// Makes the earliest of a customer's waiting deliveries due, if it was blocked. Blocks the delivery of
    /// `attempted`, if it must be tried again and is not the earliest.
    func unblock(
        _ destination: Int64,
        _ customer: [UInt8],
        now: Int64,
        attempted: Attempt?
    ) throws(SQLiteError) {
        var head: (number: Int64, due: Int64)?
        try self.statements.head.run([.integer(destination), .blob(customer)]) { row in
            head = (row.integer(0), row.integer(2))
        }
        guard let head else { return }
        if head.due == Self.never {
            try self.statements.setDue.run([.integer(now), .integer(destination), .integer(head.number)])
        }
        // Here, a delivery with an earlier signature came during the attempt. The earlier delivery goes first, so the
        // attempted delivery is blocked.
        if let attempted, case .again = attempted.result, head.number != Int64(bitPattern: attempted.number) {
            try self.statements.setDue.run([
                .integer(Self.never), .integer(destination), .integer(Int64(bitPattern: attempted.number)),
            ])
        }
    }
}
