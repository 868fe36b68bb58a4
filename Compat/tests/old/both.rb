# frozen_string_literal: true

# One process with two OpenSSLs, as both.py has it.
require 'ferry'
require 'json'
require 'net/http'

plan = JSON.parse(ARGV[0])
https = lambda do
  uri = URI(plan['url'])
  body = Net::HTTP.start(uri.host, uri.port, use_ssl: true, ca_file: plan['ca']) { |http| http.get(uri.path).body }
  abort 'HTTPS brought something else.' unless body == "hello\n"
end
push = lambda do
  answers = Ferry.push(plan['tokens'], { aps: {} }, plan['options'])
  answers.each { |answer| abort answer.to_s unless answer.accepted? }
end

2.times { (plan['first'] == 'https' ? [https, push] : [push, https]).each(&:call) }
child = fork { https.call }
Process.wait(child)
abort 'The child failed.' unless $?.success?
provider = Ferry::Provider.new(plan['options'])
batch = plan['last'].each_with_index.map { |token, tag| { tag: tag, token: token, payload: { aps: {} } } }
abort 'libferry took less than all.' unless provider.submit(batch) == batch.size
exit 7
