# Sends one notification in one call: send.pl TOKEN OPTIONS. OPTIONS is JSON.
use strict;
use warnings;

use Ferry;
use JSON::PP qw(decode_json);

my ($token, $options) = @ARGV;
print Ferry->push($token, { aps => { alert => 'Hello' } }, %{ decode_json($options) }), "\n";
