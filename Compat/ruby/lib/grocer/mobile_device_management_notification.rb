# frozen_string_literal: true

require 'grocer/notification'

module Grocer
  # Needs `push_magic`, and has nothing else.
  class MobileDeviceManagementNotification < Notification
    attr_accessor :push_magic

    def validate_payload
      raise NoPayloadError unless push_magic
      raise InvalidFormatError if alert || badge || custom
      check_size
    end

    private

    def payload_hash
      { mdm: push_magic }
    end
  end
end
