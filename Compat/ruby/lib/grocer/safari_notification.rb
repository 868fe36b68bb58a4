# frozen_string_literal: true

require 'grocer/notification'

module Grocer
  # For web sites in Safari.
  class SafariNotification < Notification
    def initialize(payload = {})
      @alert = {}
      super
    end

    %i[title body action].each do |name|
      define_method(name) { alert[name] }
      define_method("#{name}=") { |value| alert[name] = value }
    end

    def url_args
      Array(@url_args)
    end

    def url_args=(args)
      @url_args = args.dup
    end

    def validate_payload
      raise ArgumentError, 'missing title' unless title
      raise ArgumentError, 'missing body' unless body
      super
    end

    private

    def payload_hash
      { aps: { alert: alert, 'url-args': url_args } }
    end
  end
end
