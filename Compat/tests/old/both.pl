# One process with two OpenSSLs, as both.py has it.
use strict;
use warnings;

use Ferry;
use HTTP::Tiny;
use JSON::PP qw(decode_json);

my $plan = decode_json($ARGV[0]);
my $client = HTTP::Tiny->new(verify_SSL => 1, keep_alive => 0, SSL_options => { SSL_ca_file => $plan->{ca} });

sub https {
    my $response = $client->get($plan->{url});
    die "HTTPS brought $response->{content}\n" unless $response->{content} eq "hello\n";
    return;
}

sub push_all {
    for my $answer (Ferry->push($plan->{tokens}, { aps => {} }, %{ $plan->{options} })) {
        die "$answer\n" unless $answer->accepted;
    }
    return;
}

for (1, 2) {
    $_->() for $plan->{first} eq 'https' ? (\&https, \&push_all) : (\&push_all, \&https);
}
my $child = fork // die "fork: $!\n";
if (!$child) {
    https();
    exit 0;
}
waitpid $child, 0;
die "The child failed.\n" if $?;
my $ferry = Ferry->new(%{ $plan->{options} });
my $last = $plan->{last};
my @batch = map { { tag => $_, token => pack('H*', $last->[$_]), payload => { aps => {} } } } 0 .. $#$last;
die "libferry took less than all.\n" unless $ferry->submit(\@batch) == @batch;
exit 7;
