# frozen_string_literal: true

# Drop-in for grocer 0.7: the same names, over libferry. README.md has the differences.

require 'grocer/base'
require 'grocer/error_response'
require 'grocer/feedback'
require 'grocer/feedback_connection'
require 'grocer/mobile_device_management_notification'
require 'grocer/newsstand_notification'
require 'grocer/notification'
require 'grocer/passbook_notification'
require 'grocer/push_connection'
require 'grocer/pusher'
require 'grocer/safari_notification'
require 'grocer/server'
require 'grocer/ssl_connection'
require 'grocer/version'

module Grocer
  class << self
    def pusher(options)
      Pusher.new(PushConnection.new(options))
    end

    def feedback(options)
      Feedback.new(FeedbackConnection.new(options))
    end

    # A server for tests: pushers of this process reach it without more options.
    def server(options = {})
      Server.new(SSLServer.new(options))
    end
  end
end
