# frozen_string_literal: true

require 'grocer/connection'
require 'grocer/extensions/deep_symbolize_keys'

module Grocer
  # A connection to the list of devices that are gone.
  class FeedbackConnection < Connection
    PRODUCTION_GATEWAY = 'feedback.push.apple.com'
    SANDBOX_GATEWAY = 'feedback.sandbox.push.apple.com'

    def initialize(options)
      gateway = Grocer.env == 'production' ? PRODUCTION_GATEWAY : SANDBOX_GATEWAY
      super({ gateway: gateway, port: 2196 }.merge(Extensions::DeepSymbolizeKeys.copy(options)))
    end
  end
end
