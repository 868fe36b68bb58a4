internal import CFerry
internal import Ferry
internal import FerryCore
internal import FerryOptions

extension Handle {
    func numbers() -> ferry_numbers {
        var numbers = self.mailbox.numbers()
        if let report = self.providerReport {
            numbers.contradicted = UInt64(clamping: report.contradicted)
            numbers.resent = UInt64(clamping: report.resent)
        }
        return numbers
    }

    /// Changes the option that may change while the handle is open: `share`, with the backend `migrate`.
    func set(_ text: UnsafeBufferPointer<UInt8>) throws(OptionFault) {
        var options = try OptionObject(text, of: .c)
        let share = try options.take("share")
        try options.end()
        guard let share else { return }
        guard let migration else { throw OptionFault("Only the backend \"migrate\" has a share.") }
        migration.rule.share = share.number
    }

    /// Returns the report as a JSON object.
    func report() -> [UInt8] {
        let numbers = self.numbers()
        var json = Array(
            """
            {"taken":\(numbers.taken),"unsettled":\(numbers.unsettled),"unread":\(numbers.unread),\
            "accepted":{"confirmed":\(numbers.confirmed),"presumed":\(numbers.presumed)},\
            "rejected":\(numbers.rejected),"expired":\(numbers.expired),"undelivered":\(numbers.undelivered),\
            "uncertain":\(numbers.uncertain),"contradicted":\(numbers.contradicted),"resent":\(numbers.resent)
            """.utf8
        )
        if let error = self.lastError {
            json.append(contentsOf: #","lastError":"#.utf8)
            json.appendJSONString(error.message)
        }
        if let goneDevices, goneDevices.lostCount > 0 {
            json.append(contentsOf: ",\"feedbackLost\":\(goneDevices.lostCount)".utf8)
        }
        if let fault = self.config?.fault {
            json.append(contentsOf: #","configError":"#.utf8)
            json.appendJSONString(fault)
        }
        if let migration { json.append(contentsOf: Self.text(migration.report).utf8) }
        json.append(UInt8(ascii: "}"))
        return json
    }

    private static func text(_ report: MigrationReport) -> String {
        func side(_ side: MigrationReport.Side) -> String {
            """
            {"accepted":{"confirmed":\(side.outcomes.confirmed),"presumed":\(side.outcomes.presumed)},\
            "rejected":\(side.outcomes.rejected),"expired":\(side.outcomes.expired),\
            "undelivered":\(side.outcomes.undelivered),"uncertain":\(side.outcomes.uncertain),\
            "contradicted":\(side.contradicted),"forced":\(side.forced),"wentOver":\(side.wentOver)}
            """
        }
        return """
            ,"migration":{"share":\(report.share),"waiting":\(report.waiting),"movingGroups":\(report.movingGroups),\
            "binary":\(side(report.life.binary)),"http2":\(side(report.life.http2))}
            """
    }
}
