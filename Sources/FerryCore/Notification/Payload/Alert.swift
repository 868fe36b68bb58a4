extension Payload {
    /// What the device shows: texts, or keys of the app's localised texts.
    ///
    /// An alert that has nothing but a body is written as plain text, `"alert":"…"`, which devices treat like
    /// `"alert":{"body":"…"}`. In a Live Activity, which knows no plain text, it is always an object, with no more than
    /// title, subtitle, body and the payload's sound.
    public struct Alert: Hashable, Sendable, ExpressibleByStringLiteral {
        /// The first line, in bold.
        public var title: String?
        /// The line below the title.
        public var subtitle: String?
        /// The text. What ``Payload/trim(to:atWordEnd:)`` shortens.
        public var body: String?
        /// The image shown while the app launches.
        public var launchImage: String?
        /// The key of a localised title. In a Live Activity it takes the place of ``title``.
        public var titleLocKey: String?
        /// What the placeholders of the localised title are filled with.
        public var titleLocArgs: [String]?
        /// The key of a localised subtitle.
        public var subtitleLocKey: String?
        /// What the placeholders of the localised subtitle are filled with.
        public var subtitleLocArgs: [String]?
        /// The key of a localised body. In a Live Activity it takes the place of ``body``.
        public var locKey: String?
        /// What the placeholders of the localised body are filled with.
        public var locArgs: [String]?
        /// The label of the action button (Safari).
        public var action: String?
        /// The key of the localised label of the action button.
        public var actionLocKey: String?

        /// What is not given here can be set afterwards.
        public init(title: String? = nil, subtitle: String? = nil, body: String? = nil) {
            self.title = title
            self.subtitle = subtitle
            self.body = body
        }

        /// An alert of nothing but a body.
        public init(stringLiteral body: String) {
            self.init(body: body)
        }

        /// The body, when nothing else is set.
        var plainText: String? {
            self == Alert(body: self.body) ? self.body : nil
        }
    }
}
