<?php

namespace Ferry;

/** What became of one notification. As a string it is the sentence. */
final class Answer
{
    /** The device token, as it was given. */
    public $token;
    /** 'accepted', 'rejected', 'expired', 'undelivered' (certainly not delivered) or 'uncertain'. */
    public string $outcome;
    public bool $accepted;
    /** Apple's word such as 'BadDeviceToken', or the cause such as 'noConnection'. */
    public ?string $reason;
    /** Of HTTP/2, or of the binary protocol; null: nobody answered. */
    public ?int $status;
    /** The identifier of the notification at APNs. */
    public ?string $apnsId;
    /** Since when the device is gone, in milliseconds of UNIX time. */
    public ?int $timestamp;
    /** All of this in words, with the cause and the cure. */
    public string $sentence;

    /** @internal */
    public function __construct($token, array $words)
    {
        $this->token = $token;
        $this->outcome = $words['outcome'];
        $this->accepted = $words['outcome'] === 'accepted';
        $this->reason = $words['reason'] ?? null;
        $this->status = $words['status'] ?? null;
        $this->apnsId = $words['apnsId'] ?? null;
        $this->timestamp = $words['timestamp'] ?? null;
        $this->sentence = $words['sentence'];
    }

    public function __toString(): string
    {
        return $this->sentence;
    }
}
