# ruby push.rb DSN TOKEN: adds a push to the queue, and waits for its outcome.
require "json"
require "pg"
require "securerandom"

db = PG.connect(ARGV[0])
key = "ruby #{SecureRandom.hex(8)}"
db.exec_params(
  "insert into ferry.push (client, key, token, payload) values ('shop', $1, $2, $3)",
  [key, ARGV[1], JSON.generate(aps: { alert: "Hello from Ruby" })]
)
rows = []
while rows.count.zero?
  sleep 0.1
  rows = db.exec_params("select word, status, reason from ferry.outcome where client = 'shop' and key = $1", [key])
end
puts JSON.generate(rows[0])
