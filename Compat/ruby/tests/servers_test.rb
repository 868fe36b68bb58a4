# frozen_string_literal: true

require_relative 'helper'
require 'socket'

class ServersTest < FerryTest
  APP = <<~'RUBY'
    require 'houston'
    require 'grocer'
    apn = Houston::Client.production
    apn.certificate = File.read(ENV['CERT'])
    pusher = Grocer.pusher(certificate: ENV['CERT'])
    apn.push(Houston::Notification.new(device: ENV['FIRST'], alert: 'in the master, before fork'))
    run(lambda do |environment|
      library, token = environment['PATH_INFO'].split('/').last(2)
      if library == 'houston'
        apn.push(Houston::Notification.new(device: token, alert: 'Hello'))
      else
        pusher.push(Grocer::Notification.new(device_token: token, alert: 'Hello'))
      end
      [200, { 'content-type' => 'text/plain' }, [Process.pid.to_s]]
    end)
  RUBY

  def get(socket, path)
    UNIXSocket.open(socket) do |stream|
      stream.write("GET /#{path} HTTP/1.0\r\nHost: localhost\r\n\r\n")
      stream.read[/\r\n\r\n(.*)/m, 1]
    end
  end

  def test_puma_with_preloading_workers_and_threads
    skip unless system('puma', '--version', out: File::NULL, err: File::NULL)
    Dir.mktmpdir do |directory|
      socket = File.join(directory, 'socket')
      File.write(File.join(directory, 'config.ru'), APP)
      File.write(File.join(directory, 'puma.rb'), "workers 2; threads 1, 4; preload_app!; bind 'unix://#{socket}'")
      first = tokens(1)
      config = Simulator.shared.config('http2')
      environment = { 'CERT' => Simulator.certificate, 'FERRY_CONFIG' => config, 'FIRST' => first[0] }
      log = File.join(directory, 'log')
      pid = spawn(environment, 'puma', '-C', 'puma.rb', 'config.ru', chdir: directory, %i[out err] => log)
      begin
        ends = Ferry.now + 20
        sleep 0.05 until File.binread(log).scan('booted').size == 2 || Ferry.now > ends
        list = tokens(160)
        threads = list.each_slice(20).map do |slice|
          Thread.new { slice.each_with_index.map { |token, i| get(socket, "#{%w[houston grocer][i % 2]}/#{token}") } }
        end
        assert_equal 2, threads.map(&:value).flatten.uniq.size
      ensure
        Process.kill('TERM', pid)
        Process.wait(pid)
      end
      assert_arrived(first + list)
    end
  end
end
