# frozen_string_literal: true

require 'grocer/notification'

module Grocer
  # Needs a device token only.
  class NewsstandNotification < Notification
    def initialize(payload = {})
      super(payload.merge(content_available: true))
    end

    def validate_payload
      check_size(65_535)
    end
  end
end
