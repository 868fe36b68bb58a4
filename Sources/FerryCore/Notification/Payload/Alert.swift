extension Payload {
    /// The alert that the device shows: texts, or keys of the app's localised texts.
    ///
    /// An alert with only a body is written as plain text, `"alert":"…"`, which devices treat like
    /// `"alert":{"body":"…"}`. A Live Activity knows no plain text. There the alert is always an object, with only
    /// title, subtitle, body and the payload's sound.
    public struct Alert: Hashable, Sendable, ExpressibleByStringLiteral {
        /// The first line, in bold.
        public var title: String?
        /// The line below the title.
        public var subtitle: String?
        /// The text. ``Payload/trim(to:atWordEnd:)`` shortens it.
        public var body: String?
        /// The image shown while the app launches.
        public var launchImage: String?
        /// The key of a localised title. In a Live Activity it takes the place of ``title``.
        public var titleLocKey: String?
        /// The values for the placeholders of the localised title.
        public var titleLocArgs: [String]?
        /// The key of a localised subtitle.
        public var subtitleLocKey: String?
        /// The values for the placeholders of the localised subtitle.
        public var subtitleLocArgs: [String]?
        /// The key of a localised body. In a Live Activity it takes the place of ``body``.
        public var locKey: String?
        /// The values for the placeholders of the localised body.
        public var locArgs: [String]?
        /// The label of the action button (Safari).
        public var action: String?
        /// The key of the localised label of the action button.
        public var actionLocKey: String?

        /// Creates an alert. The other fields can be set afterwards.
        public init(title: String? = nil, subtitle: String? = nil, body: String? = nil) {
            self.title = title
            self.subtitle = subtitle
            self.body = body
        }

        /// Creates an alert with only a body.
        public init(stringLiteral body: String) {
            self.init(body: body)
        }

        /// The body, if nothing else is set; otherwise nil.
        var plainText: String? {
            self == Alert(body: self.body) ? self.body : nil
        }
    }
}
