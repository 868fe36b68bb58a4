# frozen_string_literal: true

require 'ferry/stream'
require 'json'
require 'openssl'

module Grocer
  Error = Class.new(StandardError)
  InvalidFormatError = Class.new(Error)
  NoGatewayError = Class.new(Error)
  NoPayloadError = Class.new(Error)
  NoPortError = Class.new(Error)
  PayloadTooLargeError = Class.new(Error)
  InvalidCommandError = Class.new(Error)
  # Extends the error of a push whose certificate has expired.
  CertificateExpiredError = Module.new

  class << self
    def env
      ENV['RAILS_ENV'] || ENV['RACK_ENV'] || 'development'
    end

    # New: calls the block with each notification that was rejected, has expired or may not have arrived, and its
    # Ferry::Outcome. Not if `push` raises because its notification was not delivered. The block runs in `push`, in a
    # thread of its own, or at the end of the process.
    def on_failure(&block)
      @on_failure = block
    end

    # What the sender tells of notifications.
    def taken(_notification, _line); end

    def settled(notification, outcome, raises)
      return true if raises || outcome.accepted? || outcome.status == 410 # 410: it is in the feedback list.
      return false unless failures_wanted?
      begin
        @on_failure.call(notification, outcome)
      rescue StandardError => e
        # Nobody stands above it who could rescue it: in `push` it would look as if that had failed.
        warn "grocer: the block of on_failure raised #{e.class}: #{e.message}"
      end
      true
    end

    def failures_wanted?
      # Ruby before 3.0 warns of a variable that was never set.
      !(@on_failure ||= nil).nil?
    end
  end
end
