internal import Ferry
internal import FerryCore
internal import FerryPlatform

/// A tuple as a line of the output.
enum FeedbackLine {
    /// The heading of the table.
    static let heading = "gone since            token"

    /// A row of the table: `2020-03-31T12:00:00Z  00fc…`
    static func row(_ tuple: FeedbackTuple) -> String {
        "\(self.date(tuple))  \(tuple.token.hex)"
    }

    /// A line of JSON: `{"token":"00fc…","timestamp":1585656000,"date":"2020-03-31T12:00:00Z"}`
    static func json(_ tuple: FeedbackTuple) -> String {
        #"{"token":"\#(tuple.token.hex)","timestamp":\#(tuple.time.unixSeconds),"date":"\#(self.date(tuple))"}"#
    }

    private static func date(_ tuple: FeedbackTuple) -> String {
        tuple.time.formatted(.iso8601)
    }
}
