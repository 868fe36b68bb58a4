# frozen_string_literal: true

require 'grocer/connection'
require 'grocer/extensions/deep_symbolize_keys'

module Grocer
  # A connection to push.
  class PushConnection < Connection
    PRODUCTION_GATEWAY = 'gateway.push.apple.com'
    LOCAL_GATEWAY = '127.0.0.1'
    SANDBOX_GATEWAY = 'gateway.sandbox.push.apple.com'

    def initialize(options)
      super({ gateway: default_gateway, port: 2195 }.merge(Extensions::DeepSymbolizeKeys.copy(options)))
    end

    private

    def for_push?
      true
    end

    def default_gateway
      case Grocer.env.downcase
      when 'production' then PRODUCTION_GATEWAY
      when 'test' then LOCAL_GATEWAY
      else SANDBOX_GATEWAY
      end
    end
  end
end
