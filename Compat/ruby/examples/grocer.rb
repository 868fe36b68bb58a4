# frozen_string_literal: true

# Sends a notification to each device token in the file TOKENS, as the documentation of grocer does it. With the
# argument `feedback` it prints the devices that are gone. CERT is a PEM file with certificate and key.

require 'grocer'
require 'json'

if ARGV[0] == 'feedback'
  Grocer.feedback(certificate: ENV['CERT']).each do |attempt|
    puts JSON.generate(token: attempt.device_token, time: attempt.timestamp.to_i)
  end
  exit
end

pusher = Grocer.pusher(certificate: ENV['CERT'])

File.readlines(ENV['TOKENS'], chomp: true).each do |token|
  pusher.push(Grocer::Notification.new(device_token: token, alert: 'Hello'))
end
