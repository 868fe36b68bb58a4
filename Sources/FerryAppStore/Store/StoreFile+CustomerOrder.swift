internal import FerrySQLite

/// A customer's deliveries to a destination go out in the order in which Apple signed the notifications. Only the first
/// has a due time. The others have ``StoreFile/never`` until the first has ended.
extension StoreFile {
    /// Adds a delivery after the customer's earlier ones.
    ///
    /// - Parameter customer: empty, if the notification belongs to no customer. Then the delivery is due at once.
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
                    // The new delivery was signed earlier than the one that is due, so it goes first.
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

    /// Makes the earliest of a customer's waiting deliveries due, if it was blocked.
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
        // A delivery that was signed earlier came during the attempt. It goes first, so the attempted one is blocked.
        if let attempted, case .again = attempted.result, head.number != Int64(bitPattern: attempted.number) {
            try self.statements.setDue.run([
                .integer(Self.never), .integer(destination), .integer(Int64(bitPattern: attempted.number)),
            ])
        }
    }
}
