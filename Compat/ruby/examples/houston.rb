# frozen_string_literal: true

# Sends a notification to each device token in the file TOKENS, as the documentation of houston does it. With the
# argument `feedback` it prints the devices that are gone. CERT is a PEM file with certificate and key.

require 'houston'
require 'json'

apn = Houston::Client.production
apn.certificate = File.read(ENV['CERT'])

if ARGV[0] == 'feedback'
  apn.unregistered_devices.each do |device|
    puts JSON.generate(token: device[:token].delete(' '), time: device[:timestamp])
  end
  exit
end

# How long `error` may wait for an answer. Over the binary protocol, silence becomes acceptance after a second.
apn.timeout = 10

notifications = File.readlines(ENV['TOKENS'], chomp: true).map do |token|
  notification = Houston::Notification.new(device: token)
  notification.alert = 'Hello'
  notification
end

apn.push(*notifications)

notifications.each do |notification|
  puts JSON.generate(token: notification.token, status: notification.error.code) if notification.error
end
