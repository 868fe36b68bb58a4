# frozen_string_literal: true

# Sends one notification in one call: send.rb TOKEN OPTIONS. OPTIONS is JSON.
require 'ferry'
require 'json'

puts Ferry.push(ARGV[0], { aps: { alert: 'Hello' } }, JSON.parse(ARGV[1]))
