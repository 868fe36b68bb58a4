# frozen_string_literal: true

require 'grocer/base'

module Grocer
  class Notification
    MAX_PAYLOAD_SIZE = 2048
    # Of command 1, without the payload.
    FRAME_SIZE = 45

    attr_accessor :identifier, :expiry, :device_token, :alert, :badge, :custom, :sound, :category
    attr_reader :content_available, :mutable_content

    def initialize(payload = {})
      @identifier = 0
      payload.each { |name, value| public_send("#{name}=", value) }
    end

    def content_available=(value)
      @content_available = value ? 1 : nil
    end

    def mutable_content=(value)
      @mutable_content = value ? 1 : nil
    end

    def content_available?
      !content_available.nil?
    end

    def mutable_content?
      !mutable_content.nil?
    end

    # The frame of the binary protocol. `push` does not use it.
    def to_bytes
      validate_payload
      json = JSON.dump(payload_hash)
      [1, identifier, expiry.to_i, 32, digits, json.bytesize, json.b].pack('CNNnH64na*')
    end

    # What Ferry sends: as `to_bytes`, but a token keeps its length.
    def record
      validate_payload
      { token: Ferry::Sender.token(digits), payload: JSON.dump(payload_hash), expiration: expiry.to_i }
    end

    def validate_payload
      raise NoPayloadError unless alert || badge || custom
      check_size
    end

    def valid?
      validate_payload
    rescue StandardError
      false
    end

    private

    def check_size(limit = MAX_PAYLOAD_SIZE)
      raise PayloadTooLargeError if JSON.dump(payload_hash).bytesize > limit
      true
    end

    def digits
      device_token.to_s.tr(' ', '')
    end

    def payload_hash
      aps = {}
      aps[:alert] = alert if alert
      aps[:badge] = badge if badge
      aps[:sound] = sound if sound
      aps[:'content-available'] = content_available if content_available
      aps[:'mutable-content'] = mutable_content if mutable_content
      aps[:category] = category if category
      { aps: aps }.merge(custom || {})
    end
  end
end
