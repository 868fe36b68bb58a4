#!/usr/bin/perl
# Net::APNs::Extended: sends a notification to each device token in the file TOKENS, with the certificate and key in the
# file CERT, and prints each error; or prints the devices that are gone.
#
#   FERRY_CONFIG=ferry.json CERT=apns.pem TOKENS=tokens.txt net-apns-extended.pl [feedback]

use strict;
use warnings;

use Net::APNs::Extended;
use Net::APNs::Extended::Feedback;

if ("@ARGV" eq 'feedback') {
    my $feedback = Net::APNs::Extended::Feedback->new(
        is_sandbox => 1,
        cert_file  => $ENV{CERT},
    );
    printf qq({"token":"%s","time":%d}\n), $_->{token_hex}, $_->{time_t} for @{ $feedback->retrieve_feedback };
    exit;
}

open my $tokens, '<', $ENV{TOKENS} or die "$ENV{TOKENS}: $!\n";
chomp(my @tokens = <$tokens>);

my $apns = Net::APNs::Extended->new(
    is_sandbox => 1,
    cert_file  => $ENV{CERT},
);
my %payload = (aps => { alert => 'Hello', badge => 1, sound => 'default' });
$apns->send_multi([map { [pack('H*', $tokens[$_]), \%payload, { identifier => $_ + 1 }] } 0 .. $#tokens]);
while (my $error = $apns->retrieve_error) {
    printf qq({"token":"%s","status":%d}\n), $tokens[$error->{identifier} - 1], $error->{status};
}
